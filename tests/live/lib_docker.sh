# A real Docker daemon of the test's own: socket, data and pid file below $dir. Source it; docker_start, docker_stop, and `dock ...`.
# An image is made from busybox, no registry is asked.
docker_skip() {
	[ "$(id -u)" = 0 ] || { echo "needs root to run a Docker daemon"; exit 77; }
	command -v dockerd >/dev/null || { echo "dockerd is not installed (make deps-live)"; exit 77; }
	[ -x /bin/busybox ] || { echo "busybox-static is not installed (make deps-live)"; exit 77; }
}

docker_start() {
	local i
	mkdir -p "$dir/data" "$dir/exec"
	dockerd --storage-driver=vfs --iptables=false --bridge=none --data-root "$dir/data" --exec-root "$dir/exec" \
		--pidfile "$dir/pid" -H "unix://$dir/docker.sock" >"$dir/dockerd.log" 2>&1 &
	for i in $(seq 300); do
		[ -S "$dir/docker.sock" ] && dock version >/dev/null 2>&1 && break
		sleep 0.1
	done
	dock version >/dev/null 2>&1 || { tail -n 3 "$dir/dockerd.log"; echo "the Docker daemon does not start here"; exit 77; }
	export DOCKER_HOST=unix://$dir/docker.sock
	busybox_image | dock import - tiny:1 >/dev/null
}

# A root file system of busybox with the links that a shell script needs, as a tar on stdout.
busybox_image() {
	local root=$dir/rootfs link
	mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/tmp" "$root/lab"
	cp /bin/busybox "$root/bin/"
	for link in sh sleep cat ls true yes; do ln -sf busybox "$root/bin/$link"; done
	tar -C "$root" -c .
}

dock() { docker -H "unix://$dir/docker.sock" "$@"; }

docker_stop() {
	local ids pid i
	ids=$(dock ps -aq 2>/dev/null) || true
	[ -z "$ids" ] || dock rm -f $ids >/dev/null 2>&1 || true
	if [ -s "$dir/pid" ]; then
		pid=$(cat "$dir/pid")
		kill "$pid" 2>/dev/null || true
		for i in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
	fi
	# The daemon leaves the name of the host's network mounted when a container used it.
	umount "$dir/exec/netns/default" 2>/dev/null || true
}
