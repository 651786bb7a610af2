#!/bin/bash
# Reading speed of `useprobe latency` on a large k6 CSV beside wc -l, grep -c, awk and a Python csv loop, interleaved, medians of ROUNDS runs.
# MB (default 2000) sets the size; the file is made once in build/bench. Never part of the tests.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build} MB=${MB:-2000} ROUNDS=${ROUNDS:-3}
file=$B/bench/k6-$MB.csv
mkdir -p "$B/bench"
if [ ! -e "$file" ]; then
	# A minute of a run, 14 rows a request as k6 writes them, repeated with later times until the size is reached.
	awk -v want="$((MB * 1000000))" 'BEGIN {
		srand(7)
		split("http_reqs http_req_duration http_req_blocked http_req_connecting http_req_tls_handshaking http_req_sending http_req_waiting http_req_receiving http_req_failed checks data_sent data_received iteration_duration iterations", m, " ")
		head = "metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,proto,scenario,service,status,subproto,tls_version,url,extra_tags,metadata"
		print head; size = length(head) + 1
		for (t = 1796076285; size < want; t++)
			for (i = 0; i < 350 && size < want; i++)
				for (k = 1; k <= 14; k++) {
					v = k == 1 || k == 14 ? 1 : k == 9 ? 0 : 2 * exp(1.1 * rand() * 4)
					line = sprintf("%s,%d,%.6f,,,,true,,GET,GET /item/1,HTTP/1.1,steps,,200,,,GET /item/1,,", m[k], t, v)
					print line; size += length(line) + 1
				}
	}' >"$file"
fi
bytes=$(stat -c %s "$file")
cat "$file" >/dev/null  # into the page cache
declare -A times
once() {
	local name=$1 t
	shift
	t=$( { TIMEFORMAT=%R; time "$@" >"$B/bench/out" 2>&1; } 2>&1 )  # a file: grep stops early for /dev/null
	times[$name]="${times[$name]:-} $t"
}
for ((round = 0; round < ROUNDS; round++)); do
	once useprobe "$B/useprobe" latency --json "$file"
	once 'wc -l' wc -l "$file"
	once 'grep -c' env LC_ALL=C grep -c '^http_req_duration,' "$file"
	once awk env LC_ALL=C awk -F, '$1 == "http_req_duration" { n++; s += $3 } END { print n, s }' "$file"
	[ $round -gt 0 ] || once python python3 -c '
import csv, sys
n = s = 0
for row in csv.reader(open(sys.argv[1], newline="")):
    if row[0] == "http_req_duration":
        n += 1
        s += float(row[2])
print(n, s)' "$file"
done
rss=$( { /usr/bin/env time -f %M "$B/useprobe" latency --json "$file" >/dev/null; } 2>&1 | tail -n 1) || rss="?"
printf '%s, %d MB\n' "$file" $((bytes / 1000000))
for name in useprobe 'wc -l' 'grep -c' awk python; do
	median=$(printf '%s\n' ${times[$name]} | sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }')
	awk -v name="$name" -v s="$median" -v b="$bytes" 'BEGIN { printf "%-10s %7.2f s %8.0f MB/s\n", name, s, b / s / 1e6 }'
done
printf 'useprobe peak RSS: %s KiB\n' "$rss"
