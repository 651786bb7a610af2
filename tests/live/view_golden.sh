#!/bin/bash
# Screens through a real terminal, whole and cell by cell, at four sizes; beside each golden what it must say. GENERATE=1 writes them anew.
# beside
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib_view.sh
make_csv 70 >"$dir/api.csv"
bad=0

# golden WIDTH HEIGHT NAME KEYS...: compares the screen after the keys with tests/fixtures/view_NAME.txt
golden() {
	local width=$1 height=$2 name=$3 file=tests/fixtures/view_$3.txt key
	shift 3
	terminal "$width" "$height" "$B/useprobe replay --at 69s $dir/api.csv"
	shows "quit"
	for key in "$@"; do keys "$key"; sleep 0.2; done
	sleep 0.3
	screen >"$dir/$name"
	if [ "${GENERATE:-}" = 1 ]; then cp "$dir/$name" "$file"; fi
	diff -u "$file" "$dir/$name" || { echo "golden $name differs"; bad=1; }
	[ "$(wc -L <"$dir/$name")" -le "$width" ] || { echo "$name: a line is too long"; bad=1; }
	# Whatever the golden says: nothing raw of a hostile name, the urgent rows on top, an unknown figure is no zero.
	grep -q "$(printf '\033')" "$dir/$name" && { echo "$name: a raw escape"; bad=1; }
	keys q
}
says() { grep -qE -- "$2" "$dir/$1" || { echo "$1 does not say: $2"; cat "$dir/$1"; bad=1; }; }

golden 60 20 golden_60x20
says golden_60x20 '^ errors +memory +api +0\.42 0\.00 +- +2$'
says golden_60x20 '^ saturated cpu +api +1\.01 0\.99 +3\.94 +-$'
says golden_60x20 'needs CAP_BPF'
golden 80 24 golden_80x24
says golden_80x24 '^ saturated cpu +api +█+> +1\.01 0\.99 +3\.94 +6 +-'
says golden_80x24 '^ ok +run-queue +api +- 3\.90 ms +0\.49'
says golden_80x24 '^! 19:51:06 mark: step 400/s'
golden 120 40 golden_120x40
says golden_120x40 'LAST 60 s'
says golden_120x40 'evil\\x1b\[31m\[666\]\\x0aname'
says golden_120x40 'own cost 0\.2% CPU, 7\.3 MB'
golden 200 60 golden_200x60
says golden_200x60 '192\.0\.2\.7:1433 .* 296 ms '
says golden_200x60 'dotnet\[4711\]/\.NET "TP", Worker'
says golden_200x60 '[▁▂▃▄▅▆▇█]{60}'
golden 80 24 golden_detail Down Down Enter
says golden_detail '^cpu  api  saturated$'
says golden_detail '^errors +-  \(not counted per cgroup\)'
says golden_detail '^method +cpu\.stat measured'
golden 80 24 golden_help '?'
says golden_help 'enter o +open the row'
golden 80 24 golden_filter / s y s t e m Enter
says golden_filter 'filter: system \([0-9]+ hidden\)'
golden 80 24 golden_fold Down f
says golden_fold '^>errors +▸ cgroup: 4 rows of api'
exit $bad
