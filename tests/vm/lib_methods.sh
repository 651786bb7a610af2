#!/bin/bash
# Runs inside a guest: a loaded server in a cgroup of its own, and how each row of it was read on this kernel (resource, state, method).
# Fails when a row that every kernel of the matrix has is missing or was not measured.
B=${B:-build}
group=/sys/fs/cgroup/methods
mkdir -p $group
( echo $BASHPID >$group/cgroup.procs; exec "$B/uselab" serve --listen 127.0.0.1:9099 ) >/tmp/serve.log 2>&1 &
server=$!
sleep 1
"$B/uselab" load --url http://127.0.0.1:9099/ --rate 50 --hold 8s >/tmp/load.log 2>&1 &
load=$!
"$B/useprobe" -c /methods -i 0.5 -d 5 -b -o /tmp/methods.csv >/dev/null 2>/tmp/methods.err || cat /tmp/methods.err
wait $load
kill $server
wait $server 2>/dev/null
rmdir $group
sed -n 1,3p /tmp/serve.log /tmp/load.log
# The last row of each resource; a method may hold a comma and is then quoted.
awk 'NR > 1 {
	n = 0; line = $0
	while (line != "") {
		if (match(line, /^"[^"]*"/)) { cell[++n] = substr(line, 2, RLENGTH - 2); line = substr(line, RLENGTH + 2) }
		else if (match(line, /,/)) { cell[++n] = substr(line, 1, RSTART - 1); line = substr(line, RSTART + 1) }
		else { cell[++n] = line; line = "" }
	}
	if (cell[4] != "probe" && cell[4] != "event") last[cell[4] " " cell[5]] = cell[13] " | " cell[14]
} END {for (key in last) print "METHOD", key, "|", last[key]}' /tmp/methods.csv | sort
for resource in cpu run-queue memory tasks; do
	grep -q "cgroup,$resource,.*,ok,.*measured" /tmp/methods.csv || { echo "no measured row of $resource"; exit 1; }
done
