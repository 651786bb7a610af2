#!/bin/bash
# The load generators themselves against the lab: what `useprobe latency` says of a file that a tool wrote just now is held against an independent
# computation over the same file, and its count of requests against the server's own counter. Tools are taken from PATH; those that are not there
# are named. TOOLS="vegeta wrk" runs only these.
# beside
set -eu
lab=${B:-build}/uselab
export useprobe=${B:-build}/useprobe
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
found=() missing=()
for tool in ${TOOLS:-vegeta hey wrk oha locust jmeter}; do
	if command -v "$tool" >/dev/null; then found+=("$tool"); else missing+=("$tool"); fi
done
[ ${#found[@]} -gt 0 ] || { echo "none of these load generators is on PATH: ${missing[*]}"; exit 77; }
dir=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT

# 4 ms, and 60 ms more in one request of 40; bodies of 64 bytes, no failures: those are in the unit tests.
"$lab" serve --listen 127.0.0.1:0 --workers 64 --wait-ms exp:4 --miss=40:60 --duration 5m >"$dir/server" 2>&1 &
pids+=($!)
for _ in $(seq 100); do
	port=$(sed -n 's/.*listening on port \([0-9]*\).*/\1/p' "$dir/server")
	[ -n "$port" ] && break
	sleep 0.05
done
export port url=http://127.0.0.1:$port/
served() { python3 -c "import json, urllib.request; print(json.load(urllib.request.urlopen('$url' + '_stats'))['arrivals'])"; }
free_port() { python3 -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"; }
cat >"$dir/check.py" <<'PY'
import csv, json, math, os, re, subprocess, sys
tool, dir, served = sys.argv[1], sys.argv[2], int(sys.argv[3])

def ours(name, *options):
    p = subprocess.run([os.environ["useprobe"], "latency", f"{dir}/{name}", "--json", *options], capture_output=True, text=True)
    assert p.returncode == 0, (name, p.returncode, p.stderr)
    return json.loads(p.stdout)

def rank(values, percent):
    return values[max(1, math.ceil(round(percent / 100 * len(values), 9))) - 1]

# Against raw latencies in ms: nearest rank, sum and count. EXACT: to the microsecond.
# MISSING: requests under way when the tool ended, which it does not record.
def hold(name, ms, failed=0, tolerance=0.0011, missing=0, *options):
    ms = sorted(ms)
    j = ours(name, *options)
    theirs = {p: rank(ms, float(p[1:])) for p in ("p50", "p90", "p95", "p99", "p99.9")}
    mine = {p: j["percentiles"][p]["ms"] for p in theirs}
    print(f"{tool:7} {name:20} n {j['n']:5} of {served} served, mean {j['mean_ms']:.3f} ({sum(ms) / len(ms):.3f}),",
          ", ".join(f"{p} {mine[p]:.3f} ({theirs[p]:.3f})" for p in theirs), f"max {j['max_ms']:.3f} ({ms[-1]:.3f})")
    assert j["n"] == len(ms) and (j["failed"] or 0) == failed, (j["n"], len(ms), j["failed"], failed)
    assert j["n"] <= served <= j["n"] + missing, (j["n"], served)
    assert all(abs(mine[p] - theirs[p]) <= tolerance for p in mine), (mine, theirs)
    assert abs(j["mean_ms"] - sum(ms) / len(ms)) <= tolerance and abs(j["max_ms"] - ms[-1]) <= tolerance
    return j

def rows(name):
    return list(csv.DictReader(open(f"{dir}/{name}", newline="")))

if tool == "vegeta":
    raw = list(csv.reader(open(f"{dir}/vegeta.csv", newline="")))
    hold("vegeta.csv", [int(q[2]) / 1e6 for q in raw], sum(q[1] != "200" for q in raw))
    hold("vegeta.json", [json.loads(q)["latency"] / 1e6 for q in open(f"{dir}/vegeta.json")])
    j, report = ours("vegeta.report.json"), json.load(open(f"{dir}/vegeta.report.json"))
    assert j["n"] == report["requests"] == served and abs(j["percentiles"]["p99"]["ms"] - report["latencies"]["99th"] / 1e6) < 1e-6
    # vegeta as an endpoint with a histogram of its own, scraped twice in the run: the requests between the scrapes, by their end.
    if os.path.exists(f"{dir}/vegeta.prom"):
        j = ours("vegeta.prom")
        at = [{float(m[1]): int(m[2]) for m in re.finditer(r'request_seconds_bucket{.*le="([^"]*)"} (\d+)', open(f"{dir}/{f}").read())}
              for f in ("first.prom", "second.prom")]
        counts = [(le, at[1][le] - at[0].get(le, 0)) for le in sorted(at[1])]
        n = counts[-1][1]
        assert j["n"] == n > 50, (j["n"], n)
        for p in ("p50", "p90", "p99"):
            need = math.ceil(round(float(p[1:]) / 100 * n, 9))
            k = next(i for i, (_, c) in enumerate(counts) if c >= need)
            q = j["percentiles"][p]
            assert q["hi_ms"] is None or abs(q["hi_ms"] - counts[k][0] * 1e3) < 1e-6, (p, q, counts)
            assert abs(q["lo_ms"] - (counts[k - 1][0] * 1e3 if k else 0)) < 1e-6, (p, q, counts)
        print(f"vegeta  scrapes              n {n}, p50 in {j['percentiles']['p50']['lo_ms']:g} .. {j['percentiles']['p50']['hi_ms']:g} ms,",
              f"p99 in {j['percentiles']['p99']['lo_ms']:g} .. {j['percentiles']['p99']['hi_ms']:g} ms")
elif tool == "hey":
    raw = rows("hey.csv")
    hold("hey.csv", [float(q["response-time"]) * 1e3 for q in raw], sum(q["status-code"] != "200" for q in raw))
elif tool == "oha":
    raw = rows("oha.csv")
    hold("oha.csv", [float(q["request-duration"]) * 1e3 for q in raw], sum(q["status"] != "200" for q in raw))
elif tool == "jmeter":
    raw = rows("jmeter.csv")
    hold("jmeter.csv", [int(q["elapsed"]) for q in raw], sum(q["success"] != "true" for q in raw))
elif tool == "locust":
    raw = rows("locust_raw.csv")
    hold("locust_raw.csv", [float(q["ms"]) for q in raw], 0, 0.0011, 8, "--columns", "start=start:s,latency=ms:ms")
    # Its own JSON keeps whole ms up to 100, then 10 ms; a percentile can be off by half of that.
    ms = sorted(float(q["ms"]) for q in raw)
    j = ours("locust.json")
    assert j["n"] == len(ms), (j["n"], len(ms))
    for p in ("p50", "p90", "p95", "p99"):
        assert abs(j["percentiles"][p]["ms"] - rank(ms, float(p[1:]))) <= (0.51 if rank(ms, float(p[1:])) < 99 else 5.1), (p, j["percentiles"][p])
elif tool == "wrk":
    text = open(f"{dir}/wrk.txt").read()
    done = json.loads(next(q for q in text.splitlines() if q.startswith("{")))
    j = ours("wrk.txt")
    print(f"wrk     wrk.txt              n {j['n']:5} of {served} served,", ", ".join(f"{p} {j['percentiles'][p]['ms']} ({done[p] / 1e3:.3f})" for p in ("p50", "p90", "p99")))
    # Requests that the end of the run met under way are served and not counted: at most one a connection.
    assert j["n"] == done["requests"] and done["requests"] <= served <= done["requests"] + 4
    assert j["told_by_tool"] is True and "corrected" in j["corrected"]["reason"]
    for p in ("p50", "p90", "p99"):
        assert abs(j["percentiles"][p]["ms"] - done[p] / 1e3) <= 0.0051 * done[p] / 1e3 + 0.006, (p, j["percentiles"][p], done[p])
PY

run_vegeta() {
	local admin; admin=$(free_port)
	echo "GET $url" | vegeta attack -rate=200/s -duration=6s -prometheus-addr "127.0.0.1:$admin" -output "$dir/vegeta.gob" &
	local attack=$!
	pids+=("$attack")
	sleep 2
	if curl -sf "http://127.0.0.1:$admin/metrics" >"$dir/first.prom" && sleep 2.5 && curl -sf "http://127.0.0.1:$admin/metrics" >"$dir/second.prom"; then
		cat "$dir/first.prom" "$dir/second.prom" >"$dir/vegeta.prom"
	fi
	wait "$attack"
	vegeta encode --to csv <"$dir/vegeta.gob" >"$dir/vegeta.csv"
	vegeta encode --to json <"$dir/vegeta.gob" >"$dir/vegeta.json"
	vegeta report -type=json <"$dir/vegeta.gob" >"$dir/vegeta.report.json"
}
run_hey() { hey -n 1000 -c 8 -q 40 -o csv "$url" >"$dir/hey.csv"; }
run_oha() { oha --no-tui -n 1000 -c 8 -q 300 --output-format csv "$url" >"$dir/oha.csv"; }
run_wrk() {
	cat >"$dir/done.lua" <<'LUA'
done = function(summary, latency)
	io.write(string.format('{"requests":%d,"p50":%d,"p90":%d,"p99":%d}\n', summary.requests,
		latency:percentile(50), latency:percentile(90), latency:percentile(99)))
end
LUA
	wrk -t1 -c4 -d4s --latency -s "$dir/done.lua" "$url" >"$dir/wrk.txt"
}
run_locust() {
	cat >"$dir/locustfile.py" <<'PY'
import csv, os
from locust import HttpUser, task, constant_pacing, events

raw = open(os.environ["RAW"], "w", newline="")
out = csv.writer(raw)
out.writerow(["start", "ms"])

@events.request.add_listener
def on_request(response_time, start_time=None, **_):
    out.writerow([repr(start_time), repr(response_time)])

@events.quit.add_listener
def on_quit(exit_code, **_):
    raw.close()

class User(HttpUser):
    wait_time = constant_pacing(0.05)

    @task
    def page(self):
        self.client.get("/")
PY
	(cd "$dir" && RAW=$dir/locust_raw.csv locust --headless -u 8 -r 8 -t 6s -H "${url%/}" -f locustfile.py --json-file locust --only-summary >locust.log 2>&1) ||
		{ tail -n 20 "$dir/locust.log"; return 1; }
	[ -s "$dir/locust.json" ] || mv "$dir/locust" "$dir/locust.json"
}
run_jmeter() {
	cat >"$dir/plan.jmx" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0">
<hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/>
<hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<elementProp name="ThreadGroup.main_controller" elementType="LoopController"><boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">120</stringProp></elementProp>
<stringProp name="ThreadGroup.num_threads">8</stringProp>
<stringProp name="ThreadGroup.ramp_time">1</stringProp>
</ThreadGroup>
<hashTree>
<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="page">
<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments"/></elementProp>
<stringProp name="HTTPSampler.domain">127.0.0.1</stringProp>
<stringProp name="HTTPSampler.port">${__P(port)}</stringProp>
<stringProp name="HTTPSampler.protocol">http</stringProp>
<stringProp name="HTTPSampler.path">/</stringProp>
<stringProp name="HTTPSampler.method">GET</stringProp>
<boolProp name="HTTPSampler.use_keepalive">true</boolProp>
</HTTPSamplerProxy>
<hashTree/>
</hashTree>
</hashTree>
</hashTree>
</jmeterTestPlan>
XML
	(cd "$dir" && timeout 60 jmeter -n -t plan.jmx -l jmeter.csv -j jmeter.log -Jport="$port" >jmeter.out 2>&1) ||
		{ tail -n 20 "$dir/jmeter.out" "$dir/jmeter.log"; return 1; }
}

for tool in "${found[@]}"; do
	before=$(served)
	run_"$tool" || { echo "$tool did not run"; exit 1; }
	sleep 0.3
	python3 "$dir/check.py" "$tool" "$dir" $(($(served) - before))
done
[ ${#missing[@]} -eq 0 ] || echo "not on PATH: ${missing[*]}"
