#!/bin/bash
# The main job against the kernel's own counters: two spinners under a quota of half a CPU, on the group itself and on its parent.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root to create a cgroup"; exit 77; }
dir=$(mktemp -d)
name=useprobe-test-$$
made=() spinners=()
cleanup() {
	for pid in "${spinners[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	for ((i = ${#made[@]} - 1; i >= 0; i--)); do rmdir "${made[i]}" 2>/dev/null || true; done
	rm -rf "$dir"
}
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }

v2=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
if [ -n "$v2" ] && grep -qw cpu "$v2/cgroup.controllers"; then
	version=2 mounts=("$v2") cpu=$v2
	echo +cpu >"$v2/cgroup.subtree_control"
else
	version=1
	cpu=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ {print $2; exit}' /proc/mounts)
	acct=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpuacct(,|$)/ {print $2; exit}' /proc/mounts)
	[ -n "$cpu" ] || { echo "no cpu controller is mounted"; exit 77; }
	mounts=("$cpu")
	[ "$acct" = "$cpu" ] || mounts+=("$acct")
fi
make_group() {
	for mount in "${mounts[@]}"; do
		mkdir "$mount/$1"
		made+=("$mount/$1")
	done
}
quota() { if [ $version = 2 ]; then echo "50000 100000" >"$cpu/$1/cpu.max"; else echo 50000 >"$cpu/$1/cpu.cfs_quota_us"; fi; }
usage_ns() { if [ $version = 2 ]; then awk '/^usage_usec/ {print $2 * 1000}' "$cpu/$1/cpu.stat"; else cat "${mounts[-1]}/$1/cpuacct.usage"; fi; }
spin_in() {
	(
		for mount in "${mounts[@]}"; do echo $BASHPID >"$mount/$1/cgroup.procs"; done
		exec timeout 30 sh -c 'while :; do :; done'
	) &
	spinners+=($!)
}
# Average of a column over the rows of one name, without the first row.
mean() { awk -F, -v n="$2" -v c="$3" '$4 == "cgroup" && $5 == "cpu" && $6 == n && $c != "" {s += $c; k++} END {if (k < 3) exit 1; print s / k}' "$1"; }

echo "own quota"
make_group "$name"
quota "$name"
spin_in "$name"
spin_in "$name"
sleep 0.5
"$B/useprobe" -c "$name" -i 0.5 -d 7 -b -o "$dir/all.csv" >/dev/null &
probe=$!
# The kernel's figure has to span the same seconds as the rows: from the second one on.
rows() { awk -F, '$4 == "cgroup" && $5 == "cpu" {n++} END {print n + 0}' "$dir/all.csv" 2>/dev/null || echo 0; }
for _ in $(seq 100); do [ "$(rows)" -ge 2 ] && break; sleep 0.05; done
n0=$(rows) t0=$(date +%s%N) u0=$(usage_ns "$name")
sleep 4
n1=$(rows) t1=$(date +%s%N) u1=$(usage_ns "$name")
wait $probe
{ head -n 1 "$dir/all.csv"; grep ",cgroup,cpu," "$dir/all.csv" | sed -n "$((n0 + 1)),${n1}p"; } >"$dir/own.csv"
truth=$(awk -v u=$((u1 - u0)) -v t=$((t1 - t0)) 'BEGIN {print u / t / 0.5}')
got=$(mean "$dir/own.csv" "/$name" 7)
awk -v a="$got" -v b="$truth" 'BEGIN {exit !(a / b > 0.97 && a / b < 1.03)}' || fail "utilization $got, the kernel says $truth"
share=$(mean "$dir/own.csv" "/$name" 8)
awk -v s="$share" 'BEGIN {exit !(s >= 0.9)}' || fail "throttled share $share, two spinners on half a CPU are throttled in every period"

echo "quota on the parent"
for pid in "${spinners[@]}"; do kill "$pid"; done
wait 2>/dev/null || true
spinners=()
make_group "$name/child"
spin_in "$name/child"
spin_in "$name/child"
sleep 0.5
"$B/useprobe" -c "$name/child" -i 0.5 -d 4 -b -o "$dir/parent.csv" >/dev/null
grep -q "cgroup,cpu,/$name/child,.*limited_by=/$name;" "$dir/parent.csv" || fail "the child does not name its ancestor"
waiting=$(mean "$dir/parent.csv" "/$name/child" 10) || fail "the child has no waiting"
# Two tasks that want 2 CPUs and get 0.5: 1.5 wait when the machine is otherwise idle; on a busy one contention takes its part.
awk -v w="$waiting" 'BEGIN {exit !(w > 0.5 && w < 1.7)}' || fail "waiting of the child is $waiting"
mean "$dir/parent.csv" "/$name" 8 >"$dir/share" || fail "the ancestor has no row of its own"
echo "utilization $got (kernel: $truth), throttled $share; child waiting $waiting"

echo "ticks on time"
"$B/useprobe" -c "$name" -i 0.1 -d 5 --only cpu -b -o "$dir/fast.csv" >/dev/null
ticks=$(awk -F, -v n="/$name" '$5 == "cpu" && $6 == n' "$dir/fast.csv" | wc -l)
[ "$ticks" -ge 50 ] && [ "$ticks" -le 51 ] || fail "$ticks ticks in 5 s at 100 ms"

echo "kill -9 leaves at most one cut line"
for i in $(seq 30); do
	rm -f "$dir/killed.csv" "$dir/killed.json"
	"$B/useprobe" -c "$name" -i 0.1 -b -o "$dir/killed.csv" >/dev/null &
	pid=$!
	sleep 0.$((RANDOM % 4 + 1))
	kill -9 $pid
	wait $pid 2>/dev/null || true
	[ -e "$dir/killed.csv" ] || continue
	# Quoted fields of ours hold commas but no newlines here, so whole lines end with the target's column.
	bad=$(tail -n +2 "$dir/killed.csv" | grep -cvE ",($name)?$" || true)
	[ "$bad" -le 1 ] || fail "$bad cut lines after kill -9"
done

echo "a full disk is said"
if "$B/useprobe" -c "$name" -d 1 -b -o /dev/full >/dev/null 2>"$dir/full"; then fail "/dev/full gave exit 0"; else rc=$?; fi
[ $rc = 1 ] || fail "/dev/full gave exit $rc"
grep -q "/dev/full" "$dir/full" || fail "the message does not name the file"
