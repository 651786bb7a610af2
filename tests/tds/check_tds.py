"""The bridge through the real FreeTDS driver, against a server of our own. usage: check_tds.py BRIDGE DRIVER"""
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time

from client import Bridge, total
from server import Queue, Server

program, driver = sys.argv[1:3]
SECRET = "Sesam!7=x"
queue = Queue(workers=3)
server = Server(queue)
server.password = SECRET
queue.run(clients=9)
said = public = b""
checks = 0


def check(right, what):
    global checks
    checks += 1
    if not right:
        print("WRONG:", what)
        sys.exit(1)


def connection(version, password=SECRET):
    return f"Driver={driver};Server=127.0.0.1;Port={server.port};TDS_Version={version};UID=probe;PWD={password}\n"


def ended(bridge):
    global said, public
    public += bridge.public()
    check(bridge.end() == 0, "the bridge ends with 0")
    said += bridge.said


def fresh(bridge, after=0, **more):
    return bridge.until(lambda s: s["state"] == "ok" and s["sequence"] > after and all(s[k] == v for k, v in more.items()))


def mean(bridge, seconds, label):
    first = fresh(bridge)
    time.sleep(seconds)
    last = fresh(bridge, first["sequence"])
    check(first["generation"] == last["generation"], "one generation")
    span = last["clock_ms"] - first["clock_ms"]
    got = (total(last, "THREADPOOL") - total(first, "THREADPOOL")) / span
    want = (server.truth[last["clock_ms"]] - server.truth[first["clock_ms"]]) * 1000 / span
    print(f"{label}: mean number waiting {got:.3f}, the queue's area says {want:.3f}; a sample costs {last['cost_ms']:.2f} ms")
    check(want > 1 and abs(got - want) <= 0.05 * want, f"{got} is not within 5 % of {want}")
    return last


def check_numbers(sample):
    check(sample["database"] == "sqlserver" and sample["instance"] == "TESTHOST", "who it is")
    pool = next(w for w in sample["waits"] if w["type"] == "THREADPOOL")
    check(pool["class"] == "workers" and not pool["ignorable"], "class of THREADPOOL")
    check(next(w for w in sample["waits"] if w["type"] == "LAZYWRITER_SLEEP")["ignorable"], "LAZYWRITER_SLEEP is idle")
    check(sample["errors"]["errors"] == 3 and sample["errors"]["deadlocks"] == 0, "errors")
    check(sample["errors"]["forced_grants"] is None and sample["errors"]["conflicts"] is None, "what is not known is null")
    check(sample["workers"] == 3 and sample["workers_max"] == 512 and sample["missing"] == {}, "workers")
    check(any("DEADLOCK_PRIORITY LOW" in b for b in server.seen["batches"]), "low deadlock priority")


def check_versions():
    bridge = Bridge(program, connection("7.4"), "--interval", "200ms", "--query-timeout", "2s")
    check_numbers(mean(bridge, 3, "TDS 7.4"))
    check(server.seen["versions"] == {0x74000004} and server.seen["logins"] == 1, "one login with 7.4")
    for version, number in (("7.1", 0x71), ("7.0", 0x70)):
        old = Bridge(program, connection(version), "--interval", "200ms")
        mean(old, 1.5, f"TDS {version}")
        check(any(v >> 24 == number for v in server.seen["versions"]), f"a login with {version}")
        ended(old)
    return bridge


def check_troubles(bridge):
    before = fresh(bridge)
    logins, attentions = server.seen["logins"], server.seen["attentions"]
    server.mode = "hang"
    stale = bridge.until(lambda s: s["state"] == "stale", 8)
    check(bridge.took < 0.2 and stale["reason"] and stale["age_ms"] > 1000 and stale["waits"], "stale, at once, with its reason")
    check(bridge.get("/health")[0] == 503 and b"useprobe_sql_up 0" in bridge.get("/metrics")[1], "health and metrics say so")
    time.sleep(1)
    server.mode = "slow"
    after = fresh(bridge, stale["sequence"])
    check(server.seen["attentions"] > attentions, "an ATTENTION ends the hung batch")
    check(server.seen["logins"] == logins and after["generation"] == before["generation"], "the connection is kept over a time-out")
    check(after["cost_ms"] >= 300, "a slow sample costs what it took")
    server.mode = "answer"
    server.drop()
    again = bridge.until(lambda s: s["state"] == "ok" and server.seen["logins"] > logins)
    check(again["generation"] == before["generation"], "dropped, the same server: one generation")
    server.restart()
    server.drop()
    new = bridge.until(lambda s: s["state"] == "ok" and s["generation"] != before["generation"])
    server.clear()
    bridge.until(lambda s: s["state"] == "ok" and s["generation"] != new["generation"])
    server.mode = "garbage"
    bridge.until(lambda s: s["state"] in ("absent", "stale"), 8)
    server.mode = "answer"
    fresh(bridge)
    memory = bridge.memory_kb()
    server.mode = "flood"
    bridge.until(lambda s: s["state"] in ("absent", "stale"), 8)
    server.mode = "answer"
    fresh(bridge)
    check(bridge.memory_kb() < memory + 20000, f"memory {memory} kB, after 100 MB {bridge.memory_kb()} kB")


