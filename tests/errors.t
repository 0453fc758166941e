#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every error code that the sources use is explained in doc/errors.md and by
# sfabric, and no code is explained that nobody uses.  The messages of ours
# that doc/trouble.md shows are those of the sources.
set -u
. "$(dirname "$0")/tap.sh"
sfabric=$build/src/sfabric/sfabric
export LC_ALL=C

codes() {
    grep -rhoE 'SF-E[0-9]{3}' "$@" | sort -u
}

# impid puts the number into the text: the bare number is use enough.
used() {
    {
        codes "$top/src"
        grep -rhoE '\b[1-9][0-9]{2}\b' "$top/src" | sed 's/^/SF-E/'
    } | sort -u
}

not_explained() {
    local code
    for code in $(codes "$top/doc/errors.md"); do
        "$sfabric" verify --explain "impid: $code: text" >/dev/null 2>&1 ||
            echo "$code"
    done
}

# Our messages in that table, one a line; X stands for a name, ... for
# what is left out.
shown() {
    sed -nE 's/^\| `(SF-E[0-9]{3} [^`]*)` .*/\1/p' "$top/doc/trouble.md"
}

# The strings of the sources, each on one line: neighbours are one, as in C.
strings_of_sources() {
    find "$top/src" -name '*.[ch]' -exec cat {} + | python3 -c '
import re, sys
token = re.compile(r"""/\*.*?\*/|//[^\n]*|(\x27(?:\\.|[^\x27\\])*\x27)|"((?:\\.|[^"\\])*)"|\s+|.""", re.S)
said = []
for m in token.finditer(sys.stdin.read().replace("\\\n", "")):
    if m[2] is not None:
        said.append(m[2])
    elif m[1] or not re.match(r"/[*/]|\s", m[0]):
        if said:
            print("".join(said))
        said = []
'
}

not_said() {
    local message part said
    said=$(strings_of_sources)
    shown | while IFS= read -r message; do
        sed -E 's/^SF-E[0-9]{3} //; s/ ?\.\.\. ?| X\b/\n/g' <<<"$message" |
            while IFS= read -r part; do
                grep -qF -- "$part" <<<"$said" || echo "$message"
            done
    done
}

check "every code is explained in doc/errors.md" \
    "$(comm -23 <(codes "$top/src") <(codes "$top/doc/errors.md"))"
check "every explained code is used" \
    "$(comm -13 <(used) <(codes "$top/doc/errors.md"))"
if [ -x "$sfabric" ]; then
    check "sfabric explains every code" "$(not_explained)"
else
    skipped "sfabric explains every code" "it is not built"
fi
check "doc/trouble.md shows messages" "$([ -n "$(shown)" ] || echo none)"
check "the messages in doc/trouble.md are said" "$(not_said)"
finish
