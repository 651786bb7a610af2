#!/bin/bash
# One process reads a file of 68 MiB at random in a group that may hold 64 MiB: pages that were just dropped have to be read again, slowly
# where the device can be throttled. With one thread, `waiting` of the memory row is the share of time that PSI of its own v2 group calls "some": two counts of the same stalls,
# one by ten snapshots a second, one by the kernel at every change. On v2 the limit is memory.high, on v1 memory.limit_in_bytes.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root to create a cgroup"; exit 77; }
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
v2=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
[ -n "$v2" ] || { echo "no v2 hierarchy: PSI of a group is only there"; exit 77; }
group=useprobe-stall-$$
v1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ {print $2; exit}' /proc/mounts)
mkdir -p "$B"
dir=$(mktemp -d -p "$B")
reader= psi=
cleanup() {
	[ -z "$reader" ] || kill -9 "$reader" 2>/dev/null || true
	[ -z "$psi" ] || kill "$psi" 2>/dev/null || true
	{ wait; } 2>/dev/null || true
	for g in "${groups[@]}"; do
		for _ in 1 2 3 4 5 6 7 8 9 10; do rmdir "$g" 2>/dev/null && break; sleep 0.1; done
	done
	rm -rf "$dir"
}
trap cleanup EXIT
groups=("$v2/$group")
mkdir "$v2/$group"
[ -r "$v2/$group/memory.pressure" ] && cat "$v2/$group/memory.pressure" >/dev/null 2>&1 || { echo "PSI is off"; exit 77; }
if [ -n "$v1" ]; then
	mkdir "$v1/$group"
	groups+=("$v1/$group")
	echo $((64 << 20)) >"$v1/$group/memory.limit_in_bytes"
else
	[ -e "$v2/$group/memory.high" ] || echo +memory >"$v2/cgroup.subtree_control"
	echo $((64 << 20)) >"$v2/$group/memory.high"
fi
cat >"$dir/reader.py" <<'PY'
import os, random, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
size = os.fstat(fd).st_size
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED) # cached pages are charged to the group that wrote them
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    batch = [random.randrange(size // 4096) * 4096 for _ in range(8)]
    for offset in batch * 3: # a page that is read again at once is one that is needed: reading it anew is a stall
        os.pread(fd, 4096, offset)
PY
dd if=/dev/zero of="$dir/file" bs=1M count=68 conv=fsync 2>/dev/null
(for g in "${groups[@]}"; do echo "$BASHPID" >"$g/cgroup.procs"; done; exec python3 "$dir/reader.py" "$dir/file" 90) & reader=$!
sleep 4
# A slow device makes the stalls long; not before the group is full.
device=$(df --output=source "$dir" | tail -n 1)
device=$(lsblk -no MAJ:MIN "$device" 2>/dev/null | head -n 1 | tr -d ' ') || true
v1io=$(awk '$3 == "cgroup" && $4 ~ /(^|,)blkio(,|$)/ {print $2; exit}' /proc/mounts)
if [ -n "$device" ] && [ -n "$v1io" ]; then
	mkdir "$v1io/$group"
	groups+=("$v1io/$group")
	echo $reader >"$v1io/$group/cgroup.procs"
	echo "$device 300" >"$v1io/$group/blkio.throttle.read_iops_device" 2>/dev/null || true
elif [ -n "$device" ] && grep -qw io "$v2/cgroup.controllers"; then
	echo +io >"$v2/cgroup.subtree_control" 2>/dev/null || true
	echo "$device riops=300" >"$v2/$group/io.max" 2>/dev/null || true
fi
cat >"$dir/psi.py" <<'PY'
import sys, time
end = time.monotonic() + 60
with open(sys.argv[2], "w") as out:
    while time.monotonic() < end:
        total = int(open(sys.argv[1]).readline().split("total=")[1])
        print(time.clock_gettime(time.CLOCK_REALTIME), total / 1e6, file=out, flush=True)
        time.sleep(0.05)
PY
sleep 1
python3 "$dir/psi.py" "$v2/$group/memory.pressure" "$dir/psi" & psi=$!
sleep 0.5
"$B/useprobe" -c "/$group" -b -i 1 -d 11 --only memory -o "$dir/m.csv" >/dev/null 2>"$dir/err" || fail "$(cat "$dir/err")"
sleep 0.5
kill $psi
wait $psi 2>/dev/null || true
cat >"$dir/compare.py" <<'PY'
import csv, sys, datetime
rows = [r for r in csv.DictReader(open(sys.argv[1])) if r["resource"] == "memory" and r["name"] == sys.argv[2]]
known = [r for r in rows if r["waiting"]]
if not known:
    print("no number:", rows[-1]["detail"] if rows else "no row")
    sys.exit(2)
end = datetime.datetime.fromisoformat(known[-1]["time"].replace("Z", "+00:00")).timestamp()
length = sum(float(r["window_s"]) for r in known)
shown = sum(float(r["waiting"]) * float(r["window_s"]) for r in known) / length
running = sum(float(r["detail"].split("stalled_running=")[1].split(";")[0]) * float(r["window_s"]) for r in known) / length
points = [tuple(map(float, l.split())) for l in open(sys.argv[3])]
def at(t):
    for (t0, v0), (t1, v1) in zip(points, points[1:]):
        if t0 <= t <= t1:
            return v0 + (v1 - v0) * (t - t0) / (t1 - t0)
    raise SystemExit("PSI was not read over all of the rows")
truth = (at(end) - at(end - length)) / length
room = 3 * (truth * (1 - min(truth, 0.99)) / (10 * length)) ** 0.5 + 0.1 * truth
print(f"memory stall: shown {shown:.2f} threads (of them {running:.2f} ready or running), PSI some {truth:.2f}, allowed +-{room:.2f}")
sys.exit(not (abs(shown - truth) <= room and truth > 0.05 and shown > 0.3 * truth))
PY
python3 "$dir/compare.py" "$dir/m.csv" "/$group" "$dir/psi" || fail "see above"
