#!/bin/bash
# Lab, probe and report end to end: cpu-quota.
. "$(dirname "$0")/lib_scenario.sh"
scenario_test cpu-quota
