#!/bin/bash
# Where the socket events of the kernel cannot be had: requests in flight and connections busy from looks at the connections (who spoke
# last), within 10 % of the lab's own exact counters. Open and closed loop, with and without pauses, and unread requests.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
command -v python3 >/dev/null && command -v curl >/dev/null || { echo "python3 or curl is missing"; exit 77; }
dir=$(mktemp -d)
pids=()
cleanup() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }

cat >"$dir/compare.py" <<'PY'
# compare.py FOLDER LABEL BY: the probe's rows between the two readings of the lab's counters, weighted by their windows
import csv, json, sys
from datetime import datetime
folder, label, by = sys.argv[1:4]
first, last = (json.load(open(f"{folder}/{name}")) for name in ("s0", "s1"))
begin, end = (float(open(f"{folder}/t{i}").read()) for i in (0, 1))
seconds = (last["mono_ns"] - first["mono_ns"]) / 1e9
truth = lambda key: (last[f"{key}_area_ns"] - first[f"{key}_area_ns"]) / 1e9 / seconds
rows = {"requests": [], "dependency": []}
for row in csv.DictReader(open(f"{folder}/r.csv")):
    at = datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp()
    if row["state"] in ("denied", "failed", "absent") and row["resource"] in rows and float(row["elapsed_s"]) > 2:
        print(row["detail"]); sys.exit(77)
    if row["resource"] in rows and row["state"] == "ok" and begin < at - float(row["window_s"]) / 2 < end:
        rows[row["resource"]].append((float(row["window_s"]), dict(p.split("=", 1) for p in row["detail"].split(";")), row["method"]))
def mean(resource, key):
    some = [(w, float(d.get(key) or print(d) or 0)) for w, d, _ in rows[resource]]
    return sum(w * v for w, v in some) / sum(w for w, _ in some)
bad = 0
def check(name, got, want, share):
    global bad
    right = abs(got - want) <= max(share * want, 0.3)
    bad += not right
    print(f"{'ok' if right else 'WRONG'}: {by}, {label}: {name} {got:.3f}, the lab counted {want:.3f}")
def inside(name, low, high, want):
    global bad
    right = low <= want + max(0.02 * want, 0.05) and high >= want - max(0.02 * want, 0.05)
    bad += not right
    print(f"{'ok' if right else 'WRONG'}: {by}, {label}: {name} {low:.3f} to {high:.3f}, the lab counted {want:.3f}")
assert rows["requests"], "no row of requests"
if by != "bounds":
    check("in flight", mean("requests", "in_flight"), truth("in_flight"), 0.10)
    if rows["dependency"]:
        check("connections busy", mean("dependency", "busy"), truth("pool_busy"), 0.10)
    assert by != "looks" or "iter/tcp" in rows["requests"][0][2], rows["requests"][0][2]
else:
    inside("in flight", mean("requests", "in_flight_low"), mean("requests", "in_flight_high"), truth("in_flight"))
    if rows["dependency"]:
        inside("connections busy", mean("dependency", "busy_low"), mean("dependency", "busy_high"), truth("pool_busy"))
    assert "bound" in rows["requests"][0][2], rows["requests"][0][2]
sys.exit(bad > 0)
PY

port=18490
bad=0
# measure BY LABEL "SERVER OPTIONS" LOAD...
measure() {
	local by=$1 label=$2 server probe status=0 p
	local -a mine=()
	"$B/uselab" db --listen 127.0.0.1:$((port + 1)) --workers 64 --service-ms 10 --duration 60s >"$dir/db.log" 2>&1 &
	mine+=($!)
	# shellcheck disable=SC2086
	"$B/uselab" serve --listen 127.0.0.1:$port $3 --duration 60s >"$dir/serve.log" 2>&1 &
	server=$!
	mine+=($server)
	shift 3
	for _ in $(seq 50); do curl -sf -o /dev/null "http://127.0.0.1:$port/_stats" && break; sleep 0.1; done
	USEPROBE_REQUESTS=$by "$B/useprobe" -p $server -b -i 1 -d 8.2 --only requests,dependency -o "$dir/r.csv" --force >"$dir/out" 2>&1 &
	probe=$!
	"$B/uselab" load --url "http://127.0.0.1:$port/" "$@" --hold 9s --quiet -o "$dir/l.csv" >/dev/null 2>&1 &
	mine+=($!)
	pids+=("$probe" "${mine[@]}")
	sleep 2
	curl -s "http://127.0.0.1:$port/_stats" >"$dir/s0"; date +%s.%N >"$dir/t0"
	sleep 6
	curl -s "http://127.0.0.1:$port/_stats" >"$dir/s1"; date +%s.%N >"$dir/t1"
	wait $probe || { cat "$dir/out"; fail "the probe ended with $?"; }
	for p in "${mine[@]}"; do kill "$p" 2>/dev/null || true; wait "$p" 2>/dev/null || true; done
	python3 "$dir/compare.py" "$dir" "$label" "$by" || status=$?
	[ $status != 77 ] || exit 77
	bad=$((bad + status))
	port=$((port + 2))
}

db="--db 127.0.0.1"
for by in ${BY:-looks}; do
	measure $by "closed loop, pool full" "--workers 32 --cpu-ms 0.2 $db:$((port + 1)) --pool 4" --users 16
	measure $by "closed loop with pauses" "--workers 128 --cpu-ms 0.1 $db:$((port + 1)) --pool 64" --users 80 --think-ms exp:20
	measure $by "open loop" "--workers 64 --wait-ms 40" --rate 600 --poisson
done
exit $bad
