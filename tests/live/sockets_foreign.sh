#!/bin/bash
# Requests in flight from the kernel's socket events against counters inside servers that are not ours (Python http.server, Node http, the
# JDK's HttpServer) and against the client's own times; nginx in front of the lab; HTTP/2 and pipelining are named, not counted.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
[ "$(id -u)" = 0 ] || { echo "needs root for the BPF programs"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
"$B/useprobe" doctor 2>/dev/null | grep -A1 '^requests ' | grep -q 'denied\|absent\|failed' && { echo "no request programs on this kernel"; exit 77; }
exec python3 - "$B" <<'PY'
import csv, datetime, json, os, shutil, signal, socket, subprocess, sys, tempfile, threading, time, urllib.request
build, servers, port = sys.argv[1], "tests/live/servers", 18440
folder = tempfile.mkdtemp()
quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
tested = 0

def stats(port):
    for _ in range(100):
        try:
            return json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/_stats", timeout=5))
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nobody answers on port {port}")

def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()

def probe(pid, duration, name):
    for end in ("csv", "json"):
        if os.path.exists(f"{folder}/{name}.{end}"):
            os.unlink(f"{folder}/{name}.{end}")
    return subprocess.Popen([f"{build}/useprobe", "-p", str(pid), "-b", "-i", "0.5", "-d", str(duration), "--only", "requests,dependency",
                             "-o", f"{folder}/{name}.csv"], **quiet)

def rows(name, resource, address, begin, end):
    found = []
    for row in csv.DictReader(open(f"{folder}/{name}.csv")):
        if row["resource"] != resource or row["name"] != address or not row["window_s"]:
            continue
        if begin <= seconds(row["time"]) - float(row["window_s"]) and seconds(row["time"]) <= end:
            found.append(dict(pair.split("=", 1) for pair in row["detail"].split(";")))
    return found

def mean(details, key):
    values = [float(d[key]) for d in details if key in d]
    return sum(values) / len(values)

def near(what, got, want, share=0.03, floor=0.3):
    good = abs(got - want) <= max(share * want, floor)
    print(f"{'ok' if good else 'off'}: {what}: {got:.3f}, counted {want:.3f}", flush=True)
    return good

def client_level(name, begin, end):
    level, latencies = 0, []
    lines = list(csv.DictReader(open(f"{folder}/{name}.load")))
    for line in lines:
        if line["sent_s"] and line["end_s"]:
            sent, ended = float(line["sent_s"]), float(line["end_s"])
            level += max(0, min(ended, end) - max(sent, begin))
            latencies.append((ended - sent) * 1e3)
    latencies.sort()
    return level / (end - begin), latencies[len(latencies) // 2]

def measure(name, command, load, pid_of=None, nagle=False):
    server = subprocess.Popen(command, **quiet)
    try:
        stats(port)
        watcher = probe(pid_of() if pid_of else server.pid, 5, name)
        time.sleep(0.7)
        generator = subprocess.Popen([f"{build}/uselab", "load", "--url", f"http://127.0.0.1:{port}/", "--quiet", "--hold", "4s", *load,
                                      "-o", f"{folder}/{name}.load"], **quiet)
        time.sleep(1)
        begin, first = time.time(), stats(port)
        time.sleep(2.6)
        last, end = stats(port), time.time()
        generator.wait()
        watcher.wait()
    finally:
        server.terminate()
        server.wait()
    took = (last["mono_ns"] - first["mono_ns"]) / 1e9
    details = rows(name, "requests", f"tcp:127.0.0.1:{port}", begin, end)
    client, middle = client_level(name, begin, end)
    inside, unread = mean(details, "in_flight"), mean(details, "unread")
    good = near(f"{name} {' '.join(load)}: in flight, read", inside - unread, (last["in_flight_area_ns"] - first["in_flight_area_ns"]) / 1e9 / took) \
        if not pid_of else True
    if nagle:
        return good and near(f"{name}: answers held by Nagle's algorithm", mean(details, "held_by_nagle"), 1, 0.1, 0)
    good = near(f"{name} {' '.join(load)}: in flight, client", inside, client) and good
    good = near(f"{name} {' '.join(load)}: p50 ms, client", mean(details, "p50_ms"), middle, 0.15) and good
    if pid_of:
        behind = rows(name, "dependency", f"127.0.0.1:{port + 1}", begin, end)
        good = near(f"{name}: connections busy behind it", mean(behind, "busy"), (last["in_flight_area_ns"] - first["in_flight_area_ns"]) / 1e9 / took,
                    0.05, 0.5) and good
    return good

def attempt(*arguments, **options):
    """Windows of two programs on a busy machine differ by chance; a wrong count would be wrong again."""
    global tested
    tested += 1
    if not any(measure(*arguments, **options) for _ in range(3)):
        raise SystemExit(f"FAILED: {arguments[0]} was wrong three times")

def named(name, command, client, kind):
    """The rows of a server whose connections carry several requests at once say so and show no level."""
    global tested
    tested += 1
    server = subprocess.Popen(command, **quiet)
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        stop = client()
        time.sleep(0.3)
        probe(server.pid, 2, name).wait()
        details = rows(name, "requests", f"tcp:127.0.0.1:{port}", 0, time.time())
        stop()
    finally:
        server.kill()
        server.wait()
    if details[-1].get("kind") != kind or "in_flight" in details[-1]:
        raise SystemExit(f"FAILED: {name}: {details[-1]}")
    print(f"ok: {name} is named {kind}")

def process(*command):
    def start():
        client = subprocess.Popen(command, **quiet)
        return lambda: (client.kill(), client.wait())
    return start

def pipelining():
    stopped = []
    def go():
        s = socket.create_connection(("127.0.0.1", port))
        answers = s.makefile("rb")
        while not stopped:
            s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 4)
            for _ in range(4):
                length = 0
                for line in iter(answers.readline, b"\r\n"):
                    if line.lower().startswith(b"content-length"):
                        length = int(line.split(b":")[1])
                answers.read(length)
    threads = [threading.Thread(target=go) for _ in range(4)]
    for t in threads:
        t.start()
    return lambda: (stopped.append(1), [t.join() for t in threads])

try:
    attempt("python", ["python3", f"{servers}/counted.py", str(port), "20"], ["--rate", "300", "--poisson"])
    if shutil.which("node"):
        attempt("node", ["node", f"{servers}/counted.js", str(port), "20"], ["--users", "16"])
        named("node-http2", ["node", f"{servers}/http2.js", "serve", str(port)], process("node", f"{servers}/http2.js", "load", str(port)), "http2")
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", folder, f"{servers}/Counted.java"], check=True)
        attempt("java", ["java", "-cp", folder, "Counted", str(port), "20"], ["--rate", "300"], nagle=True)
    if shutil.which("nginx"):
        with open(f"{folder}/nginx.conf", "w") as conf:
            conf.write(f"""daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.err;
events {{ worker_connections 512; }}
http {{ access_log off; keepalive_requests 1000000; upstream lab {{ server 127.0.0.1:{port + 1}; keepalive 64; }}
{"".join(f"{t}_temp_path {folder}/{t}; " for t in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))}
server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://lab; proxy_http_version 1.1; proxy_set_header Connection ""; }} }} }}""")
        lab = subprocess.Popen([f"{build}/uselab", "serve", "--listen", f"127.0.0.1:{port + 1}", "--workers", "64", "--wait-ms", "20",
                                "--duration", "60s"], **quiet)
        worker = lambda: int(subprocess.check_output(["pgrep", "-P", open(f"{folder}/nginx.pid").read().strip()]).split()[0])
        try:
            attempt("nginx", ["nginx", "-c", f"{folder}/nginx.conf"], ["--rate", "500"], pid_of=worker)
        finally:
            lab.kill()
            lab.wait()
    named("pipelining", [f"{build}/uselab", "serve", "--listen", f"127.0.0.1:{port}", "--workers", "8", "--wait-ms", "5", "--duration", "30s"],
          pipelining, "pipelining")
    print(f"{tested} servers")
finally:
    shutil.rmtree(folder)
PY
