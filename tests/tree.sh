#!/bin/bash
# Layout rules that a compiler cannot see: a collector stands in its four places, includes point one way, banned calls stay out.
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0
say() { echo "tree: $*"; bad=1; }

if [ -e src/collect/collectors.def ]; then
	for file in src/collect/*.c; do
		name=$(basename "$file" .c)
		grep -q "const struct up_collector up_collector_$name" "$file" || continue  # a helper of a collector
		grep -q "^UP_COLLECTOR($name)" src/collect/collectors.def || say "$name: no line in src/collect/collectors.def"
		ls tests/unit/test_"$name"*.c >/dev/null 2>&1 || say "$name: no tests/unit/test_$name.c"
		grep -q "^| \`$name\`" docs/COLLECTORS.md || say "$name: no row in docs/COLLECTORS.md"
	done
fi
# strtol and friends accept what a kernel file must not hold; sprintf and strcpy have no bound; atoi hides errors.
grep -nE '\b(atoi|atol|atof|strcpy|strcat|sprintf|gets|strtok)\(' -r src include bpf --include='*.[ch]' 2>/dev/null && say "banned call"
# Rooms look up the flow, never down: a collector knows nothing of sinks, the analysis nothing of collectors.
grep -nE '#include "useprobe/(sink|table|probe)' src/collect/*.c src/source/*.c src/target/*.c 2>/dev/null && say "include against the flow"
grep -nE '#include "useprobe/(sink|probe|collector|source)' src/analysis/*.c 2>/dev/null && say "analysis includes a live module"
exit $bad
