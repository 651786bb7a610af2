#!/bin/bash
# The machine most users have: systemd as PID 1, unified cgroup v2, a real Docker daemon with the systemd cgroup driver. Unit, slice, scope and
# container are found by their names and the cpu rows agree with cpu.stat. The Debian root is made once and kept below $B/vm/systemd (620 MB).
. tests/vm/lib_vm.sh
for program in mmdebstrap mke2fs tar; do
	command -v $program >/dev/null || skip "$program is not installed (make deps-live)"
done
[ "$(id -u)" = 0 ] || skip "needs root to make the guest's file system"
into=$vm/systemd
mkdir -p "$into"

# The same suite as the host's, so that the programs built here run there.
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
sources=$(ls /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null | head -n 1)
if [ ! -e "$into/root.tar" ]; then
	nice -n 19 mmdebstrap --variant=minbase --mode=root --include=systemd,systemd-sysv,dbus,udev,docker.io,busybox-static,linux-image-cloud-amd64,initramfs-tools,iproute2,procps \
		"$suite" "$into/new.tar" "$sources" >"$into/log" 2>&1 || skip "the guest's Debian root cannot be made: $(grep '^E:' "$into/log" | head -n 1)"
	mv "$into/new.tar" "$into/root.tar"
fi

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root" "$into/disk"' EXIT
tar -C "$root" -xf "$into/root.tar" --exclude='./dev/*' || skip "the guest's root does not unpack"
mkdir -p "$root/etc/docker" "$root/etc/systemd/system/multi-user.target.wants"
echo '{"storage-driver":"vfs","iptables":false,"bridge":"none"}' >"$root/etc/docker/daemon.json"
ln -sf /dev/null "$root/etc/systemd/system/serial-getty@ttyS0.service" # it hangs the console up
cp "$B/useprobe" "$B/uselab" "$root/usr/bin/"
# Libraries of ours that the root does not bring; those it has are the same Debian's. libcurl is loaded when a container daemon is asked.
curl=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk '/libcurl\.so\.4 / {print $NF; exit}')
[ -e "$curl" ] || skip "libcurl4 is not installed (make deps)"
for library in $curl $(ldd "$B/useprobe" "$curl" | grep -o '/[^ :]*\.so[^ :]*'); do
	[ -e "$root$library" ] || install -D "$library" "$root$library"
done
cp tests/vm/lib_systemd_guest.sh "$root/root/guest.sh"
cat >"$root/etc/systemd/system/guest.service" <<'U'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
StandardOutput=tty
StandardError=inherit
TTYPath=/dev/ttyS0
ExecStart=/bin/sh -c 'echo "GUEST-UP $(uname -r)"; bash /root/guest.sh; echo "GUEST-RC $?"; systemctl poweroff -ff'
U
ln -sf ../guest.service "$root/etc/systemd/system/multi-user.target.wants/"
rm -f "$into/disk"
mke2fs -q -t ext4 -O ^has_journal -d "$root" "$into/disk" 1600M || skip "mke2fs cannot make the disk image"
cp "$root"/boot/vmlinuz-* "$into/vmlinuz"
cp "$root"/boot/initrd.img-* "$into/initrd"
rm -rf --one-file-system "$root"

# Docker refuses to start containers where AppArmor is on and its parser is not installed.
nice -n 19 timeout "${VM_S:-400}" qemu-system-x86_64 -M pc -accel tcg,thread=multi -cpu max -smp 2 -m 1500 -nodefaults -no-user-config -nographic \
	-serial stdio -monitor none -no-reboot -kernel "$into/vmlinuz" -initrd "$into/initrd" \
	-append "console=ttyS0 root=/dev/vda rw quiet systemd.show_status=0 loglevel=3 panic=-1 psi=1 mitigations=off apparmor=0 tsc=reliable" \
	-drive "file=$into/disk,format=raw,if=virtio,cache=unsafe" </dev/null 2>"$into/err" | tr -d '\r' >"$into/out"
guest_result systemd
