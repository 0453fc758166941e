#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every test is in the list of `make check` once, and under a log of its own;
# every source file is in the tarball, of which packages are built; every page
# of doc/ is found from README.md or doc/reference.md, and names no file that is not there.
# make takes x.log from x.sh or x.t, whichever it finds first: two such files
# would be one result.
set -u
. "$(dirname "$0")/tap.sh"
cd "$top" || exit 99

# $(TESTS) of this build, one a line; make may have to say other things.
in_the_list() {
    printf 'include Makefile\nprint-tests:\n\t@echo TESTS: $(TESTS)\n' |
        env -u MAKEFLAGS -u MFLAGS make -s -C "$build" -f - print-tests |
        sed -n 's/^TESTS: //p' | tr -s ' ' '\n'
}

# Scripts that are tests, by their names.
scripts() {
    find tests -name '*.t' -o -name 't_*.sh' | sort
}

not_named() {
    local words
    words=$(find tests src bench dist -name '*.am' -exec sed 's/#.*//' {} + |
        tr -s ' \t\\=:' '\n' | sort -u)
    grep -vxF "$words"
}

tests=$(in_the_list)
check "the list can be read" "$([ -n "$tests" ] || echo "no \$(TESTS)")"
check "every script that is a test is named in a Makemodule.am" \
    "$(scripts | not_named)"
check "every source file is named, so that \`make dist\` takes it along" \
    "$(find src bench -name '*.[ch]' | not_named)"
check "no test is listed twice" "$(sort <<<"$tests" | uniq -d)"
check "no two tests have one log" \
    "$(sort -u <<<"$tests" | sed 's/\.\(sh\|t\)$//' | uniq -d)"
check "no script has the name of a test but for its end" \
    "$(find tests -name '*.sh' -o -name '*.t' | sed 's/\.\(sh\|t\)$//' |
        sort | uniq -d)"
# Without -fsanitize=fuzzer a target has no main() in a build for fuzzing.
fuzz_targets() {
    local name
    for target in tests/fuzz/fuzz_*.c; do
        name=$(basename "$target" .c)
        grep -qxF "tests_fuzz_${name}_LDFLAGS = \$(FUZZ_LINK)" \
            tests/fuzz/*.am || echo "$name is not linked with FUZZ_LINK"
        [ -n "$(ls "tests/fuzz/corpus/${name#fuzz_}" 2>/dev/null)" ] ||
            echo "$name has no corpus"
    done
}
check "every fuzz target can be linked for fuzzing, and has a corpus" \
    "$(fuzz_targets)"
check "README.md or doc/reference.md names every page of doc/" \
    "$(for page in doc/*.md; do
        grep -qF "\`$page\`" README.md doc/reference.md || echo "$page"
        done)"
check "no page names one that is not there" \
    "$(grep -ohE 'doc/[a-z0-9-]+\.md' README.md doc/*.md tests/cluster/*.md |
        sort -u | while read -r page; do [ -f "$page" ] || echo "$page"; done)"
# Files that the pages name by a path, or by their last name alone (NAME stands
# for any); a beginning with a star or braces behind it is enough.
not_there() {
    local sources name
    sources=$(find ./src ./tests ./bench ./examples -name '*.[ch]')
    {
        grep -ohE '`(src|tests|bench|etc|tools|contrib|examples|dist)/[^` ]*' \
            "$@" | tr -d '`' | sed -E 's/[*{].*//; s/[.,:]+$//' | grep -v NAME |
            while read -r name; do
                compgen -G "$name*" >/dev/null || echo "$name"
            done
        grep -ohE '`[a-z0-9_/]+\.[ch]`' "$@" | tr -d '`' |
            while read -r name; do
                grep -q "/$name\$" <<<"$sources" || echo "$name"
            done
    } | sort -u
}
check "no page names a source file or a test that is not there" \
    "$(not_there README.md doc/*.md tests/cluster/README.md)"
check "every source file of tests/fuzz/parsers is there" \
    "$(sed '/^#/d' tests/fuzz/parsers | grep -oE 'src/[a-z0-9_/]+\.c' |
        while read -r file; do [ -f "$file" ] || echo "$file"; done)"
# What `make check-one` builds for a script beside `all`.
one_builds() { # SCRIPT
    printf 'include Makefile\nprint-it:\n\t@echo IT: $(one_needs)\n' |
        env -u MAKEFLAGS -u MFLAGS make -s -C "$build" -f - print-it T="$1" |
        sed -n 's/^IT: //p' | tr -s ' ' '\n'
}
not_built_for_one() {
    local script name programs
    programs=$(sed -n 's/^check_PROGRAMS += *//p' tests/*/*.am | tr -s ' ' '\n' |
        grep -E '^tests/(unit|mpi)/[a-z_]*$')
    for script in unit/swfabd.t unit/hsnd_kill.t unit/mapperd.t front/cost.t; do
        grep -oE 'tests/[a-z]+/[a-z_]+' "tests/$script" | sort -u |
            grep -xF "$programs" | grep -vxF "$(one_builds "$script")" |
            sed "s,^,$script: ,"
    done
}
check "check-one builds the programs that a script names" "$(not_built_for_one)"
# What `make install` takes along.
installed() {
    printf 'include Makefile\nprint-it:\n\t@echo IT: $(dist_examples_DATA)\n' |
        env -u MAKEFLAGS -u MFLAGS make -s -C "$build" -f - print-it |
        sed -n 's/^IT: //p' | tr -s ' ' '\n' | grep -oE 'etc/.*' | sort
}
check "every example of a configuration is installed" \
    "$(comm -3 <(installed) <(ls etc/*.example | sort))"
finish
