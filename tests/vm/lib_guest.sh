#!/bin/bash
# Runs inside a guest: the live tests named in /guest.tests.
bad=0
read -r tests </guest.tests
for test in $tests; do
	[ -e tests/live/$test.sh ] || continue
	B=build STRICT=1 timeout 200 bash ${FLAGS:-} tests/live/$test.sh
	case $? in
	0) echo "GUEST-OK $test" ;;
	77) echo "GUEST-SKIPPED $test" ;;
	*) echo "GUEST-FAILED $test"; bad=1 ;;
	esac
done
bash tests/vm/lib_methods.sh || { echo "GUEST-FAILED methods"; bad=1; }
exit $bad
