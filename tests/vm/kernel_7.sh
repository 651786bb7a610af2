#!/bin/bash
# Linux 7 with unified cgroup v2: targeting, cpu, run queue, quota and thread pools against the kernel's own counters.
. tests/vm/lib_vm.sh
kernel_fetch 7 sid
initramfs tests/vm/lib_guest.sh
boot 7
