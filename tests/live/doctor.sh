#!/bin/bash
# doctor tells an ordinary user what is missing and how to get it, and root what is in use.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
"$B/useprobe" doctor --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
names = {c["collector"]: c for c in found["collectors"]}
assert names["host_cpu"]["status"] == "works", names
assert sum(d["in_use"] for d in found["delay"]) >= 1, found["delay"]
'
if [ "$(id -u)" = 0 ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	chmod 755 "$dir"
	cp "$B/useprobe" "$dir/"
	setpriv --reuid 65534 --clear-groups "$dir/useprobe" doctor >"$dir/out"
	grep -q "why: CAP_NET_ADMIN is missing" "$dir/out"
	grep -q "fix: sudo setcap" "$dir/out"
fi
if "$B/useprobe" doctor --nonsense 2>/dev/null; then exit 1; else [ $? = 2 ]; fi
# No cell is empty without a reason, and without a target the way to one is named.
out=$(mktemp)
"$B/useprobe" doctor >"$out"
if grep -E '^[a-z_]+ +(works|fallback) +(host|all targets) *$' "$out"; then rm -f "$out"; echo "a collector works by no method"; exit 1; fi
grep -q 'With -c NAME' "$out" || { rm -f "$out"; echo "doctor does not name -c"; exit 1; }
rm -f "$out"
