#!/bin/bash
# Walks over all threads have a budget. With next to none both rows that rest on them have to say so: the run queue gives its walk up, the
# thread pools take fewer snapshots; neither is silent. With the usual one nothing is said.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root for the BPF programs"; exit 77; }
dir=$(mktemp -d)
sleep 60 & sleeper=$!
trap 'kill $sleeper; rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
probe() { "$B/useprobe" -p $sleeper -b -i 0.5 -d 6 --only run_queue,thread_pool -o "$1" >/dev/null 2>"$dir/err" || fail "$(cat "$dir/err")"; }
USEPROBE_WALK_SHARE=0.0001 probe "$dir/poor.csv"
probe "$dir/rich.csv"
grep -q 'iter/task' "$dir/rich.csv" && grep -q 'tp_btf/sched_switch' "$dir/rich.csv" || { echo "the BPF programs do not load here"; exit 77; }
grep ',run-queue,sleep' "$dir/poor.csv" | tail -n 1 | grep 'lower bound' | grep -q 'left_out=waits still going on: the walk' || fail "run-queue is silent: $(tail -n 1 "$dir/poor.csv")"
grep ',thread-pool,sleep' "$dir/poor.csv" | tail -n 1 | grep 'below 10 Hz' | grep -q 'reason=a snapshot costs' || fail "thread-pool is silent: $(tail -n 1 "$dir/poor.csv")"
grep -E 'left_out=|below 10 Hz' "$dir/rich.csv" && fail "said without need"
echo "said where it applies, and only there"
