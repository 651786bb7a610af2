#!/bin/bash
# With 20 descriptors the files are still read, one after the other in a spare place; what needs more says so.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
(ulimit -n 20 && "$B/useprobe" --host -b -d 1 --no-csv >"$out" 2>&1)
for row in "cpu  *host" "memory  *host" "network  *lo"; do
	tail -n 24 "$out" | grep "$row" | grep -qv "failed\|Too many" || { echo "FAILED: no figures in the row $row"; tail -n 24 "$out"; exit 1; }
done
