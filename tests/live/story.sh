#!/bin/bash
# The reference story with a real container: an API named `api` at half a CPU behind a pool of 100 connections, a database with few workers
# that gets much slower under the highest load, a ladder from 100 to 600/s, then a pause of 5 s under open and closed load. One command each.
set -eu
cd "$(dirname "$0")/../.."
B=$PWD/${B:-build}
dir=$(mktemp -d /tmp/useprobe-story.XXXXXX)
. tests/live/lib_docker.sh
docker_skip
db=
cleanup() { [ -z "$db" ] || kill "$db" 2>/dev/null || true; docker_stop; rm -rf "$dir"; }
trap cleanup EXIT
fail() { echo "FAILED: $*"; grep -A20 "^verdict" "$dir/answer" 2>/dev/null; exit 1; }
docker_start
port=$((20000 + $$ % 10000))
url=http://127.0.0.1:$port/

# The lab's own program in the container, with the machine's libraries. Its database is a process of the machine.
start_db() {
	[ -z "$db" ] || { kill "$db" 2>/dev/null; wait "$db" 2>/dev/null || true; }
	"$B/uselab" db --quiet --listen 127.0.0.1:$((port + 1)) --duration 120s "$@" &
	db=$!
}
start_db --workers 4 --service-ms 12.5
dock run -d --name api --cpus 0.5 --network host -v "$B:/lab:ro" -v /lib:/lib:ro -v /lib64:/lib64:ro -v /usr/lib:/usr/lib:ro tiny:1 \
	/lab/uselab serve --quiet --listen 127.0.0.1:$port --workers 400 --cpu-ms 0.3 --db 127.0.0.1:$((port + 1)),pool=100 >/dev/null
for _ in $(seq 50); do curl -sf -o /dev/null "${url}_stats" && break; sleep 0.1; done
curl -sf -o /dev/null "${url}_stats" || fail "the API does not answer"

echo "the ladder"
start_db --workers 4 --service-ms 12.5 --slow 36s:40s:8
"$B/useprobe" --cgroup api -b -i 0.5 -o "$dir/steps.csv" -l "$dir/load.csv" -- \
	"$B/uselab" load --quiet --url "$url" --steps 100:100:6:7s:1s --vus 2000 --timeout 60s --out "$dir/load.csv" >"$dir/answer" 2>&1 ||
	fail "status $? of useprobe --cgroup api -- COMMAND"
"$B/useprobe" report "$dir/steps.csv" --load "$dir/load.csv" -o "$dir/answer.json"
python3 - "$dir/answer.json" $((port + 1)) "$dir/steps.csv" <<'P' || fail "the answer is not the story's"
import json, sys
a = json.load(open(sys.argv[1]))
k, b = a["knee"], a["bottleneck"]
wrong = []
def want(what, ok):
    if not ok: wrong.append(what)
want(f"knee between 300 and 400, got {k['verdict']} {k['good_per_s']} .. {k['bad_per_s']}", k["verdict"] == "knee" and abs(k["good_per_s"] - 300) < 9 and abs(k["bad_per_s"] - 400) < 12)
want(f"collapse at 500, got {k['collapse_per_s']}", k["collapse_per_s"] and abs(k["collapse_per_s"] - 500) < 15)
want(f"suspect dependency, got {b['verdict']} {b['resource']} {b['name']}", b["verdict"] == "resource" and b["resource"] == "dependency" and b["name"].endswith(":" + sys.argv[2]))
cpu = [e for e in b["evidence"] if "acquitted" in e and "cpu" in e]
want("the CPU acquitted with its figures", cpu)
want("the pool as a symptom", any("connections to" in s for s in b["symptoms"]))
# The database was made again behind open connections: a query that ran into a dead one must not count as under way for ever.
import csv
for row in csv.DictReader(open(sys.argv[3])):
    if row["resource"] == "dependency" and row["utilization"]:
        want(f"more connections busy than open at +{row['elapsed_s']} s: {row['utilization']}", float(row["utilization"]) < 1.03)
print(*cpu, *b["symptoms"], sep="\n")
for w in wrong: print("wrong:", w)
sys.exit(1 if wrong else 0)
P

echo "the pause, open and closed"
start_db --workers 64 --service-ms 2
for model in "--rate 200" "--users 20 --think-ms 100"; do
	(sleep 9; dock pause api >/dev/null; sleep 5; dock unpause api >/dev/null) &
	pauser=$!
	"$B/useprobe" --cgroup api -b -i 0.5 --force -o "$dir/pause.csv" -l "$dir/pause-load.csv" -- \
		"$B/uselab" load --quiet --url "$url" $model --hold 18s --vus 2000 --out "$dir/pause-load.csv" >"$dir/answer" 2>&1 ||
		fail "status $? under $model"
	wait $pauser
	grep "^verdict: frozen" "$dir/answer" || fail "a paused container under $model is frozen"
	awk '/^verdict: frozen/ {for (i = 1; i <= NF; i++) if ($i == "for") s = $(i + 1)} END {exit !(s > 4.6 && s < 5.6)}' "$dir/answer" ||
		fail "the pause lasted 5 s"
	"$B/useprobe" latency "$dir/pause-load.csv" --json >"$dir/latency.json"
	python3 - "$dir/latency.json" "$model" <<'P' || fail "percentiles under $model"
import json, sys
a, model = json.load(open(sys.argv[1])), sys.argv[2]
raw = a["percentiles"]["p99"]["ms"]
if model.startswith("--rate"):
    print(f"open: p99 {raw:.0f} ms")
    sys.exit(not (raw > 3000 and a["model"] == "open"))
fixed = a["corrected"]["percentiles"]["p99"]["ms"]
print(f"closed: p99 {raw:.1f} ms as measured, {fixed:.0f} ms corrected with {a['corrected']['interval_ms']:.0f} ms per user")
sys.exit(not (raw < 1000 and fixed > 3000 and a["model"] == "closed"))
P
done
