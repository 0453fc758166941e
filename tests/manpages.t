#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a manual page says exists, and what exists is in its manual page:
# options of the programs (as --help and their own tables have them), commands
# of sfabric, variables of the environment, keys of the configuration files.
set -u
. "$(dirname "$0")/tap.sh"
man=$top/doc/man
version=$(sed -n 's/^AC_INIT(\[slurm-fabric\], \[\(.*\)\])$/\1/p' \
    "$top/configure.ac")
export LC_ALL=C

# none_but A B: lines of A that B has not.
none_but() {
    comm -23 <(echo "$1") <(echo "$2")
}

# The options in a text, but for those that every program has.
options() {
    grep -oE '(^|[^[:alnum:]<>./_=-])--?[[:alpha:]][[:alnum:]-]*' |
        grep -oE -- '-.*' | grep -vxE -- '-h|--help|-V|--version' | sort -u
}

# lacks TEXT OPTION..: which of them it does not have.
lacks() {
    local text=$1 option
    shift
    for option; do
        grep -qE -- "(^|[^[:alnum:]-])$option([^[:alnum:]-]|\$)" <<<"$text" ||
            echo "$option"
    done
}

# A manual page as text.
plain() { # PAGE
    sed -E 's/\\-/-/g; s/\\f(\([A-Z]{2}|.)//g; s/" "/ /g; s/"//g' "$man/$1"
}

# The lines that name what is explained below them, and the synopsis.
tags() { # PAGE
    plain "$1" | awk '/^\.SH/ { synopsis = /SYNOPSIS/ }
        tag || synopsis { print }
        { tag = /^\.T[PQ]/ }' | sed -E 's/^\.(TP|TQ|BR?I?|IB?R?|RB?I?) *//'
}

# The options that the sources of a program take.
taken() { # SOURCE..
    {
        grep -hoE '\{"[a-z-]+", *(no|required)_argument' "$@" |
            sed -E 's/^\{"([a-z-]+)".*/--\1/'
        grep -hoE '(getopt_long\(argc, argv, |#define SHORT )"[^"]+"' "$@" |
            grep -oE '"[^"]+"' | grep -oE '[a-zA-Z]' | sed 's/^/-/'
        grep -hoE '"--?[a-z][a-z-]*"' "$@" | tr -d '"'
    } | options
}

# says TEXT COMMAND..: what it says if that is not TEXT.
says() {
    local text=$1 said
    shift
    said=$("$@" 2>&1) && [ "$said" = "$text" ] ||
        echo "says '$said', wanted '$text'"
}

# program PAGE BINARY SOURCE..: --help, manual page and sources agree.
program() {
    local page=$1 binary=$build/src/$2 help pages name
    shift 2
    name=${page%.*}
    if [ ! -x "$binary" ]; then
        skipped "options of $name" "$binary is not built"
        return
    fi
    help=$(for words in "${helps[@]}"; do
        # shellcheck disable=SC2086
        "$binary" $words 2>&1
    done | options)
    pages=$(plain "$page" | options)
    check "$page has every option of $name --help" \
        "$(none_but "$help" "$pages")"
    check "$name --help has every option of $page" \
        "$(none_but "$(tags "$page" | options)" "$help")"
    check "$page explains --help and --version" \
        "$(lacks "$(tags "$page")" --help --version)"
    check "$name --help has --help and --version" "$(lacks "$("$binary" --help \
        2>&1)" --help --version)"
    check "$name --version names it and the package's version" \
        "$(says "$name (slurm-fabric) $version" "$binary" --version)"
    [ $# -gt 0 ] || return
    cd "$top/src" || exit 99
    check "$name takes what its --help has" \
        "$(none_but "$help" "$(taken "$@")")"
    check "$name --help has what it takes" \
        "$(none_but "$(taken "$@")" "$help")"
}

if command -v groff >/dev/null; then
    check "groff finds nothing wrong with the pages" "$(for page in "$man"/*; do
        groff -man -Tutf8 -ww -z "$page" 2>&1
    done)"
else
    skipped "groff finds nothing wrong with the pages" "there is no groff"
fi
helps=(--help)
program hsnd.8 hsnd/hsnd base/daemon_args.c
program nicd.8 nicd/nicd base/daemon_args.c
program swfabd.8 swfabd/swfabd base/daemon_args.c
program switchmgrd.8 switchmgrd/switchmgrd base/daemon_args.c
program impirun.1 impid/impirun impid/impirun.c
program impi-backend.1 libimpi/impi-backend
program impi-conform.1 conform/impi-conform
program sfabric.1 sfabric/sfabric
program impid.8 impid/impid
program impi-server.8 impid/impi-server
program elan-holder.8 elan/elan-holder
helps=(--help '--check= --help')
program mapperd.8 mapperd/mapperd mapperd/options.c mapperd/check.c

