#!/bin/bash
# --queue against a program that counts the depth of its queue itself: process younger than the probe, older with items in it, a pop that
# waits and one that does not; what is wrong in an argument is said before the run; rights that are missing are named.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root for uprobes"; exit 77; }
dir=$(mktemp -d)
pids=()
cleanup() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }
chmod 755 "$dir"
cc -O2 -o "$dir/jobs" tests/live/queue_program.c -lpthread -lm
"$B/useprobe" doctor --json >"$dir/doctor.json"
status=$(python3 -c 'import json,sys; print(next(c["status"] + " " + str(c["reason"]) for c in json.load(open(sys.argv[1]))["collectors"] if c["collector"] == "queue"))' "$dir/doctor.json")
case $status in works*) ;; *) echo "no uprobes here: $status"; exit 77 ;; esac

# What can be told before the run is.
refused() { local text=$1; shift; if "$B/useprobe" "$@" --no-csv -b -d 1 >"$dir/out" 2>&1; then fail "accepted: $*"; else [ $? = 2 ] || fail "status of: $*"; fi; grep -q -- "$text" "$dir/out" || fail "$*: $(cat "$dir/out")"; }
refused "has no function jobs_pusch" --queue "jobs=$dir/jobs:jobs_pusch,jobs_pop"
refused "not a 64-bit ELF" --queue "jobs=/etc/passwd:a,b"
refused "No such file" --queue "jobs=$dir/none:a,b"
refused "absolute path" --queue "jobs=jobs:a,b"
refused "given twice" --queue "jobs=$dir/jobs:jobs_push,jobs_pop" --queue "jobs=$dir/jobs:jobs_push,job_run"
refused "name one with -c or -p" --queue libuv
strip -o "$dir/bare" "$dir/jobs"
refused "stripped" --queue "jobs=$dir/bare:jobs_push,jobs_pop"

# An ordinary user with all that BPF needs, but not CAP_SYS_ADMIN.
cp "$B/useprobe" "$dir/useprobe"
caps=+bpf,+perfmon
setpriv --reuid 65534 --clear-groups --inh-caps=$caps --ambient-caps=$caps "$dir/useprobe" --queue "jobs=$dir/jobs:jobs_push,jobs_pop" --only queue -b -d 1 --no-csv >"$dir/out" 2>&1 || fail "without CAP_SYS_ADMIN: $(cat "$dir/out")"
grep -q "CAP_SYS_ADMIN is missing" "$dir/out" || fail "without CAP_SYS_ADMIN: $(cat "$dir/out")"

probe() { # probe NAME MORE...: all processes that run the program, as a run of 9 s
	local name=$1; shift
	"$B/useprobe" --host -b -i 1 -d 9 --only queue -o "$dir/$name.csv" "$@" >"$dir/$name.out" 2>&1 &
	pids+=($!)
	for _ in $(seq 100); do [ -s "$dir/$name.csv" ] && return; sleep 0.1; done
	fail "$name: no row: $(cat "$dir/$name.out")"
}
copies() { for name; do cp "$dir/jobs" "$dir/$name"; done; } # probes are on files: a file for each case
copies young poll entry old begin
# old: workers begin 1.5 s late, so that items are in the queue when the probe comes.
"$dir/old" poll 15 250 4 6000 1500 >"$dir/old.truth" &
pids+=($!)
"$dir/begin" block 15 250 4 9300 1500 >"$dir/begin.truth" &
pids+=($!)
sleep 0.5
probe old --queue "old=$dir/old:jobs_push,jobs_try_pop@nonnull" --queue "begin=$dir/begin:jobs_push,job_run@begin" --queue "returns=$dir/begin:jobs_push,jobs_pop@return"
probe young --queue "young=$dir/young:jobs_push,jobs_pop@return" --queue "poll=$dir/poll:jobs_push,jobs_try_pop@nonnull" --queue "begun=$dir/entry:jobs_push,job_run" --queue "wrong=$dir/poll:jobs_push,jobs_try_pop"
for name in young poll entry; do
	mode=block; [ $name = poll ] && mode=poll
	"$dir/$name" $mode 9 400 4 9300 >"$dir/$name.truth" &
	pids+=($!)
