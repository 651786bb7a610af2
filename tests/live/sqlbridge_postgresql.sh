#!/bin/bash
# The SQL bridge through psqlodbc: a real PostgreSQL sampled under lock contention, its rights, and SQL Server's batch against views.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ -x "$B/useprobe-sqlbridge" ] || { echo "useprobe-sqlbridge is not built (unixodbc-dev, libmicrohttpd-dev)"; exit 77; }
driver=$(ls /usr/lib/*/odbc/psqlodbcw.so 2>/dev/null | head -n 1)
[ -n "$driver" ] || { echo "odbc-postgresql is missing"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "needs root to start a server as postgres"; exit 77; }
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] && [ -x "$bin/initdb" ] && id postgres >/dev/null 2>&1 || { echo "postgresql is missing"; exit 77; }
dir=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
bin_env=(env -i PATH="$bin:/usr/bin:/bin" HOME="$dir" PGHOST=127.0.0.1 PGPORT="$port" PGUSER=postgres PGDATABASE=postgres)
pg() { (cd / && setpriv --reuid postgres --regid postgres --clear-groups "${bin_env[@]}" "$@"); }
cleanup() {
	[ ! -e "$dir/data/postmaster.pid" ] || pg pg_ctl -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
	rm -rf "$dir"
}
trap cleanup EXIT
chown postgres "$dir"
pg initdb -D "$dir/data" -A trust --no-sync >"$dir/initdb.log" 2>&1 || { tail -n 3 "$dir/initdb.log"; echo "initdb does not work here"; exit 77; }
printf 'host all watch 127.0.0.1/32 scram-sha-256\nhost all postgres 127.0.0.1/32 trust\n' >"$dir/data/pg_hba.conf"
pg pg_ctl -D "$dir/data" -w -l "$dir/pg.log" -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=40" start >/dev/null
pg psql -q -c "create role watch login password 'pg-Sesam7'" -c 'create table contended (n int)' -c 'insert into contended values (0)'
python3 -B tests/tds/check_postgresql.py "$B/useprobe-sqlbridge" "$driver" "$port" "${bin_env[@]}" psql
