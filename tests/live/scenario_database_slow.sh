#!/bin/bash
# Lab, probe and report end to end: database-slow.
. "$(dirname "$0")/lib_scenario.sh"
scenario_test database-slow
