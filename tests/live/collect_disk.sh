#!/bin/bash
# A group writes a known number of bytes past the page cache. The disk row has to show them, or say that the kernel does not count them
# (v1 without a blkio.throttle limit): a 0 would be wrong.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root to create a cgroup"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)blkio(,|$)/ {print $2; exit}' /proc/mounts)
if [ -z "$mount" ]; then
	mount=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
	grep -qw io "$mount/cgroup.controllers" 2>/dev/null || { echo "no io or blkio controller is mounted"; exit 77; }
	grep -qw io "$mount/cgroup.subtree_control" || echo +io >"$mount/cgroup.subtree_control"
fi
mkdir -p "$B"
dir=$(mktemp -d -p "$B") group=useprobe-disk-$$
cleanup() { rmdir "$mount/$group" 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
dd if=/dev/zero of="$dir/f" bs=64k count=1 oflag=direct 2>/dev/null || { echo "no direct I/O on the file system of $B"; exit 77; }
mkdir "$mount/$group"
"$B/useprobe" -c "/$group" --only disk -b -i 0.5 -d 3 -o "$dir/d.csv" >/dev/null 2>&1 & probe=$!
sleep 0.8
bytes=$((32 << 20))
(echo "$BASHPID" >"$mount/$group/cgroup.procs"; exec dd if=/dev/zero of="$dir/f" bs=1M count=32 oflag=direct 2>/dev/null)
wait $probe
grep -q ",disk,/$group," "$dir/d.csv" || fail "no row of the group: $(tail -n 1 "$dir/d.csv")"
awk -F, -v g="/$group" -v want=$bytes '$5 == "disk" && $6 == g {
		if (match($0, "write_bytes_per_s=[0-9.e+]*")) { split(substr($0, RSTART, RLENGTH), kv, "="); got += kv[2] * $3; n++ }
		else if ($0 ~ /does not count/) silent++
	}
	END { if (n) printf "wrote %d bytes, shown %.0f\n", want, got; else printf "not counted by this kernel, said in %d rows\n", silent
		exit !(n ? got >= want * 0.99 && got <= want * 1.25 : silent > 0) }' "$dir/d.csv" || fail "see above"
