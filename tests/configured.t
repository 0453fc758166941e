#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# quickstart configures again when packages came after the last time (`check`
# after `demo` brings cmocka), in an empty directory when one went or changed;
# and what configure did without is seen as a skipped test.  dpkg-query is a
# pretence here.
set -u
. "$(dirname "$0")/tap.sh"
here=$top
status=$build/config.status
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
build=$top/build
mkdir "$build"
. "$here/tools/packages.sh"
. "$here/tools/configured.sh"
printf 'run mpich\nbuild gcc\ntest libcmocka-dev\nlint shellcheck\n' \
    >"$top/packages.txt"

# What is installed, with a state as dpkg-query gives it.
dpkg-query() {
    printf '%s\n' "${installed[@]}"
}
demo=("ii  gcc 4:12.2.0" "ii  mpich 4.0.2-3")

how() { # EXPECTED TEXT
    local got
    got=$(configure_how "$build")
    [ "$got" = "$1" ] || echo "# got: $got"
    [ "$got" = "$1" ]
    report $? "$2"
}

installed=("${demo[@]}")
touch "$top/configure"
how anew "a build directory that is empty is configured"
touch "$build/config.status"
configured "$build"
how not "nothing is done when nothing changed"
installed=("${demo[@]}" "ii  libcmocka-dev 1.1.5-2")
how again "packages that came after are looked at (check after demo)"
configured "$build"
how not "and that once"
installed=("${demo[@]}" "rc  libcmocka-dev 1.1.5-2")
how anew "a package that was removed empties the build directory"
installed=("ii  gcc 4:12.2.0" "ii  mpich 4.1" "ii  libcmocka-dev 1.1.5-2")
how anew "so does another version of one"
installed=("${demo[@]}" "ii  libcmocka-dev 1.1.5-2")
echo /elsewhere >"$build/.source"
how anew "so does a build of other sources"
configured "$build"
touch -d '1 minute ago' "$build/config.status"
touch "$top/configure"
how anew "so does a newer configure"
rm "$build/.packages"
touch "$build/config.status"
how anew "so does a build that does not know its packages"

# as_if SED: what optional.t says of a config.status with that difference.
as_if() {
    sed "$1" "$status" >"$top/config.status"
    SF_CONFIG_STATUS=$top/config.status "$here/tests/optional.t" >"$top/out"
}
as_if 's/^S\["HAVE_CMOCKA_TRUE"\]=.*/S["HAVE_CMOCKA_TRUE"]="#"/'
[ "$(grep -c '# SKIP .*libcmocka-dev' "$top/out")" = 1 ]
report $? "without cmocka one skipped test says so"
as_if 's/^S\["MPIFORT_MPICH"\]=.*/S["MPIFORT_MPICH"]=""/'
[ "$(grep -c '# SKIP .*gfortran' "$top/out")" = 1 ]
report $? "without a Fortran compiler one skipped test says so"
as_if '/^S\["STAGE_TRUE"\]=/d'
grep -q '^# there is no STAGE_TRUE' "$top/out"
report $? "a conditional that is no more is noticed"
finish
