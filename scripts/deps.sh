#!/bin/sh
# Installs what the project needs from Debian. A no-op when all is there; without root it prints the one line to run.
# usage: scripts/deps.sh build|live
# Debian 12 lacks some of the load generators of tests/live/load_generators.sh, which runs those on PATH: go install github.com/tsenart/vegeta/v12@latest,
# cargo install oha, pip install locust, JMeter 5.6.3 from apache.org or Maven (Debian's 2.13 does not run plans)
set -eu
build="gcc make pkg-config clang llvm bpftool libbpf-dev libelf-dev zlib1g-dev libncurses-dev libjansson-dev
libcurl4-openssl-dev unixodbc-dev libmicrohttpd-dev libcmocka-dev tmux clang-tidy clang-format cppcheck libclang-rt-14-dev
iproute2 curl python3"
live="docker.io containerd podman runc busybox-static qemu-system-x86 cpio zstd nginx-light nodejs openjdk-17-jdk-headless postgresql odbc-postgresql freetds-bin tdsodbc chromium wrk hey linux-perf bpftrace prometheus mmdebstrap e2fsprogs"
case "${1:-build}" in
build) want=$build ;;
live) want=$live ;;
*) echo "usage: $0 build|live" >&2; exit 2 ;;
esac

# go_tool NAME MODULE@VERSION: what Debian does not carry, where there is a Go compiler new enough.
go_tool() {
	command -v "$1" >/dev/null && return
	echo "building $1"
	GOBIN=/usr/local/bin timeout 300 go install "$2" >/dev/null 2>&1 || echo "not to be had here: $1"
}
if [ "${1:-build}" = live ] && [ "$(id -u)" = 0 ] && command -v go >/dev/null; then
	go_tool crictl sigs.k8s.io/cri-tools/cmd/crictl@v1.34.0
	go_tool vegeta github.com/tsenart/vegeta/v12@v12.13.0
fi

missing=
for package in $want; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "missing packages; run:  sudo apt-get install -y --no-install-recommends$missing" >&2
	exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null
# Servers must not start by themselves on the tester's machine; policy-rc.d is Debian's way to say so.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	trap 'rm -f "$policy"' EXIT
fi
if [ "${1:-build}" = build ]; then
	apt-get install -y -q --no-install-recommends $missing >/dev/null
else
	# One at a time: what this release does not carry makes its tests skip, it does not stop the others.
	for package in $missing; do
		apt-get install -y -q --no-install-recommends "$package" >/dev/null 2>&1 || echo "not to be had here: $package"
	done
fi
