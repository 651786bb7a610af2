#!/bin/bash
# Docker in Docker, and the probe as a sidecar: a daemon inside a container of another daemon makes a container of its own, whose pid as that
# daemon tells it belongs to another namespace; it is found by name and by id prefix with its own quota. Then the probe itself runs in a
# container with the host's pids and looks at a sibling.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=$PWD/${B:-build}
dir=$(mktemp -d /tmp/useprobe-inside.XXXXXX)
. tests/live/lib_docker.sh
docker_skip
inner() { docker -H "unix://$dir/in/docker.sock" "$@"; }
cleanup() { inner rm -f api >/dev/null 2>&1 || true; docker_stop; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }
check() { awk "BEGIN {exit !($1)}" || fail "$2"; }
docker_start
mkdir -p "$dir/in"
# The machine's own programs inside; not --privileged, which asks for capabilities that this machine may not have itself.
host=(-v /usr:/usr:ro -v /lib:/lib:ro -v /lib64:/lib64:ro)
rights=(--cap-add SYS_ADMIN --cap-add NET_ADMIN --cap-add SYS_PTRACE --cap-add DAC_READ_SEARCH --security-opt seccomp=unconfined)

dock run -d --name outer --network none "${rights[@]}" "${host[@]}" -v /etc:/etc:ro -v /sys/fs/cgroup:/sys/fs/cgroup -v "$dir/in:/in" tiny:1 \
	/usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/sbin/dockerd --storage-driver=vfs --iptables=false --bridge=none \
	--data-root /in/data --exec-root /in/exec --pidfile /in/pid -H unix:///in/docker.sock >/dev/null
for _ in $(seq 150); do inner version >/dev/null 2>&1 && break; sleep 0.1; done
inner version >/dev/null 2>&1 || { dock logs outer 2>&1 | tail -n 2; echo "no daemon inside a container here"; exit 77; }
busybox_image | inner import - tiny:1 >/dev/null
inner run -d --network none --name api --cpus 0.3 tiny:1 sh -c 'while :; do :; done' >/dev/null || { echo "no container inside a container here"; exit 77; }
id=$(inner inspect -f '{{.Id}}' api)
[ "$(inner inspect -f '{{.State.Pid}}' api)" != "$(dock inspect -f '{{.State.Pid}}' outer)" ] || fail "the pids should be of two namespaces"

# mean utilization of the cpu row of FILE
used() { awk -F, '$4 == "cgroup" && $5 == "cpu" && $7 != "" {s += $7; n++} END {print n ? s / n : -1}' "$1"; }
echo "the container inside, by name and by id"
for name in api "${id:0:12}"; do
	DOCKER_HOST=unix://$dir/in/docker.sock "$B/useprobe" -c "$name" -d 2.2 --only cpu -b --force -o "$dir/api.csv" >/dev/null 2>"$dir/err" || fail "status $? for $name: $(tail -n 1 "$dir/err")"
	u=$(used "$dir/api.csv")
	check "$u > 0.7 && $u < 1.15" "utilization of a spinner at 0.3 CPUs is $u of its quota"
	grep -q "quota_cpus=0.3" "$dir/api.csv" || fail "its quota is not 0.3"
done
DOCKER_HOST=unix://$dir/docker.sock "$B/useprobe" -c api -d 1 --only cpu -b --no-csv >/dev/null 2>"$dir/err" && fail "found through a daemon that does not know it"
grep -q "'api' was not found" "$dir/err" || fail "no word of what was searched: $(cat "$dir/err")"

echo "the probe in a container"
dock run -d --name sibling --network none --cpus 0.2 tiny:1 sh -c 'while :; do :; done' >/dev/null
dock run --rm --pid host --network none "${rights[@]}" "${host[@]}" -v "$B:/lab:ro" -v "$dir:/out" -v /sys/fs/cgroup:/sys/fs/cgroup:ro \
	-v "$dir/docker.sock:/var/run/docker.sock" tiny:1 /lab/useprobe -c sibling -d 3.2 --only cpu,run-queue -b -o /out/sidecar.csv >/dev/null 2>"$dir/err" ||
	fail "status $? in a container: $(tail -n 2 "$dir/err")"
u=$(used "$dir/sidecar.csv")
check "$u > 0.7 && $u < 1.15" "seen from a container, a spinner at 0.2 CPUs uses $u of its quota"
waits=$(awk -F, '$4 == "cgroup" && $5 == "run-queue" && $9 != "" {n++} END {print n + 0}' "$dir/sidecar.csv")
echo "ok: inside $u of the quota; $waits run-queue rows with a figure from inside a container ($(awk -F, '$4 == "cgroup" && $5 == "run-queue" {m = $14} END {print m}' "$dir/sidecar.csv"))"
