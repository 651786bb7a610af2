#!/bin/bash
# Without the rights for BPF the pools come from /proc: an unprivileged user looks at a process of its own. The rows say where they come
# from, why, and what they lack; a thread pool that is half busy is seen so. A group with more threads than /proc is worth says that too.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root to become somebody else"; exit 77; }
command -v python3 >/dev/null && command -v setpriv >/dev/null || { echo "needs python3 and setpriv"; exit 77; }
dir=$(mktemp -d)
chmod 755 "$dir"
mkdir -m 777 "$dir/out"
cp "$B/useprobe" "$dir/useprobe"
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null || true; { wait; } 2>/dev/null; rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
cat >"$dir/half.py" <<'PY'
import socket, sys, threading, time
n = int(sys.argv[1])
threading.stack_size(65536)
pairs = [socket.socketpair() for _ in range(3)]
event = threading.Event()
for i in range(n):
    target, args = (pairs[i][0].recv, (1,)) if i < 3 else (event.wait, ())
    threading.Thread(target=target, args=args, daemon=True).start()
time.sleep(60)
PY
# A python of root.s own home is not everybody.s.
python=$(PATH=/usr/bin:/bin command -v python3) || { echo "needs a python3 that everybody may run"; exit 77; }
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all)
"${nobody[@]}" "$python" "$dir/half.py" 6 & pids+=($!)
sleep 1
"${nobody[@]}" "$dir/useprobe" -p $! -b -i 1 -d 4 --only thread_pool,disk -o "$dir/out/n.csv" >/dev/null 2>"$dir/err" || fail "$(cat "$dir/err")"
line=$(grep ',thread-pool,python3' "$dir/out/n.csv" | tail -n 1)
case $line in *'/proc/PID/task'*) ;; *) fail "not from /proc: $line" ;; esac
case $line in *'reason=no BPF: CAP_BPF and CAP_PERFMON are missing'*) ;; *) fail "no reason: $line" ;; esac
case $line in *'ended_state=absent:only BPF'*) ;; *) fail "ended threads are not said to be missing: $line" ;; esac
case $line in *'runnable_state=absent:'*) ;; *) fail "running and ready to run are not said to be one: $line" ;; esac
case $line in
*'calls of some threads are hidden'*) echo "calls are hidden here (ptrace_scope): said" ;;
*'socket=3;'*) echo "unprivileged: 3 of 7 threads read from a socket, shown so" ;;
*) fail "not three readers: $line" ;;
esac
grep ',disk,python3' "$dir/out/n.csv" | tail -n 1 | grep -q 'waiting /proc/PID/task' || fail "disk: $(grep ',disk,' "$dir/out/n.csv" | tail -n 1)"
"$B/useprobe" -p ${pids[0]} -b -i 1 -d 1 --only thread_pool -o "$dir/r.csv" >/dev/null 2>&1
grep ',thread-pool,python3' "$dir/r.csv" | grep -q 'reason=' && fail "root has a reason: $(tail -n 1 "$dir/r.csv")"
python3 "$dir/half.py" 4500 & pids+=($!)
for _ in $(seq 100); do [ "$(ls /proc/$!/task | wc -l)" -ge 4501 ] && break; sleep 0.1; done
[ "$(ls /proc/$!/task | wc -l)" -ge 4501 ] || { echo "the rest is right; 4,500 threads are not allowed here"; exit 77; }
USEPROBE_TASKS=proc "$B/useprobe" -p $! -b -i 1 -d 4 --only thread_pool -o "$dir/m.csv" >/dev/null 2>"$dir/err" || fail "$(cat "$dir/err")"
line=$(grep ',thread-pool,python3' "$dir/m.csv" | tail -n 1)
case $line in *'only the first 4096 threads'*'below 5 %25 of a CPU'*) ;; *) fail "a full and dear snapshot is not told: $line" ;; esac
echo "$line" | grep -o 'snapshot_ms=[0-9.]*'
