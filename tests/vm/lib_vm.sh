# Sourced by tests/vm/*.sh: boots a Debian kernel under qemu with an initramfs that holds the built programs, a shell and the live tests.
# KVM is not tried: a /dev/kvm that opens may still hang at boot; the emulator boots to a shell in 2 to 5 s.
# Everything fetched or made is kept below $B/vm.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
vm=$B/vm
mkdir -p "$vm"
skip() { echo "$*"; exit 77; }

for program in qemu-system-x86_64 cpio gzip dpkg-deb apt-get; do
	command -v $program >/dev/null || skip "$program is not installed (make deps-live)"
done
busybox=$(command -v busybox) || skip "busybox is not installed (make deps-live)"
[ "$(uname -m)" = x86_64 ] || skip "the guests are x86-64"

# Where the host's own Debian packages come from, for suites it does not list.
mirror() {
	sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
		grep -m 1 '/debian/*$'
}

# Newest package of a kernel series in the apt lists named by the options; newer suites keep the image itself in linux-binary-*.
kernel_package() {
	local series=$1
	shift
	apt-cache "$@" search --names-only "^linux-(image|binary)-${series//./\\.}\\.[0-9].*-cloud-amd64$" |
		awk '{print $1}' | sed 's/^linux-\(image\|binary\)-\(.*\)/\2 \1/' | sort -k1,1V -k2,2r | awk 'END {print "linux-" $2 "-" $1}' | grep -- -cloud
}

# kernel_fetch SERIES [SUITE]: leaves $vm/SERIES/vmlinuz. With SUITE its lists are fetched into a directory of our own.
kernel_fetch() {
	local series=$1 suite=${2:-} into=$vm/$1 options=() package base
	[ -e "$into/vmlinuz" ] && return
	mkdir -p "$into"
	if [ -n "$suite" ]; then
		base=$(mirror)
		[ -n "$base" ] || skip "no Debian mirror in the apt sources"
		mkdir -p "$into/lists/partial" "$into/cache/archives/partial"
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $base $suite main" >"$into/sources.list"
		options=(-o "Dir::Etc::sourcelist=$PWD/$into/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$PWD/$into/lists"
			-o "Dir::Cache=$PWD/$into/cache" -o APT::Get::List-Cleanup=0 -o Acquire::Languages=none)
		apt-get "${options[@]}" -q update >"$into/log" 2>&1 || skip "apt lists of $suite cannot be had: $(tail -n 1 "$into/log")"
	fi
	package=$(kernel_package "$series" "${options[@]}")
	[ -n "$package" ] || skip "no cloud kernel $series in the apt lists${suite:+ of $suite}"
	(cd "$into" && apt-get "${options[@]}" -q download "$package") >>"$into/log" 2>&1 || skip "$package cannot be downloaded: $(tail -n 1 "$into/log")"
	rm -rf "$into/root"
	dpkg-deb -x "$into"/linux-*.deb "$into/root" || skip "$package does not unpack"
	find "$into/root" -name 'vmlinuz*' -type f -exec cp {} "$into/vmlinuz" \; -quit
	rm -rf "$into/root" "$into"/*.deb "$into/lists" "$into/cache"
	[ -e "$into/vmlinuz" ] || skip "$package holds no vmlinuz"
}

# put ROOT FILE...: copies programs with the libraries they load.
put() {
	local root=$1 file library
	shift
	for file in "$@"; do
		install -D "$file" "$root/bin/$(basename "$file")"
		for library in $(ldd "$file" 2>/dev/null | grep -o '/[^ ]*'); do
			[ -e "$root$library" ] || install -D "$library" "$root$library"
		done
	done
}

# initramfs SCRIPT: makes $vm/initrd with the tree's live tests, the programs and SCRIPT as what runs.
initramfs() {
	local root name
	root=$(mktemp -d)
	mkdir -p "$root"/{bin,proc,sys,dev,tmp,root,etc}
	put "$root" "$busybox" "$(command -v bash)" "$(command -v date)" "$B/useprobe" "$B/uselab"
	for name in $("$busybox" --list); do [ -e "$root/bin/$name" ] || ln -s busybox "$root/bin/$name"; done
	ln -s / "$root/usr"
	ln -s bin "$root/sbin"
	mkdir -p "$root/tree/build"
	cp -r tests "$root/tree/"
	rm -rf "$root/tree/tests/fixtures" "$root/tree/tests/unit"
	ln -s /bin/useprobe "$root/tree/build/useprobe"
	ln -s /bin/uselab "$root/tree/build/uselab"
	cp "$1" "$root/guest.sh"
	# What needs nothing but the kernel, a cgroup v2 tree and our programs.
	echo "${VM_TESTS:-main_job bpf_run_queue bpf_quota}" >"$root/guest.tests"
	cat >"$root/init" <<'I'
#!/bin/sh
export PATH=/bin HOME=/root LANG=C
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp; ln -sf /proc/self/fd /dev/fd
mount -t cgroup2 none /sys/fs/cgroup
echo "+cpu +memory +io +pids" >/sys/fs/cgroup/cgroup.subtree_control
ip link set lo up
echo "GUEST-UP $(uname -r)"
cd /tree && bash /guest.sh
echo "GUEST-RC $?"
poweroff -f
I
	chmod +x "$root/init"
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$vm/initrd.tmp" && mv "$vm/initrd.tmp" "$vm/initrd"
	rm -rf "$root"
}

# boot SERIES: runs the guest; its serial output goes to $vm/SERIES/out and, without the boot noise, to stdout. Its status is the guest's.
boot() {
	local into=$vm/$1
	nice -n 19 timeout "${VM_S:-400}" qemu-system-x86_64 -M pc -accel tcg,thread=multi -cpu max -smp 2 -m 768 -nodefaults -no-user-config -nographic \
		-serial stdio -monitor none -no-reboot -kernel "$into/vmlinuz" -initrd "$vm/initrd" \
		-append "console=ttyS0 reboot=t panic=-1 quiet psi=1 mitigations=off tsc=reliable" </dev/null 2>"$into/err" | tr -d '\r' >"$into/out"
	guest_result "$1"
}

# guest_result SERIES: what the guest said, with its status.
guest_result() {
	local into=$vm/$1 rc
	sed -n '/GUEST-UP/,$p' "$into/out"
	grep -q GUEST-UP "$into/out" || { echo "the guest did not come up:"; tail -n 20 "$into/out" "$into/err"; return 1; }
	rc=$(sed -n 's/^GUEST-RC //p' "$into/out")
	return "${rc:-1}"
}
