#!/bin/bash
# What one context switch costs more while a run-queue program is attached, by `perf bench sched pipe` (linux-perf): two tasks on one CPU,
# two switches and two wake-ups an operation. PAIRS (11) pairs of a run without and a run with, in changing order, the variants in
# turn; a run is the lowest of three short ones, and their cgroup has the highest weight, since others use the machine too. Median and
# quartiles of the pairs' differences. Minutes.
# Variants: nothing (how far two equal runs differ), an empty program on the same hook, ours with 1 and 16 targets that the tasks are in (hit) or
# not (miss), the usual design (wake-up hooks and a hash by thread), bpftrace's run-queue one-liner where it is installed.
set -eu
cd "$(dirname "$0")/../.."
for program in perf taskset clang python3; do
	command -v $program >/dev/null || { echo "skipped: $program is not installed (linux-perf, util-linux, clang, python3)"; exit 0; }
done
. tests/live/lib_group.sh
for ((i = 0; i < 17; i++)); do make_group "$top/g$i"; done
if [ $version = 2 ]; then echo 10000 >"$cpu/$top/cpu.weight"; else echo 262144 >"$cpu/$top/cpu.shares"; fi
clang -std=gnu17 -O2 -g -target bpf -Wall -Ibpf "-I/usr/include/$(cc -dumpmachine)" -D__TARGET_ARCH_x86 -c -o "$dir/rivals.bpf.o" tests/bench/sched_pipe.bpf.c
cc -std=c17 -D_GNU_SOURCE -O2 -Iinclude "-I$B/bpf" -Ibpf -o "$dir/attach" tests/bench/sched_pipe.c "$B/libuseprobe.a" -lbpf -lelf -lz -ljansson -ldl -lm -pthread
python3 tests/bench/sched_pipe.py "$dir" "$cpu" "$top" "${PAIRS:-11}"
