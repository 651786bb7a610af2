#!/bin/bash
# Runs every fuzz target for FUZZ_S seconds. A corpus that a target wants to start from lies in tests/fuzz/corpus/NAME.
# A target with tests/fuzz/variants/NAME runs once for each line there, told by FUZZ_VARIANT.
# Findings are written to build/fuzz and named in the output; exit 1 with any.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
seconds=${FUZZ_S:-60}
bad=0
fuzz() {
	local target=$1 name=$2
	mkdir -p "$B/fuzz/corpus/$name"
	seeds=()
	[ -d "tests/fuzz/corpus/$name" ] && seeds=("tests/fuzz/corpus/$name")
	if "$target" -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=10 -print_final_stats=1 -artifact_prefix="$B/fuzz/$name-" \
		"$B/fuzz/corpus/$name" "${seeds[@]}" >"$B/fuzz/$name.log" 2>&1; then
		printf 'ok      %s: %s runs\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$B/fuzz/$name.log")"
	else
		printf 'FAILED  %s, see %s\n' "$name" "$B/fuzz/$name.log"
		tail -n 20 "$B/fuzz/$name.log"
		bad=1
	fi
}

for target in "$B"/fuzz/fuzz_*; do
	[ -x "$target" ] && [ -f "$target" ] || continue
	name=$(basename "$target")
	if [ -e "tests/fuzz/variants/$name" ]; then
		while read -r variant; do
			case "$name.$variant" in *${ONLY:-}*) FUZZ_VARIANT=$variant fuzz "$target" "$name.$variant" ;; esac
		done <"tests/fuzz/variants/$name"
	else
		case $name in *${ONLY:-}*) fuzz "$target" "$name" ;; esac
	fi
done
exit $bad
