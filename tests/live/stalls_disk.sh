#!/bin/bash
# Three processes write and fsync in a loop and tell from their own schedstat how long they were neither on a CPU nor ready for one: that
# time they were blocked in the call. `waiting` of the disk row has to say the same, for a cgroup and for one of the processes; a sleeper
# beside them waits for nothing.
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
files=$(mktemp -d -p "$B")
trap 'cleanup; rm -rf "$files"' EXIT
cat >"$dir/writer.py" <<'PY'
import os, sys, time
name, log = sys.argv[1:]
fd = os.open(name, os.O_CREAT | os.O_WRONLY)
stat = open("/proc/self/schedstat", "rb", buffering=0)
out = open(log, "w")
first = None
while True:
    stat.seek(0)
    run, delay = map(int, stat.read().split()[:2])
    now = time.clock_gettime_ns(time.CLOCK_REALTIME)
    if first is None:
        first = now - run - delay
    print(now / 1e9, (now - run - delay - first) / 1e9, file=out, flush=True)
    until = time.monotonic() + 0.05
    while time.monotonic() < until:
        os.pwrite(fd, b"x" * 4096, 0)
        os.fsync(fd)
PY
cat >"$dir/compare.py" <<'PY'
import csv, sys, datetime
rows = [r for r in csv.DictReader(open(sys.argv[1])) if r["resource"] == "disk" and r["name"] == sys.argv[2] and r["waiting"]]
assert len(rows) >= 4, f"{len(rows)} rows of {sys.argv[2]} with a number"
end = datetime.datetime.fromisoformat(rows[-1]["time"].replace("Z", "+00:00")).timestamp()
length = sum(float(r["window_s"]) for r in rows)
begin = end - length
shown = sum(float(r["waiting"]) * float(r["window_s"]) for r in rows) / length
def at(points, t):
    for (t0, v0), (t1, v1) in zip(points, points[1:]):
        if t0 <= t <= t1:
            return v0 + (v1 - v0) * (t - t0) / (t1 - t0)
    raise SystemExit("the writer did not span the rows")
truth = 0
for log in sys.argv[3:]:
    points = [tuple(map(float, l.split())) for l in open(log)]
    truth += (at(points, end) - at(points, begin)) / length
most = max(float(r["detail"].split("waiting_max=")[1].split(";")[0]) for r in rows)
n = len(sys.argv) - 3
# Ten snapshots a second: a share p of n threads is known to about sqrt(n p (1 - p) / (10 s)).
room = 3 * (n / 4 / (10 * length)) ** 0.5 + 0.1 * truth
print(f"{sys.argv[2]}: shown {shown:.2f} (most {most:.0f}), the writers' own {truth:.2f}, allowed +-{room:.2f}")
sys.exit(not (abs(shown - truth) <= room and most <= n and truth > 0.1 * n))
PY
(join "$top"; exec sleep 60) &
logs=()
for i in 1 2 3; do
	(join "$top"; exec python3 "$dir/writer.py" "$files/$i" "$dir/log$i") & writer=$!
	logs+=("$dir/log$i")
done
for i in 1 2 3; do
	for _ in $(seq 100); do [ -s "$dir/log$i" ] && break; sleep 0.1; done
done
"$B/useprobe" -c "/$top" -p $writer -b -i 1 -d 11 --only disk -o "$dir/d.csv" >/dev/null 2>"$dir/err" || fail "$(cat "$dir/err")"
sleep 1.5
python3 "$dir/compare.py" "$dir/d.csv" "/$top" "${logs[@]}" || fail "the cgroup: see above"
python3 "$dir/compare.py" "$dir/d.csv" "python3[$writer]" "$dir/log3" || fail "the process: see above"
