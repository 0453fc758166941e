#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Strict peers against impi-server.
here=$(dirname "$0")
command -v python3 >/dev/null || {
    echo "1..0 # SKIP needs python3"
    exit 0
}
exec python3 "$here/impi_peer_cases.py"
