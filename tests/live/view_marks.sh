#!/bin/bash
# `useprobe mark` reaches a running probe; the mark keeps its bytes and its own time.
# beside
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build}")
dir=$(mktemp -d)
export XDG_RUNTIME_DIR=$dir/run
mkdir -m 700 "$dir/run"
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

"$B/useprobe" --host -b -i 2s -d 30s -o "$dir/a.csv" >/dev/null 2>&1 & pids+=($!)
# Behind the first tick, so that the mark has to wait for the second one.
for _ in $(seq 100); do [ -e "$dir/a.csv" ] && [ "$(wc -l <"$dir/a.csv")" -gt 1 ] && break; sleep 0.1; done
sleep 0.5
"$B/useprobe" mark --pid "${pids[0]}" step 400/s "$(printf 'x;y=1%%\n"q"')" || fail "mark: exit $?"
"$B/useprobe" mark --pid 1 x 2>/dev/null; [ $? = 2 ] || fail "process 1 is no probe"
"$B/useprobe" mark 2>/dev/null; [ $? = 2 ] || fail "no text"
"$B/useprobe" mark --pid "${pids[0]}" "$(head -c 500 /dev/zero | tr '\0' x)" 2>"$dir/err"; [ $? = 2 ] || fail "a text that is too long"
grep -q "400 bytes" "$dir/err" || fail "the limit is not said"
# Two probes: which one is meant has to be said.
"$B/useprobe" --host -b -i 2s -d 30s -o "$dir/b.csv" >/dev/null 2>&1 & pids+=($!)
for _ in $(seq 100); do [ -S "$dir/run/useprobe/${pids[1]}.sock" ] && break; sleep 0.1; done
"$B/useprobe" mark x 2>"$dir/err"; [ $? = 2 ] || fail "two probes and no choice"
grep -q "  ${pids[0]}  " "$dir/err" && grep -q "  ${pids[1]}  " "$dir/err" || fail "the probes are not listed"
"$B/useprobe" mark -p "${pids[1]}" second || fail "mark of the second probe"
# Marks right before the end are in the CSV.
kill -INT "${pids[@]}"; wait "${pids[@]}"
[ -z "$(ls "$dir/run/useprobe")" ] || fail "sockets are left behind"
python3 - "$dir" <<'PY' || fail "the marks in the CSV"
import csv, sys, urllib.parse
def marks(name):
    rows = [r for r in csv.DictReader(open(f'{sys.argv[1]}/{name}.csv', newline='')) if r['resource'] == 'mark']
    return rows, [{k: urllib.parse.unquote(v) for k, v in (p.split('=', 1) for p in r['detail'].split(';'))} for r in rows]
rows, first = marks('a')
assert [m['text'] for m in first] == ['step 400/s x;y=1%\n"q"'], first
# A mark that falls on the very tick needs no time of its own.
assert first[0].get('at', '') < rows[0]['time'] and rows[0]['scope'] == 'event', rows
assert [m['text'] for m in marks('b')[1]] == ['second']
PY
exit 0
