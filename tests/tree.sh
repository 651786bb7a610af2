#!/bin/bash
# Layout rules that a compiler cannot see: a collector stands in its four places, includes point one way, banned calls stay out.
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0
say() { echo "tree: $*"; bad=1; }

# The four places: a file that defines it, a line in collectors.def, a test of the file, a row in the documentation.
for name in $(sed -n 's/^UP_COLLECTOR(\(.*\))$/\1/p' src/collect/collectors.def); do
	file=$(grep -lE "^const struct up_collector up_collector_$name = " src/collect/*.c)
	[ -n "$file" ] || { say "$name: no file in src/collect defines it"; continue; }
	grep -q "up_collector_$name\b\|\"$name\"" tests/unit/*.c || say "$name: no test in tests/unit names it"
	grep -q "^| \`$name\`" docs/COLLECTORS.md || say "$name: no row in docs/COLLECTORS.md"
done
for name in $(sed -n 's/^const struct up_collector up_collector_\(.*\) = {$/\1/p' src/collect/*.c); do
	grep -q "^UP_COLLECTOR($name)$" src/collect/collectors.def || say "$name: no line in src/collect/collectors.def"
done
# strtol and friends accept what a kernel file must not hold; sprintf and strcpy have no bound; atoi hides errors.
grep -nE '\b(atoi|atol|atof|strcpy|strcat|sprintf|gets|strtok)\(' -r src include bpf --include='*.[ch]' 2>/dev/null && say "banned call"
# Rooms look up the flow, never down: a collector knows nothing of sinks, the analysis nothing of collectors.
grep -nE '#include "useprobe/(sink|table|probe)' src/collect/*.c src/source/*.c src/target/*.c 2>/dev/null && say "include against the flow"
grep -nE '#include "useprobe/(sink|probe|collector|source)' src/analysis/*.c 2>/dev/null && say "analysis includes a live module"
# A file that does not fit into a head does one thing too many.
while read -r lines file; do say "$file has $lines lines, 400 are allowed"; done < <(git ls-files 'src/*.[ch]' 'include/*.h' 'bpf/*.[ch]' | xargs -d '\n' wc -l | awk '$2 != "total" && $1 > 400')
# The manual names the options of the program, all of them and no others.
program=${B:-build}/useprobe
if [ -x "$program" ]; then
	options() { grep -oE -- '(^|[^a-zA-Z-])--[a-z][a-z-]+' | grep -oE -- '--.*' | sort -u; }
	told=$(for sub in run latency report compare replay list doctor mark; do "$program" $sub --help; done | sed '/^  wrk /d' | options) # wrk's own are not ours
	manual=$(sed 's/\\-/-/g' docs/useprobe.1 | options)
	for option in $(comm -23 <(echo "$told") <(echo "$manual")); do say "$option: not in docs/useprobe.1"; done
	for option in $(comm -13 <(echo "$told") <(echo "$manual")); do say "$option: in docs/useprobe.1, no --help names it"; done
fi
exit $bad
