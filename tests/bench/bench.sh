#!/bin/bash
# make bench: every benchmark of tests/bench, each one says its method. Bounded to a few minutes; never part of the tests.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
echo "== own cost beside the peers"
python3 tests/bench/own_cost.py "$B" "${BENCH_S:-20}"
for script in tests/bench/bench_*.sh tests/bench/sched_pipe.sh; do
	[ -e "$script" ] || continue
	echo "== $script"
	B=$B bash "$script"
done
