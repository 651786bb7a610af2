#!/bin/bash
# Each bottleneck of `uselab serve` limits what it says it limits, by the server's own counters, the kernel's or the client's. The upper bound of a rate
# is what is tested; the lower ones leave room for a machine that has other work.
set -eu
lab=${B:-build}/uselab
[ -x "$lab" ] || { echo "no $lab"; exit 1; }
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 - "$lab" "$dir" <<'PY'
import csv, json, os, re, signal, socket, subprocess, sys, time, urllib.request
lab, dir = sys.argv[1:]

class Server:
    """One uselab serve (or db) on a free port; close() gives its counters."""
    def __init__(self, *args, command="serve"):
        self.file = f"{dir}/stats.json"
        self.process = subprocess.Popen([lab, command, "--listen", "127.0.0.1:0", "--duration", "60s", "--stats-out", self.file, *args],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r"port (\d+)", self.process.stdout.readline()).group(1))
    def load(self, *args):
        out = f"{dir}/load.csv"
        subprocess.run([lab, "load", "--url", f"http://127.0.0.1:{self.port}/", "--quiet", "-o", out, *args], check=True, stdout=subprocess.DEVNULL)
        return list(csv.DictReader(open(out)))
    def close(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(10) == 0, "exit status"
        return json.load(open(self.file))

def mean_ms(rows): return sum(float(r["end_s"]) - float(r["sent_s"]) for r in rows) / len(rows) * 1e3
def check(what, value, low, high):
    print(f"{what}: {value:.4g} (expected {low} to {high})")
    assert low <= value <= high, what

# CPU per request: really burned, on top of what a request costs anyway.
cost = []
for args in ([], ["--cpu-ms", "3"]):
    s = Server(*args); n = len(s.load("--rate", "100", "--hold", "2s")); cost.append(s.close()["cpu_ns"] / n / 1e6)
check("CPU ms per request", cost[1] - cost[0], 2.8, 3.3)

# A lock held 5 ms by each request: 200 a second, whatever 8 workers and 8 users want.
s = Server("--hot-lock-ms", "5"); rows = s.load("--users", "8", "--hold", "1500ms"); st = s.close()
check("requests/s through a lock of 5 ms", len(rows) / 1.5, 100, 210)
check("the lock is held, share of the time", st["lock_held_area_ns"] / 1.5e9, 0.85, 1.1)
check("waiting for the lock, mean", st["lock_wait_area_ns"] / 1.5e9, 5.5, 7.8)

# One thread: while it waits nothing is read, so its own in-flight never passes 1.
s = Server("--single-thread", "--wait-ms", "10"); rows = s.load("--users", "5", "--hold", "1500ms"); st = s.close()
check("requests/s of one thread at 10 ms", len(rows) / 1.5, 60, 107)
check("in flight that it knows of", st["in_flight_area_ns"] / 1.5e9, 0.85, 1.1)
check("response time ms", mean_ms(rows), 45, 100)

# 3 workers at 20 ms: 150 a second; a thread for each request: no limit of that kind.
s = Server("--workers", "3", "--wait-ms", "20"); rows = s.load("--users", "9", "--hold", "1500ms"); st = s.close()
check("requests/s of 3 workers at 20 ms", len(rows) / 1.5, 90, 160)
check("queue, mean", st["queue_area_ns"] / 1.5e9, 5.2, 6.4)
s = Server("--mode", "thread-per-request", "--wait-ms", "20"); rows = s.load("--users", "9", "--hold", "1500ms"); st = s.close()
check("the same users, a thread each", len(rows) / 1.5, 220, 456)
assert st["queue_area_ns"] == 0 and st["thread_failures"] == 0

# Slow accept: 20 ms each, new connections wait in the kernel's accept queue, where the server does not see them.
s = Server("--accept-delay", "20ms"); rows = s.load("--users", "6", "--new-connection", "--hold", "1500ms"); st = s.close()
check("connections/s with 20 ms before each accept", len(rows) / 1.5, 25, 55)
check("response time ms seen by the client", mean_ms(rows), 90, 200)
check("and by the server", st["residence_ns"] / st["departures"] / 1e6, 0, 10)

# 40 descriptors, 60 clients: it goes on with those it has, and counts.
s = Server("--max-fds", "40", "--wait-ms", "5", "--workers", "60")
rows = s.load("--users", "60", "--hold", "1s", "--timeout", "1500ms"); st = s.close()
ok = [r for r in rows if r["status"] == "200"]
check("clients served with 40 descriptors", len({r["vu"] for r in ok}), 20, 39)
check("times out of descriptors", st["emfile"], 10, 1e6)

# Frozen for 1 s: nothing is answered meanwhile; the open schedule does not wait.
s = Server("--freeze", "1s:1s")
rows = s.load("--rate", "100", "--hold", "2500ms"); s.close()
late = max(float(r["end_s"]) - float(r["planned_s"]) for r in rows)
check("longest response of a freeze of 1 s", late, 0.9, 1.5)
check("requests that met the freeze", sum(float(r["end_s"]) - float(r["planned_s"]) > 0.1 for r in rows), 75, 140)

# Four times as slow for a second.
s = Server("--wait-ms", "5", "--slow", "1s:1s:4"); rows = s.load("--rate", "50", "--hold", "3s"); s.close()
check("requests in the slow second", sum(float(r["end_s"]) - float(r["planned_s"]) > 0.015 for r in rows), 40, 80)

# One dependency of two is slow: its time, not the other's.
slow, fast = Server("--service-ms", "30", command="db"), Server("--service-ms", "2", command="db")
s = Server("--db", f"127.0.0.1:{fast.port},queries=2", "--db", f"127.0.0.1:{slow.port},every=2,pool=16", "--workers", "32")
rows = s.load("--rate", "100", "--hold", "2s"); st = s.close()
a, b = st["dependencies"]
assert a["db_queries"] == 2 * len(rows)
check("queries to the second, share", b["db_queries"] / len(rows), 0.35, 0.65)
check("time of a query, first, ms", a["db_busy_area_ns"] / a["db_queries"] / 1e6, 2, 8)
check("second, ms", b["db_busy_area_ns"] / b["db_queries"] / 1e6, 30, 40)
# A database that is gone: errors, not hanging; and the server stops at once although its workers wait for it.
slow.process.send_signal(signal.SIGSTOP)
s = Server("--db", f"127.0.0.1:{slow.port},pool=2", "--workers", "4")
rows = s.load("--rate", "20", "--hold", "500ms", "--timeout", "1s")
assert all(r["status"] == "timeout" for r in rows), "no answer while the database is stopped"
t = time.monotonic(); s.close(); check("seconds to stop", time.monotonic() - t, 0, 1.5)
slow.process.send_signal(signal.SIGCONT); slow.close(); fast.close()
s = Server("--db", f"127.0.0.1:{slow.port}")
rows = s.load("--rate", "50", "--hold", "1s"); st = s.close()
assert {r["status"] for r in rows} == {"502"} and st["failed"] == len(rows) == st["dependencies"][0]["db_errors"]

# Disk: as many syncs as requests; the file is there.
s = Server("--fsync", f"{dir}/journal", "--pages", f"{dir}/pages:8:4"); rows = s.load("--rate", "50", "--hold", "1s"); st = s.close()
assert os.path.getsize(f"{dir}/journal") == 50 * 4096 and os.path.getsize(f"{dir}/pages") == 8 << 20
check("time at the disk, ms per request", st["disk_area_ns"] / len(rows) / 1e6, 0.001, 100)

# A client that does not read: the answer is under way, no worker is held.
s = Server("--body-bytes", "8000000", "--sndbuf", "20000", "--workers", "1")
with socket.create_connection(("127.0.0.1", s.port)) as c:
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20000)
    c.sendall(b"GET / HTTP/1.1\r\n\r\n"); time.sleep(0.5)
    st = json.load(urllib.request.urlopen(f"http://127.0.0.1:{s.port}/_stats"))
    assert st["in_flight"] == st["sending"] == 1 and st["worker_busy"] == 0, "sending"
until = time.monotonic() + 5
while time.monotonic() < until and not json.load(urllib.request.urlopen(f"http://127.0.0.1:{s.port}/_stats"))["broken"]:
    time.sleep(0.05)
st = s.close()
assert st["broken"] == 1 and st["departures"] == 0 and st["in_flight"] == st["sending"] == 0, "client gone"

# Decoys take CPU and serve nobody.
s = Server("--decoy-threads", "2:20"); t = time.monotonic(); time.sleep(1); st = s.close()
check("CPU of two decoys at 20 %", st["cpu_ns"] / st["uptime_ns"], 0.2, 0.46)
PY
