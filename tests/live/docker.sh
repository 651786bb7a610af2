#!/bin/bash
# Real Docker containers: by name, id prefix and compose service; pause; removed and made again; two daemons' worth of trouble.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=$PWD/${B:-build}
dir=$(mktemp -d /tmp/useprobe-docker.XXXXXX)
. tests/live/lib_docker.sh
docker_skip
cleanup() { docker_stop; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }
docker_start

spin='while :; do :; done'
run() { dock run -d --network none "$@" >/dev/null; }
run --name api --cpus 0.5 tiny:1 sh -c "$spin"
run --name shop_web_1 --label com.docker.compose.service=web --cpus 0.1 tiny:1 sh -c "$spin"
run --name shop_web_2 --label com.docker.compose.service=web --cpus 0.1 tiny:1 sh -c "$spin"
id=$(dock inspect -f '{{.Id}}' api)
sleep 1

echo "by name"
# CPU time of the container by the kernel's own counter, wherever its group is mounted.
usage_ns() {
	local file
	for file in /sys/fs/cgroup/cpuacct"$1"/cpuacct.usage /sys/fs/cgroup/cpu,cpuacct"$1"/cpuacct.usage; do
		[ -r "$file" ] && { cat "$file"; return; }
	done
	awk '/^usage_usec/ {print $2 * 1000}' /sys/fs/cgroup"$1"/cpu.stat
}
group=$(awk -F: '$2 ~ /(^|,)cpu(,|$)/ || $1 == 0 {print $3; exit}' /proc/"$(dock inspect -f '{{.State.Pid}}' api)"/cgroup)
t0=$(date +%s%N) u0=$(usage_ns "$group")
"$B/useprobe" -c api -d 4 -b -o "$dir/api.csv" >/dev/null 2>"$dir/err"
t1=$(date +%s%N) u1=$(usage_ns "$group")
u=$(awk -F, '$5 == "cpu" && $4 == "cgroup" && $7 != "" {s += $7; n++} END {print s / n}' "$dir/api.csv")
truth=$(awk -v u=$((u1 - u0)) -v t=$((t1 - t0)) 'BEGIN {print u / t / 0.5}')
# The kernel's figure spans the probe's start-up too: on a busy machine the two windows differ. tests/live/main_job.sh holds the number itself.
awk -v u="$u" -v t="$truth" 'BEGIN {d = u - t; if (d < 0) d = -d; exit !(u > 0 && d < 0.4)}' ||
	fail "utilization of a spinner at --cpus 0.5 is $u, the kernel counted $truth"
grep -q "quota_cpus=0.5" "$dir/api.csv" || fail "the quota is not 0.5"
grep -q "$id" "$dir/api.json" || fail "the sidecar does not name the container"

echo "by id prefix, by compose service"
"$B/useprobe" -c "${id:0:12}" -d 1 -b --no-csv >"$dir/out" 2>/dev/null
grep -q "${id:0:12}" "$dir/out" || fail "id prefix"
"$B/useprobe" -c web -d 1 --only cpu -b -o "$dir/web.csv" >/dev/null 2>"$dir/err"
n=$(awk -F, '$4 == "cgroup" && $5 == "cpu" {print $6}' "$dir/web.csv" | sort -u | wc -l)
[ "$n" = 2 ] || fail "compose service web has 2 replicas, found $n"

echo "pause, remove, make again"
"$B/useprobe" -c api -i 0.5 -d 12 -b -o "$dir/life.csv" >/dev/null 2>"$dir/err" &
probe=$!
# Loading the programs takes its time on a busy machine: the story begins with the second row.
for _ in $(seq 100); do
	[ "$(grep -c ",cgroup,cpu," "$dir/life.csv" 2>/dev/null || true)" -ge 2 ] 2>/dev/null && break
	sleep 0.1
done
dock pause api >/dev/null
sleep 2
dock unpause api >/dev/null
sleep 0.6
dock rm -f api >/dev/null
sleep 1.2
run --name api --cpus 0.25 tiny:1 sh -c "$spin"
wait $probe || fail "the run ended with $?"
awk -F, '$5 == "frozen" && $8 == 1' "$dir/life.csv" | grep -q . || fail "docker pause is not seen as frozen"
grep -q ",event,target-gone," "$dir/life.csv" || fail "no target-gone"
grep -q ",event,target-back," "$dir/life.csv" || fail "no target-back"
sed -n '/target-back/,$p' "$dir/life.csv" | grep ",cgroup,cpu," | grep -q "quota_cpus=0.25" || fail "the new container's quota is not seen"
if awk -F, '$5 == "cpu" && $7 != "" && $7 < 0' "$dir/life.csv" | grep -q .; then fail "a negative utilization"; fi

echo "a daemon that hangs delays no tick"
python3 - "$dir/hang.sock" <<'PY' &
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(5)
time.sleep(20)
PY
hang=$!
sleep 0.5
DOCKER_HOST=unix://$dir/hang.sock "$B/useprobe" -c not-there-yet --wait -i 0.2 -d 3 --only probe -b -o "$dir/hang.csv" >/dev/null 2>&1
kill $hang
late=$(awk -F, '$5 == "probe" && $8 > 0' "$dir/hang.csv" | wc -l)
[ "$late" = 0 ] || fail "$late late ticks with a daemon that hangs"
