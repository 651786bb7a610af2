#!/bin/bash
# list shows a group with its limit, as text and as JSON; a hostile name reaches no terminal raw.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/proc/self" "$tree/sys/fs/cgroup/api" "$tree/sys/fs/cgroup/"$'evil\e[31m\nname'
echo "25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw" >"$tree/proc/self/mountinfo"
echo "cpu memory" >"$tree/sys/fs/cgroup/cgroup.controllers"
echo "50000 100000" >"$tree/sys/fs/cgroup/api/cpu.max"
echo 268435456 >"$tree/sys/fs/cgroup/api/memory.max"
"$B/useprobe" list --all --root "$tree" >"$tree/out"
grep -q "0.50 *256M *" "$tree/out"
if grep -q $'\e' "$tree/out"; then echo "an escape sequence reached the terminal"; exit 1; fi
"$B/useprobe" list --all --json --root "$tree" | python3 -c '
import json, sys
found = {item["path"]: item for item in json.load(sys.stdin)}
assert found["/api"]["cpu_quota_us"] == 50000 and found["/api"]["memory_limit_bytes"] == 268435456, found
assert any("\x1b[31m\nname" in path for path in found), found
'
"$B/useprobe" list --json >/dev/null
