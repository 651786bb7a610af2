#!/bin/bash
# useprobe compare on real runs, made in turns: a server whose median got better and whose tail got worse is told from the one before, with the
# environment of the samples; six runs of one server are not told apart.
set -eu
lab=${B:-build}/uselab useprobe=${B:-build}/useprobe
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
dir=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT

# start NAME ARGS...: a server on a free port; sets port and pid.
start() {
	local name=$1; shift
	"$lab" serve --workers 16 --listen 127.0.0.1:0 --duration 90s "$@" >"$dir/$name.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	for _ in $(seq 100); do
		port=$(sed -n 's/.*listening on port \([0-9]*\).*/\1/p' "$dir/$name.out")
		[ -n "$port" ] && return
		sleep 0.05
	done
	cat "$dir/$name.out"; exit 1
}
# load NAME PORT SEED; measure NAME PORT PID SEED: with samples around it
load() { "$lab" load --url "http://127.0.0.1:$2/" --rate 400 --poisson --hold 3s --seed "$3" --quiet -o "$dir/$1.csv" >/dev/null; }
measure() {
	local probe
	"$useprobe" --pid "$3" -i 500ms -b -o "$dir/$1-samples.csv" --note server="${1%[0-9]}" >/dev/null 2>"$dir/$1.err" &
	probe=$!
	pids+=("$probe")
	for _ in $(seq 200); do
		[ -s "$dir/$1-samples.csv" ] && break
		sleep 0.05
	done
	load "$1" "$2" "$4"
	kill -INT "$probe"
	wait "$probe" || { cat "$dir/$1.err"; exit 1; }
}

start before --wait-ms exp:8 --seed 1; before=$port before_pid=$pid
start after --wait-ms exp:4 --miss=25:250 --seed 2; after=$port after_pid=$pid
for k in 1 2 3; do
	measure before$k "$before" "$before_pid" $k
	measure after$k "$after" "$after_pid" $((10 + k))
done
load before4 "$before" 4
load before5 "$before" 5
load before6 "$before" 6

side() { local name=$1 k; shift; for k in "$@"; do echo "$dir/$name$k.csv+$dir/$name$k-samples.csv"; done; }
# shellcheck disable=SC2046
"$useprobe" compare $(side before 1 2 3) --to $(side after 1 2 3) | tee "$dir/text"
"$useprobe" compare $(side before 1 2 3) --to $(side after 1 2 3) --json >"$dir/changed.json"
"$useprobe" compare $(side before 1 2 3) --to "$dir"/before[456].csv --json >"$dir/same.json"
busy=$(python3 -c "
import json, os
f = json.load(open('$dir/changed.json'))['figures']['cpu_outside_cpus']
print(int(100 * max(f['base']['max'] or 0, f['new']['max'] or 0) / os.cpu_count()))")
[ "$busy" -lt 85 ] || { echo "others used $busy % of the CPUs: runs differ too much among themselves to claim anything"; exit 77; }
grep -q "the change helps the median and hurts the tail" "$dir/text"
head -n 2 "$dir/text" | grep -q "^environment"
grep -q "differs: note server: before before, after after" "$dir/text"

python3 - "$dir" <<'PY'
import csv, json, math, sys
dir = sys.argv[1]
changed, same = (json.load(open(f"{dir}/{n}.json")) for n in ("changed", "same"))

def ms(name):
    return sorted((float(q["end_s"]) - float(q["planned_s"])) * 1e3 for q in csv.DictReader(open(f"{dir}/{name}.csv")) if q["end_s"])

def rank(values, p):
    return values[math.ceil(round(p / 100 * len(values), 9)) - 1]

for side, name in (("base", "before"), ("new", "after")):
    for figure, p in (("p50", 50), ("p95", 95), ("p99", 99)):
        mine = [rank(ms(f"{name}{k}"), p) for k in (1, 2, 3)]
        theirs = changed["figures"][figure][side]
        assert abs(theirs["min"] - min(mine)) < 0.002 and abs(theirs["max"] - max(mine)) < 0.002, (figure, mine, theirs)
f = changed["figures"]
assert f["p50"]["difference"] == "lower" and f["p50"]["better"] is True, f["p50"]
assert f["p99"]["difference"] == "higher" and f["p99"]["better"] is False, f["p99"]
assert f["cpu_outside_cpus"]["base"]["runs"] == 3 and f["cpu_outside_cpus"]["base"]["max"] >= 0
assert 0 < f["cpu_targets_cpus"]["new"]["median"] < 1, f["cpu_targets_cpus"]
assert changed["environment"]["known_of_runs"] == [3, 3] and changed["environment"]["same_facts"] > 5
# One figure may fall apart by chance (0.7 % of the times); median and tail together do not.
s = same["figures"]
print("one server, six runs:", {k: v["difference"] for k, v in s.items()})
assert s["p50"]["difference"] == "none" or s["p99"]["difference"] == "none"
assert same["shape"] is None or "hurts" not in same["shape"]
PY
