#!/bin/bash
# The SQL bridge through the real FreeTDS driver against a TDS server of our own: waits of a real queue, troubles, rights, secrets.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ -x "$B/useprobe-sqlbridge" ] || { echo "useprobe-sqlbridge is not built (unixodbc-dev, libmicrohttpd-dev)"; exit 77; }
driver=$(ls /usr/lib/*/odbc/libtdsodbc.so 2>/dev/null | head -n 1)
[ -n "$driver" ] || { echo "tdsodbc is missing"; exit 77; }
exec python3 -B tests/tds/check_tds.py "$B/useprobe-sqlbridge" "$driver"
