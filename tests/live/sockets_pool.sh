#!/bin/bash
# The wait for a connection from outside: three servers with pools of 4, 8 and 32 connections, all taken, in groups of their own under one
# probe; the computed connection-pool row against the lab's own counter of who waits. Then three servers that are limited by a CPU quota,
# a lock and their worker threads, each with a database and connections to spare or one for each thread: no such row. Last a client that is
# throttled to a tenth of a CPU: its database still takes its 10 ms.
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
pids=()
# lib_group's own cleanup goes on afterwards.
stop() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait "${pids[@]}" 2>/dev/null || true; pids=(); }

port_of() { # LOG
	local port=
	for _ in $(seq 100); do
		port=$(sed -n 's/.*listening on port \([0-9]*\).*/\1/p' "$1")
		[ -n "$port" ] && break
		sleep 0.05
	done
	[ -n "$port" ] || fail "no port in $1: $(cat "$1")"
	echo "$port"
}
# start GROUP DB_WORKERS DB_MS USERS SERVE_OPTION...: a database outside, a server in the group, a closed load outside
start() {
	local group=$1 workers=$2 ms=$3 users=$4 db port
	shift 4
	make_group "$top/$group"
	"$B/uselab" db --listen 127.0.0.1:0 --workers "$workers" --service-ms "$ms" --duration 60s >"$dir/$group.db" 2>&1 &
	pids+=($!)
	db=$(port_of "$dir/$group.db")
	(join "$top/$group"; exec "$B/uselab" serve --listen 127.0.0.1:0 --db "127.0.0.1:$db" --duration 60s "$@") >"$dir/$group.log" 2>&1 &
	pids+=($!)
	port=$(port_of "$dir/$group.log")
	echo "$port" >"$dir/$group.port"
	"$B/uselab" load --url "http://127.0.0.1:$port/" --users "$users" --hold 50s --quiet -o /dev/null >/dev/null 2>&1 &
	pids+=($!)
}
stats() { for group in "$@"; do curl -s "http://127.0.0.1:$(cat "$dir/$group.port")/_stats" >"$dir/$group.stats.$when"; done; }
# watch CSV GROUP...: a probe over the groups; the lab's counters at both ends of the middle part
watch() {
	local csv=$1 targets=() group
	shift
	for group in "$@"; do targets+=(-c "$top/$group"); done
	"$B/useprobe" "${targets[@]}" -i 0.5 -d 9 -b --skip disk,memory,network -o "$csv" >/dev/null 2>"$dir/err" &
	probe=$!
	for _ in $(seq 100); do [ "$(grep -c ',dependency,dependency,' "$csv" 2>/dev/null || true)" -ge $(($# * 4)) ] 2>/dev/null && break; sleep 0.1; done
	sleep 3
	when=0 stats "$@"; date +%s.%N >"$dir/t0"
	sleep 3
	when=1 stats "$@"; date +%s.%N >"$dir/t1"
	kill -INT $probe
	wait $probe || fail "the probe ended with $?: $(tail -n 2 "$dir/err")"
	grep -q ',dependency,dependency,' "$csv" || { grep -m1 ',dependency,' "$csv"; echo "the connections cannot be followed here"; exit 77; }
}

start pool4 64 10 24 --workers 64 --cpu-ms 0.1 --pool 4
start pool8 64 20 30 --workers 64 --cpu-ms 0.1 --pool 8
start pool32 64 80 90 --workers 128 --cpu-ms 0.1 --pool 32
sleep 1
watch "$dir/pool.csv" pool4 pool8 pool32
stop
cat >"$dir/check.py" <<'PY'
import csv, datetime, json, sys
dir, csv_path, groups = sys.argv[1], sys.argv[2], sys.argv[3:]
t0, t1 = (float(open(f"{dir}/t{i}").read()) for i in (0, 1))
rows = [r for r in csv.DictReader(open(csv_path)) if r["resource"] == "connection-pool"]
bad = False
for group in groups:
    a, b = (json.load(open(f"{dir}/{group}.stats.{i}")) for i in (0, 1))
    def area(s): return sum(d["pool_wait_area_ns"] for d in s["dbs"]) if "dbs" in s else s["pool_wait_area_ns"]
    truth = (area(b) - area(a)) / (b["mono_ns"] - a["mono_ns"])
    # The row looks back over three seconds: those of the last one lie inside.
    mine = [float(r["waiting"]) for r in rows if r["target"].endswith(group) and r["waiting"] and
            t0 + 2.5 < datetime.datetime.fromisoformat(r["time"].replace("Z", "+00:00")).timestamp() <= t1 + 0.3]
    mean = sum(mine) / len(mine) if mine else float("nan")
    ok = abs(mean - truth) <= max(0.05 * truth, 0.3)
    bad |= not ok
    print(f"{'ok' if ok else 'WRONG'}: {group}: {mean:.2f} wait for a connection, the lab counted {truth:.2f}")
sys.exit(bad)
PY
python3 "$dir/check.py" "$dir" "$dir/pool.csv" pool4 pool8 pool32 || fail "waits for a connection"

# No pool: a CPU quota, a lock, as many threads as connections.
no_pool=(cpu lock workers)
start cpu 64 2 24 --workers 32 --cpu-ms 2 --pool 16
quota "$top/cpu" 30000
start lock 64 2 24 --workers 32 --hot-lock-ms 5 --pool 16
start workers 64 10 24 --workers 4 --pool 16
# A constant database behind a client at a tenth of a CPU, with some twenty requests inside.
start throttled 64 10 20 --workers 32 --cpu-ms 1 --pool 32
quota "$top/throttled" 10000
sleep 1
watch "$dir/none.csv" "${no_pool[@]}" throttled
stop
for group in "${no_pool[@]}"; do
	n=$(awk -F, -v t="$top/$group" '$5 == "connection-pool" && $NF == t {n++} END {print n + 0}' "$dir/none.csv")
	[ "$n" = 0 ] || fail "$n connection-pool rows where $group limits: $(grep -m1 ",connection-pool,.*$group" "$dir/none.csv")"
	grep -q ",dependency,dependency,.*$top/$group\$" "$dir/none.csv" || fail "no dependency row for $group: the test shows nothing"
done
echo "ok: no pool where a quota, a lock or the threads limit"
# What a query takes, the wake-ups of a busy machine included, is told by the same database behind a client that is not throttled.
query_ms() {
	awk -F, -v t="$top/$1" '$5 == "dependency" && $NF == t && match($0, /query_mean_ms=[0-9.]+/) {s += substr($0, RSTART + 14, RLENGTH - 14); n++} END {print n ? s / n : -1}' "$dir/none.csv"
}
free_ms=$(query_ms workers) held_ms=$(query_ms throttled)
check "$free_ms > 9.5 && $held_ms > 0.85 * $free_ms && $held_ms < 1.15 * $free_ms" "the same database takes $free_ms ms, and $held_ms ms for a throttled client"
echo "ok: a query of 10 ms takes $free_ms ms, and $held_ms ms for a client at a tenth of a CPU"
