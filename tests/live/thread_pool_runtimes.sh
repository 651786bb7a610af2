#!/bin/bash
# k of n workers busy in three runtimes: a Java executor of 8 (2 compute, 3 read from a socket), a Python ThreadPoolExecutor of 8 (3 in recv),
# Node.js with the 4 workers of libuv (2 hashes under way at any time). Within one thread each, by the iterator and by /proc.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root for the BPF programs"; exit 77; }
dir=$(mktemp -d)
pids=()
cleanup() { for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done; { wait; } 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }
missing=()
# measure PID CSV: by the iterator, then from /proc
measure() {
	"$B/useprobe" -p "$1" -b -i 1 -d 5 --only thread_pool -o "$2.bpf.csv" >/dev/null 2>"$dir/err" || fail "$(cat "$dir/err")"
	USEPROBE_TASKS=proc "$B/useprobe" -p "$1" -b -i 1 -d 5 --only thread_pool -o "$2.proc.csv" >/dev/null 2>"$dir/err" || fail "$(cat "$dir/err")"
}
cat >"$dir/pool.py" <<'PY'
import csv, sys
# Mean threads and busy threads of the pool whose size is nearest to N among those whose name ends in STEM.
path, stem, n, k, method = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
pools = {}
for row in csv.DictReader(open(path)):
    d = dict(kv.split("=", 1) for kv in row["detail"].split(";") if "=" in kv)
    if row["resource"] == "thread-pool" and row["state"] == "ok" and "busy" in d and stem in row["name"].split("/", 1)[1]:
        assert method in row["method"], row["method"]
        pools.setdefault(row["name"], []).append((float(d["threads"]), float(d["busy"])))
means = {name: [sum(x) / len(v) for x in zip(*v)] for name, v in pools.items()}
if not means:
    sys.exit(f"no pool with {stem} in {path}")
name, (threads, busy) = min(means.items(), key=lambda item: abs(item[1][0] - n))
print(f"{name} by {method}: {busy:.2f} of {threads:.1f} busy, {k:g} of {n} are")
sys.exit(not (abs(threads - n) <= 1 and abs(busy - k) <= 1))
PY
both() {
	python3 "$dir/pool.py" "$1.bpf.csv" "$2" "$3" "$4" iter/task || fail "see above: $(grep thread-pool "$1.bpf.csv" | cut -d, -f6,15 | cut -c 1-160 | tail -n 8)"
	python3 "$dir/pool.py" "$1.proc.csv" "$2" "$3" "$4" /proc/PID/task || fail "see above: $(grep thread-pool "$1.proc.csv" | cut -d, -f6,15 | cut -c 1-160 | tail -n 8)"
}
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }

cat >"$dir/pool8.py" <<'PY'
import concurrent.futures, socket, time
pairs = [socket.socketpair() for _ in range(3)]
pool = concurrent.futures.ThreadPoolExecutor(8)
concurrent.futures.wait([pool.submit(time.sleep, 0.05) for _ in range(8)])
time.sleep(1)
for mine, _ in pairs:
    pool.submit(mine.recv, 1)
time.sleep(60)
PY
python3 "$dir/pool8.py" & pids+=($!)
sleep 0.7
measure $! "$dir/python"
# The main thread has the workers' name and sleeps for a time: it is one of the group until it has shown a word.
both "$dir/python" python 9 4

if command -v java >/dev/null; then
	cat >"$dir/Pool.java" <<'J'
import java.net.*;
import java.util.concurrent.*;
public class Pool {
	static volatile long sink;
	public static void main(String[] a) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(8);
		for (int i = 0; i < 8; i++) pool.submit(() -> { try { Thread.sleep(200); } catch (Exception e) { } });
		Thread.sleep(500);
		ServerSocket server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
		for (int i = 0; i < 2; i++) pool.submit(() -> { while (true) sink++; });
		for (int i = 0; i < 3; i++) {
			Socket s = new Socket(server.getInetAddress(), server.getLocalPort());
			pool.submit(() -> { try { s.getInputStream().read(); } catch (Exception e) { } });
		}
		Thread.sleep(60000);
	}
}
J
	java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "$dir/Pool.java" & pids+=($!)
	java=$!
	for _ in $(seq 200); do grep -qs pool-1-thread "/proc/$java/task/"*/comm && break; sleep 0.1; done
	sleep 1.5
	measure $java "$dir/java"
	kill -9 $java
	both "$dir/java" pool-1-thread- 8 5
else
	missing+=(java)
fi

if command -v node >/dev/null; then
	cat >"$dir/pool.js" <<'J'
const crypto = require('crypto');
const hash = (rounds, then) => crypto.pbkdf2('a', 'b', rounds, 64, 'sha512', then);
const again = () => hash(60000, again);
for (let i = 0; i < 8; i++) hash(1000, () => {});
setTimeout(() => { again(); again(); }, 2000);
setTimeout(() => process.exit(), 60000);
J
	node "$dir/pool.js" & pids+=($!)
	sleep 0.8
	measure $! "$dir/node"
	# The first seconds are before the jobs begin; they teach which word the workers share.
	for m in bpf proc; do awk -F, 'NR == 1 || $2 >= 2.9' "$dir/node.$m.csv" >"$dir/n" && mv "$dir/n" "$dir/node.$m.csv"; done
	both "$dir/node" node 4 2
else
	missing+=(node)
fi
[ ${#missing[@]} = 0 ] || { echo "the others are right; not installed: ${missing[*]}"; exit 77; }
