#!/bin/bash
# Accept queues against the kernel: three listeners of a target, one of them full; the same in a network namespace of its own; bursts that
# a sample once a second does not see. A stranger's listener must not show up.
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
make_group "$top/api"

cat >"$dir/listeners.py" <<'PY'
# listeners.py PORT: listens on three ports with backlogs 5, 3, 511 and never accepts; on "go" 12 clients connect to the first one; on
# "burst" 40 connections wait in the third for 60 ms, five times. Prints what the kernel of this namespace counted.
import socket, sys, time
port = int(sys.argv[1])
def overflows():
    names, values = [l.split()[1:] for l in open("/proc/self/net/netstat") if l.startswith("TcpExt:")]
    return int(dict(zip(names, values))["ListenOverflows"])
listeners = []
for i, backlog in enumerate((5, 3, 511)):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", port + i))
    s.listen(backlog)
    listeners.append(s)
print("ready", flush=True)
clients = []
for line in sys.stdin:
    if line == "go\n":
        before = overflows()
        for i in range(12):
            c = socket.socket()
            c.setblocking(False)
            c.connect_ex(("127.0.0.1", port))
            clients.append(c)
        time.sleep(2.5)
        for c in clients:
            c.close()
        time.sleep(0.1)
        print(overflows() - before, flush=True)
    elif line == "burst\n":
        for _ in range(5):
            burst = [socket.create_connection(("127.0.0.1", port + 2)) for _ in range(40)]
            time.sleep(0.06)
            for c in burst:
                listeners[2].accept()[0].close()
                c.close()
            time.sleep(0.14)
        print("done", flush=True)
PY

# answer: the next line of the listeners
answer() { read -r -t 20 line <&"${py[0]}" || fail "no answer from the listeners"; }
# column NAME COLUMN FUNCTION: sum or max of a column over the rows of one listener
column() {
	awk -F, -v n="$2" -v c="$3" -v f="$4" '$5 == "listen" && $6 == n && $c != "" {k++; s += $c; if ($c > m) m = $c} END {if (!k) exit 1; print (f == "max" ? m : s) + 0}' "$1"
}

measure() {
	local csv=$dir/$1.csv port=$2 probe
	shift 2
	coproc py { join "$top/api"; exec "$@" python3 "$dir/listeners.py" "$port"; }
	answer
	python3 -c "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', $((port + 7)))); s.listen(1); time.sleep(12)" & stranger=$!
	"$B/useprobe" -c "$top/api" -i 0.5 -d 8 -b --only listen -o "$csv" >/dev/null & probe=$!
	wait_for_row "$csv"
	sleep 0.6
	echo go >&"${py[1]}"
	answer
	dropped=$line
	echo burst >&"${py[1]}"
	answer
	wait $probe
	kill $stranger; wait $stranger 2>/dev/null || true
	exec {py[1]}>&-
	wait "$py_PID" 2>/dev/null || true

	[ "$dropped" -gt 0 ] || fail "the kernel dropped nothing"
	check "$(column "$csv" tcp:127.0.0.1:$port 8 max) == 6" "deepest queue of backlog 5 is not 6"
	check "$(column "$csv" tcp:127.0.0.1:$port 7 max) == 1" "a full queue is not at utilization 1"
	check "$(column "$csv" tcp:127.0.0.1:$port 11 sum) == $dropped" "drops $(column "$csv" tcp:127.0.0.1:$port 11 sum), the kernel counted $dropped"
	check "$(column "$csv" tcp:127.0.0.1:$((port + 1)) 11 sum) == 0" "the innocent listener has drops"
	check "$(column "$csv" tcp:127.0.0.1:$((port + 1)) 8 max) == 0" "the innocent listener has a queue"
	check "$(column "$csv" tcp:127.0.0.1:$((port + 2)) 8 max) == 40" "bursts of 40 show as $(column "$csv" tcp:127.0.0.1:$((port + 2)) 8 max)"
	grep -q "tcp:127.0.0.1:$((port + 7))" "$csv" && fail "a stranger's listener is in the target's rows"
	grep -q "owner_by=$want" "$csv" || fail "owner not found by $want"
	grep -q "netns_overflows=$dropped" "$csv" || grep -q 'netns_overflows=[1-9]' "$csv" || fail "no overflows of the namespace"
	echo "ok: dropped $dropped, owner by $want"
}

want=fd measure host 7311
if unshare -n true 2>/dev/null; then
	want=netns measure netns 7311 unshare -n sh -c 'ip link set lo up; exec "$@"' sh
	# Without the right to enter the namespace what everybody may read has to do: queues without their limits.
	cp "$B/useprobe" "$dir/useprobe"
	chmod 755 "$dir" "$dir/useprobe"
	coproc py { join "$top/api"; exec unshare -n sh -c 'ip link set lo up; export PATH=/usr/bin:/bin; exec setpriv --reuid 65534 --clear-groups python3 "$@"' sh "$dir/listeners.py" 7321; }
	answer
	mkdir "$dir/out" && chmod 777 "$dir/out"
	setpriv --reuid 65534 --clear-groups "$dir/useprobe" -c "$top/api" -i 0.5 -d 4 -b --only listen -o "$dir/out/r.csv" >/dev/null & probe=$!
	wait_for_row "$dir/out/r.csv"
	sleep 0.6
	echo go >&"${py[1]}"
	answer
	wait $probe
	exec {py[1]}>&-
	wait "$py_PID" 2>/dev/null || true
	check "$(column "$dir/out/r.csv" tcp:127.0.0.1:7321 8 max) == 6" "without rights: deepest queue of backlog 5 is not 6"
	column "$dir/out/r.csv" tcp:127.0.0.1:7321 7 max && fail "without rights: a utilization, and the backlog is not known"
	grep -q 'tcp:127.0.0.1:7321,.*/proc/net/tcp' "$dir/out/r.csv" || fail "without rights: the method does not say so"
	echo "ok: without rights, the queue from /proc/net/tcp"
else
	echo "network namespaces are not allowed here: only the host's was tested"
fi
