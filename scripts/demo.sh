#!/bin/bash
# The main job on the built-in lab: a server with half a CPU, a load ladder, the probe beside it. Under a minute; as root in a cgroup of
# its own, without root on the process alone (fewer rows). Removes what it made.
set -u
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
port=${DEMO_PORT:-18080}
out=${DEMO_DIR:-$(mktemp -d)}
name=useprobe-demo-$$
groups=()
pids=()

cleanup() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
	wait 2>/dev/null
	for dir in "${groups[@]}"; do rmdir "$dir" 2>/dev/null; done
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# Creates the group in every hierarchy that has the controllers, with a quota of half a CPU. v2 first, then v1.
limit() {
	local mount
	mount=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
	if [ -n "$mount" ] && grep -qw cpu "$mount/cgroup.controllers" 2>/dev/null; then
		echo +cpu >"$mount/cgroup.subtree_control" 2>/dev/null
		mkdir "$mount/$name" 2>/dev/null || return 1
		groups+=("$mount/$name")
		echo "50000 100000" >"$mount/$name/cpu.max" || return 1
		return 0
	fi
	for controller in cpu cpuacct memory; do
		mount=$(awk -v c="$controller" '$3 == "cgroup" && $4 ~ "(^|,)" c "(,|$)" {print $2; exit}' /proc/mounts)
		[ -n "$mount" ] || continue
		case " ${groups[*]} " in *" $mount/$name "*) continue ;; esac
		mkdir "$mount/$name" 2>/dev/null || return 1
		groups+=("$mount/$name")
		[ "$controller" = cpu ] && { echo 50000 >"$mount/$name/cpu.cfs_quota_us" || return 1; }
	done
	[ ${#groups[@]} -gt 0 ]
}

target=()
if [ "$(id -u)" = 0 ] && limit; then
	target=(--cgroup "$name")
	echo "server: half a CPU in cgroup $name, 16 workers, 16 connections to a database of 5 ms, 1.5 ms of CPU a request"
else
	echo "server: no right to make a cgroup, so no quota; 16 workers, 16 connections to a database of 5 ms, 1.5 ms of CPU a request"
fi
"$B/uselab" db --listen 127.0.0.1:$((port + 1)) --workers 16 --service-ms 5 --duration 80s >"$out/db.log" 2>&1 &
pids+=($!)
(
	for dir in "${groups[@]}"; do echo 0 >"$dir/cgroup.procs"; done
	exec "$B/uselab" serve --listen 127.0.0.1:$port --workers 16 --cpu-ms 1.5 --db 127.0.0.1:$((port + 1)) --pool 16 --duration 80s
) >"$out/serve.log" 2>&1 &
pids+=($!)
[ ${#target[@]} -gt 0 ] || target=(--pid $!)
for _ in $(seq 50); do curl -sf -o /dev/null "http://127.0.0.1:$port/_stats" && break; sleep 0.1; done

csv=$out/useprobe-demo.csv
echo "load: 100 to 500 requests/s in steps of 100, 9 s each; a table each second:"
"$B/useprobe" "${target[@]}" -b -o "$csv" --force -l "$out/load.csv" -- \
	"$B/uselab" load --quiet --url http://127.0.0.1:$port/ --steps 100:100:5:9 --vus 200 --out "$out/load.csv" || exit 1
echo
echo "the same answer later:  $B/useprobe report $csv --load $out/load.csv"
echo "samples: $csv"
echo "load:    $out/load.csv"
