#!/bin/bash
# A group with a limit of 64 MiB: a process takes 24 MiB and stays, then asks for 200 MiB and is killed. The memory row has to show the
# working set of the kernel's own files, the limit, and exactly one error; then the limit changes.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root to create a cgroup"; exit 77; }
command -v python3 >/dev/null || { echo "needs python3 to take memory"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ {print $2; exit}' /proc/mounts)
limit=memory.limit_in_bytes usage=memory.usage_in_bytes inactive=total_inactive_file
if [ -z "$mount" ]; then
	mount=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
	limit=memory.max usage=memory.current inactive=inactive_file
	grep -qw memory "$mount/cgroup.controllers" 2>/dev/null || { echo "no memory controller is mounted"; exit 77; }
	grep -qw memory "$mount/cgroup.subtree_control" || echo +memory >"$mount/cgroup.subtree_control"
fi
dir=$(mktemp -d) group=useprobe-memory-$$
cleanup() { for _ in 1 2 3 4 5; do rmdir "$mount/$group" 2>/dev/null && break; sleep 0.2; done; rm -rf "$dir"; }
trap cleanup EXIT
mkdir "$mount/$group"
echo $((64 << 20)) >"$mount/$group/$limit"
[ ! -e "$mount/$group/memory.swap.max" ] || echo 0 >"$mount/$group/memory.swap.max"
"$B/useprobe" -c "/$group" --only memory -b -i 0.5 -d 5 -o "$dir/m.csv" >/dev/null 2>&1 & probe=$!
sleep 0.8
{ (echo "$BASHPID" >"$mount/$group/cgroup.procs"
	exec python3 -c 'import time; a = bytearray(24 << 20); time.sleep(1.6); b = bytearray(200 << 20)') & hog=$!; } 2>/dev/null
sleep 1.2
set=$(($(cat "$mount/$group/$usage") - $(awk -v k=$inactive '$1 == k {print $2}' "$mount/$group/memory.stat")))
{ wait $hog; } 2>/dev/null && fail "the process was not killed"
echo $((96 << 20)) >"$mount/$group/$limit"
wait $probe
awk -F, -v g="/$group" -v want="$set" -v limit=$((64 << 20)) '
	$5 == "memory" && $6 == g { if ($7 * limit > most) most = $7 * limit; if ($11 != "") errors += $11 }
	$5 == "limit-changed" && $6 == g && $0 ~ /from_bytes=67108864;to_bytes=100663296/ { changed++ }
	END { printf "working set %d, shown %.0f; OOM kills shown %d; limit changes told %d\n", want, most, errors, changed
		exit !(most > want * 0.95 && errors == 1 && changed == 1) }' "$dir/m.csv" || fail "see above"
