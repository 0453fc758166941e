#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What configure did without, and which tests are therefore not there: each is
# a skipped case that names the package or option.  A test that was not built
# could not say so itself.
set -u
. "$(dirname "$0")/tap.sh"
status=${SF_CONFIG_STATUS:-$build/config.status}

# What configure put in the place of @NAME@.
value() {
    sed -n "s/^S\\[\"$1\"\\]=\"\(.*\)\"\$/\1/p" "$status"
}

known() {
    grep -q "^S\[\"$1\"\]=" "$status"
}

# part NAME WANTED TEXT MISSING: NAME is WANTED, or the case is skipped.
part() {
    if ! known "$1"; then
        check "$3" "there is no $1 in $status"
        return
    fi
    # shellcheck disable=SC2254 # WANTED is a pattern
    case $(value "$1") in
    $2) report 0 "$3" ;;
    *) skipped "$3" "$4" ;;
    esac
}

# Of a conditional of configure.ac one branch is commented out.
on='' off='#'
part HAVE_CMOCKA_TRUE "$on" "unit tests and simulations are built" \
    "libcmocka-dev was not found by configure"
part HAVE_MPICH_TRUE "$on" "the back end and the tests for MPICH are built" \
    "libmpich-dev was not found by configure"
part HAVE_OPENMPI_TRUE "$on" "the back end and the tests for Open MPI are built" \
    "libopenmpi-dev was not found by configure"
part MPIFORT_MPICH "/*" "the tests in Fortran with MPICH are built" \
    "gfortran or libmpich-dev was not found by configure"
part MPIFORT_OPENMPI "/*" "the tests in Fortran with Open MPI are built" \
    "gfortran or libopenmpi-dev was not found by configure"
part HAVE_UMAD_TRUE "$on" "the prober of InfiniBand is built" \
    "libibumad-dev was not found by configure"
part STAGE_TRUE "$on" "the tests on a real Slurm are in the list" \
    "configured without --enable-stage"
part SANITIZED_TRUE "$off" "the tests with interposed MPI are in the list" \
    "a sanitizer's run-time and the front do not go together"
finish
