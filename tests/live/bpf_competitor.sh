#!/bin/bash
# The run-queue row names who has the CPUs for which the target waits: of two neighbours on its CPU the one that takes more.
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
spin() {
	for ((i = 0; i < $2; i++)); do
		( join "$1"; exec taskset -c 0 bash -c 'while :; do :; done' ) &
	done
}
make_group "$top/victim"
make_group "$top/loud"
make_group "$top/quiet"
spin "$top/victim" 1
spin "$top/loud" 3
# Mostly asleep, so it rarely has the CPU.
( join "$top/quiet"; exec taskset -c 0 bash -c 'while sleep 0.01; do :; done' ) &
sleep 0.5
"$B/useprobe" -c "$top/victim" -i 1 -d 5 -b --only run-queue -o "$dir/victim.csv" >/dev/null
grep -q "tp_btf" "$dir/victim.csv" || { echo "eBPF was refused: $(tail -n 1 "$dir/victim.csv")"; exit 77; }
named=$(grep -o 'competitor=[^;,]*' "$dir/victim.csv" | sort | uniq -c | sort -rn | head -n 1)
echo "most often: $named"
case $named in *"competitor=/$top/loud") ;; *) fail "expected /$top/loud" ;; esac
# On a quiet machine nearly all of the wait is the loud one's; on a busy one others have their part.
figures() { awk -F, -v key="$1" '$4 == "cgroup" && match($0, "[,;]" key "=[0-9.e+-]*") {
	split(substr($0, RSTART, RLENGTH), kv, "="); s += kv[2] * $3; t += $3} END {print s / t}' "$dir/victim.csv"; }
waits=$(figures run_delay_s_per_s) theirs=$(figures competitor_tasks)
echo "waiting $waits tasks, of these behind the loud one: $theirs"
check "$theirs > 0.3 * $waits && $theirs <= 1.02 * $waits" "the competitor's part"
