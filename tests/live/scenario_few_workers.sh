#!/bin/bash
# Lab, probe and report end to end: few-workers.
. "$(dirname "$0")/lib_scenario.sh"
scenario_test few-workers
