#!/bin/bash
# Requests in flight, connections busy at the database and the wait for the pool, from the kernel's socket events, against the lab's exact
# counters. Needs a shell and our own programs only, so it also runs inside the guests of tests/vm.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root for the BPF programs"; exit 77; }
dir=$(mktemp -d)
pids=()
cleanup() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }
port=18390

# stats: the lab's counters as KEY VALUE lines
stats() {
	exec 9<>/dev/tcp/127.0.0.1/$port
	printf 'GET /_stats HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n' >&9
	tr ',{' '\n\n' <&9 | sed -n 's/^"\([a-z_]*\)":\([0-9]*\)$/\1 \2/p'
	exec 9>&-
}

"$B/uselab" db --listen 127.0.0.1:$((port + 1)) --workers 16 --service-ms 10 --duration 100s >"$dir/db.log" 2>&1 &
pids+=($!)
"$B/uselab" serve --listen 127.0.0.1:$port --workers 32 --cpu-ms 0.2 --db 127.0.0.1:$((port + 1)) --pool 4 --duration 100s >"$dir/serve.log" 2>&1 &
server=$!
pids+=($server)
for _ in $(seq 100); do stats >"$dir/s0" 2>/dev/null && [ -s "$dir/s0" ] && break; sleep 0.1; done
# A pool of 4 at 10 ms does 400/s; 16 users without a pause keep it full, so 12 of them wait inside.
"$B/uselab" load --url "http://127.0.0.1:$port/" --users 16 --hold 60s --quiet -o "$dir/l.csv" >/dev/null &
pids+=($!)
sleep 1
# The four connections are open and, but for luck, not one of them is idle when the probe comes.
"$B/useprobe" -p $server -b -i 0.5 --only requests,dependency -o "$dir/r.csv" >"$dir/out" 2>&1 &
probe=$!
pids+=($probe)
for _ in $(seq 300); do
	[ -e "$dir/r.csv" ] && [ "$(grep -c ',dependency,dependency,' "$dir/r.csv")" -ge 2 ] && break
	grep -q ',absent,\|,denied,\|,failed,' "$dir/r.csv" 2>/dev/null && { grep -m1 ',absent,\|,denied,\|,failed,' "$dir/r.csv"; exit 77; }
	kill -0 $probe 2>/dev/null || { cat "$dir/out"; fail "the probe ended"; }
	sleep 0.1
done
grep -q ',dependency,dependency,' "$dir/r.csv" || { tail -n 4 "$dir/r.csv"; cat "$dir/out" "$dir/serve.log"; fail "no dependency row"; }
from=$(date +%s%3N)
stats >"$dir/s0"
sleep 4
stats >"$dir/s1"
to=$(date +%s%3N)
sleep 0.6
kill -INT $probe
wait $probe || fail "the probe ended with $?"

# lab KEY: what a counter grew by
lab() { awk -v k="$1" '$1 == k {if (FNR == NR && !seen++) a = $2; else b = $2} END {printf "%.0f\n", b - a}' "$dir/s0" "$dir/s1"; }
# probe RESOURCE KEY: mean of a detail figure over the rows whose window lies inside
probe() {
	while IFS= read -r row; do
		stamp=$(date -d "$(echo "${row%%,*}" | tr TZ '  ')" +%s%3N 2>/dev/null) || stamp=0
		[ "$stamp" -ge $((from + 500)) ] && [ "$stamp" -le "$to" ] && echo "$row"
	done <"$dir/rows.$1" | sed -n "s/.*[,;\"]$2=\([0-9.e+-]*\).*/\1/p" | awk '{s += $1; n++} END {if (!n) exit 1; print s / n}'
}
export TZ=UTC
for resource in requests dependency; do grep ",$resource,$([ $resource = requests ] && echo tcp:)127.0.0.1:" "$dir/r.csv" >"$dir/rows.$resource"; done
compare() { # NAME GOT WANT SHARE
	awk -v n="$1" -v g="$2" -v w="$3" -v s="$4" 'BEGIN {d = g > w ? g - w : w - g; t = s * w > 0.3 ? s * w : 0.3; ok = d <= t
		printf "%s: %s %.3f, the lab counted %.3f\n", ok ? "ok" : "WRONG", n, g, w; exit !ok}' || bad=1
}
bad=0
ns=$(lab mono_ns)
level() { awk -v a="$(lab "$1")" -v t="$ns" 'BEGIN {print a / t}'; }
rate=$(awk -v n="$(lab departures)" -v t="$ns" 'BEGIN {print n / t * 1e9}')
compare "requests in flight" "$(probe requests in_flight)" "$(level in_flight_area_ns)" 0.03
compare "requests per second" "$(probe requests departures_per_s)" "$rate" 0.03
compare "connections open" "$(probe dependency connections)" 4 0
compare "connections busy" "$(probe dependency busy)" "$(level pool_busy_area_ns)" 0.05
compare "wait for the pool, ms" "$(probe requests outside_dependencies_ms)" "$(awk -v w="$(level pool_wait_area_ns)" -v x="$rate" 'BEGIN {print w / x * 1e3}')" 0.10
sed -n 's/.*,"\?\(tp_btf[^"]*\|fentry[^"]*\) measured.*/by \1/p' "$dir/rows.requests" | head -n 1
exit $bad
