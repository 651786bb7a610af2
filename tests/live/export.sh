#!/bin/bash
# --export: a real Prometheus scrapes a running probe: `up` is 1, promtool accepts the text, and what Prometheus stored for a tick is what the
# CSV says of it. Who may not ask is refused; the token is in no output.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
ldconfig -p 2>/dev/null | grep -q libmicrohttpd.so.12 || { echo "libmicrohttpd is missing"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
dir=$(mktemp -d)
pids=()
cleanup() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }
(umask 077; echo Sesam-41 >"$dir/token")
"$B/useprobe" --export 0.0.0.0:0 -b -d 1 --no-csv >/dev/null 2>"$dir/err" && fail "listens on every address without a token"
grep -q export-token-file "$dir/err" || fail "no word of what to do: $(cat "$dir/err")"

"$B/useprobe" --export 127.0.0.1:0 --export-token-file "$dir/token" --only cpu,memory,disk,probe -i 0.5 -b -o "$dir/run.csv" >/dev/null 2>"$dir/err" &
probe=$!
pids+=($probe)
for _ in $(seq 100); do url=$(sed -n 's/.*metrics at \(.*\)/\1/p' "$dir/err"); [ -n "$url" ] && break; sleep 0.05; done
[ -n "$url" ] || fail "it does not listen: $(cat "$dir/err")"
status() { curl -s -o "$dir/body" -w '%{http_code}' "$@"; }
token='Authorization: Bearer Sesam-41'
for _ in $(seq 50); do [ "$(status -H "$token" "$url")" = 200 ] && break; sleep 0.1; done
[ "$(status "$url")" = 401 ] || fail "an answer without the token"
[ "$(status -H "$token" -H 'Host: evil.example' "$url")" = 403 ] || fail "an answer to a foreign Host"
[ "$(status -H "$token" -H 'Origin: http://evil.example' "$url")" = 403 ] || fail "an answer to a foreign Origin"
[ "$(status -H "$token" -X POST "$url")" = 405 ] || fail "POST is answered"
[ "$(status -H "$token" "${url%metrics}x")" = 404 ] || fail "there is only /metrics"
status -H "$token" -H 'Accept: application/openmetrics-text; version=1.0.0' "$url" >/dev/null
[ "$(tail -n 1 "$dir/body")" = "# EOF" ] || fail "OpenMetrics ends with # EOF"
# The first tick has no CPU yet: one reading is no rate.
for _ in $(seq 30); do status -H "$token" "$url" >/dev/null; grep -q '^useprobe_utilization_ratio{resource="cpu"' "$dir/body" && break; sleep 0.1; done
grep -q '^useprobe_utilization_ratio{resource="cpu",name="host",scope="host"} ' "$dir/body" || fail "no CPU of the host: $(head -n 5 "$dir/body")"

if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
	promtool check rules docs/examples/useprobe.rules.yml >"$dir/rules" || fail "promtool does not accept the example rules: $(cat "$dir/rules")"
	promtool check metrics <"$dir/body" || fail "promtool does not accept the text"
	cat >"$dir/prometheus.yml" <<-YML
		global: {scrape_interval: 500ms, scrape_timeout: 400ms}
		scrape_configs:
		- job_name: useprobe
		  authorization: {credentials_file: $dir/token}
		  static_configs: [{targets: ["${url#http://}"]}]
	YML
	sed -i 's|/metrics"|"|' "$dir/prometheus.yml"
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" --web.listen-address="127.0.0.1:$port" --log.level=error >"$dir/prometheus.log" 2>&1 &
	pids+=($!)
	sleep 7
	python3 - "$port" "$dir/run.csv" <<'PY' || { tail -n 3 "$dir/prometheus.log"; fail "what Prometheus has"; }
import csv, datetime, json, sys, urllib.parse, urllib.request
def query(text):
    return json.load(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/api/v1/query?" + urllib.parse.urlencode({"query": text})))["data"]["result"]
up = query("up")
assert len(up) == 1 and up[0]["value"][1] == "1", up
series = {kind: query(f'{kind}[10s]')[0]["values"] for kind in
          ("useprobe_tick_timestamp_seconds", 'useprobe_utilization_ratio{resource="memory",name="host"}', 'useprobe_utilization_ratio{resource="cpu",name="host"}')}
stamps = {t: float(v) for t, v in series.pop("useprobe_tick_timestamp_seconds")}
rows = [r for r in csv.DictReader(open(sys.argv[2])) if r["name"] == "host" and r["utilization"]]
checked = 0
for kind, values in series.items():
    truth = {round(datetime.datetime.fromisoformat(r["time"].replace("Z", "+00:00")).timestamp(), 3): r["utilization"]
             for r in rows if f'"{r["resource"]}"' in kind}
    for at, value in values:
        if at in stamps and round(stamps[at], 3) in truth:
            assert float(value) == float(truth[round(stamps[at], 3)]), (kind, at, value, truth[round(stamps[at], 3)])
            checked += 1
assert checked >= 4, checked
print(f"ok: up is 1, {checked} values of Prometheus are those of the CSV")
PY
else
	echo "without prometheus: only the text was looked at"
fi
kill -INT $probe
wait $probe || fail "status $? of the probe"
! grep -q Sesam-41 "$dir/run.csv" "$dir/run.json" "$dir/err" || fail "the token is in an output"
