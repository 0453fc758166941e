# SPDX-License-Identifier: BSD-3-Clause
# Containers in cluster tests, after lib.sh: images, the commands of
# doc/containers.md, and what hello says.

# Mount points for what is in /usr, and the files that ch-run wants.
own_image() {
    local own=$1
    mkdir -p "$own"/{dev,etc,home,mnt,proc,root,run,sys,tmp,usr,var}
    ln -s usr/bin usr/lib usr/lib64 usr/sbin "$own"
    touch "$own"/etc/{passwd,group,hosts,resolv.conf,nsswitch.conf}
}

assert_world() {
    assert_code 0
    assert_output "^rank [0-9]+ of $1 " "$1"
    assert_output '^all results are right$' 1
    # Of shared memory that a library believes in, and of the loader.
    assert_empty "$(grep -E 'UCX +ERROR|cannot be preloaded|GLIBC_' <<<"$err")" \
        "what the libraries say"
}

# NAME N: so many ranks have that library.
assert_library() {
    assert_output "^rank [0-9]+ of .*$1" "$2"
}

need_user_namespaces() {
    need_cluster
    command -v ch-run >/dev/null || skip_all "charliecloud is not installed"
    setpriv --reuid "$JOB_USER" --clear-groups unshare -Ur true 2>/dev/null ||
        skip_all "user namespaces are not for users here"
}

# SUITE FILE: $IMAGE, which has that file of a package, made by what the guide
# says.
need_image() {
    local suite=$1 why line
    [ -n "${SF_IMAGES-}" ] || skip "SF_IMAGES names no directory for images"
    IMAGE=$SF_IMAGES/$suite
    export IMAGE
    [ ! -e "$IMAGE/$2" ] || return 0
    [ ! -e "$IMAGE" ] || skip "$IMAGE has no /$2"
    why=$("$SF_TOP_SRCDIR/tests/cluster/fresh" --suite "$suite" --why-not)
    [ -z "$why" ] || skip "$why"
    line=$(guide "debootstrap .* $suite ")
    mkdir -p "$SF_IMAGES"
    IMAGE=$IMAGE.new
    rm -rf "$IMAGE"
    bash -c "${line#sudo }" >"$case_tmp/debootstrap" 2>&1 ||
        { tail -n 5 "$case_tmp/debootstrap"; skip "debootstrap fails"; }
    mv "$IMAGE" "$SF_IMAGES/$suite"
    IMAGE=$SF_IMAGES/$suite
}

# REGEX [N]: the one line of the guide that matches, or N.
guide() {
    local lines
    lines=$(sed -n "/^    /s/^    //p" "$SF_TOP_SRCDIR/doc/containers.md" |
        grep -E -- "$1")
    [ "$(wc -l <<<"$lines")" = "${2:-1}" ] && [ -n "$lines" ] ||
        fail "not ${2:-1} lines in doc/containers.md: $1" >&2
    echo "$lines"
}

# Podman's storage, which is the user's.
need_podman() {
    command -v podman >/dev/null || skip "podman is not installed"
    mkdir -p "$WORK/home" "$WORK/xdg"
    chown -R "$JOB_USER" "$WORK/home" "$WORK/xdg"
    export HOME=$WORK/home XDG_RUNTIME_DIR=$WORK/xdg
}

# A command with Podman, for this machine: crun knows no hybrid tree of cgroups.
podman_here() {
    if [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]; then
        echo "$1"
    else
        echo "${1//podman run/podman --runtime runc run}"
    fi
}

need_apptainer() {
    command -v apptainer >/dev/null || skip "apptainer is not installed"
}
