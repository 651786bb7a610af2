#!/bin/bash
# Runs inside the systemd guest.
bad=0
fail() { echo "FAILED: $*"; bad=1; }
dir=$(mktemp -d)
[ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ] || fail "no unified cgroup v2"
[ "$(ps -o comm= 1)" = systemd ] || fail "PID 1 is not systemd"
for _ in $(seq 60); do docker version >/dev/null 2>&1 && break; sleep 1; done
docker version >/dev/null 2>&1 || { fail "no Docker daemon"; exit 1; }
docker info 2>/dev/null | grep -E 'Cgroup|Server Version'

spin='while :; do :; done'
# A unit with a quota, a scope in a slice of its own, a container with a quota.
systemd-run --quiet --unit=shop-api -p CPUQuota=20% sh -c "$spin"
systemd-run --quiet --scope --unit=shop-job --slice=shop-batch.slice -p CPUQuota=25% sh -c "$spin" &
mkdir -p "$dir/root/bin"
cp /bin/busybox "$dir/root/bin/"
ln -s busybox "$dir/root/bin/sh"
tar -C "$dir/root" -c . | docker import - tiny:1 >/dev/null
docker run -d --name web --network none --cpus 0.3 tiny:1 /bin/sh -c "$spin" >/dev/null || fail "the container does not start"
sleep 5 # under emulation the start itself takes CPU time for a while

# name | where systemd keeps it
id=$(docker inspect -f '{{.Id}}' web)
cat >"$dir/names" <<N
shop-api.service /system.slice/shop-api.service
shop-job.scope /shop.slice/shop-batch.slice/shop-job.scope
shop-batch.slice /shop.slice/shop-batch.slice
web /system.slice/docker-$id.scope
N
usage() { awk '/^usage_usec/ {print $2}' "/sys/fs/cgroup$1/cpu.stat"; }
# Each by itself: the rows must be those of its group over the same time.
while read -r name group; do
	[ -d "/sys/fs/cgroup$group" ] || { fail "$name: there is no $group"; continue; }
	u0=$(usage "$group") p0=$(awk '/^nr_throttled/ {print $2}' "/sys/fs/cgroup$group/cpu.stat") t0=$(date +%s%N)
	useprobe -c "$name" -i 1 -d 6 -b --only cpu,run-queue -o "$dir/$name.csv" >/dev/null 2>"$dir/errors" || fail "$name: $(cat "$dir/errors")"
	u1=$(usage "$group") p1=$(awk '/^nr_throttled/ {print $2}' "/sys/fs/cgroup$group/cpu.stat") t1=$(date +%s%N)
	truth=$(awk "BEGIN {print ($u1 - $u0) * 1000 / ($t1 - $t0)}")
	# CPUs used, from the rows' own figure.
	row=$(awk -F, '$4 == "cgroup" && $5 == "cpu"' "$dir/$name.csv" | tail -n 1)
	[ -n "$row" ] || { fail "$name: no cpu row"; continue; }
	used=$(awk -F, '$4 == "cgroup" && $5 == "cpu" && match($0, /[,;]used_cpus=[0-9.e-]*/) {split(substr($0, RSTART, RLENGTH), kv, "="); s += kv[2] * $3; t += $3}
		END {if (t) print s / t}' "$dir/$name.csv")
	echo "$name -> $(echo "$row" | cut -d, -f6): CPUs used ${used:-?}, cpu.stat $truth, throttled periods $((p1 - p0))"
	awk "BEGIN {d = ${used:-0} - $truth; exit !($truth > 0.05 && d * d < (0.2 * $truth) ^ 2)}" || fail "$name: ${used:-nothing} CPUs in the rows, $truth in cpu.stat"
	echo "ROW $row"
	grep -q "run-queue.*sched_switch" "$dir/$name.csv" || fail "$name: the run queue is not from eBPF"
done <"$dir/names"
useprobe list 2>&1 | head -n 30
docker rm -f web >/dev/null
systemctl stop shop-api.service shop-job.scope
exit $bad
