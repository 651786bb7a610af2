#!/bin/bash
# clang-tidy and cppcheck over src/ and include/, each header alone. Prints findings only; exit 1 with any.
set -u
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
bad=0
flags=(-std=c17 -D_GNU_SOURCE '-DUP_VERSION="lint"' -Iinclude -Ibpf -I"$B/bpf" -Isrc/lab -Isrc/collect)
mapfile -t sources < <(git ls-files 'src/*.c')
mapfile -t headers < <(git ls-files 'include/useprobe/*.h')

for header in "${headers[@]}"; do
	cc "${flags[@]}" -Wall -Wextra -Werror -fsyntax-only -x c "$header" || { echo "lint: $header does not compile alone"; bad=1; }
done
if command -v clang-tidy >/dev/null; then
	printf '%s\n' "${sources[@]}" | xargs -P 2 -n 8 sh -c 'clang-tidy --quiet --warnings-as-errors="*" "$@" -- '"$(printf "'%s' " "${flags[@]}")"' 2>/dev/null' tidy || bad=1
else
	echo "lint: clang-tidy is not installed"
fi
if command -v cppcheck >/dev/null; then
	cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 -j 2 -D_GNU_SOURCE -Iinclude \
		--suppress=unknownMacro --suppress=missingInclude --suppress=normalCheckLevelMaxBranches "${sources[@]}" || bad=1
else
	echo "lint: cppcheck is not installed"
fi
exit $bad
