#!/bin/bash
# PostgreSQL as a dependency: connections busy and query time of pgbench with queries of 10 ms, against pg_stat_activity in the server and
# pgbench's own clock. What the server calls active leaves out the way there and back, which the kernel counts, and pgbench's clock holds its
# own waits for a CPU besides: on a machine with nothing else to do the kernel's figure is within 5 % of the server's, on a crowded one it
# lies between the two.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root to load the programs"; exit 77; }
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] && [ -x "$bin/pgbench" ] && id postgres >/dev/null 2>&1 || { echo "postgresql is missing"; exit 77; }
command -v setpriv >/dev/null || { echo "setpriv is missing"; exit 77; }
dir=$(mktemp -d)
port=18561
pids=()
pg() { setpriv --reuid postgres --regid postgres --clear-groups env -i PATH="$bin:/usr/bin:/bin" HOME="$dir" PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres "$@"; }
cleanup() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	[ ! -e "$dir/data/postmaster.pid" ] || pg pg_ctl -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }
cd /
B=$(cd "$OLDPWD" && cd "$B" && pwd)
chown postgres "$dir"
pg initdb -D "$dir/data" -A trust --no-sync >"$dir/initdb.log" 2>&1 || { tail -n 3 "$dir/initdb.log"; echo "initdb does not work here"; exit 77; }
pg pg_ctl -D "$dir/data" -w -l "$dir/pg.log" -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off" start >/dev/null ||
	{ tail -n 3 "$dir/pg.log"; fail "the server does not start"; }

echo 'select pg_sleep(0.01);' >"$dir/query.sql"
cat >"$dir/active.sql" <<'SQL'
do $$
declare total bigint := 0; n int;
begin
	for i in 1..250 loop
		perform pg_stat_clear_snapshot();
		select count(*) into n from pg_stat_activity where state = 'active' and application_name = 'pgbench';
		total := total + n;
		perform pg_sleep(0.02);
	end loop;
	raise notice 'active %', total / 250.0;
end $$;
SQL

# measure LABEL PGBENCH-OPTIONS...
measure() {
	local label=$1 bench probe from to
	shift
	pg pgbench -n -f "$dir/query.sql" -T 10 "$@" >"$dir/bench" 2>&1 &
	pids+=($!)
	for _ in $(seq 50); do bench=$(pgrep -f "pgbench -n -f $dir/query.sql" | head -n 1) && break; sleep 0.1; done
	[ -n "$bench" ] || fail "pgbench is not there"
	sleep 0.5
	"$B/useprobe" -p "$bench" -b -i 0.5 -d 8 --only dependency -o "$dir/r.csv" --force >"$dir/out" 2>&1 &
	probe=$!
	sleep 2
	from=$(date +%s.%N)
	pg psql -q -f "$dir/active.sql" >"$dir/active" 2>&1 || { cat "$dir/active"; fail "psql"; }
	to=$(date +%s.%N)
	wait $probe || { cat "$dir/out"; fail "the probe ended with $?"; }
	wait "${pids[-1]}" || { cat "$dir/bench"; fail "pgbench"; }
	! grep -m1 ',denied,' "$dir/r.csv" || exit 77
	python3 - "$dir" "$label" "$from" "$to" $port <<'PY' || bad=1
import csv, os, re, sys
from datetime import datetime
folder, label, begin, end, port = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
active = float(re.search(r"active ([0-9.]+)", open(f"{folder}/active").read()).group(1))
bench = open(f"{folder}/bench").read()
client_ms = float(re.search(r"latency average = ([0-9.]+)", bench).group(1))
rows = []
for row in csv.DictReader(open(f"{folder}/r.csv")):
    if row["state"] != "ok" or not row["window_s"]:
        continue
    at = datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp() - float(row["window_s"]) / 2
    if row["name"] == f"127.0.0.1:{port}" and begin < at < end:
        rows.append((float(row["window_s"]), dict(p.split("=", 1) for p in row["detail"].split(";"))))
assert len(rows) >= 3, f"{len(rows)} rows"
mean = lambda key: sum(w * float(d[key]) for w, d in rows) / sum(w for w, _ in rows)
bad = 0
def check(name, got, want, share, counted):
    global bad
    right = abs(got - want) <= share * want
    bad += not right
    print(f"{'ok' if right else 'WRONG'}: {label}: {name} {got:.3f}, {counted} {want:.3f}")
# Of 100 ms a wait for a CPU is little.
crowded = "100 ms" not in label and float(open("/proc/loadavg").read().split()[0]) > os.cpu_count()
if crowded:
    busy, query_ms = mean("busy"), mean("query_mean_ms")
    right = 0.95 * active <= busy <= 16 and 10 <= query_ms <= 1.05 * client_ms
    bad += not right
    print(f"{'ok' if right else 'WRONG'}: {label}, crowded machine: connections busy {busy:.3f}, pg_stat_activity {active:.3f}; query ms {query_ms:.3f}, pgbench {client_ms:.3f}")
else:
    check("connections busy", mean("busy"), active, 0.05, "pg_stat_activity")
    check("query ms", mean("query_mean_ms"), client_ms, 0.10, "pgbench")
check("connections", mean("connections"), 16, 0, "pgbench")
sys.exit(bad)
PY
}
bad=0
measure "16 clients" -c 16
echo 'select pg_sleep(0.1);' >"$dir/query.sql"
measure "16 clients, 100 ms, extended protocol" -c 16 -M extended
exit $bad
