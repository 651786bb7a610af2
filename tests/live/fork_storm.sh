#!/bin/bash
# A fork storm and cgroups that come and go inside the target, STORM_S seconds (20; make soak: 600): no negative number, counters that do not
# stand still, and a probe that does not grow. The storm is bounded: four loops, one child each at a time.
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
seconds=${STORM_S:-20}
# Of the probe's memory from a third of the run on: in 20 s the history of a thousand names still fills (3 KB each), after minutes nothing.
growth_kb=$([ "$seconds" -ge 300 ] && echo 1024 || echo 6144)

make_group "$top/storm"
# Leaves only hold processes on v2, so the target stays an inner group there.
make_group "$top/storm/forks"
for _ in 1 2 3 4; do
	( join "$top/storm/forks"; while :; do ( : ); sleep 0.001; done ) &
done
# Groups that live for a moment, with a process in each; cleanup() removes the one that is left.
churn() {
	local n=0 name pid
	while :; do
		name=$top/storm/churn$((n++ % 8))
		mkdir "$cpu/$name" 2>/dev/null || true
		( echo "$BASHPID" >"$cpu/$name/cgroup.procs" && exec sleep 0.02 ) &
		pid=$!
		wait $pid || true
		rmdir "$cpu/$name" 2>/dev/null || true
		echo $n >"$dir/churned"
	done
}
churn 2>/dev/null &
churner=$!
end_churn() {
	local left
	kill $churner 2>/dev/null || true
	wait $churner 2>/dev/null || true
	for left in "$cpu/$top"/storm/churn*; do
		[ -d "$left" ] || continue
		xargs -r kill -9 <"$left/cgroup.procs" 2>/dev/null || true
		sleep 0.1
		rmdir "$left" || true
	done
}
trap 'end_churn; cleanup' EXIT

"$B/useprobe" -c "$top/storm" -i 0.5 -d "$seconds" -b -o "$dir/storm.csv" >/dev/null 2>"$dir/errors" &
probe=$!
wait_for_row "$dir/storm.csv"
rss() { awk '/^VmRSS/ {print $2}' "/proc/$probe/status"; }
descriptors() { ls "/proc/$probe/fd" | wc -l; }
forks() { awk '/^processes/ {print $2}' /proc/stat; }
forks0=$(forks)
sleep $((seconds / 3))
early=$(rss) early_fds=$(descriptors)
sleep $((seconds / 2))
late=$(rss) late_fds=$(descriptors)
forks1=$(forks)
end_churn
wait $probe || fail "the probe ended with $?: $(cat "$dir/errors")"

echo "$((forks1 - forks0)) forks, $(cat "$dir/churned") groups came and went; memory $early -> $late KB, descriptors $early_fds -> $late_fds"
[ $((forks1 - forks0)) -gt $((seconds * 20)) ] || fail "there was no storm"
[ "$(cat "$dir/churned")" -gt "$seconds" ] || fail "the groups did not come and go"
[ $((late - early)) -lt $growth_kb ] || fail "the probe grew by $((late - early)) KB"
[ $((late_fds - early_fds)) -lt 8 ] || fail "$((late_fds - early_fds)) descriptors more are open"
# No cell and no detail figure is below zero. "-" alone stands for "nothing".
python3 - "$dir/storm.csv" <<'P' || fail "negative numbers"
import csv, re, sys
bad = rows = 0
with open(sys.argv[1], newline="") as file:
    for row in csv.reader(line for line in file if not line.startswith("#")):
        rows += 1
        for cell in row:
            if re.match(r"^-[0-9.]", cell) or re.search(r"=-[0-9.]", cell) or re.search(r"(^|=)-?(nan|inf)\b", cell):
                bad += 1
                print(",".join(row)[:400])
                break
print(rows, "rows,", bad, "with a negative number")
sys.exit(bad > 0 or rows < 100)
P
# The storm is in the rows of the target.
awk -F, -v n="/$top/storm" '$5 == "cpu" && $6 == n && $7 > 0 {n_ok++} $5 == "cpu" && $6 == n && $7 != "" {all++} END {print n_ok + 0, "of", all + 0, "cpu rows above 0"; exit !(n_ok > 10 && n_ok == all)}' \
	"$dir/storm.csv" || fail "the target's CPU time is not in its rows"
