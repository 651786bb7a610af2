#!/bin/bash
# Half-open connections: SYNs from an address that never answers, in a network namespace of its own. Of two listeners the right one has them,
# as many as the kernel's own count (/proc/net/tcp, state 03), and none are made up.
# beside
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
command -v ip >/dev/null || { echo "ip is missing (iproute2)"; exit 77; }
unshare -n true 2>/dev/null || { echo "network namespaces are not allowed here"; exit 77; }
unshare -n ip link add dark type veth peer name far 2>/dev/null || { echo "this kernel has no veth"; exit 77; }
make_group "$top/api"
cat >"$dir/server.py" <<'PY'
# Two listeners; on "go" 12 SYNs to the first one from addresses behind an interface that swallows everything.
import socket, struct, subprocess, sys, time
for command in ("link set lo up", "link add dark type veth peer name far", "link set far up", "addr add 10.9.9.1/24 dev dark", "link set dark up"):
    subprocess.run(["ip", *command.split()], check=True)
for i in range(12):  # without a neighbour the answer would fail at once, and the request with it
    subprocess.run(f"ip neigh add 10.9.9.{100 + i} lladdr 02:00:00:00:00:01 dev dark".split(), check=True)
a, b = socket.create_server(("10.9.9.1", 8001), backlog=64), socket.create_server(("0.0.0.0", 8002), backlog=64)
def checksum(data):
    s = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while s >> 16: s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff
print("ready", flush=True)
sys.stdin.readline()
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for i in range(12):
    src, dst = socket.inet_aton(f"10.9.9.{100 + i}"), socket.inet_aton("10.9.9.1")
    tcp = struct.pack("!HHIIBBHHH", 40000 + i, 8001, 1000, 0, 5 << 4, 2, 8192, 0, 0)
    tcp = tcp[:16] + struct.pack("!H", checksum(src + dst + struct.pack("!BBH", 0, 6, len(tcp)) + tcp)) + tcp[18:]
    raw.sendto(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, i, 0, 64, 6, 0, src, dst) + tcp, ("10.9.9.1", 0))
time.sleep(3.2)
print(sum(line.split()[3] == "03" for line in open("/proc/net/tcp")), flush=True)
sys.stdin.readline()
PY
coproc py {
	join "$top/api"
	exec unshare -n python3 "$dir/server.py"
}
answer() { read -r -t 20 line <&"${py[0]}" || fail "no answer from the server"; }
answer
csv=$dir/half.csv
"$B/useprobe" -c "$top/api" -i 0.5 -d 9 -b --only listen -o "$csv" >/dev/null 2>"$dir/err" &
probe=$!
wait_for_row "$csv"
echo go >&"${py[1]}"
answer
kernel=$line
[ "$kernel" -gt 0 ] || { echo "no half-open connection could be made here"; exit 77; }
sleep 1
kill -INT $probe
wait $probe || fail "the probe ended with $?"
echo end >&"${py[1]}"
last() { awk -F, -v n="$1" '$5 == "listen" && $6 == n && match($0, /syn_queue=[0-9]+/) {v = substr($0, RSTART + 10, RLENGTH - 10)} END {print v}' "$csv"; }
[ "$(last tcp:10.9.9.1:8001)" = "$kernel" ] || fail "syn_queue $(last tcp:10.9.9.1:8001), the kernel has $kernel half-open connections"
[ "$(last tcp:0.0.0.0:8002)" = 0 ] || fail "syn_queue $(last tcp:0.0.0.0:8002) of a listener without any"
echo "ok: $kernel half-open connections at one listener, none at the other"
