# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For the tests in this folder: a directory of their own.  Sourced.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
lib=$build/src/libimpi/.libs
front=$lib/libimpi.so
here=$top/tests/front
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export TMPDIR=$tmp
unset SLURM_IMPI_AGENT SLURM_IMPI_BACKENDS LD_PRELOAD

is() { same "$1" "$3" "$2"; } # TEXT GOT EXPECTED
like() { # TEXT GOT PART
    [[ $2 == *$3* ]]
    report $? "$1" - <<<"got: $2
without: $3"
}

# The families of this machine: FAMILY MPICC MPIFORT.
families() {
    local f
    for f in mpich openmpi; do
        [ -e "$lib/libimpi-$f.so" ] && echo "$f"
    done
}
mpicc() { # FAMILY ARGS...
    local f=$1
    shift
    "mpicc.$f" -O1 -I"$top/src" -I"$build/src" "$@"
}
