#!/bin/bash
# A bridge in every kind of trouble: right, hung, refusing, garbage, 100 MB, gone, back. What the rows say in each, and that no tick waits for
# it: the same ticks as without. The token stands in no output.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
ldconfig -p 2>/dev/null | grep -q 'libcurl\(-gnutls\)\?\.so\.4' || { echo "libcurl is missing"; exit 77; }
dir=$(mktemp -d)
pids=()
cleanup() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }
cat >"$dir/bridge.py" <<'PY'
# Answers by the second since the first request: 0 right, 3 hung, 6 401, 7 garbage, 8 100 MB, 9 500, 10 right again. Two tasks always wait.
import http.server, json, sys, threading, time
begun = None
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        global begun
        begun = begun or time.monotonic()
        at = time.monotonic() - begun
        if self.headers.get("Authorization") != "Bearer Sesam-29" or 6 <= at < 7: return self.send_error(401)
        if 3 <= at < 6: time.sleep(6 - at); return
        body = json.dumps({"format": "useprobe-sql/1", "state": "ok", "reason": None, "instance": "shop", "generation": "g", "sequence": int(at * 1000),
            "clock_ms": at * 1000, "waits_complete": True, "waits": [{"type": "LCK_M_X", "waits": int(at * 20), "wait_ms": at * 2000, "signal_ms": 0}],
            "unfinished": [], "workers": 5, "workers_max": 10, "errors": {"deadlocks": 0}, "missing": {}}).encode()
        if 7 <= at < 8: body = b'{"format":"useprobe-sql/1","state":'
        if 8 <= at < 9: body = b" " * 100_000_000
        self.send_response(500 if 9 <= at < 10 else 200)
        self.end_headers()
        try: self.wfile.write(body)
        except OSError: pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
PY
python3 "$dir/bridge.py" >"$dir/port" 2>/dev/null &
pids+=($!)
for _ in $(seq 100); do [ -s "$dir/port" ] && break; sleep 0.05; done
url=http://127.0.0.1:$(cat "$dir/port")
echo Sesam-29 >"$dir/token"
chmod 644 "$dir/token"
"$B/useprobe" --sql "$url" --sql-token-file "$dir/token" -d 1 -b --no-csv >/dev/null 2>"$dir/err" && fail "a token that everybody may read was taken"
grep -q 'chmod 600' "$dir/err" || fail "no word of what to do: $(cat "$dir/err")"
chmod 600 "$dir/token"
"$B/useprobe" --sql http://me:Sesam-29@127.0.0.1/ -d 1 -b --no-csv >/dev/null 2>"$dir/err" && fail "an address with a password was taken"
t0=$(date +%s%N)
"$B/useprobe" --sql "$url" --sql-token-file "$dir/token" -i 0.1 -d 13 -b --only sql,probe -o "$dir/sql.csv" >"$dir/out" 2>&1 &
probe=$!
pids+=($probe)
sleep 10
rss_kb=$(awk '/^VmRSS/ {print $2}' /proc/$probe/status)
tr '\0' ' ' </proc/$probe/cmdline >>"$dir/out"
wait $probe || fail "status $? of the probe: $(tail -n 2 "$dir/out")"
ms=$((($(date +%s%N) - t0) / 1000000))
python3 - "$dir/sql.csv" <<'PY' || fail "what the rows say"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
main = [r for r in rows if r["resource"] == "sql" and "/" not in r["name"]]
lock = [float(r["saturation"]) for r in rows if r["name"] == "shop/lock" and r["saturation"]]
wrong = []
def want(what, ok):
    if not ok: wrong.append(what)
states = [r["state"] for r in main]
print("states:", {s: states.count(s) for s in dict.fromkeys(states)}, "mean waiting:", sum(lock) / max(1, len(lock)))
want("stale while it hangs", states.count("stale") >= 10)
want("denied while it refuses", states.count("denied") >= 4)
want("numbers before and after", lock and states[-1] in ("ok", "first", "absent") and float(main[-1]["elapsed_s"]) > 12)
want(f"two tasks wait, {sum(lock) / max(1, len(lock))}", lock and abs(sum(lock) / len(lock) - 2) < 0.1)
want("numbers in the last two seconds", any(r["name"] == "shop/lock" and float(r["elapsed_s"]) > 11 for r in rows))
want("reasons", all("no answer for" in r["detail"] for r in main if r["state"] == "stale"))
probes = [r for r in rows if r["resource"] == "probe"]
late = [float(r["window_s"]) for r in probes if r["window_s"] and float(r["window_s"]) > 0.15]
print(f"ticks: {len(probes)}, late by more than 50 ms: {len(late)}")
want("131 ticks in 13 s", len(probes) >= 128)
for w in wrong: print("wrong:", w)
sys.exit(bool(wrong))
PY
[ "$ms" -lt 16500 ] || fail "a run of 13 s took $ms ms"
[ "$rss_kb" -lt 40000 ] || fail "resident $rss_kb kB after an answer of 100 MB"
! grep -q Sesam-29 "$dir/sql.csv" "$dir/sql.json" "$dir/out" "$dir/err" || fail "the token is in an output"
echo "ok: resident $rss_kb kB, $ms ms for a run of 13 s"
