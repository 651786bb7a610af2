#!/bin/bash
# Requests in flight and connections busy at the database, from the kernel's socket events, against the lab's exact counters.
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

"$B/uselab" db --listen 127.0.0.1:$((port + 1)) --workers 16 --service-ms 10 --duration 60s >"$dir/db.log" 2>&1 &
pids+=($!)
"$B/uselab" serve --listen 127.0.0.1:$port --workers 32 --cpu-ms 0.2 --db 127.0.0.1:$((port + 1)) --pool 4 --duration 60s >"$dir/serve.log" 2>&1 &
server=$!
pids+=($server)
for _ in $(seq 50); do curl -sf -o /dev/null "http://127.0.0.1:$port/_stats" && break; sleep 0.1; done
"$B/useprobe" -p $server -b -i 1 -d 8 --only requests,dependency -o "$dir/r.csv" >"$dir/out" 2>&1 &
probe=$!
sleep 1
# A pool of 4 at 10 ms does 400/s; 16 users without a pause keep it full, so 12 of them wait inside.
"$B/uselab" load --url "http://127.0.0.1:$port/" --users 16 --hold 7s --quiet -o "$dir/l.csv" >/dev/null &
pids+=($!)
sleep 2
curl -s "http://127.0.0.1:$port/_stats" >"$dir/s0"
sleep 4
curl -s "http://127.0.0.1:$port/_stats" >"$dir/s1"
wait $probe || fail "the probe ended with $?"
grep -q "not with this kernel\|kernel without" "$dir/out" && { grep -m1 "kernel without" "$dir/out"; exit 77; }

python3 - "$dir" <<'PY'
import csv, json, sys
folder = sys.argv[1]
first, last = (json.load(open(f"{folder}/{name}")) for name in ("s0", "s1"))
seconds = (last["mono_ns"] - first["mono_ns"]) / 1e9
truth = {key: (last[f"{key}_area_ns"] - first[f"{key}_area_ns"]) / 1e9 / seconds for key in ("in_flight", "pool_busy", "pool_wait")}
rate = (last["departures"] - first["departures"]) / seconds
rows = {"requests": [], "dependency": []}
for row in csv.DictReader(open(f"{folder}/r.csv")):
    if 3.5 < float(row["elapsed_s"]) < 6.5 and row["resource"] in rows:
        rows[row["resource"]].append(dict(pair.split("=", 1) for pair in row["detail"].split(";")))
mean = lambda resource, key: sum(float(d[key]) for d in rows[resource]) / len(rows[resource])
assert len(rows["requests"]) >= 2, "no requests row"
assert len(rows["dependency"]) == len(rows["requests"]), f"one peer expected: {rows['dependency']}"
figures = [
    ("requests in flight", mean("requests", "in_flight"), truth["in_flight"], 0.03),
    ("requests per second", mean("requests", "departures_per_s"), rate, 0.03),
    ("connections busy", mean("dependency", "busy"), truth["pool_busy"], 0.05),
    ("wait for the pool, ms", mean("requests", "outside_dependencies_ms"), truth["pool_wait"] / rate * 1e3, 0.10),
]
bad = 0
for name, got, want, tolerance in figures:
    ok = abs(got - want) <= max(tolerance * want, 0.3)
    bad += not ok
    print(f"{'ok' if ok else 'WRONG'}: {name} {got:.3f}, the lab counted {want:.3f}")
sys.exit(bad)
PY
