# Sourced by tests that need cgroups of their own: v1, hybrid or v2. Sets $cpu (mount of the cpu controller), $version, $top (name of the
# test's own top group, made), $dir (scratch). Everything is removed at exit.
[ "$(id -u)" = 0 ] || { echo "needs root to create a cgroup"; exit 77; }
B=${B:-build}
dir=$(mktemp -d)
top=useprobe-test-$$
made=()
fail() { echo "FAILED: $*"; exit 1; }
check() { awk "BEGIN {exit !($1)}" || fail "$2"; }

v2=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
if [ -n "$v2" ] && grep -qw cpu "$v2/cgroup.controllers"; then
	version=2 cpu=$v2
	grep -qw cpu "$v2/cgroup.subtree_control" || echo +cpu >"$v2/cgroup.subtree_control"
else
	version=1
	cpu=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ {print $2; exit}' /proc/mounts)
	[ -n "$cpu" ] || { echo "no cpu controller is mounted"; exit 77; }
fi
# The cpu row of a v1 group needs the accounting controller too, which may be mounted apart.
acct=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpuacct(,|$)/ {print $2; exit}' /proc/mounts)
[ -n "$acct" ] && [ $version = 1 ] || acct=$cpu

# On v2 a group with processes can have no children with controllers: inner groups get the controller, leaves the processes.
make_group() {
	mkdir "$cpu/$1"
	made+=("$cpu/$1")
	[ "$acct" = "$cpu" ] || { mkdir "$acct/$1" && made+=("$acct/$1"); }
	case $1 in */*) [ $version = 1 ] || echo +cpu >"$cpu/${1%/*}/cgroup.subtree_control" ;; esac
}
# quota GROUP MICROSECONDS: per 100 ms
quota() { if [ $version = 2 ]; then echo "$2 100000" >"$cpu/$1/cpu.max"; else echo "$2" >"$cpu/$1/cpu.cfs_quota_us"; fi; }
# join GROUP: moves this (sub)shell
join() {
	[ "$acct" = "$cpu" ] || echo "$BASHPID" >"$acct/$1/cgroup.procs"
	echo "$BASHPID" >"$cpu/$1/cgroup.procs"
}
empty_groups() {
	for ((i = ${#made[@]} - 1; i >= 0; i--)); do
		# The list is a moving one while its processes die: read it whole, and again until it is empty.
		while pids=$(cat "${made[i]}/cgroup.procs" 2>/dev/null) && [ -n "$pids" ]; do
			kill -9 $pids 2>/dev/null || true
			sleep 0.05
		done
	done
	{ wait; } 2>/dev/null || true
}
cleanup() {
	empty_groups 2>/dev/null
	for ((i = ${#made[@]} - 1; i >= 0; i--)); do
		for _ in 1 2 3 4 5 6 7 8 9 10; do rmdir "${made[i]}" 2>/dev/null && break; sleep 0.1; done
	done
	rm -rf "$dir"
}
trap cleanup EXIT
make_group "$top"

# total FILE NAME KEY: integral of a detail figure over the run-queue rows of NAME (figure per second times window); average: the same per
# second.
total() { figure "$@" | awk '{print $1}'; }
average() { figure "$@" | awk '{print $1 / $2}'; }
figure() {
	awk -F, -v n="$2" -v key="$3" '$5 == "run-queue" && $6 == n && match($0, "[,;]" key "=[0-9.e+-]*") {
		split(substr($0, RSTART, RLENGTH), kv, "="); s += kv[2] * $3; t += $3 } END {if (t) print s, t}' "$1" | grep . ||
		fail "no $3 of $2 in the run-queue rows: $(tail -n 1 "$1")"
}

# wait_for_row FILE: until the probe has written its first tick.
wait_for_row() {
	for _ in $(seq 100); do
		[ -e "$1" ] && [ "$(wc -l <"$1")" -ge 2 ] && return
		sleep 0.1
	done
	fail "no row in $1 after 10 s"
}
