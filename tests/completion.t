#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bash offers the options of each program (sfabric's words: sfabric_net.t).
set -u
. "$(dirname "$0")/tap.sh"

# offers FOLDER/PROGRAM WORD OPTION: among what is offered for WORD.
offers() {
    bash -c '
        . "$1"
        COMP_WORDS=("$2" "$3")
        COMP_CWORD=1
        "_${2##*/}" "$2" "$3" "$2"
        printf "%s\n" "${COMPREPLY[@]}"' - \
        "$build/dist/completions/${1##*/}" "$build/src/$1" "$2" |
        grep -qxF -- "$3"
    report $? "${1##*/} $2: $3"
}

offers hsnd/hsnd --t --test-config
offers nicd/nicd --t --test-config
offers swfabd/swfabd --t --test-config
offers switchmgrd/switchmgrd - -f
offers mapperd/mapperd --map- --map-file=
offers mapperd/mapperd --fi --fixed-timers
offers impid/impirun -s -server
offers conform/impi-conform --sh --show
offers libimpi/impi-backend --m --mpicc
finish
