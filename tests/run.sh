#!/bin/bash
# Runs test kinds and ends with "N passed, N failed, N skipped".
# unit: build/tests/test_* (cmocka programs; each of their tests counts). live, vm: tests/KIND/*.sh, exit 0 passed, 77 skipped (last line
# of output = reason). tree: the layout rules. ONLY=pattern selects by file name.
set -u
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

unit() {
	local program=$1 n
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

script() {
	local kind=$1 file=$2 t0=$SECONDS
	timeout --kill-after=10 "${TEST_TIMEOUT:-600}" bash "$file" >"$log" 2>&1
	case $? in
	0) passed=$((passed + 1)); printf 'ok      %s (%d s)\n' "$file" $((SECONDS - t0)) ;;
	77) skipped=$((skipped + 1)); printf 'skipped %s: %s\n' "$file" "$(tail -n 1 "$log")" ;;
	*) failed=$((failed + 1)); printf 'FAILED  %s (%d s)\n' "$file" $((SECONDS - t0)); tail -n 40 "$log" ;;
	esac
}

export B
for kind in "$@"; do
	case $kind in
	tree) script tree tests/tree.sh ;;
	unit) for program in "$B"/tests/test_*; do
		case $program in *.[od]) continue ;; *${ONLY:-}*) [ -x "$program" ] && unit "$program" ;; esac
	done ;;
	*) for file in tests/"$kind"/*.sh; do
		case $file in */lib*.sh) continue ;; *${ONLY:-}*) [ -e "$file" ] && script "$kind" "$file" ;; esac
	done ;;
	esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
