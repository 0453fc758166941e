# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For the tests in this folder: TAP and a directory of their own.  Sourced.
set -u
top=${SF_TOP_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${SF_TOP_BUILDDIR:-$top}
lib=$build/src/libimpi/.libs
front=$lib/libimpi.so
here=$top/tests/front
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export TMPDIR=$tmp
unset SLURM_IMPI_AGENT SLURM_IMPI_BACKENDS LD_PRELOAD

ntests=0
ok() { echo "ok $((++ntests)) - $1"; }
skip() { echo "ok $((++ntests)) - $1 # SKIP $2"; }
not_ok() {
    echo "not ok $((++ntests)) - $1"
    sed 's/^/# /' <<<"${2-}"
}
is() { # NAME GOT WANTED
    if [ "$2" = "$3" ]; then ok "$1"; else
        not_ok "$1" "got: $2
wanted: $3"
    fi
}
like() { # NAME GOT PATTERN
    if [[ $2 == *$3* ]]; then ok "$1"; else
        not_ok "$1" "got: $2
without: $3"
    fi
}
finish() { echo "1..$ntests"; }

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
