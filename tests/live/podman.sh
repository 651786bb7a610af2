#!/bin/bash
# A real Podman container by its name, over Podman's own Docker-compatible socket.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
for program in podman runc /bin/busybox; do command -v $program >/dev/null || { echo "$program is not installed (make deps-live)"; exit 77; }; done
dir=$(mktemp -d /tmp/useprobe-podman.XXXXXX)
# CONTAINER_HOST is for the probe: podman itself would turn into a remote client by it and reach nothing of this store.
pod() { env -u CONTAINER_HOST podman --root "$dir/store" --runroot "$dir/run" --runtime runc --cgroup-manager=cgroupfs --storage-driver=vfs "$@"; }
service=
cleanup() {
	local status=$? left
	pod rm -f -t 0 shop >/dev/null 2>"$dir/err" || true
	[ -z "$service" ] || kill "$service" 2>/dev/null || true
	wait 2>/dev/null || true
	# Podman takes its own mounts away a moment after the container.
	awk -v d="$dir/" 'index($2, d) == 1 {print $2}' /proc/mounts | while read -r mount; do umount -l "$mount" 2>/dev/null || true; done
	# Its monitor ends a moment after the container.
	for _ in $(seq 50); do
		left=$(pgrep -f "conmon .*$dir/" || true)
		[ -n "$left" ] || break
		sleep 0.1
	done
	rm -rf "$dir" || true
	# A container that stays would spin for ever.
	[ -z "$left" ] || { echo "FAILED: the container was not removed (conmon $left)"; status=1; }
	exit $status
}
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }

mkdir -p "$dir/root/bin"
cp /bin/busybox "$dir/root/bin/"
ln -s busybox "$dir/root/bin/sh"
tar -C "$dir/root" -c . | pod import - tiny:1 >/dev/null 2>&1 || { echo "podman cannot import an image here"; exit 77; }
pod run -d --name shop --network none --cpus 0.3 --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 tiny:1 sh -c 'while :; do :; done' \
	>"$dir/id" 2>"$dir/err" || { tail -n 1 "$dir/err"; echo "podman cannot run a container here"; exit 77; }
podman --root "$dir/store" --runroot "$dir/run" --storage-driver=vfs system service -t 60 "unix://$dir/podman.sock" >/dev/null 2>&1 &
service=$!
for _ in $(seq 100); do [ -S "$dir/podman.sock" ] && break; sleep 0.1; done
export CONTAINER_HOST=unix://$dir/podman.sock
"$B/useprobe" -c shop -d 4 -b --only cpu -o "$dir/shop.csv" >/dev/null 2>"$dir/err" || fail "$(cat "$dir/err")"
u=$(awk -F, '$4 == "cgroup" && $5 == "cpu" && $7 != "" {u = $7} END {print u}' "$dir/shop.csv")
# On a busy machine a spinner gets less than its quota; whose figures these are is told by the quota below.
awk -v u="$u" 'BEGIN {exit !(u > 0.02 && u < 1.1)}' || fail "utilization of a spinner at --cpus 0.3 is $u"
grep -q "quota_cpus=0.3" "$dir/shop.csv" || fail "the quota is not 0.3"
"$B/useprobe" list | grep -q "libpod-$(cat "$dir/id").*(shop)" || fail "list does not name the container"
