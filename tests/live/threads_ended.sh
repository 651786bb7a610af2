#!/bin/bash
# Threads and processes that live a few milliseconds are in hardly any snapshot. A server with a thread for each request: the threads that
# the pool rows say have ended, and the CPU time they used, against the server's own count and clock. Then 200 processes of a shell.
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
command -v python3 >/dev/null && command -v curl >/dev/null || { echo "needs python3 and curl"; exit 77; }
port=18495
"$B/uselab" serve --listen 127.0.0.1:$port --mode thread-per-request --cpu-ms 2 --duration 60s >"$dir/serve.log" 2>&1 &
lab=$!
trap 'kill $lab 2>/dev/null || true; cleanup' EXIT
for _ in $(seq 50); do curl -sf -o /dev/null "http://127.0.0.1:$port/_stats" && break; sleep 0.1; done
"$B/useprobe" -p $lab -b -i 1 -d 12 --only thread_pool -o "$dir/t.csv" >"$dir/out" 2>&1 &
probe=$!
wait_for_row "$dir/t.csv"
sleep 1.5
curl -s "http://127.0.0.1:$port/_stats" >"$dir/s0"
"$B/uselab" load --url "http://127.0.0.1:$port/" --rate 60 --hold 5s --quiet -o "$dir/l.csv" >/dev/null
sleep 0.5
curl -s "http://127.0.0.1:$port/_stats" >"$dir/s1"
wait $probe || fail "the probe ended with $?: $(cat "$dir/out")"
requests=$(($(wc -l <"$dir/l.csv") - 1))
python3 - "$dir" "$requests" <<'PY' || fail "see above"
import csv, json, sys
dir, requests = sys.argv[1], int(sys.argv[2])
a, b = (json.load(open(f"{dir}/{n}")) for n in ("s0", "s1"))
cpu = (b["cpu_ns"] - a["cpu_ns"]) / 1e9
ended = unseen = used = 0
for row in csv.DictReader(open(f"{dir}/t.csv")):
    d = dict(kv.split("=", 1) for kv in row["detail"].split(";") if "=" in kv)
    if row["resource"] == "thread-pool" and row["window_s"]:
        ended += float(d.get("ended", 0))
        unseen += float(d.get("ended_unseen", 0))
        used += float(d.get("used_cpus", 0)) * float(row["window_s"])
print(f"{requests} requests: {ended:.0f} threads ended ({unseen:.0f} in no snapshot); CPU {used:.3f} s, the server's own clock {cpu:.3f} s")
# The server also burns a little outside of the span of its two answers.
sys.exit(not (requests <= ended <= requests + 5 and unseen > 0.3 * ended and abs(used - cpu) < 0.1 * cpu + 0.02))
PY
kill $lab 2>/dev/null || true
(join "$top"; exec sleep 30) &
"$B/useprobe" -c "/$top" -b -i 1 -d 6 --only thread_pool -o "$dir/p.csv" >"$dir/out" 2>&1 &
probe=$!
wait_for_row "$dir/p.csv"
(join "$top"; for _ in $(seq 200); do /bin/true; done)
wait $probe || fail "the probe ended with $?: $(cat "$dir/out")"
ended=$(awk -F, '$5 == "thread-pool" && match($0, /[,;]ended=[0-9]+/) {split(substr($0, RSTART, RLENGTH), kv, "="); n += kv[2]} END {print n + 0}' "$dir/p.csv")
echo "200 processes: $ended ends counted"
# The shell that starts them is one more.
[ "$ended" -ge 200 ] && [ "$ended" -le 203 ] || fail "$ended ends of 200 processes: $(grep thread-pool "$dir/p.csv" | cut -c 1-200 | tail -n 5)"
