#!/bin/bash
# k of n workers busy: the lab's worker pool (against its own integral), a Python ThreadPoolExecutor and a Java executor where they are.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root for the BPF programs"; exit 77; }
dir=$(mktemp -d)
pids=()
cleanup() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }
# Mean of a key of the thread-pool rows whose name matches, without the first two windows.
mean() { awk -F, -v n="$2" -v k="$3" '$5 == "thread-pool" && $6 ~ n {c++; if (c > 2 && match($0, "[,;]" k "=[0-9.]+")) {v = substr($0, RSTART, RLENGTH); sub(/.*=/, "", v); s += v; m++}} END {if (!m) exit 1; print s / m}' "$1"; }
within() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN {d = a - b; if (d < 0) d = -d; exit !(d <= t)}'; }

port=18490
"$B/uselab" db --listen 127.0.0.1:$((port + 1)) --workers 16 --service-ms 20 --duration 60s >"$dir/db.log" 2>&1 &
pids+=($!)
"$B/uselab" serve --listen 127.0.0.1:$port --workers 12 --cpu-ms 0.1 --db 127.0.0.1:$((port + 1)) --pool 12 --duration 60s >"$dir/serve.log" 2>&1 &
lab=$!
pids+=($lab)
for _ in $(seq 50); do curl -sf -o /dev/null "http://127.0.0.1:$port/_stats" && break; sleep 0.1; done
"$B/useprobe" -p $lab -b -i 1 -d 8 --only thread_pool -o "$dir/lab.csv" >"$dir/out" 2>&1 &
probe=$!
sleep 1
"$B/uselab" load --url "http://127.0.0.1:$port/" --users 5 --hold 7s --quiet -o "$dir/l.csv" >/dev/null &
pids+=($!)
sleep 1.5
curl -s "http://127.0.0.1:$port/_stats" >"$dir/s0"
sleep 4.5
curl -s "http://127.0.0.1:$port/_stats" >"$dir/s1"
wait $probe || fail "the probe ended with $?"
truth=$(python3 - "$dir" <<'PY'
import json, sys
a, b = (json.load(open(f"{sys.argv[1]}/{n}")) for n in ("s0", "s1"))
print((b["worker_busy_area_ns"] - a["worker_busy_area_ns"]) / (b["mono_ns"] - a["mono_ns"]))
PY
)
busy=$(mean "$dir/lab.csv" "/worker-" busy) || { cat "$dir/out"; fail "no row of the workers"; }
echo "lab: busy $busy of 12, its own integral says $truth"
within "$busy" "$truth" 1 || fail "busy $busy, the lab counted $truth"

cat >"$dir/pool.py" <<'PY'
import concurrent.futures, socket, time
pairs = [socket.socketpair() for _ in range(3)]
pool = concurrent.futures.ThreadPoolExecutor(8)
warm = [pool.submit(time.sleep, 0.05) for _ in range(8)]
concurrent.futures.wait(warm)
time.sleep(1)
for mine, _ in pairs:
    pool.submit(mine.recv, 1)
time.sleep(30)
PY
python3 "$dir/pool.py" &
python=$!
pids+=($python)
sleep 0.6
"$B/useprobe" -p $python -b -i 1 -d 5 --only thread_pool -o "$dir/python.csv" >/dev/null 2>&1
busy=$(awk -F, '$5 == "thread-pool" {split("", v); if (match($0, /socket=[0-9.]+/)) s[$2] += substr($0, RSTART + 7, RLENGTH - 7)} END {for (t in s) if (t > 2.5) {x += s[t]; n++} print x / n}' "$dir/python.csv")
echo "python: $busy threads in recv of 3"
within "$busy" 3 1 || fail "python: $busy threads in recv, 3 are"
