#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# configure names the version of Slurm it finds, takes those whose plugin
# interface this tree knows, and refuses all others.  The "Slurm" here is a
# directory with a version header; what configure found out about this
# machine's compiler when it made the build is not asked again.
set -u
. "$(dirname "$0")/tap.sh"
[ -r "$build/config.log" ] || skip_all "no config.log"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
grep -E '^(ac|am|lt|sf)_cv_[a-z0-9_]+=' "$build/config.log" |
    grep -v '^ac_cv_\(env_\|header_slurm\)' >"$tmp/cache"

fake_slurm() { # MAJOR MINOR MICRO
    mkdir -p "$tmp/slurm/include/slurm"
    touch "$tmp/slurm/include/slurm/slurm.h" "$tmp/slurm/include/slurm/spank.h"
    printf '#define SLURM_VERSION_NUMBER (%d << 16 | %d << 8 | %d)\n' \
        "$@" >"$tmp/slurm/include/slurm/slurm_version.h"
}

# configure ARGUMENTS..: its output into $tmp/out; it must fail.
configure_fails() {
    local code
    rm -rf "$tmp/build"
    mkdir "$tmp/build"
    cp "$tmp/cache" "$tmp/build/cache"
    (cd "$tmp/build" && "$top/configure" --cache-file=cache "$@") \
        >"$tmp/out" 2>&1
    code=$?
    [ $code = 1 ] || echo "# exit code $code"
    [ $code = 1 ]
}

said() { # TEXT
    grep -qF -- "$1" "$tmp/out" && return 0
    tail -n 5 "$tmp/out" | sed 's/^/# /'
    return 1
}

for v in "20 11 9" "21 8 8" "26 11 0"; do
    read -r major minor micro <<<"$v"
    text=$(printf '%d.%02d.%d' "$major" "$minor" "$micro")
    fake_slurm "$major" "$minor" "$micro"
    configure_fails --with-slurm="$tmp/slurm" &&
        said "Slurm $text is not supported" && said "22.05 to 26.05"
    report $? "Slurm $text is refused by its number"
done

for v in "22 5 12" "23 2 9" "23 11 12" "24 11 8" "25 5 9" "25 11 8" "26 5 4"; do
    # shellcheck disable=SC2086
    fake_slurm $v
    # shellcheck disable=SC2086
    configure_fails --with-slurm="$tmp/slurm" &&
        said "Slurm $(printf '%d.%02d.%d' $v) is not known" &&
        said "tools/slurm-layout"
    report $? "a release that was not measured is refused: $v"
done

fake_slurm 22 5 9
configure_fails --with-slurm="$tmp/slurm" &&
    said "version of Slurm... 22.05.9" && said "--with-slurm-plugindir=DIR"
report $? "22.05.9 is taken; its plugin directory has to be said"

# Debian's packages, SchedMD's packages, SchedMD's RPMs, a prefix; what comes
# after it fails here.
multiarch=$(gcc -print-multiarch 2>/dev/null)
cp "$tmp/cache" "$tmp/cache.all"
echo "ac_cv_header_munge_h=no" >>"$tmp/cache"
for dir in ${multiarch:+"lib/$multiarch/slurm-wlm" "lib/$multiarch/slurm"} \
    lib64/slurm lib/slurm; do
    mkdir -p "$tmp/slurm/$dir"
    configure_fails --with-slurm="$tmp/slurm" &&
        said "plugin directory... $tmp/slurm/$dir"
    report $? "plugins are found in $dir"
    rm -r "$tmp/slurm/${dir%%/*}"
done
# What an older slurm-fabric left in Debian's place, and SchedMD's Slurm beside.
mkdir -p "$tmp/slurm/lib/slurm" "$tmp/slurm/lib64/slurm"
touch "$tmp/slurm/lib/slurm/libslurmfull.so"
configure_fails --with-slurm="$tmp/slurm" &&
    said "plugin directory... $tmp/slurm/lib/slurm"
report $? "where Slurm's library is, its plugins are, whatever was before"
rm -r "$tmp/slurm/lib" "$tmp/slurm/lib64"
mv "$tmp/cache.all" "$tmp/cache"

rm "$tmp/slurm/include/slurm/slurm_version.h"
configure_fails --with-slurm="$tmp/slurm" &&
    said "no slurm/slurm_version.h in $tmp/slurm/include"
report $? "a prefix without Slurm's headers is named"

echo "ac_cv_header_slurm_slurm_h=no" >>"$tmp/cache"
configure_fails && said "install libslurm-dev"
report $? "missing headers are told with their package"

# Group `build` of packages.txt is what README.md says to install.
not_in_group_build() { # reads packages
    local group
    group=$(awk '$1 == "build" { print $2 }' "$top/packages.txt")
    sort -u | grep -vxF "$group"
}
asked_for() {
    cat "$top/configure.ac" "$top/acinclude.m4" |
        grep -ohE '(install|\[)[ ]*(lib[a-z0-9-]*|[a-z]+)-dev' |
        grep -oE '[a-z][a-z0-9-]*-dev$'
}
check "packages that configure asks for are in group build" \
    "$(asked_for | not_in_group_build)"
[ "$(asked_for | sort -u | wc -l)" -ge 10 ]
report $? "it asks for them by name"
wrappers() {
    sed -n 's/^S\["MPICC_[A-Z]*"\]="\(.*\)"$/\1/p' "$build/config.status" |
        xargs -r dpkg-query -S 2>/dev/null | sed 's/:.*//'
}
check "so are those of the MPI compilers that it found" \
    "$(wrappers | not_in_group_build)"
check "and those that the Debian package is built with" \
    "$(sed -n '/^Build-Depends:/,/^[^ ]/p' "$top/dist/debian/control" |
        sed -n 's/^ \([a-z0-9-]*\).*/\1/p' | grep -v '^dh-\|^libcmocka' |
        not_in_group_build)"
finish
