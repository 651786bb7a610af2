#!/bin/bash
# What following every request costs: throughput of a saturated server of the lab under wrk, in turns without anything, with useprobe's
# socket programs, and with a bpftrace script that only counts what goes in and out of TCP. PAIRS (11) rounds of SECONDS (4) each.
# Printed: medians, and microseconds a request = CPUs / rate with less CPUs / rate without, of each round.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build} pairs=${PAIRS:-11} seconds=${SECONDS_EACH:-4}
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v wrk >/dev/null || { echo "wrk is not installed (make deps-live)"; exit 77; }
dir=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT
"$B/uselab" serve --listen 127.0.0.1:0 --mode direct --workers 24 --duration 1h >"$dir/server" 2>&1 &
server=$!
pids+=($server)
for _ in $(seq 100); do
	port=$(sed -n 's/.*listening on port \([0-9]*\).*/\1/p' "$dir/server")
	[ -n "$port" ] && break
	sleep 0.05
done
rate() { wrk -t1 -c16 -d"$seconds" "http://127.0.0.1:$port/" | awk '/^Requests\/sec/ {print $2}'; }
with() { # COMMAND...: rate while it runs
	"$@" >"$dir/with" 2>&1 &
	local pid=$!
	sleep 3
	kill -0 $pid 2>/dev/null || { cat "$dir/with" >&2; exit 1; }
	rate
	kill -INT $pid
	wait $pid 2>/dev/null || true
}
counts='tracepoint:sock:sock_send_length { @out = count(); } tracepoint:sock:sock_recv_length { @in = count(); }'
bpftrace -l 'tracepoint:sock:sock_send_length' 2>/dev/null | grep -q . || counts=
: >"$dir/rounds"
for _ in $(seq "$pairs"); do
	none=$(rate)
	ours=$(with "$B/useprobe" -p $server -b --no-csv --only requests)
	theirs=-
	[ -z "$counts" ] || theirs=$(with bpftrace -e "$counts")
	echo "$none $ours $theirs" | tee -a "$dir/rounds" >&2
done
awk -v cpus="$(nproc)" '
	function median(a, n, i, j, t) {for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] < a[j - 1]; j--) {t = a[j]; a[j] = a[j - 1]; a[j - 1] = t} return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2}
	{none[NR] = $1; r[NR] = $2 / $1; us[NR] = cpus * 1e6 / $2 - cpus * 1e6 / $1}
	$3 != "-" {m++; rt[m] = $3 / $1; ust[m] = cpus * 1e6 / $3 - cpus * 1e6 / $1}
	END {
		printf "without: %.0f requests/s (median of %d)\n", median(none, NR), NR
		printf "useprobe: throughput %.3f of it, %+.2f us of CPU a request\n", median(r, NR), median(us, NR)
		if (m) printf "bpftrace that counts two tracepoints: %.3f, %+.2f us\n", median(rt, m), median(ust, m)
	}' "$dir/rounds"
