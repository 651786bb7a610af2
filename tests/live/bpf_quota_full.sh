#!/bin/bash
# The map of throttled queues is full: with room for one queue and three groups behind a quota, the looks that found no room are counted
# (`dropped` of the run-queue rows, the errors of the probe's own row); with room for all, none is.
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
for g in a b c; do
	make_group "$top/$g"
	quota "$top/$g" 10000 # a tenth of a CPU binds on a busy machine too
	for _ in 1 2; do ( join "$top/$g"; exec bash -c 'while :; do :; done' ) & done
done
sleep 0.5
# dropped ROOM: sum of dropped in the rows of the target, of the errors of the probe row.
watch() {
	USEPROBE_QUOTA_QUEUES=$1 "$B/useprobe" -c "$top/a" -i 0.5 -d 4 -b --only run-queue,probe -o "$dir/$1.csv" >/dev/null
	grep -q "run-queue,/$top/a,.*tp_btf" "$dir/$1.csv" || { echo "eBPF was refused: $(tail -n 1 "$dir/$1.csv")"; exit 77; }
	row=$(awk -F, -v n="/$top/a" '$5 == "run-queue" && $6 == n && match($0, /[,;]dropped=[0-9.]*/) {
		split(substr($0, RSTART, RLENGTH), kv, "="); s += kv[2] } END {print s + 0}' "$dir/$1.csv")
	own=$(awk -F, '$5 == "probe" {s += $11} END {print s + 0}' "$dir/$1.csv")
	echo "room for $1 queues: dropped=$row in the row of the target, $own errors of the probe"
}
watch 1
check "$row > 0" "a full map is not counted in the row"
check "$own >= $row * 0.5" "a full map is no error of the probe: $own"
watch 4096
check "$row == 0" "drops with room for all"
