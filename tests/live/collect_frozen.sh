#!/bin/bash
# Freezes a group of its own for times known from outside, on v2 and on v1, and holds the row's integral against them. A short freeze falls
# between two ticks: only the kernel's clock (cgroup.stat.local) can tell it; without that clock the ends of the windows are all there is.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root to create a cgroup"; exit 77; }
dir=$(mktemp -d)
top=useprobe-frozen-$$
pid=
v2=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
v1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)freezer(,|$)/ {print $2; exit}' /proc/mounts)
fail() { echo "FAILED: $*"; exit 1; }
cleanup() {
	[ -e "$v2/$top/cgroup.freeze" ] && echo 0 >"$v2/$top/cgroup.freeze"
	[ -e "$v1/$top/freezer.state" ] && echo THAWED >"$v1/$top/freezer.state"
	[ -z "$pid" ] || { kill -9 "$pid"; wait "$pid"; } 2>/dev/null || true
	for _ in 1 2 3 4 5; do rmdir "$v2/$top" "$v1/$top" 2>/dev/null || true; [ -e "$v2/$top" ] || [ -e "$v1/$top" ] || break; sleep 0.1; done
	rm -rf "$dir"
}
trap cleanup EXIT

# run GROUP_DIR FREEZE_FILE ON OFF SECONDS TOLERANCE_S
run() {
	mkdir "$1"
	sleep 60 & pid=$!
	echo "$pid" >"$1/cgroup.procs"
	"$B/useprobe" -c "/$top" --only frozen -b -i 0.5 -d 4 -o "$dir/f.csv" >/dev/null 2>&1 & probe=$!
	sleep 1.1
	begin=$EPOCHREALTIME
	echo "$3" >"$2"; sleep "$5"; echo "$4" >"$2"
	end=$EPOCHREALTIME
	wait $probe
	awk -F, -v b="$begin" -v e="$end" -v tol="$6" '$5 == "frozen" && $8 != "" { got += $8 * $3 }
		END { want = e - b; printf "frozen %.3f s, shown %.3f s\n", want, got; exit !(got > want - tol && got < want + tol) }' \
		"$dir/f.csv" || fail "$1: see above: $(tail -n 1 "$dir/f.csv")"
	{ kill -9 $pid; wait $pid; } 2>/dev/null || true
	pid=
	sleep 0.2
	rmdir "$1"
	rm -f "$dir"/f.*
}

ran=0
if [ -n "$v2" ] && mkdir "$v2/$top" 2>/dev/null; then
	clock=$(grep -c frozen_usec "$v2/$top/cgroup.stat.local" 2>/dev/null || true)
	rmdir "$v2/$top"
	# Without the clock each of the two changes is known to half an interval.
	if [ "$clock" = 1 ]; then run "$v2/$top" "$v2/$top/cgroup.freeze" 1 0 0.2 0.03
	else run "$v2/$top" "$v2/$top/cgroup.freeze" 1 0 1.5 0.55; fi
	ran=1
fi
if [ -n "$v1" ]; then run "$v1/$top" "$v1/$top/freezer.state" FROZEN THAWED 1.5 0.55; ran=1; fi
[ $ran = 1 ] || { echo "no cgroup with a freezer is mounted"; exit 77; }
