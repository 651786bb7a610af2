#!/bin/bash
# Runs lab scenarios one after the other and counts the answers. usage: run.sh [DRAWS] [FIRST_SEED] [NAME...]
# KEEP=DIR keeps each run in DIR/NAME-SEED, as `make ablation RUNS="DIR/*"` reads them.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
draws=${1:-1} first=${2:-1}
shift $(($# < 2 ? $# : 2))
names=("$@")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <("$B/uselab" scenario --list | awk '{print $1}')
right=0 unknown=0 wrong=0 failed=0
for name in "${names[@]}"; do
	for seed in $(seq "$first" $((first + draws - 1))); do
		keep=()
		[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP/$name-$seed"; keep=(--keep "$KEEP/$name-$seed" --json "$KEEP/$name-$seed/truth.json"); }
		"$B/uselab" scenario "$name" --seed "$seed" "${keep[@]}"
		case $? in
		0) right=$((right + 1)) ;;
		3) unknown=$((unknown + 1)) ;;
		4) wrong=$((wrong + 1)) ;;
		77) exit 77 ;;
		*) failed=$((failed + 1)) ;;
		esac
	done
done
echo "$right right, $unknown unknown, $wrong confidently wrong, $failed could not be run"
[ $((wrong + failed)) = 0 ]
