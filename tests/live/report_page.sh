#!/bin/bash
# The report in a real browser: every request it would make is caught, both widths and both colour schemes are drawn, and it prints.
# beside
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$browser" ] || { echo "chromium is not installed"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Ten steps of a queue that does 104 requests/s, and a CPU row beside it, with names that would like to be more than text.
python3 - "$dir" <<'PY'
import csv, sys
out = sys.argv[1]
hostile = '<img src="http://127.0.0.1:9/x" onerror="document.title=1"><script src="http://127.0.0.1:9/y"></script>'
free = 0.0
with open(out + '/load.csv', 'w') as f:
    f.write('planned_s,sent_s,end_s,status,vu,step\n')
    for step in range(10):
        for i in range((step + 1) * 20 * 8):
            at = 1800000000 + step * 8 + i / ((step + 1) * 20)
            free = max(at, free) + 1 / 104
            f.write('%.6f,%.6f,%.6f,200,1,%d\n' % (at, at, free, step + 1))
header = 'time,elapsed_s,window_s,scope,resource,name,utilization,saturation,saturation_unit,waiting,errors,condition,state,method,detail,target'
backlog = 0
with open(out + '/samples.csv', 'w', newline='') as f:
    rows = csv.writer(f, lineterminator='\n')
    rows.writerow(header.split(','))
    for s in range(1, 81):
        rate = 20 * (1 + (s - 1) // 8)
        used, backlog = min(1, rate / 104), backlog + max(0, rate - 104)
        head = ['2027-01-15T08:%02d:%02d.000Z' % (s // 60, s % 60), s, 1]
        rows.writerow(head + ['cgroup', 'cpu', hostile, used, used, 'ratio', backlog, '', 'ok', 'ok', 'cpu.stat measured', 'servers=1;used_cpus=%f' % used, hostile])
        rows.writerow(head + ['listener', 'requests', 'tcp:0.0.0.0:80', '', 0, 'unread', 0, 0, 'ok', 'ok', 'sockets measured',
            'in_flight=%f;area_s=%f;arrivals=%d;departures=%d' % (used + backlog, used + backlog, rate, min(rate, 104)), hostile])
        if s == 30:
            rows.writerow(head + ['event', 'mark', '', '', '', '', '', '', '', 'ok', '', 'text=' + hostile.replace('=', '%3D'), ''])
PY
"$B/useprobe" report "$dir/samples.csv" --load "$dir/load.csv" --steps 20:20:10:8 --slo 'p95<200ms,failed<1%' --peak 90 -o "$dir/report.html"
size=$(stat -c %s "$dir/report.html")
[ "$size" -lt 300000 ] || { echo "the report has $size bytes"; exit 1; }

# A real parser: the whole page is well-formed, and nothing in it refers to anything outside.
python3 - "$dir/report.html" <<'PY'
import sys, xml.etree.ElementTree as tree
names = set()
for element in tree.parse(sys.argv[1]).iter():
    names.add(element.tag)
    for key in element.attrib:
        assert not key.startswith('on') and key not in ('href', 'src', 'style', 'action', '{http://www.w3.org/1999/xlink}href'), (element.tag, key)
text = ''.join(tree.parse(sys.argv[1]).getroot().itertext())
assert '6. Action' in text and 'onerror=' in text
assert {'svg', 'path', 'table'} <= names and not names & {'script', 'img', 'link', 'iframe', 'object', 'image', 'use'}, names
PY

run() { timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu --user-data-dir="$dir/profile" --no-first-run --disable-extensions \
	--disable-background-networking --hide-scrollbars "$@" "file://$dir/report.html" >"$dir/log" 2>&1; }

# A narrow dark page and a wide light one. The network log of the load names no URL but the file's.
draw() { run --log-net-log="$dir/net.json" --blink-settings=preferredColorScheme="$2" --window-size="$1",1200 --screenshot="$dir/$1.png"; }
for page in "390 0" "1280 1"; do
	draw $page || { tail -5 "$dir/log"; exit 1; }
	grep -q "file://$dir/report.html" "$dir/net.json" || { echo "the network log does not show the page itself"; exit 1; }
	if grep -q '127\.0\.0\.1:9' "$dir/net.json"; then echo "the page asked for something outside"; exit 1; fi
done
# Drawn in many colours, on the ground that the scheme asks for.
python3 - "$dir" <<'PY'
import struct, sys, zlib

def pixels(path):
    data, at, parts = open(path, 'rb').read(), 8, []
    while at < len(data):
        n, kind = struct.unpack('>I4s', data[at:at + 8])
        if kind == b'IHDR':
            width, height, _, colour = struct.unpack('>IIBB', data[at + 8:at + 18])
        if kind == b'IDAT':
            parts.append(data[at + 8:at + 8 + n])
        at += 12 + n
    bpp, raw = {2: 3, 6: 4}[colour], zlib.decompress(b''.join(parts))
    stride, before, rows = width * bpp, bytearray(width * bpp), []
    for y in range(height):
        f, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            a, b = line[x - bpp] if x >= bpp else 0, before[x]
            c = before[x - bpp] if x >= bpp else 0
            if f == 1: line[x] = (line[x] + a) & 255
            elif f == 2: line[x] = (line[x] + b) & 255
            elif f == 3: line[x] = (line[x] + (a + b) // 2) & 255
            elif f == 4:
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                line[x] = (line[x] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
        before = line
        rows.append(line)
    return width, bpp, rows

for width, dark in ((390, True), (1280, False)):
    w, bpp, rows = pixels('%s/%d.png' % (sys.argv[1], width))
    assert w == width, (w, width)
    colours = {bytes(r[x * bpp:x * bpp + 3]) for r in rows[::7] for x in range(0, w, 3)}
    assert len(colours) > 20, (width, len(colours))
    ground = sum(rows[3][:3]) / 3
    assert ground < 60 if dark else ground > 200, (width, ground)
PY
run --no-pdf-header-footer --print-to-pdf="$dir/report.pdf" || { tail -5 "$dir/log"; exit 1; }
[ "$(stat -c %s "$dir/report.pdf")" -gt 20000 ]
pages=$(grep -ac '/Type */Page\b' "$dir/report.pdf" || true)
echo "report: $size bytes, PDF with $pages pages"
