#!/bin/bash
# A pod and its container as a kubelet has them made: a containerd of the test's own, asked over CRI by crictl. They are found by pod id,
# container id and by the names that the log directories keep, which are made here as a kubelet would make them.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
for program in containerd ctr runc busybox python3; do
	command -v $program >/dev/null || { echo "$program is not installed (make deps-live)"; exit 77; }
done
PATH=$PATH:$HOME/go/bin
command -v crictl >/dev/null || { echo "crictl is not installed (make deps-live builds it where there is Go)"; exit 77; }

dir=$(mktemp -d /tmp/useprobe-cri.XXXXXX)
uid=8d2f1c3a-1111-2222-3333-$(printf %012x $$)
name=useprobe-cri-$$
parent=/kubepods/burstable/pod$uid
logs=/var/log/pods/${name}ns_${name}_$uid
made_dirs=() pod=
for path in /var/log/pods /var/log/containers; do [ -d $path ] || made_dirs+=($path); done
cri() { crictl -c "$dir/crictl.yaml" -r "unix://$dir/containerd.sock" -i "unix://$dir/containerd.sock" -t 20s "$@"; }
# The groups of a pod are the kubelet's to remove; here nobody else does.
remove_groups() {
	local mount path
	awk '$3 == "cgroup" || $3 == "cgroup2" {print $2}' /proc/mounts | while read -r mount; do
		for path in "$parent" /kubepods/burstable /kubepods; do rmdir "$mount$path" 2>/dev/null || true; done
	done
}
cleanup() {
	local status=$?
	[ -z "$pod" ] || { cri stopp "$pod" && cri rmp -f "$pod"; } >/dev/null 2>&1 || true
	[ -z "${daemon:-}" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null || true
	remove_groups
	awk -v d="$dir/" 'index($2, d) == 1 {print $2}' /proc/mounts | sort -r | while read -r mount; do umount -l "$mount" 2>/dev/null || true; done
	rm -f "${link:-$dir/none}"
	rm -rf "$dir" "$logs" || true
	[ ${#made_dirs[@]} = 0 ] || rmdir "${made_dirs[@]}" 2>/dev/null || true
	exit $status
}
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }

: >"$dir/crictl.yaml"
cat >"$dir/config.toml" <<T
version = 2
root = "$dir/root"
state = "$dir/state"
[grpc]
  address = "$dir/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/tiny:1"
  restrict_oom_score_adj = true
  disable_tcp_service = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
T
containerd -c "$dir/config.toml" >"$dir/log" 2>&1 &
daemon=$!
for _ in $(seq 150); do cri version >/dev/null 2>&1 && break; sleep 0.1; done
cri version >/dev/null 2>&1 || { tail -n 1 "$dir/log"; echo "containerd does not serve CRI here"; exit 77; }

# An image in docker's archive format, of busybox alone.
python3 - "$dir" "$(command -v busybox)" <<'P'
import hashlib, io, json, sys, tarfile
out, busybox = sys.argv[1:]
layer = io.BytesIO()
with tarfile.open(fileobj=layer, mode="w") as t:
    for name in ("bin", "proc", "sys", "dev", "etc", "tmp"):
        d = tarfile.TarInfo(name); d.type = tarfile.DIRTYPE; d.mode = 0o755; t.addfile(d)
    t.add(busybox, "bin/busybox")
    for name in ("sh", "sleep"):
        l = tarfile.TarInfo("bin/" + name); l.type = tarfile.SYMTYPE; l.linkname = "busybox"; t.addfile(l)
layer = layer.getvalue()
config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Cmd": ["/bin/sleep", "600"], "Env": ["PATH=/bin"]},
    "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
manifest = json.dumps([{"Config": "config.json", "RepoTags": ["docker.io/library/tiny:1"], "Layers": ["layer.tar"]}]).encode()
with tarfile.open(out + "/image.tar", "w") as t:
    for name, data in (("layer.tar", layer), ("config.json", config), ("manifest.json", manifest)):
        f = tarfile.TarInfo(name); f.size = len(data); t.addfile(f, io.BytesIO(data))
P
ctr -a "$dir/containerd.sock" -n k8s.io image import --snapshotter native "$dir/image.tar" >/dev/null 2>"$dir/err" ||
	{ tail -n 1 "$dir/err"; echo "containerd cannot import an image here"; exit 77; }

mkdir -p "$logs/api"
cat >"$dir/pod.json" <<T
{"metadata": {"name": "$name", "namespace": "${name}ns", "uid": "$uid", "attempt": 0}, "log_directory": "$logs",
 "linux": {"cgroup_parent": "$parent", "security_context": {"namespace_options": {"network": 2, "pid": 1}}}}
T
cat >"$dir/api.json" <<T
{"metadata": {"name": "api-$$"}, "image": {"image": "docker.io/library/tiny:1"}, "log_path": "api/0.log",
 "command": ["/bin/sh", "-c", "while :; do :; done"],
 "linux": {"resources": {"cpu_period": 100000, "cpu_quota": 30000, "memory_limit_in_bytes": 67108864}}}
T
pod=$(cri runp "$dir/pod.json" 2>"$dir/err") || { pod=; tail -n 1 "$dir/err"; echo "containerd cannot run a pod here"; exit 77; }
id=$(cri create "$pod" "$dir/api.json" "$dir/pod.json") && cri start "$id" >/dev/null || fail "the container does not start"
mkdir -p /var/log/containers
link=/var/log/containers/${name}_${name}ns_api-$$-$id.log
ln -s "$logs/api/0.log" "$link"

echo "names"
# where NAME WANT: the cgroup that NAME stands for
where() {
	local got
	got=$("$B/useprobe" list --json "$1" 2>"$dir/err" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["cgroup"])') || fail "$1: $(cat "$dir/err")"
	[ "$got" = "$2" ] || fail "$1 stands for $got, not $2"
}
where "$id" "$parent/$id"
where "${id:0:12}" "$parent/$id"
where "$uid" "$parent"
where "pod$uid" "$parent"
where "$name" "$parent"
where "${name}ns/$name" "$parent"
where "api-$$" "$parent/$id"
"$B/useprobe" list | grep -F "$parent/$id" | grep -q "(api-$$)" || fail "list does not name the container: $("$B/useprobe" list)"

echo "rows"
"$B/useprobe" -c "api-$$" -c "$name" -d 4 -b --only cpu,memory -o "$dir/rows.csv" >/dev/null 2>"$dir/err" || fail "$(cat "$dir/err")"
python3 - "$dir/rows.csv" "$parent" "$parent/$id" "$name" <<'P' || fail "the rows are not the container's"
import csv, sys
path, pod, container, name = sys.argv[1:]
rows = list(csv.DictReader(open(path)))
def last(resource, where): return [r for r in rows if r["scope"] == "cgroup" and r["resource"] == resource and r["name"] == where and r["utilization"]][-1]
cpu, memory, of_pod = last("cpu", container), last("memory", container), last("cpu", pod)
print(cpu); print(memory); print(of_pod)
assert "quota_cpus=0.3" in cpu["detail"] and 0.02 < float(cpu["utilization"]) < 1.2 and float(cpu["saturation"]) > 0, cpu
assert "limit_bytes=67108864" in memory["detail"] and 0 < float(memory["utilization"]) < 1, memory
assert of_pod["target"] == name and "quota_cpus=0.3" not in of_pod["detail"], of_pod
P

echo "removed and made again: another id, the same name"
"$B/useprobe" -c "api-$$" -i 0.5 -d 14 -b --only cpu -o "$dir/again.csv" >/dev/null 2>"$dir/err" &
run=$!
for _ in $(seq 50); do grep -q ",cgroup,cpu," "$dir/again.csv" 2>/dev/null && break; sleep 0.1; done
cri rm -f "$id" >/dev/null || fail "the container is not removed"
rm -f "$link"
sleep 1
again=$(sed 's/"api-[0-9]*"}/"api-'$$'", "attempt": 1}/' "$dir/api.json" >"$dir/api2.json"; cri create "$pod" "$dir/api2.json" "$dir/pod.json")
cri start "$again" >/dev/null
link=/var/log/containers/${name}_${name}ns_api-$$-$again.log
ln -s "$logs/api/0.log" "$link"
wait $run || fail "the run ended with $?: $(cat "$dir/err")"
awk -F, -v old="$parent/$id" -v new="$parent/$again" '
	$5 == "target-gone" && $6 == old {gone++}
	$5 == "target-back" && $6 == new {back++}
	$4 == "cgroup" && $5 == "cpu" && $6 == new && $7 > 0 {right++}
	END {exit !(gone == 1 && back == 1 && right > 0)}' "$dir/again.csv" || fail "restart: $(cut -d, -f2,4-8 "$dir/again.csv")"
