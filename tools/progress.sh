# SPDX-License-Identifier: BSD-3-Clause
# How far something long has come: on a terminal one line that changes, else a
# line with the time now and then, so that who reads a log sees that it lives.
# Nothing here is awk, which may hold lines back until it has many.

PROGRESS_SECONDS=${PROGRESS_SECONDS:-15}

# progress WHAT TOTAL: standard input has lines "NUMBER TEXT".
progress() {
    local what=$1 of='' n text last=$SECONDS
    [ "${2:-0}" = 0 ] || of=" of $2"
    while read -r n text; do
        if [ -t 1 ]; then
            printf '\r\e[Kquickstart: %s %s%s: %s' "$what" "$n" "$of" \
                "${text:0:50}"
        elif [ $((SECONDS - last)) -ge "$PROGRESS_SECONDS" ]; then
            last=$SECONDS
            printf 'quickstart: %(%H:%M:%S)T %s %s%s: %s\n' -1 "$what" "$n" \
                "$of" "$text"
        fi
    done
    [ ! -t 1 ] || printf '\r\e[K'
}

# What make says that it compiles or links, with its number.
compiled() {
    local word file n=0
    while read -r word file; do
        [[ $word = CC || $word = CCLD ]] && echo "$((n += 1)) $file"
    done
}

# apt's status lines (APT::Status-Fd): files that it fetches; packages that are
# installed then.
fetched() {
    local kind file text
    while IFS=: read -r kind file _ text; do
        [[ $kind = dlstatus && $text =~ ([0-9]+)' of '[0-9]+ ]] &&
            echo "${BASH_REMATCH[1]} ${text#*of }"
    done
}

installed() {
    local kind name text n=0
    while IFS=: read -r kind name _ text; do
        [[ $kind = pmstatus && $text = Installed* ]] &&
            echo "$((n += 1)) $name"
    done
}

# show_progress TOTAL: a line for each test program when its first case is
# done, failures at once and with their reasons.
# Uses: top (the source directory), build.
show_progress() {
    local kind name rest n=0
    local -A seen
    while read -r kind name rest; do
        case $kind in
        PASS: | FAIL: | XPASS: | XFAIL: | SKIP: | ERROR:) ;;
        *) continue ;;
        esac
        name=${name%.log}
        [ -n "${seen[$name]-}" ] || echo "  [$((n += 1))/$1] $name"
        seen[$name]=1
        case $kind in
        FAIL: | XPASS:) echo "  ${kind%:} $name $rest" ;;
        ERROR:)
            echo "  ${kind%:} $name $rest"
            name=${name%.sh}
            "$top/tools/reasons" "$build/${name%.t}.log" | sed 's/^/    /'
            ;;
        esac
    done
}

# quietly TEXT LOG COMMAND..: its errors and the end of its output if it fails.
# The caller has a say().
quietly() {
    local text=$1 file=$2 began=$SECONDS
    shift 2
    if "$@" >"$file" 2>&1; then
        say "$text: done after $((SECONDS - began)) s"
        return
    fi
    grep -E ': (fatal )?(error|warning): |Error [0-9]+$|runtime error' "$file" |
        head -n 30 | cut -c1-300
    tail -n 15 "$file" | cut -c1-300
    say "$text: failed"
    return 1
}
