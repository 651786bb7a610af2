#!/bin/bash
# Run-queue wait against the kernel's own run_delay: N spinners pinned to one CPU in a child of the target, a competing group beside them
# that must not be counted.
set -eu
cd "$(dirname "$0")/../.."
. tests/live/lib_group.sh
make_group "$top/target"
make_group "$top/target/child"
make_group "$top/other"
mkfifo "$dir/gate"

# A spinner joins, leaves its pid and its wait so far in FILE, and spins when the gate closes: nobody waits for a CPU before.
spinner() {
	local base
	join "$top/target/child"
	read -r _ base _ </proc/$BASHPID/schedstat
	echo "$BASHPID $base" >>"$1"
	read -r _ <"$dir/gate" || true
	exec taskset -c 0 bash -c 'while :; do :; done'
}
# Sum of what the spinners of FILE waited since then, in s. They are stopped: a stopped task waits for no CPU.
waited() {
	local pid base wait sum=0
	while read -r pid base; do
		read -r _ wait _ <"/proc/$pid/schedstat"
		sum=$((sum + wait - base))
	done <"$1"
	awk "BEGIN {print $sum / 1e9}"
}
run() {
	local n=$1 file=$dir/stat.$1 csv=$dir/$1.csv probe pids=() others=()
	: >"$file"
	"$B/useprobe" -c "$top/target" -i 0.5 -d $2 -b --only run-queue -o "$csv" >/dev/null &
	probe=$!
	wait_for_row "$csv"
	for ((i = 0; i < n; i++)); do
		spinner "$file" &
		pids+=($!)
	done
	until [ "$(wc -l <"$file")" = "$n" ]; do sleep 0.1; done
	for i in 1 2; do
		( join "$top/other"; exec taskset -c 0 bash -c 'while :; do :; done' ) &
		others+=($!)
	done
	exec 3>"$dir/gate"
	exec 3>&-
	sleep 4
	kill -STOP "${pids[@]}"
	for pid in "${pids[@]}"; do
		until grep -q '^State:.*T' /proc/$pid/status; do sleep 0.05; done
	done
	truth=$(waited "$file")
	[ "$(waited "$file")" = "$truth" ] || fail "stopped spinners still wait"
	kill -0 $probe || fail "the probe ended before the spinners stopped"
	wait $probe
	kill -9 "${pids[@]}" "${others[@]}"
	{ wait "${pids[@]}" "${others[@]}"; } 2>/dev/null || true
	got=$(total "$csv" "/$top/target" run_delay_s_per_s) || fail "no run-queue row: $(tail -n 2 "$csv")"
	host=$(total "$csv" host run_delay_s_per_s)
	method=$(awk -F, '$5 == "run-queue" {print $14; exit}' "$csv")
	echo "N=$n: wait $got s, the kernel's run_delay $truth s, host $host s ($method)"
	# Both sums are read at both ends of the run, one thread after the other: on a busy machine a reading may be a time slice off.
	check "$got - $truth < 0.02 * $truth + 0.02 * $n && $truth - $got < 0.02 * $truth + 0.02 * $n" \
		"wait $got s is not within 2 % (and 20 ms a thread) of $truth s"
	check "$host >= $got" "the host waits less than the target"
}
run 2 8
run 8 9
run 64 15
case $method in *tp_btf*) ;; *) echo "eBPF was refused; $method agreed"; exit 77 ;; esac
