#!/bin/bash
# A thin link: tbf in a network namespace of its own, more datagrams than it lets through. Drops, overlimits, rate and the longest queue
# against `tc -s qdisc`; the interface behind it without a queue stays without figures.
# beside
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
command -v tc >/dev/null && command -v ip >/dev/null || { echo "tc and ip are missing (iproute2)"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
unshare -n true 2>/dev/null || { echo "network namespaces are not allowed here"; exit 77; }
unshare -n sh -c 'ip link add thin type veth peer name far && tc qdisc add dev thin root tbf rate 8mbit burst 10kb limit 60kb' 2>/dev/null ||
	{ echo "this kernel has no veth or no tbf"; exit 77; }
make_group "$top/api"

cat >"$dir/sender.py" <<'PY'
# On "go": 2 s of 30 datagrams of 1,400 bytes every 10 ms (4.2 MB/s into 1 MB/s), then what tc counted, as one line of JSON.
import json, socket, subprocess, sys, time
def tc(): return json.loads(subprocess.run("tc -s -j qdisc show dev thin".split(), capture_output=True).stdout)[0]
print("ready", flush=True)
sys.stdin.readline()
before, s, longest = tc(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
end = time.time() + 2
while time.time() < end:
    for _ in range(30):
        s.sendto(b"x" * 1400, ("10.9.9.2", 9))
    time.sleep(0.01)
time.sleep(0.3)
after = tc()
print(*(after[k] - before[k] for k in ("drops", "overlimits", "bytes")), flush=True)
sys.stdin.readline()
PY
coproc py {
	join "$top/api"
	exec unshare -n bash -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
		ip link set lo up
		ip link add thin type veth peer name far
		ip addr add 10.9.9.1/24 dev thin
		ip link set thin up; ip link set far up
		ip neigh add 10.9.9.2 lladdr 02:00:00:00:00:01 dev thin
		tc qdisc add dev thin root tbf rate 8mbit burst 10kb limit 60kb
		exec python3 "$1"' sh "$dir/sender.py"
}
answer() { read -r -t 20 line <&"${py[0]}" || fail "no answer from the sender"; }
answer
csv=$dir/qdisc.csv
"$B/useprobe" -c "$top/api" -i 0.5 -d 6 -b --only network -o "$csv" >/dev/null &
probe=$!
wait_for_row "$csv"
sleep 0.8
echo go >&"${py[1]}"
answer
read -r drops overlimits bytes <<<"$line"
wait $probe
echo end >&"${py[1]}"

# rows of one interface: FUNCTION of a detail figure
detail() {
	awk -F, -v n="$1" -v f="$3" '$5 == "network" && $6 == n {if (match($0, /[;,]'"$2"'=[0-9.]+/)) {v = substr($0, RSTART, RLENGTH); sub(/.*=/, "", v); s += v; if (v + 0 > m) m = v + 0}} END {print (f == "max" ? m : s) + 0}' "$csv"
}
column() { awk -F, -v n="$1" -v c="$2" '$5 == "network" && $6 == n && $c + 0 > m {m = $c} END {print m + 0}' "$csv"; }
errors=$(awk -F, '$5 == "network" && $6 == "thin" {s += $11} END {print s + 0}' "$csv")
[ "$drops" -gt 100 ] || fail "the shaper dropped only $drops"
check "$(detail thin queue_drops sum) == $drops" "queue_drops $(detail thin queue_drops sum), tc counted $drops"
check "$errors == $drops" "errors $errors, tc counted $drops"
check "$(detail thin overlimits sum) == $overlimits" "overlimits $(detail thin overlimits sum), tc counted $overlimits"
# 60,000 bytes hold 41 datagrams of 1,442; the token bucket holds one more on its way out. Without IPv6 the interface sends nothing of
# its own (router solicitations and the like would be packets of the queue, too).
longest=$(detail thin queue_packets_max max)
check "$longest >= 40 && $longest <= 42" "the longest queue is $longest packets, 60,000 bytes hold 41"
check "$(column thin 7) > 0.9 && $(column thin 7) < 1.1" "utilization $(column thin 7) of a link that is full"
check "$(column thin 8) > 20" "mean queue $(column thin 8)"
check "$(detail thin shaper_bytes_per_s max) == 1000000" "rate of the shaper"
grep -q ',network,thin,.*;qdisc=tbf;' "$csv" || fail "no qdisc named"
echo "ok: $drops drops, $overlimits overlimits, $bytes bytes, longest queue $longest packets, utilization $(column thin 7)"
