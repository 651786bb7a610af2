#!/bin/bash
# --queue libuv on Node.js: with 4 threads and k jobs under way k - 4 wait. The jobs read from a pipe that is given a byte five times a second:
# they take a thread and no CPU, so the answer is known however busy the machine is.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root for uprobes"; exit 77; }
command -v node >/dev/null || { echo "no node here (package nodejs)"; exit 77; }
nm "$(readlink -f "$(command -v node)")" 2>/dev/null | grep -q ' uv__queue_work$' || { echo "this node has its libuv in a stripped library"; exit 77; }
dir=$(mktemp -d)
pids=()
cleanup() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }
cat >"$dir/jobs.js" <<'JS'
// K reads at a time from the pipe; or, without one, one pbkdf2 after the other.
const fs = require('fs'), { pbkdf2 } = require('crypto');
const k = +process.argv[2], pipe = process.argv[3];
const buffer = Buffer.alloc(64);
const fd = pipe && fs.openSync(pipe, 'r+');
const next = () => pipe ? fs.read(fd, buffer, 0, 1, null, next) : pbkdf2('a', 'b', 5000, 64, 'sha512', next);
for (let i = 0; i < k; i++) next();
setTimeout(() => process.exit(0), 60000);
JS
start() { # start NAME K: sets $node
	mkfifo "$dir/$1.pipe"
	UV_THREADPOOL_SIZE=4 node "$dir/jobs.js" "$2" "$dir/$1.pipe" &
	node=$!
	pids+=($node)
	( exec 3<>"$dir/$1.pipe"; while sleep 0.2; do printf x >&3; done ) &
	pids+=($!)
}
watch() { "$B/useprobe" -p "$2" -b -i 1 -d "$3" --only queue --queue libuv -o "$dir/$1.csv" >"$dir/$1.out" 2>&1 || fail "$1: $(cat "$dir/$1.out")"; }
start deep 10 && deep=$node
start idle 2 && idle=$node
UV_THREADPOOL_SIZE=4 node "$dir/jobs.js" 1 &
crypto=$!
pids+=($crypto)
sleep 1
watch deep $deep 12 & a=$!
watch idle $idle 5 & b=$!
watch crypto $crypto 3 & c=$!
wait $a && wait $b && wait $c
python3 - "$dir" <<'PY'
import csv, sys
def rows(name):
    for row in csv.DictReader(open(f"{sys.argv[1]}/{name}.csv")):
        row["detail"] = dict(p.split("=", 1) for p in row["detail"].split(";") if "=" in p)
        if row["waiting"]:
            yield row
def mean(rows):
    return sum(float(r["waiting"]) * float(r["window_s"]) for r in rows) / sum(float(r["window_s"]) for r in rows)
# The first six to begin were put before the probe came.
deep = [r for r in rows("deep") if float(r["elapsed_s"]) > 4.5]
assert deep, list(csv.DictReader(open(f"{sys.argv[1]}/deep.csv")))
print(f"10 jobs on 4 threads: {mean(deep):.3f} wait ({deep[-1]['method']}, empty known by {deep[-1]['detail']['empty_known_by']})")
assert abs(mean(deep) - 6) <= 0.3, deep
assert all(r["method"] == "uprobes measured" for r in deep), deep
early = [float(r["waiting"]) for r in rows("deep") if r["method"] == "uprobes lower bound"]
print(f"before that, as a lower bound: {early}")
assert all(w <= 6.01 for w in early), early
waits = [float(r["detail"]["measured_wait_ms"]) for r in deep if "measured_wait_ms" in r["detail"]]
print(f"wait of a job {sum(waits) / len(waits):.0f} ms measured; 1200 ms by Little's law at exactly 5 jobs/s")
idle = list(rows("idle"))
print(f"2 jobs on 4 threads: {mean(idle):.3f} wait")
assert mean(idle) < 0.1, idle
last = list(rows("crypto"))[-1]
print(f"pbkdf2: {last['detail']['enqueues_per_s']} jobs/s, probe {last['detail']['probe_cost_ratio']} of a CPU, single-stepped: {last['detail'].get('single_stepped')}")
assert float(last["detail"]["enqueues"]) > 5 and abs(float(last["detail"]["enqueues"]) - float(last["detail"]["dequeues"])) <= 1
assert float(last["waiting"]) < 0.5, last
PY
