#!/bin/bash
# The disk row's latency against a loop of direct reads and writes that times itself (it sees the device's time and the way to it) and
# against the kernel's own time per request (/proc/diskstats, what iostat calls await).
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root for the BPF programs"; exit 77; }
reason=$("$B/useprobe" doctor --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["disk_latency"]["reason"] or "")')
[ -z "$reason" ] || { echo "no disk latency here: $reason"; exit 77; }
dir=$(mktemp -d -p .)
pids=()
cleanup() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }
# The whole disk below this directory; overlays, RAM and network file systems have none.
number=$(stat -c '%Hd:%Ld' "$dir")
block=$(readlink -f "/sys/dev/block/$number" 2>/dev/null || true)
[ -n "$block" ] || { echo "this directory is on no block device ($number)"; exit 77; }
[ -e "$block/partition" ] && block=$(dirname "$block")
disk=$(basename "$block")
case $disk in dm-* | md* | zram* | loop*) echo "$disk is a stacked device"; exit 77 ;; esac
cc -O2 -o "$dir/io" tests/live/disk_program.c
"$dir/io" "$dir/file" 9 >"$dir/own" &
io=$!
pids+=($io)
sleep 1
snapshot() { awk -v d="$disk" '$3 == d {print $4, $7, $8, $11}' /proc/diskstats; }
"$B/useprobe" --host -b -i 1 -d 6 --only host_disk -o "$dir/disk.csv" >"$dir/out" 2>&1 &
probe=$!
pids+=($probe)
for _ in $(seq 100); do [ -s "$dir/disk.csv" ] && break; sleep 0.1; done
before=$(snapshot)
wait $probe || fail "the probe: $(cat "$dir/out")"
after=$(snapshot)
wait $io || { [ $? = 77 ] && { echo "no O_DIRECT in this directory"; exit 77; }; fail "the loop"; }
cat "$dir/own"
python3 - "$dir" "$disk" "$before" "$after" <<'PY'
import csv, sys
dir, disk = sys.argv[1:3]
a, b = ([int(n) for n in s.split()] for s in sys.argv[3:5])
own = {l.split()[0]: [float(n) for n in l.split()[1:]] for l in open(f"{dir}/own")}
rows = [r for r in csv.DictReader(open(f"{dir}/disk.csv")) if r["resource"] == "disk" and r["name"] == disk and r["state"] == "ok"]
for r in rows:
    r["detail"] = {k: float(v) for k, v in (p.split("=", 1) for p in r["detail"].split(";")) if v.replace(".", "").isdigit()}
assert rows and all("block_rq" in r["method"] for r in rows), rows
for direction, at in (("read", 0), ("write", 2)):
    seen = [r["detail"] for r in rows if f"{direction}_p99_ms" in r["detail"]]
    assert len(seen) >= 3, rows
    per_s = "reads_per_s" if direction == "read" else "writes_per_s"
    count = sum(d[per_s] for d in seen)
    mean = sum(d[f"{direction}_mean_ms"] * d[per_s] for d in seen) / count
    median = sorted(d[f"{direction}_p50_ms"] for d in seen)[len(seen) // 2]
    tail = sorted(d[f"{direction}_p99_ms"] for d in seen)[len(seen) // 2]
    wait = (b[at + 1] - a[at + 1]) / (b[at] - a[at])
    n, first, own_median, own_tail, own_mean = own[direction]
    print(f"{direction}: p50 {median:.3f} p99 {tail:.3f} mean {mean:.3f} ms; await {wait:.3f}; the loop saw p50 {own_median:.3f} p99 {own_tail:.3f} mean {own_mean:.3f}")
    # The kernel's time begins where the request is made, a little before it is handed to the driver.
    assert 0.75 * wait - 0.02 <= mean <= 1.1 * wait + 0.02, direction
    assert 0.3 * first <= median <= 1.15 * own_median, direction
    assert tail <= 1.5 * own_tail, direction
    assert all(r["errors"] == "0" for r in rows)
PY
