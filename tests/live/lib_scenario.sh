# One scenario as a test: right passes; `unknown` on a noisy machine is tried once more with another seed; a wrong name fails.
scenario_test() {
	cd "$(dirname "$0")/../.." || exit 1
	local B=${B:-build} rc
	[ "$(id -u)" = 0 ] || { echo "needs root to create a cgroup"; exit 77; }
	for seed in 1 2; do
		"$B/uselab" scenario "$1" --seed $seed
		rc=$?
		[ $rc = 3 ] || break
	done
	exit $rc
}
