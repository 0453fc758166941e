#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools/rebuild: from the tarball beside it to packages for the Slurm that is
# installed.  The tarball here has stand-ins for what takes minutes; `make
# check-packages` does it with the real one.
set -u
. "$(dirname "$0")/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export VERSION=25.05.8

# A tarball whose parts write down how they were called.
make_source() {
    local t=$tmp/slurm-fabric-0.9.0
    rm -rf "$tmp/src" "$t"
    mkdir -p "$tmp/src" "$t/tools" "$t/tests" "$t/src/slurmabi"
    echo old >"$t/src/slurmabi/layouts.inc"
    cat >"$t/configure" <<'SH'
#!/bin/sh
if grep -q old src/slurmabi/layouts.inc && [ "$VERSION" = 25.05.9 ]; then
    echo "configure: error: Slurm 25.05.9 is not known to this release, as" \
        "its records were not measured."
    exit 1
fi
{
    echo "SLURM_VERSION = $VERSION"
    printf 'all:\n\tmkdir -p made && echo plugin >made/switch_elan.so\n'
    printf 'install:\n\tmkdir -p "$(DESTDIR)/usr/lib" && '
    printf 'cp made/switch_elan.so "$(DESTDIR)/usr/lib"\n'
} >Makefile
echo "$*" >made.with
cp made.with "$TMP_SAID/options"
SH
    cat >"$t/tests/symbols.t" <<'SH'
#!/bin/sh
[ ! -e "$TMP_SAID/lacks" ] && exit 0
echo "not ok 1 - switch: 9 symbols that the plugin uses"
exit 1
SH
    cat >"$t/tools/package" <<'SH'
#!/bin/sh
mkdir -p "$3/$1"
echo "$1 $SLURM_FABRIC_CONFIGURE" >"$TMP_SAID/options"
tar -xOf "$2" --wildcards '*/layouts.inc' >"$3/$1/slurm-fabric_0.9.0.$1"
SH
    printf '#!/bin/sh\necho "new of $1" >"${0%%/*}/../src/slurmabi/%s"\n' \
        layouts.inc >"$t/tools/slurm-layout"
    chmod +x "$t/configure" "$t/tests/symbols.t" "$t/tools"/*
    tar -C "$tmp" -cJf "$tmp/src/slurm-fabric-0.9.0.tar.xz" slurm-fabric-0.9.0
    cp "$top/tools/rebuild" "$tmp/src"
}

rebuild() { # CODE ARGUMENT..: into $tmp/out
    local code=0
    rm -rf "$tmp/out"
    TMP_SAID=$tmp "$tmp/src/rebuild" "${@:2}" "$tmp/out" >"$tmp/text" 2>&1 ||
        code=$?
    cat "$tmp/text"
    [ $code = "$1" ] || { echo "exit status $code"; return 1; }
    ! ls -d "$tmp"/out/work.* 2>/dev/null
}

makes_an_archive() {
    rebuild 0 --format=tar --with-slurm=/opt/slurm --configure=--x=y &&
        tar -xOf "$tmp/out/slurm-fabric-0.9.0-slurm25.05.8.tar.xz" \
            ./usr/lib/switch_elan.so | grep -qx plugin &&
        grep -q 'slurm25.05.8.tar.xz$' "$tmp/text" &&
        grep -qe '--with-slurm=/opt/slurm --x=y$' "$tmp/options"
}
makes_packages() {
    rebuild 0 --format="$1" --with-slurm=/opt/slurm &&
        grep -qx "$1 --with-slurm=/opt/slurm" "$tmp/options" &&
        grep -q "slurm-fabric_0.9.0.$1$" "$tmp/text"
}
unknown_release() {
    VERSION=25.05.9 rebuild 1 --format=tar &&
        grep -q 'say --slurm-sources=DIR' "$tmp/text" &&
        grep -q 'Slurm 25.05.9 is not known' "$tmp/text"
}
measured() {
    mkdir -p "$tmp/slurm-25.05.9"
    VERSION=25.05.9 rebuild 0 --format=deb \
        --slurm-sources="$tmp/slurm-25.05.9" &&
        grep -qx "new of $tmp/slurm-25.05.9" \
            "$tmp/out/deb/slurm-fabric_0.9.0.deb" &&
        VERSION=25.05.9 rebuild 0 --format=tar \
            --slurm-sources="$tmp/slurm-25.05.9"
}
missing_symbol() {
    touch "$tmp/lacks"
    rebuild 1 --format=tar && grep -q 'not ok 1 - switch: 9 symbols' "$tmp/text" &&
        ! ls "$tmp"/out/*.tar.xz 2>/dev/null
}
# The real tools/package and spec, an rpmbuild that keeps its arguments, and a
# Slurm that is a header.
rpm_for() { # OPTION..: configure's
    mkdir -p "$tmp/bin" "$tmp/opt/include/slurm" "$tmp/slurm-fabric-1/dist"
    echo '#define SLURM_VERSION_NUMBER (25 << 16 | 11 << 8 | 7)' \
        >"$tmp/opt/include/slurm/slurm_version.h"
    cp "$top/dist/slurm-fabric.spec" "$tmp/slurm-fabric-1/dist"
    tar -C "$tmp" -cJf "$tmp/slurm-fabric-1.tar.xz" slurm-fabric-1
    printf '#!/bin/sh\nfor a; do echo "$a"; done >"%s/args"\n' "$tmp" \
        >"$tmp/bin/rpmbuild"
    chmod +x "$tmp/bin/rpmbuild"
    SLURM_FABRIC_CONFIGURE=$* PATH=$tmp/bin:$PATH "$top/tools/package" rpm \
        "$tmp/slurm-fabric-1.tar.xz" "$tmp/out"
}
rpm_options() {
    rpm_for --with-slurm="$tmp/opt" --x=y
    grep -qxF "configure_options --with-slurm=$tmp/opt --x=y" "$tmp/args"
}
# rpm_spec: as rpmbuild would read it with these arguments.
rpm_spec() {
    local args
    mapfile -t args < <(grep -vx -e -bb -e --nodeps "$tmp/args")
    rpmspec -P "${args[@]}"
}
rpm_prefix() {
    rpm_for --with-slurm="$tmp/opt"
    rpm_spec >"$tmp/spec"
    cat "$tmp/spec"
    grep -q '^Release: *1.slurm25.11.7$' "$tmp/spec" &&
        grep -qe " --with-slurm=$tmp/opt\$" "$tmp/spec" &&
        ! grep -q '^Requires: *slurm ' "$tmp/spec" &&
        ! grep -q -- --with-slurm-plugindir "$tmp/spec"
}
rpm_usr() {
    rpm_for
    rpm_spec >"$tmp/spec"
    cat "$tmp/spec"
    grep -qE '^Requires: *slurm = [0-9]+\.[0-9]+\.[0-9]+' "$tmp/spec"
}
# switchmgrd is linked to libslurm; debhelper is a pretence.
deb_prefix() {
    mkdir -p "$tmp/bin" "$tmp/deb"
    printf '#!/bin/sh\nfor a; do echo "$a"; done\n' >"$tmp/bin/dh_shlibdeps"
    chmod +x "$tmp/bin/dh_shlibdeps"
    echo "SLURM_PREFIX = $1" >"$tmp/deb/Makefile"
    PATH=$tmp/bin:$PATH make -s -C "$tmp/deb" -f "$top/dist/debian/rules" \
        override_dh_shlibdeps >"$tmp/args"
    cat "$tmp/args"
    grep -qxe --ignore-missing-info "$tmp/args"
}
# SchedMD's package has another name, and takes Debian's away.
deb_headers_of() { # PACKAGE
    local name
    mkdir -p "$tmp/admin/updates"
    for name in "$1" $(sed -n \
        '/^Build-Depends:/,/^Standards/s/^[A-Za-z-]*:* \([a-z0-9+-]*\).*/\1/p' \
        "$top/dist/debian/control" | grep -vx libslurm-dev); do
        printf '%s\n' "Package: $name" 'Status: install ok installed' \
            'Version: 13' \
            "Architecture: $(dpkg --print-architecture)" ''
    done >"$tmp/admin/status"
    (cd "$tmp" && dpkg-checkbuilddeps -I --admindir="$tmp/admin" \
        "$top/dist/debian/control" 2>&1)
}
no_deb_headers() { ! deb_headers_of another-dev; }
without_a_tarball() {
    rm "$tmp"/src/*.tar.xz
    rebuild 1 --format=tar && grep -q 'no slurm-fabric-VERSION' "$tmp/text"
}

make_source
ok "an archive to unpack is made for the Slurm that is named" makes_an_archive
for format in deb rpm; do
    ok "packages are made ($format), with configure's options" \
        makes_packages "$format"
done
ok "a release that was not measured is refused, and what to say is told" \
    unknown_release
ok "with its sources it is measured and built for" measured
ok "a plugin that calls what Slurm has not is no package" missing_symbol
ok "a Debian package is made for a Slurm that nobody packaged" \
    deb_prefix /opt/slurm
no_deb_prefix() { ! deb_prefix /usr; }
ok "that for /usr has to find whose its libraries are" no_deb_prefix
if command -v dpkg-checkbuilddeps >/dev/null; then
    ok "Debian's headers of Slurm will do for a Debian package" \
        deb_headers_of libslurm-dev
    ok "those of SchedMD's packages will do as well" \
        deb_headers_of slurm-smd-dev
    ok "without either it is told that they lack" no_deb_headers
else
    skipped "whose headers a Debian package is built with" \
        "no dpkg-checkbuilddeps"
fi
ok "configure's options reach the RPM" rpm_options
if command -v rpmspec >/dev/null; then
    ok "the RPM for a Slurm that nobody packaged asks for none" rpm_prefix
    ok "that for /usr asks for exactly its Slurm" rpm_usr
else
    skipped "the RPM's spec by Slurm" "no rpmspec"
fi
ok "an option that is none is wrong usage" rebuild 2 --with-mpich
ok "without a tarball beside it, it says what is missing" without_a_tarball
finish
