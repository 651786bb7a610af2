#!/bin/bash
# Names of real cgroups, on v1, hybrid or v2: empty ones, ones in a single hierarchy, children, odd names, two of one name; removed and made
# again during a run; seen from inside a cgroup namespace.
# beside
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
probe=$PWD/$B/useprobe
list() { "$probe" list --json "$@"; }
# field NAME EXPRESSION: of what `list` says about NAME, t
field() { list "$1" | python3 -c "import json, sys; t = json.load(sys.stdin)[0]; print($2)"; }
is() { [ "$(field "$1" "$2")" = "$3" ] || fail "$1: $2 is $(field "$1" "$2"), not $3"; }

echo "an empty group"
is "$top" 't["how"]' "relative path"
is "$top" 't["processes"]' 0
is "$top" 't["directories"]["cpu"]' "$cpu/$top"
is "$cpu/$top" 't["how"]' "absolute path"
is "$cpu//$top/" 't["cgroup"]' "/$top"

echo "processes in a child, and what is not the group's own"
make_group "$top/inner"
(join "$top/inner"; exec sleep 60) &
pid=$!
for _ in $(seq 50); do [ -s "$cpu/$top/inner/cgroup.procs" ] && break; sleep 0.1; done
is "$top" 't["processes"]' 1
is inner 't["cgroup"]' "/$top/inner"
if [ $version = 1 ]; then
	# The other hierarchies hold this process together with the test's own: no directory there is the group's.
	is inner 't["directories"].get("memory")' None
	is inner 't["directories"].get("pids")' None
fi

echo "a group of the v2 hierarchy alone"
if [ -n "$v2" ] && [ $version = 1 ]; then
	mkdir "$v2/$top-two"
	made+=("$v2/$top-two")
	is "$top-two" 't["directories"].get("cpu")' None
	is "$top-two" 't["directories"]["v2"]' "$v2/$top-two"
	is "$top-two" 't["v2_id"]' "$(stat -c %i "$v2/$top-two")"
fi

echo "names that other tools trip over"
for name in 'system-ceph\x2dosd.slice' 'my app' 'user@1000.service' 'a:b' 'q"uote' 'comma,name' '-dash' 'größe' $'\e[31mred' $'raw\377\376' \
	"$(printf 'n%.0s' $(seq 255))"; do
	make_group "$top/$name"
	"$probe" list --json -- "$top/$name" >"$dir/out" || fail "not found: $name"
	NAME=$top/$name python3 -c '
import json, os, sys
t = json.load(open(sys.argv[1]))[0]
want = os.environb[b"NAME"]
got = bytes.fromhex(t["name_hex"]) if "name_hex" in t else t["name"].encode()
where = bytes.fromhex(t["cgroup_hex"]) if "cgroup_hex" in t else t["cgroup"].encode()
assert got == want and where == b"/" + want, (got, where, want)
' "$dir/out" || fail "other bytes came back"
	"$probe" list -- "$top/$name" >"$dir/out"
	if grep -q $'\e' "$dir/out"; then fail "an escape sequence reached the terminal"; fi
done
# By its base name, as a unit, and by the name that systemd escaped.
is 'system-ceph\x2dosd' 't["how"]' "systemd unit"
is 'system-ceph-osd.slice' 't["cgroup"]' "/$top/"'system-ceph\x2dosd.slice'

echo "two of one name"
make_group "$top/a" && make_group "$top/a/useprobe-twin" && make_group "$top/b" && make_group "$top/b/useprobe-twin"
for command in "list" "run -d 1 --no-csv -b -c"; do
	set +e
	"$probe" $command useprobe-twin >"$dir/out" 2>"$dir/err"
	[ $? = 2 ] || fail "two groups of one name: the status of '$command' is not 2"
	set -e
	grep -q "/$top/a/useprobe-twin" "$dir/err" && grep -q "/$top/b/useprobe-twin" "$dir/err" || fail "the candidates are not listed: $(cat "$dir/err")"
done
set +e
"$probe" -c "$top/nowhere" -d 1 --no-csv -b >"$dir/out" 2>"$dir/err"
[ $? = 2 ] || fail "a name that is nowhere: the status is not 2"
set -e
grep -q "was not found" "$dir/err" || fail "$(cat "$dir/err")"

echo "removed and made again during a run"
make_group "$top/life"
"$probe" -c "$top/life" -i 0.2 -d 5 --only cpu -b -o "$dir/life.csv" >/dev/null 2>"$dir/err" &
run=$!
wait_for_row "$dir/life.csv"
sleep 0.5
rmdir "$cpu/$top/life"
[ "$acct" = "$cpu" ] || rmdir "$acct/$top/life"
sleep 1
make_group "$top/life"
(join "$top/life"; exec timeout 3 sh -c 'while :; do :; done') &
wait $run || fail "the run ended with $?: $(cat "$dir/err")"
awk -F, -v n="/$top/life" '
	$5 == "target-gone" && $6 == n {gone++}
	$5 == "target-back" && $6 == n {back++}
	$4 == "cgroup" && $5 == "cpu" && $7 != "" && $7 < 0 {bad++}
	$4 == "cgroup" && $5 == "cpu" && back && $7 > 0 {right++}
	END {exit !(gone == 1 && back == 1 && !bad && right > 0)}' "$dir/life.csv" || fail "restart: $(cut -c1-200 "$dir/life.csv")"

echo "inside a cgroup namespace, with the host's mounts"
(
	join "$top/b"
	exec unshare -C sh -c '
		"$1" list --json "$2" >"$3/ns.json" && "$1" list --json "$4" >"$3/ns2.json"' x "$probe" "$top/inner" "$dir" "$pid"
) 2>"$dir/err" || [ -s "$dir/ns.json" ] || fail "$(cat "$dir/err")"
python3 -c '
import json, sys
t = json.load(open(sys.argv[1]))[0]
assert t["cgroup"] == sys.argv[2] and t["processes"] == 1 and t["directories"]["cpu"] == sys.argv[3] + sys.argv[2], t
' "$dir/ns.json" "/$top/inner" "$cpu" || fail "a group is not found from a namespace"
kill $pid