done
# A root of its own, as in a container, where the path is an absolute link: below our root it would be another file. Its workers
# wait inside when the probe comes.
mkdir -p "$dir/root/bin" "$dir/root/opt"
cc -O2 -static -o "$dir/root/opt/jobs" tests/live/queue_program.c -lpthread -lm
ln -s /opt/jobs "$dir/root/bin/rooted"
chroot "$dir/root" /bin/rooted block 14 20 2 1000 >"$dir/rooted.truth" &
rooted=$!
pids+=($rooted)
sleep 0.3
"$B/useprobe" -p $rooted -b -i 1 -d 4 --only queue --queue "inside=/bin/rooted:jobs_push,job_run@begin" --queue "returns=/bin/rooted:jobs_push,jobs_pop@return" -o "$dir/rooted.csv" >"$dir/rooted.out" 2>&1 || fail "a root of its own: $(cat "$dir/rooted.out")"
for job in "${pids[@]}"; do wait "$job" || true; done

python3 - "$dir" <<'PY'
import csv, datetime, sys, time
dir = sys.argv[1]
offset = time.time() - time.monotonic()
def truth(name):
    lines = [list(map(int, l.split())) for l in open(f"{dir}/{name}.truth") if len(l.split()) == 6]
    def area(t):
        for a, b in zip(lines, lines[1:]):
            if a[0] <= t <= b[0]:
                return a[1] + (b[1] - a[1]) * (t - a[0]) / (b[0] - a[0])
    return lines, area
def rows(file, queue):
    for row in csv.DictReader(open(f"{dir}/{file}.csv")):
        if row["name"].endswith("/" + queue):
            end = (datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp() - offset) * 1e9
            row["detail"] = dict(p.split("=", 1) for p in row["detail"].split(";") if "=" in p)
            yield end, row
def compare(file, queue, program, skip, method):
    lines, area = truth(program)
    ours = theirs = 0
    n = 0
    for end, row in list(rows(file, queue))[skip:]:
        window = float(row["window_s"] or 0)
        a, b = area(end - window * 1e9), area(end)
        if not row["waiting"] or a is None or b is None:
            continue
        assert row["method"] == method, row
        ours += float(row["waiting"]) * window
        theirs += (b - a) / 1e9
        n += 1
    assert n >= 3, (queue, n, [r for _, r in rows(file, queue)])
    print(f"{queue}: {n} windows, {ours:.2f} item-seconds, the program counted {theirs:.2f} ({100 * (ours / theirs - 1):+.1f} %), {method}")
    assert abs(ours - theirs) <= 0.05 * theirs + 0.02, queue
compare("young", "young", "young", 0, "uprobes measured")
compare("young", "poll", "poll", 0, "uprobes measured")
compare("young", "begun", "entry", 0, "uprobes measured")
# Once the items of before are gone the bound is exact; until then it is below the truth.
compare("old", "old", "old", 5, "uprobes lower bound")
compare("old", "begin", "begin", 5, "uprobes lower bound")
lines, area = truth("old")
for end, row in list(rows("old", "old"))[:2]:
    if row["waiting"]:
        window = float(row["window_s"])
        assert float(row["waiting"]) <= (area(end) - area(end - window * 1e9)) / 1e9 / window * 1.02, row
# The highest depth, put and taken are the program's own; the sums of the rows are a few 0.1 s short of them at the ends.
lines, _ = truth("young")
last = [row for _, row in rows("young", "young") if row["waiting"]]
assert max(float(r["saturation"]) for r in last) <= lines[-1][5], (last, lines[-1])
assert float(last[-1]["detail"]["put_cost_us"]) > 0.05 and float(last[-1]["detail"]["probe_cost_ratio"]) < 0.05
inside = [row for _, row in rows("rooted", "inside") if row["state"] == "ok"]
print("a root of its own:", [(r["method"], r["waiting"], r["detail"]["empty_known_by"]) for r in inside])
assert inside and all(r["method"] == "uprobes lower bound" and float(r["waiting"]) < 0.5 for r in inside), inside
assert sum(float(r["detail"]["enqueues"]) for r in inside) >= 1, inside
# Returns of calls that began before the probe are not seen: no depth is better than one that is too high.
for file in ("old", "rooted"):
    returns = [row for _, row in rows(file, "returns") if row["state"] == "ok"]
    assert returns and all(r["waiting"] == "" and r["detail"]["dequeues_per_s"] for r in returns), returns
# A pop that finds nothing is no item: without @nonnull the contradiction is seen.
wrong = [row for _, row in rows("young", "wrong") if row["state"] == "ok"]
assert wrong and all(r["waiting"] == "" and "@nonnull" in r["detail"].get("waiting_state", "") for r in wrong[-2:]), wrong[-2:]
PY
