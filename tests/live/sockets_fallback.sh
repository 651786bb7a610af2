#!/bin/bash
# Where the socket events of the kernel cannot be had: requests in flight and connections busy from looks at the connections (who spoke
# last), within 10 % of the lab's own exact counters; without BPF, bounds that hold them. Both are samples, so the bounds get 15 %.
# Open and closed loop, with and without pauses; and a run without any rights.
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
for row in csv.DictReader(open(f"{folder}/{by}.csv")):
    at = datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp()
    if row["state"] in ("denied", "failed", "absent") and row["resource"] in rows and float(row["elapsed_s"]) > 2:
        print(row["detail"]); sys.exit(77)
    if row["resource"] in rows and row["state"] == "ok" and begin < at - float(row["window_s"]) / 2 < end:
        rows[row["resource"]].append((float(row["window_s"]), dict(p.split("=", 1) for p in row["detail"].split(";")), row["method"]))
def mean(resource, key):
    some = [(w, float(d[key])) for w, d, _ in rows[resource] if key in d] # none: no pass in that window
    assert len(some) >= 3, f"{len(some)} rows with {key}"
    return sum(w * v for w, v in some) / sum(w for w, _ in some)
bad = 0
def check(name, got, want, share):
    global bad
    right = abs(got - want) <= max(share * want, 0.3)
    bad += not right
    print(f"{'ok' if right else 'WRONG'}: {by}, {label}: {name} {got:.3f}, the lab counted {want:.3f}")
def inside(name, low, high, want):
    global bad
    slack = max(0.15 * want, 0.3) # of some forty samples
    right = low <= want + slack and high >= want - slack
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
        # The lab counts until it has read the answer.
        inside("connections busy", mean("dependency", "busy_low"), mean("dependency", "busy_high") + mean("dependency", "answers_unread"), truth("pool_busy"))
    assert "bound" in rows["requests"][0][2], rows["requests"][0][2]
sys.exit(bad > 0)
PY

port=18490
bad=0
# measure LABEL "SERVER OPTIONS" LOAD...: both at once
measure() {
	local by label=$1 server status p
	local -a mine=() probes=()
	"$B/uselab" db --listen 127.0.0.1:$((port + 1)) --workers 64 --service-ms 10 --duration 60s >"$dir/db.log" 2>&1 &
	mine+=($!)
	# shellcheck disable=SC2086
	"$B/uselab" serve --listen 127.0.0.1:$port $2 --duration 60s >"$dir/serve.log" 2>&1 &
	server=$!
	mine+=($server)
	shift 2
	for _ in $(seq 50); do curl -sf -o /dev/null "http://127.0.0.1:$port/_stats" && break; sleep 0.1; done
	for by in looks bounds; do
		USEPROBE_REQUESTS=$by "$B/useprobe" -p $server -b -i 1 -d 8.2 --only requests,dependency -o "$dir/$by.csv" --force >"$dir/$by.out" 2>&1 &
		probes+=($!)
	done
	"$B/uselab" load --url "http://127.0.0.1:$port/" "$@" --hold 9s --quiet -o "$dir/l.csv" >/dev/null 2>&1 &
	mine+=($!)
	pids+=("${probes[@]}" "${mine[@]}")
	sleep 2
	curl -s "http://127.0.0.1:$port/_stats" >"$dir/s0"; date +%s.%N >"$dir/t0"
	sleep 6
	curl -s "http://127.0.0.1:$port/_stats" >"$dir/s1"; date +%s.%N >"$dir/t1"
	for p in "${probes[@]}"; do wait "$p" || { cat "$dir"/*.out; fail "a probe ended with $?"; }; done
	for p in "${mine[@]}"; do kill "$p" 2>/dev/null || true; wait "$p" 2>/dev/null || true; done
	for by in looks bounds; do
		status=0
		python3 "$dir/compare.py" "$dir" "$label" "$by" || status=$?
		[ $status != 77 ] || exit 77
		bad=$((bad + status))
	done
	port=$((port + 2))
}

db="--db 127.0.0.1"
measure "closed loop, pool full" "--workers 32 --cpu-ms 0.2 $db:$((port + 1)) --pool 4" --users 16
measure "closed loop with pauses" "--workers 128 --cpu-ms 0.1 $db:$((port + 1)) --pool 64" --users 80 --think-ms exp:20
measure "open loop" "--workers 64 --wait-ms 40" --rate 600 --poisson

# A user's own server, seen by that user.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$B/useprobe" "$B/uselab" "$dir/"
	mkdir "$dir/out.d"
	chmod 755 "$dir" "$dir/useprobe" "$dir/uselab"
	chmod 777 "$dir/out.d"
	user() { exec setpriv --reuid 65534 --clear-groups "$@"; }
	user "$dir/uselab" serve --listen 127.0.0.1:$port --wait-ms 50 --duration 20s >"$dir/serve.log" 2>&1 &
	server=$!
	pids+=($server)
	sleep 0.5
	"$B/uselab" load --url "http://127.0.0.1:$port/" --users 8 --hold 5s --quiet -o "$dir/l.csv" >/dev/null 2>&1 &
	pids+=($!)
	(user "$dir/useprobe" -p $server -b -i 1 -d 4 --only requests -o "$dir/out.d/r.csv") >"$dir/out" 2>&1 || { cat "$dir/out"; fail "without rights"; }
	grep -q ',requests,tcp:127.0.0.1:.*bounds.*in_flight_high=[5-9].*no_better_because=CAP_BPF' "$dir/out.d/r.csv" ||
		{ tail -n 2 "$dir/out.d/r.csv"; fail "without rights there are no bounds"; }
	echo "ok: without rights, bounds"
fi
exit $bad
