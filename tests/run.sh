#!/bin/bash
# Runs test kinds and ends with "N passed, N failed, N skipped".
# unit: build/tests/test_* (cmocka programs; each of their tests counts). live, vm: tests/KIND/*.sh, exit 0 passed, 77 skipped (last line
# of output = reason). tree: the layout rules. ONLY=pattern selects by file name.
# Scripts with a line "# beside" measure no times: two of them run at once. The others run alone, as a noisy neighbour would be in their
# figures. What failed is tried once more, alone, when all is over, and its first failure stays in the output: a host that was busy for
# a moment fails once, a fault fails twice. RETRY=0 leaves that out.
set -u
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
passed=0 failed=0 skipped=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
again=()

unit() {
	local program=$1 log=$dir/unit n
	${WRAP:-} "$program" >"$log" 2>&1
	local rc=$?
	n=$(grep -c '^\[       OK \]' "$log"); passed=$((passed + n))
	n=$(grep -c '^\[  SKIPPED \] [a-zA-Z]' "$log"); skipped=$((skipped + n))
	n=$(grep -c '^\[  FAILED  \] [a-zA-Z]' "$log")
	if [ $rc != 0 ]; then
		[ "$n" -gt 0 ] && n=$(grep '^\[  FAILED  \] [a-zA-Z]' "$log" | sort -u | wc -l) || n=1
		failed=$((failed + n))
		echo "FAILED $program (exit $rc)"
		grep -v '^\[ RUN\|^\[       OK' "$log" | tail -n 40
	fi
}

# run_script FILE: its output, exit status and seconds into files of its name
run_script() {
	local log=$dir/${1//\//_} t0=$SECONDS
	timeout --kill-after=10 "${TEST_TIMEOUT:-600}" bash "$1" >"$log" 2>&1
	echo "$? $((SECONDS - t0))" >"$log.end"
}

# count_script FILE FIRST|LAST|ONLY: says and counts how it ended; a first failure is kept for later instead of being counted
count_script() {
	local file=$1 log=$dir/${1//\//_} rc=1 seconds=0
	read -r rc seconds <"$log.end"
	case $rc in
	0) passed=$((passed + 1)); printf 'ok      %s (%d s)%s\n' "$file" "$seconds" "$([ "$2" = LAST ] && echo ', at the second try')" ;;
	77) skipped=$((skipped + 1)); printf 'skipped %s: %s\n' "$file" "$(tail -n 1 "$log")" ;;
	*)	printf '%s  %s (%d s)\n' "$([ "$2" = FIRST ] && echo 'again ' || echo FAILED)" "$file" "$seconds"
		tail -n 40 "$log"
		if [ "$2" = FIRST ]; then again+=("$file"); else failed=$((failed + 1)); fi ;;
	esac
}

script() { run_script "$1"; count_script "$1" "$2"; }

# beside FILE...: two at a time, told in their order
beside() {
	local file running=0
	for file in "$@"; do
		[ $running -lt 2 ] || { wait -n; running=$((running - 1)); }
		run_script "$file" &
		running=$((running + 1))
	done
	wait
	for file in "$@"; do count_script "$file" "$first"; done
}

scripts() {
	local kind=$1 file both=() alone=()
	for file in tests/"$kind"/*.sh; do
		case $file in */lib*.sh) continue ;; *${ONLY:-}*) [ -e "$file" ] || continue ;; *) continue ;; esac
		if grep -q '^# beside$' "$file"; then both+=("$file"); else alone+=("$file"); fi
	done
	beside "${both[@]}"
	for file in "${alone[@]}"; do script "$file" "$first"; done
}

export B
[ "${RETRY:-1}" = 0 ] && first=ONLY || first=FIRST
for kind in "$@"; do
	case $kind in
	tree) script tests/tree.sh ONLY ;;
	unit) for program in "$B"/tests/test_*; do
		case $program in *.[od]) continue ;; *${ONLY:-}*) [ -x "$program" ] && unit "$program" ;; esac
	done ;;
	*) scripts "$kind" ;;
	esac
done
for file in "${again[@]}"; do script "$file" LAST; done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
