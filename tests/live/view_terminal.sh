#!/bin/bash
# The live view in terminals of every kind, and what happens to a run when the terminal does something to it.
# beside
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib_view.sh
make_csv 70 >"$dir/api.csv"
replay="$B/useprobe replay --at 69s $dir/api.csv"
run="$B/useprobe --host -i 200ms -o run.csv"
cd "$dir" || exit 1

# Colours only where they are wanted; the words are there either way.
terminal 80 24 "$replay"; shows "saturated"
screen -e | grep -qE "$(printf '\033')\[[0-9;]*3[0-9]m" || fail "no colours in a terminal that has them"
terminal 80 24 "NO_COLOR=1 $replay"; shows "saturated"
screen -e | grep -qE "$(printf '\033')\[([0-9]+;)*[34][0-7]m" && fail "NO_COLOR and yet colours"
for term in vt100 xterm-mono screen vt220 linux xterm-256color; do
	infocmp "$term" >/dev/null 2>&1 || continue
	terminal 80 24 "TERM=$term $replay"; shows "saturated cpu"; shows "1.01"
done

# Terminals that cannot: the table is printed instead, and why.
for term in dumb no-such-terminal ""; do
	terminal 100 50 "TERM='$term' $replay; sleep 5"; shows "cannot show the live view"; shows "CONDITION"
done
"$B/useprobe" replay "$dir/api.csv" </dev/null >"$dir/pipe" 2>&1 || fail "no batch table into a pipe"
grep -q "^cpu  *api  *1.01" "$dir/pipe" || fail "the pipe holds no table"
grep -q "$(printf '\033')" "$dir/pipe" && fail "a raw escape in the pipe"

# Without UTF-8 there is nothing but ASCII.
terminal 120 30 "LC_ALL=C $replay"; shows "saturated"; shows "#"
screen | LC_ALL=C grep -q '[^ -~]' && fail "bytes beyond ASCII without UTF-8"

# Keys from the terminal when standard input is something else.
terminal 80 24 "$replay </dev/null"; shows "quit"; keys '?'; shows "Keys"

# 300 sizes in a row, then a usable one.
terminal 80 24 "$run; sleep 5"; shows "every 200 ms"
for i in $(seq 300); do t resize-window -x $((20 + i * 37 % 180)) -y $((4 + i * 13 % 56)) 2>/dev/null; done
t resize-window -x 100 -y 30; shows "LAST 60 s"; shows "cpu"
for size in "20 5" "1 1" "3 2" "300 100" "80 24"; do set -- $size; t resize-window -x "$1" -y "$2"; sleep 0.2; done
shows "every 200 ms"
keys q; shows "samples are in"
rm -f "$dir"/run.*

# ctrl-Z gives the terminal back, fg goes on, and the CSV says how long its window was.
terminal 80 24 "bash --norc"; shows "bash"
keys "PS1='prompt-%-> '; $run" Enter; shows "every 200 ms"; sleep 0.5
keys C-z; shows "prompt-%->"; shows "Stopped"; sleep 1.2
keys fg Enter; shows "every 200 ms"; sleep 0.8
keys q; shows "samples are in"
awk -F, '$4 == "host" && $5 == "cpu" && $3 > 1.1 {found = 1} END {exit !found}' "$dir/run.csv" || fail "no window over the stop"
rm -f "$dir"/run.*

# Marks and the interval from the keyboard; a mark right before the end is in the CSV.
terminal 80 24 "$run; sleep 5"; shows "every 200 ms"
keys m; shows "mark:"; keys "step, \"4\"" Enter; shows "marked: step"
keys -- -; shows "every 500 ms from now on"; sleep 1.3
keys m; shows "mark:"; keys "last" Enter; keys q; shows "samples are in"
python3 - "$dir/run.csv" <<'PY' || fail "the marks are not in the CSV"
import csv, sys
rows = [r for r in csv.DictReader(open(sys.argv[1], newline='')) if r['resource'] == 'mark']
texts = [dict(p.split('=', 1) for p in r['detail'].split(';')).get('text') for r in rows]
sys.exit(texts != ['step, "4"', 'last'])
PY
rm -f "$dir"/run.*

# The terminal goes away: the run ends by itself, its CSV is whole, the JSON says when.
terminal 80 24 "echo \$\$ >$dir/pid; exec $run"; shows "every 200 ms"; sleep 0.5
pid=$(cat "$dir/pid")
t kill-server
for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
kill -0 "$pid" 2>/dev/null && { kill "$pid"; fail "still running 5 s after its terminal went away"; }
[ "$(tail -c 1 "$dir/run.csv" | od -An -c | tr -d ' ')" = '\n' ] || fail "a cut line"
grep -q '"end": "' "$dir/run.json" || fail "no end in the JSON"
rm -f "$dir"/run.*

# A thousand rows scroll.
awk 'BEGIN {
	print "time,elapsed_s,window_s,scope,resource,name,utilization,saturation,saturation_unit,waiting,errors,condition,state,method,detail,target"
	for (t = 0; t < 3; t++)
		for (i = 0; i < 1000; i++)
			printf "2026-11-30T19:50:0%d.000Z,%d.000000,1.000000,process,thread-pool,worker[%d],%.2f,0,items,0,0,ok,ok,m,,api\n", t, t, i, i / 1000
}' >"$dir/big.csv"
terminal 80 24 "$B/useprobe replay --at 2s $dir/big.csv"; shows "of 1000"
keys End; shows "-1000 of 1000"
keys g; shows "1-19 of 1000"
keys NPage NPage; shows ">ok"

# Seeking and speed in a replay; the end stays on the screen.
terminal 80 24 "$replay"; shows "tick 70, the last"
keys ,; shows "0:59"; shows "tick 60"
keys ,; keys ,; shows "0:39"
keys .; shows "0:49"
for _ in 1 2 3 4 5 6 7; do keys +; done
keys Space; shows "the last"
keys q
# What was left out is said after the screen is given back.
head -c -20 "$dir/api.csv" >"$dir/cut.csv"
terminal 80 24 "$B/useprobe replay --at 69s $dir/cut.csv; sleep 5"; shows "quit"; keys q; shows "is cut off"
exit 0
