# Sourced by the tests of screens: a real terminal (tmux with a socket of its own), and CSVs to replay. Sets $B, $dir.
B=$(realpath "${B:-build}")
command -v tmux >/dev/null || { echo "tmux is not installed (make deps)"; exit 77; }
export LC_ALL=C.UTF-8
unset NO_COLOR TMUX
dir=$(mktemp -d)
socket=useprobe-test-$$
fail() { echo "FAILED: $*"; exit 1; }
t() { tmux -L "$socket" -f /dev/null "$@"; }
view_cleanup() { t kill-server 2>/dev/null || true; rm -rf "$dir"; }
trap view_cleanup EXIT

# terminal WIDTH HEIGHT COMMAND: runs COMMAND in a new terminal. One at a time.
terminal() {
	t kill-server 2>/dev/null || true
	# A server that is still ending would take the new session with it.
	terminals=$((${terminals:-0} + 1)) socket=useprobe-test-$$-$terminals
	# The last screen of a program that ended stays.
	t start-server \; set-option -g remain-on-exit on \; new-session -d -x "$1" -y "$2" "$3"
}
screen() { t capture-pane -p "$@" 2>/dev/null; }
keys() { t send-keys "$@"; }
# waits until the screen holds the text (fixed string), at most 10 s
shows() {
	for _ in $(seq 100); do
		screen | grep -qF -- "$1" && return 0
		sleep 0.1
	done
	screen
	fail "the screen does not show '$1'"
}
shows_not() { ! screen | grep -qF -- "$1" || { screen; fail "the screen shows '$1'"; }; }

# A made-up run for screens: SECONDS ticks of a throttled api with a slow database, an ancestor's limit, hostile names and every state.
make_csv() {
	awk -v ticks="$1" 'BEGIN {
		print "time,elapsed_s,window_s,scope,resource,name,utilization,saturation,saturation_unit,waiting,errors,condition,state,method,detail,target"
		for (t = 0; t < ticks; t++) {
			ramp = t / ticks
			pre = sprintf("2026-11-30T19:%02d:%02d.123Z,%d.000000,%s,", 50 + int(t / 60), t % 60, t, t ? "1.000000" : "")
			first = t == 0
			if (first) {
				print pre "cgroup,cpu,/system.slice/docker-3f2a9c.scope,,,ratio,,,,first,cpu.stat measured,utilization_state=first,api"
				continue
			}
			sat = ramp > 0.5
			printf "%scgroup,cpu,/system.slice/docker-3f2a9c.scope,%.3f,%.2f,ratio,%.2f,,%s,ok,cpu.stat measured,quota_cpus=0.5;limited_by=/system.slice;waiting_max=%d;servers=0.5;errors_state=absent:not counted per cgroup,api\n", pre, 0.2 + 0.82 * ramp, sat ? ramp : 0, sat ? 4 * ramp : 0, sat ? "saturated" : "ok", sat ? 6 : 0
			printf "%scgroup,run-queue,/system.slice/docker-3f2a9c.scope,,%.1f,ms,%.2f,,ok,ok,tp_btf/sched_switch measured,,api\n", pre, 4 * ramp, ramp / 2
			printf "%scgroup,cpu,/system.slice,%.2f,,,,,%s,ok,cpu.stat measured,saturation_state=absent:no quota,api\n", pre, 0.1 + ramp / 2, "ok"
			printf "%scgroup,memory,/system.slice/docker-3f2a9c.scope,0.42,0,ratio,,%d,%s,ok,memory.stat measured,working_set_bytes=440401920;limit_bytes=1048576000,api\n", pre, t == ticks - 1 ? 2 : 0, t == ticks - 1 ? "errors" : "ok"
			printf "%slistener,listen,tcp:0.0.0.0:8080,%.3f,%d,requests,%.2f,0,ok,ok,sock_diag measured,backlog=511,api\n", pre, ramp / 10, 51 * ramp, 30 * ramp
			printf "%slistener,requests,tcp:0.0.0.0:8080,,,,,,,denied,iter/tcp,reason=needs CAP_BPF,api\n", pre
			printf "%sdependency,dependency,192.0.2.7:1433,0.83,%.0f,ms,,0,busy,ok,tcp hooks measured,open=100;busy=83,api\n", pre, 5 + 300 * ramp * ramp
			printf "%sprocess,thread-pool,\"dotnet[4711]/.NET \"\"TP\"\", Worker\",0.31,0,items,0,0,ok,ok,task iterator measured,threads=64,api\n", pre
			printf "%sprocess,lock,\"evil\033[31m[666]\nname\",,1.5,ms,0,,ok,ok,task iterator measured,,api\n", pre
			printf "%shost,cpu,host,%.2f,,,,0,%s,ok,/proc/stat measured,servers=4,\n", pre, 0.5 + ramp / 2.2, (ramp > 0.66 ? "busy" : "ok")
			printf "%shost,memory,host,0.55,0,ratio,,0,ok,ok,/proc/meminfo measured,,\n", pre
			printf "%snetns,network,eth0,0,0,packets,,0,idle,ok,/proc/net/dev measured,,api\n", pre
			printf "%sprobe,probe,useprobe,0.0021,0,late ticks,,0,idle,ok,getrusage measured,resident_bytes=7340032,\n", pre
			if (t == ticks - 4)
				printf "%sevent,mark,,,,,,,,ok,,text=step 400/s,\n", pre
		}
	}'
}
