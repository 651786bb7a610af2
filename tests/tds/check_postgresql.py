"""The bridge through the real psqlodbc driver. usage: check_postgresql.py BRIDGE DRIVER PORT PSQL..."""
import csv
import json
import os
import random
import signal
import subprocess
import sys
import time

from client import Bridge, total

program, driver, port = sys.argv[1:4]
psql = sys.argv[4:]
PASSWORD = "pg-Sesam7"


def check(right, what):
    if not right:
        print("WRONG:", what)
        sys.exit(1)


def sql(text):
    return subprocess.run([*psql, "-qAt", "-c", text], check=True, capture_output=True, text=True).stdout.strip()


def connection(user="watch", password=PASSWORD):
    return f"Driver={driver};Server=127.0.0.1;Port={port};Database=postgres;UID={user};PWD={password}\n"


def rights():
    """Without pg_read_all_stats nothing; with it, without another login, numbers. A wrong password is a refusal."""
    bridge = Bridge(program, connection())
    denied = bridge.until(lambda s: s["state"] == "denied")
    check("GRANT pg_read_all_stats TO watch" in denied["reason"] and denied["waits"] == [] and denied["clock_ms"] is None, denied)
    sql("grant pg_read_all_stats to watch")
    bridge.until(lambda s: s["state"] == "ok" and s["database"] == "postgresql")
    check(json.loads(bridge.get("/health")[1])["connections"] == 1, "the same connection")
    wrong = Bridge(program, connection(password="wrong-Sesam"))
    refused = wrong.until(lambda s: s["state"] == "denied")
    check("login refused" in refused["reason"] and "wrong-Sesam" not in refused["reason"], refused["reason"])
    wrong.end()
    return bridge


class Probe:
    """useprobe beside the bridge, over the same seconds."""

    def __init__(self, bridge):
        self.csv = os.path.join(bridge.folder.name, "sql.csv")
        useprobe = os.path.join(os.path.dirname(program), "useprobe")
        self.process = subprocess.Popen([useprobe, "--sql", f"shop=http://127.0.0.1:{bridge.port}", "-i", "0.5", "-b", "--only", "sql",
                                         "-o", self.csv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)

    def lock_waiters(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(10)
        rows = [r for r in csv.DictReader(open(self.csv)) if r["name"] == "shop/lock" and r["saturation"]]
        check(rows, "rows of class lock")
        return sum(float(r["saturation"]) * float(r["window_s"]) for r in rows) / sum(float(r["window_s"]) for r in rows)


def contention(bridge):
    """Sessions that each hold one row's lock for 100 ms: all but one wait. The truth is the server's own count, looked at beside."""
    script = "begin; update contended set n = n + 1; select pg_sleep(0.1); commit;\n" * 60
    sessions = []
    for _ in range(5):
        sessions.append(subprocess.Popen([*psql, "-q"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True))
        sessions[-1].stdin.write(script)
        sessions[-1].stdin.close()
    time.sleep(0.7)
    probe = Probe(bridge)
    before = bridge.sample()
    seen = sql("do $$ declare total bigint := 0; n int; begin for i in 1..120 loop perform pg_stat_clear_snapshot(); select count(*) into n "
               "from pg_locks where not granted; total := total + n; perform pg_sleep(0.025); end loop; "
               "create temp table seen as select total / 120.0 as n; end $$; select n from seen")
    after = bridge.sample()
    waiting = probe.lock_waiters()
    for session in sessions:
        session.terminate()
        session.wait()
    span = after["clock_ms"] - before["clock_ms"]
    old = {w["type"]: w["wait_ms"] for w in before["waits"]}
    classes = {}
    for wait in after["waits"]:
        grown = (wait["wait_ms"] - old.get(wait["type"], 0)) / span
        if not wait["ignorable"]:
            classes[wait["class"]] = classes.get(wait["class"], 0) + grown
    top = max(classes, key=classes.get)
    print(f"lock contention: {({k: round(v, 2) for k, v in classes.items()})}; pg_locks: {seen} not granted; "
          f"a sample costs {json.loads(bridge.get('/health')[1])['cost_mean_ms']:.2f} ms")
    check(top == "lock" and abs(classes["lock"] - float(seen)) <= 0.1 * float(seen), "lock is on top, within 10 % of pg_locks")
    print(f"useprobe --sql: {waiting:.2f} wait for a lock")
    check(abs(waiting - float(seen)) <= 0.1 * float(seen), "the probe's row of class lock, within 10 % of pg_locks")
    check(span > 2500 and before["generation"] == after["generation"], "looks cover the window")
    check(after["workers_max"] == 40 and after["workers"] >= 6 and after["errors"]["deadlocks"] == 0, "connections and errors")
    check(all(w["waits"] is None for w in after["waits"]), "looks count no waits")


def views(bridge):
    """The batch for SQL Server, word for word, against views of schema sys."""
    for line in open(os.path.join(os.path.dirname(__file__), "sys_views.sql")).read().split(";\n"):
        if line.strip():
            sql(line)
    server = Bridge(program, connection(), "--dialect", "sqlserver", "--interval", "200ms")
    sample = server.until(lambda s: s["state"] == "ok" and s["sequence"] >= 2)
    check(sample["missing"] == {} and {w["type"]: w["wait_ms"] for w in sample["waits"]} == {"THREADPOOL": 1420267, "LCK_M_X": 30}, sample)
    check(sample["unfinished"][0]["longest_ms"] == 900 and sample["unfinished"][0]["blocked"] == 1 and sample["runnable_tasks"] == 5, sample)
    check(sample["errors"]["errors"] == 12 and sample["errors"]["deadlocks"] == 4 and sample["errors"]["lock_timeouts"] is None, sample)
    sql("revoke select on sys.dm_os_schedulers from public")
    sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'watch'")
    less = server.until(lambda s: s["state"] == "ok" and s["missing"])
    check("denied" in less["missing"]["schedulers"] and less["runnable_tasks"] is None and less["cpus"] == 2, less)
    server.end()
    bridge.until(lambda s: s["state"] == "ok")


def hang(bridge):
    """The server's process of the connection stands still: the age says so at once, and it goes on by itself."""
    pid = int(sql("select pid from pg_stat_activity where usename = 'watch'"))
    os.kill(pid, signal.SIGSTOP)
    try:
        stale = bridge.until(lambda s: s["state"] == "stale")
        check(bridge.took < 0.2 and stale["reason"] and stale["age_ms"] > 1000, "stale, at once")
        check(json.loads(bridge.get("/health")[1])["hung_ms"] > 500, "health says how long it hangs")
    finally:
        os.kill(pid, signal.SIGCONT)
    bridge.until(lambda s: s["state"] == "ok")


bridge = rights()
contention(bridge)
views(bridge)
hang(bridge)
public = bridge.public()
check(bridge.end() == 0, "the bridge ends with 0")
check(PASSWORD.encode() not in bridge.said + public, "no password in replies, messages, arguments, environment")
