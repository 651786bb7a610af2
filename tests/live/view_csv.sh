#!/bin/bash
# The CSV on a full disk and under hostile cgroup names, live: whole rows only, and every byte back.
# beside
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib_group.sh
B=$(realpath "$B")

mkdir "$dir/full"
mount -t tmpfs -o size=64k none "$dir/full" 2>/dev/null || { echo "needs the right to mount a tmpfs"; exit 77; }
trap 'umount "$dir/full"; cleanup' EXIT
(cd "$dir/full" && "$B/useprobe" --host -b -i 100ms -d 60s -o u.csv >/dev/null 2>"$dir/err"); rc=$?
[ $rc = 1 ] || fail "a full disk gave exit $rc"
grep -q "u.csv: No space left on device" "$dir/err" || fail "the message does not name the file: $(cat "$dir/err")"
[ "$(tail -c 1 "$dir/full/u.csv" | od -An -c | tr -d ' ')" = '\n' ] || fail "a cut line"
"$B/useprobe" replay -b "$dir/full/u.csv" >/dev/null 2>"$dir/err" || fail "replay: $?"
[ ! -s "$dir/err" ] || fail "replay left something out: $(cat "$dir/err")"

# Names of every kind as targets, read back by another reader. (The kernel refuses a newline; test_csv_reader has it.)
names=('q"uote' 'comma,name' '-dash' 'größe' "$(printf '\033[31mred')" 'a b;c=d%' "$(printf 'n%.0s' $(seq 255))" "$(printf 'raw\377\376')")
for name in "${names[@]}"; do make_group "$top/$name"; done
i=0
for name in "${names[@]}"; do
	i=$((i + 1))
	"$B/useprobe" -c "$top/$name" -b -i 100ms -d 300ms -o "$dir/$i.csv" >"$dir/$i.out" 2>&1 || fail "$i: $(cat "$dir/$i.out")"
	LC_ALL=C grep -q "$(printf '\033')" "$dir/$i.out" && fail "a raw escape on the terminal"
	printf '%s' "$top/$name" | python3 -c '
import csv, sys
want = sys.stdin.buffer.read()
with open(sys.argv[1], newline="", encoding="utf-8", errors="surrogateescape") as f:
    rows = list(csv.DictReader(f))
raw = lambda s: s.encode("utf-8", "surrogateescape")
targets = {raw(r["target"]) for r in rows if r["target"]}
labels = {raw(r["name"]) for r in rows if r["scope"] == "cgroup" and r["resource"] == "cpu"}
assert targets == {want}, targets
assert b"/" + want in labels, labels
' "$dir/$i.csv" || fail "name $i does not come back"
done
exit 0
