#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the Debian packages and the RPMs and looks into them; the Debian ones
# are installed with dpkg, in a root directory that is a copy on write of this
# machine's and goes with the test.  Takes minutes: `make check-packages`.
# With SF_PACKAGES=DIR what `make deb rpm` left there is looked at.
set -u
. "$(dirname "$0")/tap.sh"
version=$(sed -n 's/^AC_INIT(\[slurm-fabric\], \[\(.*\)\])$/\1/p' \
    "$top/configure.ac")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
out=${SF_PACKAGES:-$tmp}
slurm=$(sed -n 's/^SLURM_VERSION = //p' "$build/Makefile")

# Who stands in what is built here.
who='Test Site <admins@site.invalid>'

# ---- Debian ----------------------------------------------------------------
debs() { find "$out/deb" -name "*_*.deb" ! -name "*dbgsym*"; }
listed() { # PACKAGE PATTERN..: each is in it
    local p deb
    deb=$(debs | grep "/$1_")
    shift
    dpkg-deb -c "$deb" >"$tmp/list" || return 1
    for p; do
        grep -qE -- "$p" "$tmp/list" || { echo "no $p"; return 1; }
    done
}
depends_on_this_slurm() {
    local d
    d=$(dpkg-deb -f "$(debs | grep /slurm-fabric_)" Depends)
    echo "$d"
    debs | grep "/slurm-fabric_$version-.*+slurm${slurm}_" || return 1
    grep -qF "slurm-wlm-basic-plugins (>= $slurm)" <<<"$d" &&
        grep -qF "slurm-wlm-basic-plugins (<< $slurm+~)" <<<"$d"
}
deb_has_packager() {
    local d
    d=$(dpkg-deb -f "$(debs | grep /slurm-fabric_)" Maintainer)
    echo "$d"
    [ "$d" = "$who" ] && grep -qxF "Maintainer: $who" "$out"/deb/*.changes &&
        grep -qxF "Changed-By: $who" "$out"/deb/*.changes
}
nobody_is_refused() {
    PACKAGER=nobody "$top/tools/package" deb "$0" "$tmp/nobody"
    [ $? = 2 ]
}
# With a distribution's own flags.
hardened() { # DIR
    "$top/tests/harden.t" "$1"
}
deb_hardened() {
    local deb
    for deb in $(debs); do
        dpkg-deb -x "$deb" "$tmp/elf" || return 1
    done
    hardened "$tmp/elf"
}
clean_of_errors() {
    lintian --fail-on error "$out"/deb/*.changes
}
# In a mount namespace of its own: all packages, by dpkg, then the programs,
# then gone again.
installed_in_a_copy() {
    mkdir -p "$tmp/root"
    unshare -m --propagation private bash -euc '
        tmp=$1 out=$2
        mount -t tmpfs none "$tmp/root"
        mkdir "$tmp/root"/{up,work,all}
        mount -t overlay none "$tmp/root/all" \
            -o "lowerdir=/,upperdir=$tmp/root/up,workdir=$tmp/root/work"
        mkdir "$tmp/root/all/debs"
        cp "$out"/deb/*.deb "$tmp/root/all/debs"
        rm -f "$tmp/root/all"/debs/*dbgsym*
        mount -t proc none "$tmp/root/all/proc"
        mount --bind /dev "$tmp/root/all/dev"
        printf "#!/bin/sh\nexit 101\n" >"$tmp/root/all/usr/sbin/policy-rc.d"
        chmod 755 "$tmp/root/all/usr/sbin/policy-rc.d"
        chroot "$tmp/root/all" sh -euxc "
            mkdir -p /var/lib/slurm-fabric
            echo map >/var/lib/slurm-fabric/mapperd-020000000000.map
            dpkg -i /debs/*.deb
            test -s /var/lib/slurm-fabric/mapperd/mapperd-020000000000.map
            getent passwd slurm-fabric-mapper
            getent passwd slurm-fabric-swfab
            sfabric --version
            for d in hsnd mapperd nicd swfabd switchmgrd; do
                /usr/libexec/slurm-fabric/\$d --version
                systemctl --root=/ is-enabled \$d.service && exit 1
            done
            getent passwd slurm-fabric
            # doc/health-only.md, step by step.
            mkdir -p /etc/slurm-fabric
            printf \"%s\\n\" Prober=ib Health=CONTROLLER \
                >/etc/slurm-fabric/mapper.conf
            printf \"%s\\n\" Health=CONTROLLER \"Watch=mlx5_*,hsn0\" \
                Ignore=irdma0 >/etc/slurm-fabric/nicd.conf
            echo DryRun=yes >/etc/slurm-fabric/switchmgr.conf
            for d in nicd switchmgrd; do
                /usr/libexec/slurm-fabric/\$d --test-config
            done
            systemctl --root=/ enable nicd switchmgrd mapperd
            systemctl --root=/ is-enabled nicd
            systemctl --root=/ disable nicd switchmgrd mapperd
            ls /usr/share/doc/*/examples/slurm_fabric_epilog*
            rm -r /etc/slurm-fabric/mapper.conf /etc/slurm-fabric/nicd.conf \
                /etc/slurm-fabric/switchmgr.conf
            impirun --version
            sfabric verify | grep \"^ok *switch_elan.so\"
            sfabric verify | grep \"^ok *mpi_impi.so\"
            ldd /usr/lib/*/slurm-fabric/impid_pmix.so | grep -v \"not found\"
            MPICH=\$(command -v mpicc.mpich) && \
                impi-backend --mpicc \$MPICH --output /tmp
            dpkg -P slurm-fabric-daemons slurm-fabric slurm-fabric-dev \
                slurm-fabric-doc slurm-fabric-source libhsn0 libelan0
            test ! -e /usr/libexec/slurm-fabric
            test ! -e /usr/bin/sfabric"
    ' - "$tmp" "$out"
}
check_deb() {
    ok "the changelog has the version" \
        grep -q "^slurm-fabric ($version-" "$top/dist/debian/changelog"
    ok "the plugins, the agent and the front are in slurm-fabric" \
        listed slurm-fabric slurm-wlm/switch_elan.so slurm-wlm/mpi_impi.so \
        slurm-fabric/impid$ slurm-fabric/impi-server$ slurm-fabric/libimpi.so \
        slurm-fabric/elan-holder$ \
        libimpi-abi.so libimpi-mpich.so libimpi-openmpi.so backend/sources bin/impirun \
        bin/sfabric man1/sfabric.1.gz
    ok "the daemons and units are in slurm-fabric-daemons" \
        listed slurm-fabric-daemons slurm-fabric/hsnd slurm-fabric/mapperd \
        slurm-fabric/nicd system/nicd.service \
        slurm-fabric/swfabd slurm-fabric/switchmgrd system/hsnd.service \
        system/hsnd@.service system/mapperd@.service \
        system/switchmgrd.service sysusers.d/slurm-fabric.conf \
        man5/hsn.conf.5.gz
    ok "headers are in slurm-fabric-dev" listed slurm-fabric-dev \
        elan/rmscall.h hsn/libhsn.h include/impi.h libhsn.so
    ok "it asks for exactly this Slurm, which its version names" \
        depends_on_this_slurm
    ok "the sources and what builds them are in slurm-fabric-source" \
        listed slurm-fabric-source src/slurm-fabric/rebuild$ \
        "src/slurm-fabric/slurm-fabric-$version.tar.xz$"
    ok "what is in them is hardened" deb_hardened
    [ -n "${SF_PACKAGES-}" ] ||
        ok "PACKAGER stands in them" deb_has_packager
    ok "a PACKAGER without an address is refused" nobody_is_refused
    if command -v lintian >/dev/null; then
        ok "lintian finds no error" clean_of_errors
    else
        skipped "lintian finds no error" "no lintian"
    fi
    if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
        ok "dpkg installs them, they run, dpkg removes them" \
            installed_in_a_copy
    else
        skipped "dpkg installs them" "not root"
    fi
}

# ---- RPM -------------------------------------------------------------------
rpms() { find "$out/rpm/RPMS" -name "slurm-fabric$1-[0-9]*.rpm"; }
rpm_has() { # SUFFIX PATTERN..
    local p file
    file=$(rpms "$1")
    shift
    rpm -qpl "$file" >"$tmp/list" || return 1
    for p; do
        grep -qE -- "$p" "$tmp/list" || { echo "no $p"; return 1; }
    done
}
rpm_has_packager() {
    [ "$(rpm -qp --qf '%{PACKAGER}' "$(rpms "")")" = "$who" ]
}
rpm_wants_this_slurm() { rpm -qp --requires "$(rpms "")" | grep -qx "slurm = $slurm"; }
rpm_runs() {
    mkdir -p "$tmp/x"
    local f
    for f in "" -daemons -libs; do
        (cd "$tmp/x" && rpm2cpio "$(rpms "$f")" | cpio -idm --quiet) || return 1
    done
    f=$(find "$tmp/x" -path "*/slurm-fabric/switchmgrd" -type f)
    hardened "$tmp/x" || return 1
    [ "$("$f" --version)" = "switchmgrd (slurm-fabric) $version" ] &&
        [ "$("$tmp/x/usr/bin/sfabric" --version)" = \
            "sfabric (slurm-fabric) $version" ]
}
check_rpm() {
    ok "the spec has the version" \
        grep -q "^Version: *$version$" "$top/dist/slurm-fabric.spec"
    ok "plugins, agent and front are in the RPM" rpm_has "" \
        switch_elan.so mpi_impi.so slurm-fabric/impid$ slurm-fabric/libimpi.so
    ok "daemons and units are in the RPM of daemons" rpm_has -daemons \
        slurm-fabric/hsnd slurm-fabric/switchmgrd hsnd.service sysusers
    ok "the sources and what builds them are in an RPM of their own" \
        rpm_has -source src/slurm-fabric/rebuild$ \
        "src/slurm-fabric/slurm-fabric-$version.tar.xz$"
    [ -n "${SF_PACKAGES-}" ] ||
        ok "PACKAGER stands in the RPM" rpm_has_packager
    ok "the RPM asks for exactly this Slurm" rpm_wants_this_slurm
    if command -v cpio >/dev/null; then
        ok "what is in the RPMs runs" rpm_runs
    else
        skipped "what is in the RPMs runs" "no cpio"
    fi
}

for kind in deb rpm; do
    if [ -z "${SF_PACKAGES-}" ]; then
        [ $kind = rpm ] || make -s -C "$build" dist >"$tmp/dist.log" 2>&1
        PACKAGER=$who "$top/tools/package" $kind "$build/slurm-fabric-$version.tar.xz" \
            "$out" >"$tmp/$kind.log" 2>&1
        code=$?
        [ $code != 77 ] || { skipped "$kind" "its tools are not installed"; continue; }
        ok "a $kind is built" test $code = 0
        [ $code = 0 ] || { tail -n 30 "$tmp/$kind.log" | sed 's/^/# /'; continue; }
    fi
    check_$kind
done
finish
