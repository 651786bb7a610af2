#!/bin/bash
# Responses written in two small parts over loopback, in a network namespace of its own: the second part waits for the client's delayed
# acknowledgement. It has to be seen and said; with TCP_NODELAY nothing may be seen. A client that does not read closes its window: that is
# another reason.
# beside
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
command -v python3 >/dev/null && command -v ip >/dev/null || { echo "python3 or ip (iproute2) is missing"; exit 77; }
unshare -n true 2>/dev/null || { echo "network namespaces are not allowed here"; exit 77; }
make_group "$top/api"

cat >"$dir/nagle.py" <<'PY'
# nagle.py nagle|nodelay|window: a server on port 5001 and 16 clients in threads; prints the mean response time of the clients in ms.
import socket, sys, threading, time
mode = sys.argv[1]
server = socket.socket(); server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); server.bind(("127.0.0.1", 5001)); server.listen(64)
end = time.time() + 6
times = []
def serve(c):
    if mode == "nodelay":
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if mode == "window":
        c.settimeout(6)
        try:
            c.sendall(b"x" * 20_000_000)
        except OSError:
            pass
        return
    while c.recv(1000):
        c.send(b"h" * 200)
        c.send(b"b" * 300)
def client():
    c = socket.create_connection(("127.0.0.1", 5001))
    while time.time() < end:
        if mode == "window":
            time.sleep(0.5)
            continue
        begin, got = time.time(), 0
        c.send(b"q" * 100)
        while got < 500:
            got += len(c.recv(1000))
        times.append(time.time() - begin)
        time.sleep(0.01)
    c.close()
clients = [threading.Thread(target=client) for _ in range(16)]
for t in clients:
    t.start()
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
print("ready", flush=True)
for t in clients:
    t.join()
print(round(1000 * sum(times) / len(times), 2) if times else 0, flush=True)
sys.stdin.readline()
PY

measure() {
	local csv=$dir/$1.csv
	coproc py { join "$top/api"; exec unshare -n sh -c 'ip link set lo up; exec python3 "$@"' sh "$dir/nagle.py" "$1"; }
	read -r -t 20 line <&"${py[0]}" || fail "no answer from the server"
	"$B/useprobe" -c "$top/api" -i 1 -d 4 -b --only network -o "$csv" >/dev/null
	read -r -t 20 line <&"${py[0]}" || fail "no answer from the server"
	echo end >&"${py[1]}"
	wait "$py_PID" 2>/dev/null || true
	# means over the rows of the target (the host has one too) after the first
	for key in held_by_nagle held_by_peer_window; do
		eval "$key=\$(awk -F, '\$5 == \"network\" && \$6 == \"tcp\" && \$NF != \"\" && match(\$0, /;$key=[0-9.]+/) {v = substr(\$0, RSTART, RLENGTH); sub(/.*=/, \"\", v); s += v; n++} END {if (!n) exit 1; print s / n}' \"$csv\")" || fail "$1: no $key"
	done
	waiting=$(awk -F, '$5 == "network" && $6 == "tcp" && $NF != "" && $10 != "" {s += $10; n++} END {if (!n) exit 1; print s / n}' "$csv") || fail "$1: no waiting"
	hints=$(grep -c ';hint=responses wait' "$csv" || true)
	echo "$1: clients wait $line ms, held by Nagle $held_by_nagle of 16, by the peer's window $held_by_peer_window, waiting $waiting, hints $hints"
}

measure nagle
grep -q 'responses_of=listeners' "$dir/nagle.csv" || fail "whose responses"
check "$line > 20" "no delayed acknowledgement here: $line ms"
# 40 ms of each turn of about 50; the first two ticks of each wait are not recognised.
check "$held_by_nagle > 4 && $held_by_nagle <= 16" "held by Nagle: $held_by_nagle of 16"
check "$waiting >= 0.999 * $held_by_nagle" "waiting $waiting"
[ "$hints" -ge 1 ] || fail "it is not said"
measure nodelay
check "$held_by_nagle < 0.2" "with TCP_NODELAY $held_by_nagle are held by Nagle"
[ "$hints" = 0 ] || fail "said without cause"
measure window
check "$held_by_peer_window > 15" "closed windows: $held_by_peer_window of 16"
check "$held_by_nagle < 0.2" "a closed window is not Nagle: $held_by_nagle"
