# bash completion for useprobe. Source it, or `make install`.
_useprobe_cgroups() {
	local mount
	# Names of groups that hold something, from every hierarchy; containers by name where a runtime answers at once.
	while read -r _ mount _; do
		(cd "$mount" 2>/dev/null && find . -mindepth 1 -maxdepth 3 -type d -printf '%P\n' 2>/dev/null)
	done < <(awk '$3 ~ /^cgroup2?$/' /proc/mounts)
	timeout 1 docker ps --format '{{.Names}}' 2>/dev/null
	timeout 1 podman ps --format '{{.Names}}' 2>/dev/null
}

_useprobe() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=run i
	local IFS=$'\n'
	for ((i = 1; i < COMP_CWORD; i++)); do
		# Behind -- comes a command of its own.
		if [ "${COMP_WORDS[i]}" = -- ]; then
			COMPREPLY=($(compgen -c -- "$cur"))
			[ $((i + 1)) -eq "$COMP_CWORD" ] || COMPREPLY=($(compgen -f -- "$cur"))
			return
		fi
	done
	case ${COMP_WORDS[1]} in report | latency | compare | replay | list | doctor | mark) command=${COMP_WORDS[1]} ;; esac
	case $prev in
	-c | --cgroup | --focus) COMPREPLY=($(compgen -W "$(_useprobe_cgroups | sort -u)" -- "$cur")); return ;;
	-p | --pid) COMPREPLY=($(compgen -W "$(cd /proc && printf '%s\n' [0-9]*)" -- "$cur")); return ;;
	-i | --interval) COMPREPLY=($(compgen -W $'100ms\n200ms\n500ms\n1s\n2s\n5s\n10s\n1m' -- "$cur")); return ;;
	--queue) COMPREPLY=($(compgen -W libuv -- "$cur")); return ;;
	-o | --output | -l | --load | --root) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	esac
	if [[ $cur == -* ]]; then
		# The options are those that the program itself names.
		COMPREPLY=($(compgen -W "$(useprobe $command --help 2>&1 | grep -oE -- '(^|[ [(,])--?[a-z][a-z-]*' | tr -d ' [(,' | sort -u)" -- "$cur"))
		return
	fi
	case $command in
	run) [ "$COMP_CWORD" -gt 1 ] || COMPREPLY=($(compgen -W $'run\nreport\nlatency\ncompare\nreplay\nlist\ndoctor\nmark' -- "$cur")) ;;
	replay) COMPREPLY=($(compgen -f -X '!*.csv' -- "$cur") $(compgen -d -- "$cur")) ;;
	mark) ;;
	*) COMPREPLY=($(compgen -f -- "$cur")) ;;
	esac
}
complete -o filenames -F _useprobe useprobe
