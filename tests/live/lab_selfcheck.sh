#!/bin/bash
# The laboratory against itself: Little's law in its own integrals, requests sent = requests counted, drops counted, pool waits only
# where the pool is small.
set -eu
lab=${B:-build}/uselab
[ -x "$lab" ] || { echo "no $lab"; exit 1; }
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
dir=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait; rm -rf "$dir"' EXIT

# start NAME ARGS...: a server on a free port; sets port.
start() {
	local name=$1; shift
	"$lab" "$@" --listen 127.0.0.1:0 --duration 60s >"$dir/$name.out" 2>"$dir/$name.err" &
	pids+=($!)
	for _ in $(seq 100); do
		port=$(sed -n 's/.*listening on port \([0-9]*\).*/\1/p' "$dir/$name.out")
		[ -n "$port" ] && return
		sleep 0.05
	done
	cat "$dir/$name.err"; exit 1
}

start db db --workers 16 --service-ms exp:8; db=$port
start large serve --workers 64 --cpu-ms exp:0.3 --db 127.0.0.1:"$db",pool=64; large=$port
start small serve --workers 64 --cpu-ms exp:0.3 --db 127.0.0.1:"$db",pool=2; small=$port
start slow serve --workers 64 --wait-ms 100; slow=$port

python3 - "$lab" "$dir" "$db" "$large" "$small" "$slow" <<'PY'
import csv, json, socket, subprocess, sys, time, urllib.request
lab, dir, db, large, small, slow = sys.argv[1:]

def stats(port):
    return json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/_stats"))

def db_stats():
    with socket.create_connection(("127.0.0.1", int(db))) as s:
        s.sendall(b"STATS\n")
        return json.loads(s.makefile().readline())

def load(port, name, *args):
    return subprocess.Popen([lab, "load", "--url", f"http://127.0.0.1:{port}/", "--quiet", "-o", f"{dir}/{name}.csv", *args],
                            stdout=open(f"{dir}/{name}.txt", "w"))

def lines(name):
    return list(csv.DictReader(open(f"{dir}/{name}.csv")))

def near(what, a, b, share, floor=0.0):
    print(f"{what}: {a:.4g} and {b:.4g}")
    assert abs(a - b) <= max(share * max(abs(a), abs(b)), floor), what

# Little's law inside the run, requests under way at both ends; then the client's and the database's view of the same.
before, db_before = stats(large), db_stats()
run = load(large, "large", "--rate", "300", "--poisson", "--hold", "5s")
time.sleep(1)
a = stats(large); time.sleep(3.2); b = stats(large)
assert run.wait() == 0
after, db_after = stats(large), db_stats()
t = (b["mono_ns"] - a["mono_ns"]) / 1e9
d = lambda k, x=a, y=b: y[k] - x[k]
n, x, r = d("in_flight_area_ns") / 1e9 / t, d("departures") / t, d("residence_ns") / d("departures") / 1e9
near("N and X R", n, x * r, 0.03)
near("states sum to N", n, sum(d(k) for k in ("queue_area_ns", "worker_busy_area_ns")) / 1e9 / t, 0.03)
near("parts of a worker", d("worker_busy_area_ns") / 1e9 / t, sum(d(k) for k in ("burning_area_ns", "pool_wait_area_ns", "pool_busy_area_ns")) / 1e9 / t, 0.03)
rows = lines("large")
sent = [q for q in rows if q["sent_s"]]
assert len(sent) == after["arrivals"] - before["arrivals"] == after["departures"] - before["departures"], "sent = counted"
assert after["db_queries"] == db_after["departures"] - db_before["departures"] == len(sent), "queries = requests"
assert sum(c for _, c in after["service_ns_histogram"]) == after["departures"], "histogram = departures"
assert all(q["status"] == "200" and q["step"] == "1" for q in rows)
client = sum(float(q["end_s"]) - float(q["sent_s"]) for q in sent) / len(sent)
near("client's and server's mean, ms", client * 1e3, after["residence_ns"] / after["departures"] / 1e6, 0.03, 0.6)
near("database time from outside and inside, s", after["db_busy_area_ns"] / 1e9, (db_after["in_flight_area_ns"] - db_before["in_flight_area_ns"]) / 1e9, 0.05)
assert after["pool_wait_area_ns"] == 0 and after["pool_waits"] == 0, "a large pool never makes anyone wait"

# A pool of 2 for a load that needs 1.6 connections.
assert load(small, "small", "--rate", "200", "--poisson", "--hold", "2s").wait() == 0
s = stats(small)
print("small pool:", s["pool_waits"], "waits,", s["pool_wait_area_ns"] / 1e9, "s")
assert s["pool_waits"] > 50 and s["pool_wait_area_ns"] > 0.1e9
assert s["in_flight"] == s["queue"] == s["worker_busy"] == 0

# A ceiling of 5 where 10 would be needed: half is dropped, and written as such.
assert load(slow, "slow", "--rate", "100", "--hold", "2s", "--vus", "5").wait() == 0
rows = lines("slow")
dropped = [q for q in rows if q["status"] == "dropped"]
print("dropped", len(dropped), "of", len(rows))
assert len(rows) == 200 and 80 <= len(dropped) <= 120
assert all(q["sent_s"] == q["end_s"] == q["vu"] == "" for q in dropped)
assert stats(slow)["arrivals"] == len(rows) - len(dropped)
assert f"dropped {len(dropped)}" in open(f"{dir}/slow.txt").read()

# A closed loop of 4 users on 100 ms: 4 under way, 40 a second.
before = stats(slow)
assert load(slow, "closed", "--users", "4", "--hold", "2s").wait() == 0
after = stats(slow)
assert 70 <= after["departures"] - before["departures"] <= 84
assert all(q["planned_s"] == "" and q["sent_s"] and q["end_s"] and q["vu"] in "1234" for q in lines("closed"))
near("users under way", (after["in_flight_area_ns"] - before["in_flight_area_ns"]) / 2e9, 4, 0.06)
PY