check "sfabric.1 has every command of sfabric" "$(none_but \
    "$(sed -nE 's/^CMD\((.*)\)/\1/p' "$top/src/sfabric/cmds.def" | sort)" \
    "$(tags sfabric.1 | grep -oE '^[a-z]+' | sort -u)")"

# verbs PAGE SOURCE: the section on the control socket has what it takes.
verbs() {
    local taken
    taken=$(grep -oE '\{"[a-z-]+", CTL_(READ|WRITE),' "$top/src/$2" |
        cut -d'"' -f2 | sort -u)
    check "$2 has verbs" "$([ -n "$taken" ] || echo none)"
    check "$1 has every verb of $2" "$(none_but "$taken" "$(plain "$1" |
        awk '/^\.SH/ { control = /CONTROL/ } control' |
        grep -oE '[a-z]+(-[a-z]+)*' | sort -u)")"
}
verbs hsnd.8 hsnd/control.c
verbs mapperd.8 mapperd/control.c
verbs swfabd.8 swfabd/control.c
verbs switchmgrd.8 switchmgrd/collector_verbs.c

# What libhsn has for pages, in the page of the library.
pages_of_libhsn=$(sed -nE '/^LIBHSN_2/,/^}/ s/^ +(hsn_[a-z_]+);$/\1/p' \
    "$top/src/hsn/libhsn.map" | sort)
check "libhsn.map has a second version" \
    "$([ -n "$pages_of_libhsn" ] || echo none)"
check "libhsn.3 has every call of it" "$(none_but "$pages_of_libhsn" \
    "$(plain libhsn.3 | awk '/^\.SH/ { s = /SYNOPSIS/ } s' |
        grep -oE '\bhsn_[a-z_]+' | sort -u)")"

# What users may set: what the sources read, but for what others set.
variables() {
    {
        grep -rhoE 'getenv\("[A-Z_]+"' "$top/src" | grep -oE '[A-Z_]{3,}'
        sed -nE '/From the user/,/To the tasks/ s/^#define ENV_[A-Z_]+ "([A-Z_]+)".*/\1/p' \
            "$top/src/impid/names.h"
    } | grep -vE '^(LD_PRELOAD|HOME|NOTIFY_SOCKET|TMPDIR|SLURM_PROCID|SLURM_CONF|SLURMD_NODENAME|RUNTIME_DIRECTORY|STATE_DIRECTORY)$' |
        grep -vE '^(SLURM_FABRIC_(PROGRAM|IMPID_STOP)|SLURM_IMPI_AGENT(_DIR)?|IMPI_SITE_FABRIC)$' | sort -u
}

check "the sources read variables" "$([ -n "$(variables)" ] || echo none)"
check "slurm-fabric.7 has every variable that the sources read" "$(none_but \
    "$(variables)" "$(tags slurm-fabric.7 | grep -oE '\b[A-Z_]{3,}\b' |
        sort -u)")"
check "the sources read every variable of slurm-fabric.7" "$(none_but \
    "$(tags slurm-fabric.7 | grep -oE '\b(SLURM_|IMPI_|HSN_)[A-Z_]+' |
        sort -u)" "$(variables)")"

# The keys in a table of struct conf_key.
keys_of() { # SOURCE
    sed -n '/struct conf_key keys\[\]/,/^};/p' "$1" |
        grep -oE '"[[:alpha:]]+"' | tr -d '"' | sort -u
}

# Words as keys are written, and not PLACEHOLDERs.
camels() {
    grep -oE '\b[A-Z][a-z]+[A-Za-z]*\b' | sort -u
}

# configuration PAGE EXAMPLE SOURCE: its keys, the page and the example agree.
configuration() {
    local keys
    keys=$(keys_of "$top/src/$3")
    check "$3 has keys" "$([ -n "$keys" ] || echo none)"
    check "$1 has every key of $3" "$(none_but "$keys" "$(tags "$1" | camels)")"
    check "$3 has every key of etc/$2" "$(none_but \
        "$(sed -nE 's/^#?([A-Z][[:alnum:]]*)=.*/\1/p' "$top/etc/$2" |
            sort -u)" "$keys")"
    check "$3 has every key of $1" "$(none_but \
        "$(tags "$1" | grep -vE '^[a-z]' | sed 's/=.*//' | camels)" \
        "$keys")"
}

configuration hsn.conf.5 hsn.conf.example hsnd/conf.c
configuration mapper.conf.5 mapper.conf.example mapperd/settings.c
configuration nicd.conf.5 nicd.conf.example nicd/conf.c
configuration switchmgr.conf.5 switchmgr.conf.example health/mgrconf.c
configuration impi.conf.5 impi.conf.example impi/site.c
configuration swfabd.conf.5 swfabd.conf.example swfabd/conf.c

finish
