#!/bin/bash
# Ephemeral ports in a network namespace of its own with a range of 100: 60 connections to one destination, 40 and 5 in TIME_WAIT to another.
# Each destination has the whole range; what is left of it is what can still be opened. TIME_WAIT against /proc/net/sockstat.
# beside
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
command -v python3 >/dev/null && command -v ip >/dev/null || { echo "python3 or ip (iproute2) is missing"; exit 77; }
unshare -n true 2>/dev/null || { echo "network namespaces are not allowed here"; exit 77; }
make_group "$top/api"

cat >"$dir/ports.py" <<'PY'
# Opens the connections and says so; on "more" prints how many more connects to the first destination succeed.
import socket, sys
def listener(port):
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", port)); s.listen(200)
    return s
first, second = listener(5001), listener(5002)
def connect(port):
    s = socket.socket(); s.connect(("127.0.0.1", port))
    return s
kept = [connect(5001) for _ in range(60)] + [connect(5002) for _ in range(40)]
accepted = [first.accept()[0] for _ in range(60)] + [second.accept()[0] for _ in range(40)]
for _ in range(5):
    c = connect(5002); a = second.accept()[0]; c.close(); a.recv(1); a.close()
tw = next(l for l in open("/proc/self/net/sockstat") if l.startswith("TCP:")).split()
print("ready", tw[tw.index("tw") + 1], flush=True)
sys.stdin.readline()
more = 0
try:
    while True:
        kept.append(connect(5001)); more += 1
except OSError:
    pass
print(more, flush=True)
sys.stdin.readline()
PY
coproc py {
	join "$top/api"
	exec unshare -n bash -c 'ip link set lo up
		echo 40000 40099 >/proc/sys/net/ipv4/ip_local_port_range
		echo 0 >/proc/sys/net/ipv4/tcp_tw_reuse
		echo 1000 >/proc/sys/net/ipv4/tcp_max_tw_buckets
		exec python3 "$1"' sh "$dir/ports.py"
}
answer() { read -r -t 20 line <&"${py[0]}" || fail "no answer"; }
answer
time_wait=${line#ready }
csv=$dir/ports.csv
"$B/useprobe" -c "$top/api" -i 0.5 -d 3 -b --only ports,conntrack -o "$csv" >/dev/null
last() { awk -F, -v r="$1" -v n="$2" -v c="$3" '$5 == r && $6 == n && $c != "" {v = $c} END {print v}' "$csv"; }
check "$(last ports 127.0.0.1:5001 7) == 0.6" "60 of 100 ports show as $(last ports 127.0.0.1:5001 7)"
check "$(last ports 127.0.0.1:5002 7) == 0.45" "45 of 100 ports show as $(last ports 127.0.0.1:5002 7)"
grep -q ',127.0.0.1:5002,.*;\?ports=45;in_time_wait=5;' "$csv" || fail "TIME_WAIT of the second destination"
[ "$time_wait" = 5 ] || fail "the kernel counts $time_wait sockets in TIME_WAIT, not 5"
check "$(last time-wait "$(awk -F, '$5 == "time-wait" {print $6; exit}' "$csv")" 7) == 0.005" "5 of 1000 TIME_WAIT"
echo more >&"${py[1]}"
answer
[ "$line" = 40 ] || fail "with 60 of 100 ports in use $line more connections could be opened"
echo end >&"${py[1]}"
echo "ok: 60 and 45 of 100 ports, 40 more could be opened; conntrack row: $(awk -F, '$5 == "conntrack" {print $13, $7; exit}' "$csv")"
