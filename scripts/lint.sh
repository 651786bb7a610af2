#!/bin/bash
# clang-tidy and cppcheck over src/ and include/, each header alone. Prints findings only; exit 1 with any. usage: lint.sh [FILE.c...]
# A file that was clean is not looked at again until it, a header or the rules change (build/lint).
set -u
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
bad=0
flags=(-std=c17 -D_GNU_SOURCE '-DUP_VERSION="lint"' -Iinclude -Ibpf -I"$B/bpf" -Isrc/lab -Isrc/collect)
if [ $# -gt 0 ]; then sources=("$@"); else mapfile -t sources < <(git ls-files 'src/*.c'); fi
mapfile -t headers < <(git ls-files 'include/useprobe/*.h')
mkdir -p "$B/lint"
rules=$(cat .clang-tidy scripts/lint.sh $(git ls-files '*.h') | sha256sum | cut -c1-16)

for header in "${headers[@]}"; do
	cc "${flags[@]}" -Wall -Wextra -Werror -fsyntax-only -x c "$header" || { echo "lint: $header does not compile alone"; bad=1; }
done
command -v clang-tidy >/dev/null || echo "lint: clang-tidy is not installed"
command -v cppcheck >/dev/null || echo "lint: cppcheck is not installed"

lint_one() {
	local clean=$B/lint/$rules-$(sha256sum <"$1" | cut -c1-16) ok=1
	[ -e "$clean" ] && return 0
	if command -v clang-tidy >/dev/null; then
		clang-tidy --quiet --warnings-as-errors='*' "$1" -- "${flags[@]}" 2>/dev/null || ok=0
	fi
	if command -v cppcheck >/dev/null; then
		cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 -D_GNU_SOURCE -Iinclude \
			--suppress=unknownMacro --suppress=missingInclude --suppress=normalCheckLevelMaxBranches "$1" || ok=0
	fi
	[ $ok = 1 ] && : >"$clean"
}
running=0
for source in "${sources[@]}"; do
	if [ $running -ge 2 ]; then wait -n || bad=1; running=$((running - 1)); fi
	lint_one "$source" &
	running=$((running + 1))
done
while [ $running -gt 0 ]; do wait -n || bad=1; running=$((running - 1)); done
exit $bad
