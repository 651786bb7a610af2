#!/bin/bash
# Cost of watching SOCKETS (50,000) established loopback sockets in a network namespace of its own, beside `ss -tin` of the same namespace in
# the same run. Method: CPU time (user + system) of the whole probe, network collectors only and then all of them, over 20 s at 1 s, less
# that of a run of 1 tick (start-up); RSS is VmRSS after three quarters of the run; VmHWM is the short peak while BPF programs load. ss: CPU time of one `ss -tin >/dev/null`, median of 5, taken
# between the runs. `probe` at 1 tick/s does a census as often as 1 % of one CPU allows: the CPU time of one census is beside it.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
SOCKETS=${SOCKETS:-50000}
[ "$(id -u)" = 0 ] || { echo "needs root for a network namespace"; exit 0; }
command -v ss >/dev/null && command -v python3 >/dev/null || { echo "ss (iproute2) or python3 is missing"; exit 0; }
unshare -n true 2>/dev/null || { echo "network namespaces are not allowed here"; exit 0; }
dir=$(mktemp -d)
coproc holder { exec unshare -n sh -c 'ip link set lo up; exec python3 "$@"' sh tests/bench/hold_sockets.py "$SOCKETS" 4; }
holder_pid=$holder_PID
trap 'exec {holder[1]}>&-; wait $holder_pid 2>/dev/null; rm -rf "$dir"' EXIT
read -r -t 120 -u "${holder[0]}" _ sockets || { echo "the sockets could not be opened"; exit 0; }
echo "sockets in use: $sockets"
# cpu COMMAND...: CPU milliseconds inside the namespace, and the VmRSS after three quarters of the run and VmHWM, in kB; the output is thrown away.
cpu() { nsenter -t "$holder_pid" -n python3 -c '
import resource, subprocess, sys, time
p, rss, hwm = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), [0], 0
while p.poll() is None:
    try:
        status = dict(l.split(":", 1) for l in open("/proc/%d/status" % p.pid))
        hwm = int(status["VmHWM"].split()[0])
        rss.append(int(status["VmRSS"].split()[0]))
    except (OSError, KeyError):
        pass
    time.sleep(0.05)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(round(1000 * (r.ru_utime + r.ru_stime), 1), rss[len(rss) * 3 // 4], hwm)' "$@"; }
ss_ms() { for _ in 1 2 3 4 5; do cpu ss -tin | cut -d' ' -f1; done | sort -n | sed -n 3p; }

probe() {
	local name=$1 long short rss hwm ticks=20 ss_now census
	shift
	short=$(cpu "$B/useprobe" --host -b -i 1 -d 1 -o "$dir/s.csv" --force "$@" | cut -d' ' -f1)
	read -r long rss hwm <<<"$(cpu "$B/useprobe" --host -b -i 1 -d $((ticks + 1)) -o "$dir/p.csv" --force "$@")"
	ss_now=$(ss_ms)
	census=$(grep -o 'census_ms=[0-9.]*' "$dir/p.csv" | cut -d= -f2 | sort -n | awk '{v[NR] = $1} END {print NR ? v[int((NR + 1) / 2)] : "-"}')
	awk -v l="$long" -v s="$short" -v t=$ticks -v ss="$ss_now" -v n="$name" -v r="$rss" -v h="$hwm" -v c="$census" 'BEGIN {
		tick = (l - s) / t
		printf "%-8s %.1f ms a tick, ss -tin %.1f ms, ratio %.3f; one census %s ms (ratio %.3f); RSS %.1f MiB, at the start %.1f MiB\n", n, tick, ss, tick / ss, c, c / ss, r / 1024, h / 1024}'
}
probe network --only network,ports,conntrack,softnet,tcp-memory,probe
probe all
