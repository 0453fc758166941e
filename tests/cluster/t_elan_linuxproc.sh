#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs under proctrack/linuxproc.
PROCTRACK=linuxproc
. "$(dirname "$0")/elan_contain.sh"
# shellcheck disable=SC2086
run_cases ${SF_CASES:-$contain_cases}
