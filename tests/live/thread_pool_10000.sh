#!/bin/bash
# Ten thousand threads of one process, each parked on a futex of its own, in one snapshot: all are seen, and a snapshot (walk, folding,
# sums) costs less than 15 ms of CPU.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root for the BPF programs"; exit 77; }
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
dir=$(mktemp -d)
cat >"$dir/park.py" <<'PY'
import sys, threading, time
threading.stack_size(65536)
lock = threading.Lock()
lock.acquire()
try:
    for _ in range(10000):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
except RuntimeError as error:
    print(error)
    sys.exit(1)
print("ready", flush=True)
time.sleep(90)
PY
python3 "$dir/park.py" >"$dir/out" & parked=$!
trap 'kill -9 $parked 2>/dev/null || true; { wait; } 2>/dev/null; rm -rf "$dir"' EXIT
for _ in $(seq 300); do grep -q . "$dir/out" && break; sleep 0.1; done
grep -q ready "$dir/out" || { echo "ten thousand threads are not allowed here: $(cat "$dir/out")"; exit 77; }
"$B/useprobe" -p $parked -b -i 1 -d 8 --only thread_pool -o "$dir/t.csv" >/dev/null 2>"$dir/err" || { echo "FAILED: $(cat "$dir/err")"; exit 1; }
python3 - "$dir/t.csv" <<'PY'
import csv, statistics, sys
threads, cost, rate = [], [], []
for row in csv.DictReader(open(sys.argv[1])):
    d = dict(kv.split("=", 1) for kv in row["detail"].split(";") if "=" in kv)
    if row["resource"] == "thread-pool" and row["state"] == "ok" and "threads" in d:
        threads.append(float(d["threads"])), cost.append(float(d["snapshot_ms"])), rate.append(float(d["snapshots_per_s"]))
print(f"{statistics.median(threads):.0f} threads; a snapshot costs {statistics.median(cost):.1f} ms of CPU ({min(cost):.1f} to {max(cost):.1f}), {statistics.median(rate):.1f} a second")
sys.exit(not (statistics.median(threads) >= 10000 and min(cost) < 15))
PY