def check_rights(bridge):
    logins = server.seen["logins"]
    server.granted = False
    server.drop()
    denied = bridge.until(lambda s: s["state"] == "denied")
    check("(error 300)" in denied["reason"] and "GRANT VIEW SERVER PERFORMANCE STATE" in denied["reason"], denied["reason"])
    check(denied["waits"] == [] and denied["clock_ms"] is None and denied["generation"] is None, "no number without the right")
    server.granted = True
    fresh(bridge)
    check(server.seen["logins"] == logins + 1, "a right that comes later needs no new login")
    server.edition = 5
    server.drop()
    azure = bridge.until(lambda s: s["state"] == "ok" and server.seen["logins"] == logins + 2)
    check(azure["waits"] and "dm_db_wait_stats" in server.seen["batches"][-1], "Azure SQL Database: the waits of the database")
    server.edition = 3
    wrong = Bridge(program, connection("7.4", "Sesam-wrong"))
    refused = wrong.until(lambda s: s["state"] == "denied")
    check("Login failed for user 'probe'" in refused["reason"], refused["reason"])
    ended(wrong)
    check(b"Sesam-wrong" not in said + public, "the wrong password is no less a secret")


def check_http():
    token = "tok-" + "q" * 20
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(token + "\n")
        file.flush()
        bridge = Bridge(program, None, "--token-file", file.name, env={"USEPROBE_SQL_CONNECTION": connection("7.4")})
    own = {"Authorization": "Bearer " + token}
    bridge.sample = lambda: json.loads(bridge.get(**own)[1])
    fresh(bridge)
    for headers, status in (({}, 401), ({"Authorization": "Bearer " + token[:-1]}, 401), ({"Authorization": token}, 401),
                            ({**own, "Origin": "http://evil.example"}, 403), ({**own, "Host": "evil.example"}, 403),
                            ({**own, "Host": f"localhost:{bridge.port}"}, 200)):
        check(bridge.get(**headers)[0] == status, f"{headers} is answered with {status}")
    check(bridge.get("/x", **own)[0] == 404 and bridge.get(method="POST", **own)[0] == 405, "404 and 405")
    metrics = bridge.get("/metrics", **own)[1]
    check(metrics.endswith(b"# EOF\n") and b'useprobe_sql_waits_total{type="THREADPOOL",class="workers"' in metrics, "metrics")
    health = json.loads(bridge.get("/health", **own)[1])
    check(health["state"] == "ok" and 0 < health["cost_mean_ms"] <= health["cost_max_ms"], "health")
    dice, end, sent = random.Random(3), time.monotonic() + 1.5, 0
    seed = f"GET /sample HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nOrigin: http://a\r\n\r\n".encode()
    while time.monotonic() < end:
        data = bytearray(seed if sent % 4 else dice.randbytes(dice.randrange(1, 40000)))
        for _ in range(dice.randrange(6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        with socket.create_connection(("127.0.0.1", bridge.port), 2) as link:
            link.settimeout(0.01)
            try:
                link.sendall(data[: dice.randrange(len(data)) + 1])
                check(token.encode() not in link.recv(65536), "no token in an answer")
            except OSError:
                pass
        sent += 1
    fresh(bridge)
    print(f"{sent} damaged requests")
    said_here = bridge.said
    ended(bridge)
    check(token.encode() not in said_here + public, "no token in replies, environment or arguments")


def check_arguments():
    run = lambda *a, **k: subprocess.run([program, *a], capture_output=True, timeout=5, **k)
    result = run("Driver=x;PWD=" + SECRET)
    check(result.returncode == 2 and SECRET.encode() not in result.stderr, "a connection string as an argument is refused, not repeated")
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("PWD=" + SECRET)
        file.flush()
        os.chmod(file.name, 0o644)
        check(b"chmod 600" in run("@" + file.name).stderr, "a file that others may read is refused")
    check(b"--token-file" in run("--listen", "0.0.0.0:0", "x").stderr, "beyond loopback only with a token")


bridge = check_versions()
check_troubles(bridge)
check_rights(bridge)
ended(bridge)
check_http()
check_arguments()
for secret in (SECRET, "Sesam"):
    check(secret.encode() not in said, "no password in replies and messages")
    check(secret.encode() not in public, "no password in arguments and environment")
print(f"{checks} checks")
