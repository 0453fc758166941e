#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs started by hand with impirun: its options and addresses, application
# files, authentication, and every way to end.  Runs what is installed below
# stage/.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impirun.sh"

# start_server, whose address is then one of IPv6: it hears both versions.
start_server6()
{
    start_server "$@" && hostport="[::1]:${hostport##*:}"
}

# The world is as the standard orders it, whoever comes first.
case_ranks_follow_the_clients()
{
    start_server 2
    client 1 1 "$dir/ranks.openmpi"
    client 0 2 "$dir/ranks.mpich"
    codes_of_all >"$TMPDIR/out.codes"
    [ "$(cat "$TMPDIR/out.codes")" = "0 0 0" ] &&
        [ "$(sort "$TMPDIR/out.0")" = "$(printf 'rank 0 of 3\nrank 1 of 3')" ] &&
        [ "$(cat "$TMPDIR/out.1")" = "rank 2 of 3" ]
    report $? ranks_follow_the_clients
}

# One line, and a reader that goes away after it does no harm.
case_one_line_on_stdout()
{
    local line
    line=$("${limited[@]}" 100 "$impirun" -server 1 2>"$TMPDIR/out.server" | {
        read -r hostport
        echo "$hostport"
        exec >&- <&-
        "${limited[@]}" 100 "$impirun" -client 0 "$hostport" "$dir/ranks.mpich" \
            >"$TMPDIR/out.0" 2>&1
    })
    [[ $line =~ ^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+:[0-9]+$ ]] &&
        grep -q '^rank 0 of 1$' "$TMPDIR/out.0"
    report $? one_line_on_stdout
}

# Not a word more until all is over.
case_nothing_after_that_line()
{
    local rest fd
    mkfifo "$TMPDIR/all"
    "${limited[@]}" 100 "$impirun" -server 1 >"$TMPDIR/all" \
        2>"$TMPDIR/out.server" &
    server=$!
    exec {fd}<"$TMPDIR/all"
    read -r hostport <&"$fd"
    client 0 1 "$dir/ranks.mpich"
    codes_of_all >"$TMPDIR/out.codes"
    rest=$(cat <&"$fd")
    exec {fd}<&-
    echo "then: $rest" >"$TMPDIR/out.rest"
    [ "$(cat "$TMPDIR/out.codes")" = "0 0" ] && [ -z "$rest" ]
    report $? nothing_after_that_line
}

case_port_is_tried_and_nothing_else()
{
    local port rc other
    start_server 1
    port=${hostport##*:}
    "${limited[@]}" 100 "$impirun" -server 1 -port "$port" >"$TMPDIR/out.1" \
        2>"$TMPDIR/out.2"
    rc=$?
    other=$(cat "$TMPDIR/out.1")
    kill "$server"
    wait "$server"
    [ $rc = 1 ] && [ -z "$other" ] && grep -q SF-E220 "$TMPDIR/out.2"
    report $? port_is_tried_and_nothing_else
}

case_wrong_usage()
{
    local rc=0 args
    while read -r args; do
        # shellcheck disable=SC2086
        "$impirun" $args >"$TMPDIR/out.1" 2>>"$TMPDIR/out.2"
        [ $? = 2 ] && [ ! -s "$TMPDIR/out.1" ] || rc=1
    done <<'LINES'
-server
-server 0
-server 33
-server 2 -port 70000
-server 2 -verbose
-server 2 -auth foo
-server 2 -launcher ssh
-client
-client x 127.0.0.1:1 true
-client 32 127.0.0.1:1 true
-client 0 127.0.0.1 true
-client 0 127.0.0.1:0 true
-client 0 127.0.0.1:1
-client 0 127.0.0.1:1 -np 0 true
-np 2 true
LINES
    report $rc wrong_usage
}

case_application_file()
{
    cat >"$TMPDIR/appfile" <<LINES
# machine, arguments
localhost -client 0 \$hostport -np 2 $dir/ring.mpich

$(uname -n) -client 1 \$hostport $dir/ring.openmpi
LINES
    "${limited[@]}" 100 "$impirun" -server 2 -file "$TMPDIR/appfile" \
        >"$TMPDIR/out.1" 2>&1
    [ $? = 0 ] && grep -q '^PASS ring' "$TMPDIR/out.1"
    report $? application_file
}

# All have ended before impirun does, and its code is the worst of theirs.
case_worst_of_an_application_file()
{
    local rc
    cat >"$TMPDIR/last" <<LAST
#!/bin/sh
$dir/ring.mpich
until [ -e $TMPDIR/first.ended ]; do sleep 0.1; done
: >$TMPDIR/last.ended
exit 5
LAST
    cat >"$TMPDIR/first" <<FIRST
#!/bin/sh
$dir/ring.openmpi
: >$TMPDIR/first.ended
FIRST
    chmod +x "$TMPDIR"/{first,last}
    printf '%s\n' "localhost -client 0 \$hostport $TMPDIR/last" \
        "localhost -client 1 \$hostport $TMPDIR/first" >"$TMPDIR/appfile"
    "${limited[@]}" 100 "$impirun" -server 2 -file "$TMPDIR/appfile" \
        >"$TMPDIR/out.1" 2>&1
    rc=$?
    echo "code $rc" >>"$TMPDIR/out.1"
    [ $rc = 5 ] && [ -e "$TMPDIR/last.ended" ] &&
        grep -q '^PASS ring' "$TMPDIR/out.1"
    report $? worst_of_an_application_file
}

# As it stands in the manual page; rsh is a pretence.
case_example_of_the_manual_page()
{
    local page=${tests%/*}/doc/man/impirun.1
    sed -n '/^\.SH EXAMPLE/,/^\.fi/p' "$page" | grep -v '^\.' |
        tr -d '\\' >"$TMPDIR/example"
    printf '#!/bin/sh\nshift\nexec "$@"\n' >"$TMPDIR/rsh"
    chmod +x "$TMPDIR/rsh"
    ln -s "$dir/ranks.mpich" "$TMPDIR/a.out"
    ln -s "$dir/ranks.openmpi" "$TMPDIR/b.out"
    (
        cd "$TMPDIR" || exit 99
        PATH=$TMPDIR:${impirun%/*}:$PATH "${limited[@]}" 100 sh -e example
    ) >"$TMPDIR/out.1" 2>&1
    [ $? = 0 ] && [ "$(grep -c '^rank [0-9]* of 12$' "$TMPDIR/out.1")" = 12 ]
    report $? example_of_the_manual_page
}

case_launcher_of_other_machines()
{
    cat >"$TMPDIR/launcher" <<'LAUNCHER'
#!/bin/sh
echo "to $1" >>"$TMPDIR/out.launcher"
shift
shift # "impirun" of the search path there
exec "$IMPIRUN" "$@"
LAUNCHER
    chmod +x "$TMPDIR/launcher"
    printf '%s\n' "elsewhere -client 0 \$hostport $dir/ranks.mpich" \
        >"$TMPDIR/appfile"
    IMPIRUN=$impirun "${limited[@]}" 100 "$impirun" -server 1 -file \
        "$TMPDIR/appfile" -launcher "$TMPDIR/launcher" >"$TMPDIR/out.1" 2>&1
    [ $? = 0 ] && grep -q '^to elsewhere$' "$TMPDIR/out.launcher" &&
        grep -q '^rank 0 of 1$' "$TMPDIR/out.1"
    report $? launcher_of_other_machines
}

case_application_file_of_another_number()
{
    echo "localhost -client 0 \$hostport true" >"$TMPDIR/appfile"
    "${limited[@]}" 100 "$impirun" -server 2 -file "$TMPDIR/appfile" \
        >"$TMPDIR/out.1" 2>&1
    [ $? = 1 ] && grep -q 'waits for 2' "$TMPDIR/out.1"
    report $? application_file_of_another_number
}

case_abort_ends_all_with_its_code()
{
    start_server 2
    client 0 1 "$dir/abort.mpich"
    client 1 1 "$dir/abort.openmpi"
    codes_of_all >"$TMPDIR/out.codes"
    grep -q '\b42\b' "$TMPDIR/out.codes" &&
        grep -q 'called MPI_Abort(42)' "$TMPDIR"/out.*
    report $? abort_ends_all_with_its_code
}

injects()
{
    strace -o "$TMPDIR/calls" -e "inject=$1" true 2>/dev/null && return
    skipped "$title" "no strace that injects errors"
    return 1
}

# impid finds both at once: what the process says of its end and what its MPI
# library makes of it by PMI.  It told whichever it met first.
case_process_is_heard_before_its_library()
{
    local title=process_is_heard_before_its_library
    injects sendto:delay_enter=1 || return 0
    cat >"$TMPDIR/slow" <<PROGRAM
#!/bin/bash
impid=\$(pgrep -P \$PPID -x impid)
strace -qq -o "$TMPDIR/calls" -p "\$impid" -e trace=epoll_wait \
    -e inject=epoll_wait:delay_enter=300000 &
until ! kill -0 \$! || grep -q '^TracerPid:.*[1-9]' "/proc/\$impid/status"; do
    :
done
exec "$dir/abort.openmpi"
PROGRAM
    chmod +x "$TMPDIR/slow"
    start_server 1
    client 0 1 "$TMPDIR/slow"
    codes_of_all >"$TMPDIR/out.codes"
    grep -q 'SF-E310: .* called MPI_Abort(42)$' "$TMPDIR/out.0"
    report $? $title
}

# Libraries name their shared memory by what PMI calls the job: where two worlds
# were called the same, the second took what the first had left for its own.
case_each_world_has_its_name()
{
    local family n title=each_world_has_its_name
    injects sendto:delay_enter=1 || return 0
    for family in mpich openmpi; do
        for n in 1 2; do
            printf '#!/bin/bash\nexec strace -qq -s 4000 -o "%s" "%s"\n' \
                "$TMPDIR/calls.$family.$n" "$dir/ranks.$family" >"$TMPDIR/traced"
            chmod +x "$TMPDIR/traced"
            start_server 1
            client 0 1 "$TMPDIR/traced"
            codes_of_all >>"$TMPDIR/out.codes"
            grep -ohE '(kvsname|PMIX_NAMESPACE)=impi[^ \\"]*' \
                "$TMPDIR/calls.$family.$n" | head -n 1 >>"$TMPDIR/out.names"
        done
    done
    [ "$(wc -l <"$TMPDIR/out.names")" = 4 ] &&
        [ "$(sort -u "$TMPDIR/out.names" | wc -l)" = 4 ]
    report $? $title
}

# Its impirun is stopped until the process has aborted, and is told to end by
# then, as `impirun -server -file` does when another client has failed already.
case_abort_is_told_by_who_is_told_to_end()
{
    local pid task go
    start_server 1
    mkfifo "$TMPDIR/go"
    exec {go}<>"$TMPDIR/go"
    cat >"$TMPDIR/abort" <<PROGRAM
#!/bin/sh
echo \$\$ >$TMPDIR/task
read -r go <$TMPDIR/go
exec $dir/abort.mpich 42
PROGRAM
    chmod +x "$TMPDIR/abort"
    "$impirun" -client 0 "$hostport" "$TMPDIR/abort" >"$TMPDIR/out.0" 2>&1 &
    pid=$!
    until [ -s "$TMPDIR/task" ] || ! kill -0 $pid; do :; done
    task=$(cat "$TMPDIR/task")
    kill -STOP $pid
    until grep -q '^State:.[TZ]' "/proc/$pid/status"; do :; done
    echo >&"$go"
    exec {go}>&-
    until grep -q '^State:.Z' "/proc/$task/status"; do :; done
    kill $pid
    kill -CONT $pid
    wait $pid
    [ $? = 42 ] && grep -q 'called MPI_Abort(42)' "$TMPDIR/out.0"
    report $? abort_is_told_by_who_is_told_to_end
    wait "$server"
}

case_who_has_another_key_stays_out()
{
    start_server 1
    IMPI_AUTH_KEY=4712 "${limited[@]}" 100 "$impirun" -client 0 "$hostport" \
        "$dir/ranks.mpich" >"$TMPDIR/out.1" 2>&1
    local rc=$?
    client 0 1 "$dir/ranks.mpich"
    codes_of_all >"$TMPDIR/out.codes"
    [ $rc = 1 ] && [ "$(cat "$TMPDIR/out.codes")" = "0 0" ]
    report $? who_has_another_key_stays_out
}

# A list forbids what it does not name, NONE included.
case_list_of_methods()
{
    local rc
    "$impirun" -server 1 -auth 5 >"$TMPDIR/out.1" 2>"$TMPDIR/out.2"
    rc=$?
    IMPI_AUTH_NONE=1 start_server 1 -auth 1
    "${limited[@]}" 100 env -u IMPI_AUTH_KEY IMPI_AUTH_NONE=1 "$impirun" -client 0 \
        "$hostport" "$dir/ranks.mpich" >"$TMPDIR/out.3" 2>&1
    [ $? = 1 ] && [ $rc = 1 ]
    rc=$?
    client 0 1 "$dir/ranks.mpich"
    codes_of_all >"$TMPDIR/out.codes"
    [ $rc = 0 ] && [ "$(cat "$TMPDIR/out.codes")" = "0 0" ]
    report $? list_of_methods
}

# The impid that `impirun -client 0` has started.
impid_of_client()
{
    local p
    for p in $(pgrep -f -- "-client 0 $hostport"); do
        pgrep -P "$p" -x impid
    done
}

# Whether its impi-server knew of it or not, which would wait for it.
# Who does not know a label of another client may end at it.
case_withheld_labels()
{
    local word=$1 want=$2 rc
    # shellcheck disable=SC2086
    start_server 2 $word
    python3 "$tests/impi_peer.py" "$hostport" 0 --key "$IMPI_AUTH_KEY" --extra \
        >"$TMPDIR/out.0" 2>&1 &
    pids=" $!"
    python3 "$tests/impi_peer.py" "$hostport" 1 --key "$IMPI_AUTH_KEY" \
        >"$TMPDIR/out.1" 2>&1
    rc=$?
    codes_of_all >"$TMPDIR/out.codes"
    if [ "$want" = withheld ]; then
        [ "$rc $(cat "$TMPDIR/out.codes")" = "0 0 0" ]
    else
        [ $rc != 0 ] && grep -q 'label 0x2480, expected' "$TMPDIR/out.1"
    fi
    report $? "labels_of_others: $want"
}

case_killed_impid_ends_the_client()
{
    local impid=
    start_server 1
    client 0 1 "$dir/ring.mpich"
    until [ -n "$impid" ] || ! kill -0 "${pids# }"; do
        impid=$(impid_of_client)
    done
    kill -9 "$impid"
    codes_of_all >"$TMPDIR/out.codes"
    grep -q 'SF-E221' "$TMPDIR/out.0" &&
        [[ $(cat "$TMPDIR/out.codes") =~ ^[0-9]+\ 1$ ]]
    report $? killed_impid_ends_the_client
}

case_nobody_at_that_address()
{
    start_server 1
    kill "$server"
    wait "$server"
    "${limited[@]}" 100 "$impirun" -client 0 "$hostport" "$dir/ranks.mpich" \
        >"$TMPDIR/out.1" 2>&1
    [ $? = 1 ] && grep -q "SF-E315.*$hostport: Connection refused" "$TMPDIR/out.1" &&
        ! "${limited[@]}" 100 "$impirun" -client 0 '::1:9' true >"$TMPDIR/out.1" \
            2>&1 && grep -q "stands in brackets" "$TMPDIR/out.1"
    report $? nobody_at_that_address
}

# A machine that has one address beside its loopback prints that one.
leads_out() # TITLE VERSION ADDRESS BITS PRINTED
{
    local line
    if ! unshare -n true 2>/dev/null; then
        skipped "$1" "no network namespaces"
        return
    fi
    # shellcheck disable=SC2016
    unshare -n bash -c 'ip link set lo up && ip addr add "$2/$3" dev lo &&
        while ip addr show dev lo tentative | grep -q inet; do :; done &&
        ip "-$1" route add default dev lo src "$2" && shift 3 && exec "$@"' \
        - "$2" "$3" "$4" "${limited[@]}" 100 bash -c '
        "$1" -server 1 2>"$TMPDIR/out.server" | {
            read -r hostport
            echo "$hostport"
            "$1" -client 0 "$hostport" "$2" >"$TMPDIR/out.0" 2>&1
        }' - "$impirun" "$dir/ranks.mpich" >"$TMPDIR/out.1" 2>"$TMPDIR/out.2"
    line=$(cat "$TMPDIR/out.1")
    [ "${line%:*}" = "$5" ] && [[ ${line##*:} =~ ^[0-9]+$ ]] &&
        grep -q '^rank 0 of 1$' "$TMPDIR/out.0"
    report $? "$1"
}

case_the_address_leads_out()
{
    leads_out the_address_leads_out 4 10.9.8.7 32 10.9.8.7
}

# There it is one of IPv6.
case_where_only_ipv6_leads_out()
{
    leads_out where_only_ipv6_leads_out 6 fd00::7 128 '[fd00::7]'
}

case_nobody_at_an_address_of_ipv6()
{
    ! "${limited[@]}" 100 "$impirun" -client 0 '[::1]:9' "$dir/ranks.mpich" \
        >"$TMPDIR/out.1" 2>&1 && grep -q 'SF-E315' "$TMPDIR/out.1"
    report $? nobody_at_an_address_of_ipv6
}

cases_of_ipv6()
{
    if ! have_ipv6; then
        skipped agents_meet_by_ipv6 "no IPv6 here"
        return
    fi
    SERVER=start_server6
    case_strict 0 mpich
    case_strict 1 openmpi
    case_world ring 2:mpich 1:openmpi
    case_world coll 1:openmpi 1:mpich 1:openmpi
    SERVER=
    case_nobody_at_an_address_of_ipv6
    case_where_only_ipv6_leads_out
}

# case_file TITLE CODE TEXT LINE...: the application file of these lines ends,
# with that code and that text.
case_file()
{
    local title=$1 code=$2 text=$3 rc
    shift 3
    printf '%s\n' "$@" >"$TMPDIR/appfile"
    "${limited[@]}" 100 "$impirun" -server 2 -file "$TMPDIR/appfile" \
        >"$TMPDIR/out.1" 2>&1
    rc=$?
    [ $rc = "$code" ] && grep -q -e "$text" "$TMPDIR/out.1"
    report $? "$title"
}

# The first three hung.  Of a program without MPI its client tells, since all
# others wait for it.
cases_of_mistakes_in_the_application_file()
{
    local first="localhost -client 0 \$hostport -np 2 $dir/ring.mpich"
    local second="localhost -client 1 \$hostport"
    case_file wrong_option_in_one_line_ends_all 2 "unknown option: -npp" \
        "$first" "$second -npp 2 $dir/ring.openmpi"
    case_file client_without_mpi_ends_all 1 \
        "SF-E312: process 0 of client 1 ended without" "$first" "$second true"
    case_file client_without_mpi_gives_its_code 5 SF-E312 "$first" \
        "$second -np 2 sh -c 'exit 5'"
    # The first ends before the last has registered, or before its parent can
    # know its code: both were lost.
    for _ in 1 2 3 4 5; do
        case_file many_without_mpi_give_their_code 5 SF-E312 "$first" \
            "$second -np 24 sh -c 'exit 5'"
    done
    case_file server_says_why_it_refused_a_client 1 \
        "client rank 0 is here already" "$first" \
        "localhost -client 0 \$hostport $dir/ring.openmpi"
    for _ in 1 2 3; do
        case_file worst_code_whoever_ended_first 42 "MPI_Abort(42)" \
            "localhost -client 0 \$hostport $dir/abort.mpich 42" \
            "$second $dir/abort.openmpi 42"
    done
}

# Server, impids and processes talk by the interface that the user names.
case_interface_of_the_user()
{
    local rc
    IMPI_IFNAME=lo start_server 1
    [[ $hostport == 127.0.0.1:* ]]
    rc=$?
    IMPI_IFNAME=lo client 0 1 "$dir/ranks.mpich"
    codes_of_all >"$TMPDIR/out.codes"
    ! IMPI_IFNAME=no0 "$impirun" -server 1 >"$TMPDIR/out.1" 2>&1 &&
        grep -q "no interface no0 is up" "$TMPDIR/out.1" &&
        ! IMPI_IFNAME=no0 "$impirun" -client 0 "$hostport" true \
            >"$TMPDIR/out.2" 2>&1 &&
        grep -q "client 0: no interface no0 is up" "$TMPDIR/out.2" &&
        [ $rc = 0 ] && [ "$(cat "$TMPDIR/out.codes")" = "0 0" ]
    report $? interface_of_the_user
}

case_help_with_one_dash()
{
    "$impirun" -help >"$TMPDIR/out.1" 2>"$TMPDIR/out.2" &&
        grep -q '^usage: impirun -server' "$TMPDIR/out.1" &&
        [ ! -s "$TMPDIR/out.2" ]
    report $? help_with_one_dash
}

# Processes that were killed before they registered left impid waiting, and
# impirun with it.
case_killed_before_they_begin()
{
    local rc=0 i
    for i in 1 2 3 4 5 6 7 8; do
        start_server 2
        "$impirun" -client 0 "$hostport" -np 4 "$dir/ring.mpich" \
            >"$TMPDIR/out.0" 2>&1 &
        until pgrep -P $! -x impid >/dev/null || ! kill -0 $! 2>/dev/null; do
            :
        done
        kill $!
        wait $!
        [ $? = 143 ] || rc=1
        kill "$server"
        wait "$server"
    done
    report $rc killed_before_they_begin
}

# short_of_memory CALL WHEN: the system has none for these calls of whom is
# started next.  1: that cannot be had.
short_of_memory()
{
    injects "$1:error=ENOBUFS:when=$2" || return 1
    under=(strace -f -o "$TMPDIR/calls.$1" -e "trace=$1"
        -e "inject=$1:error=ENOBUFS:when=$2")
}

# What was not written for want of memory was not written ever.
case_no_memory_to_write_is_for_now()
{
    local title=no_memory_to_write_is_for_now
    short_of_memory sendto 2+3 || return 0
    start_server 2
    short_of_memory writev 3+3
    client 0 1 "$dir/order.mpich"
    under=()
    client 1 2 "$dir/order.openmpi"
    codes_of_all >"$TMPDIR/out.codes"
    [ "$(cat "$TMPDIR/out.codes")" = "0 0 0" ] &&
        grep -q "^PASS order" "$TMPDIR/out.0" &&
        grep -q INJECTED "$TMPDIR/calls.sendto" &&
        grep -q INJECTED "$TMPDIR/calls.writev"
    report $? "$title"
}

# Who did not get what it starts with waited for ever; who did not get its
# socket for packets waited for the first of them.
case_what_a_process_cannot_get_ends_all() # WHICH CODE WHAT
{
    local title="what_a_process_cannot_get_ends_all: $3" rc
    short_of_memory sendmsg "$1" || return 0
    under=()
    start_server 1
    short_of_memory sendmsg "$1"
    client 0 1 "$dir/ranks.mpich"
    under=()
    wait "${pids# }"
    rc=$?
    pids=
    kill "$server" # the client may not have come to it
    wait "$server"
    [ $rc = 1 ] &&
        grep -q "$2: rank 0 .*cannot be sent $3: No buffer" "$TMPDIR/out.0"
    report $? "$title"
}

# By impid, and not by each process.
case_topology_is_looked_for_once_per_node()
{
    local title=topology_is_looked_for_once_per_node log=$TMPDIR/calls
    if ! ldd "$dir/ring.mpich" | grep -q 'libhwloc\.so\.15 => /' ||
        ! strace -o "$log" true 2>/dev/null; then
        skipped "$title" "no strace, or a library without hwloc 2"
        return
    fi
    start_server 1
    under=(strace -f -o "$log" -e trace=openat)
    client 0 4 "$dir/ring.mpich"
    under=()
    codes_of_all >"$TMPDIR/out.codes"
    grep topology "$log" >"$TMPDIR/out.log"
    [ "$(cat "$TMPDIR/out.codes")" = "0 0" ] &&
        [ "$(grep -c '/topology\.xml", O_RDONLY' "$log")" = 4 ] &&
        [ "$(grep '/cpu0/topology/core_cpus"' "$log" | cut -d' ' -f1 |
            sort -u | wc -l)" = 1 ]
    report $? "$title"
}

need_both ring
need_stage impirun
case_wrong_usage
case_port_is_tried_and_nothing_else
case_one_line_on_stdout
case_nothing_after_that_line
case_the_address_leads_out
case_ranks_follow_the_clients
case_application_file
case_example_of_the_manual_page
case_launcher_of_other_machines
case_worst_of_an_application_file
case_application_file_of_another_number
case_who_has_another_key_stays_out
case_list_of_methods
case_withheld_labels "" sent
case_withheld_labels -withhold withheld
case_killed_impid_ends_the_client
case_nobody_at_that_address
cases_of_mistakes_in_the_application_file
case_help_with_one_dash
case_interface_of_the_user
case_killed_before_they_begin
case_abort_ends_all_with_its_code
case_abort_is_told_by_who_is_told_to_end
case_process_is_heard_before_its_library
case_each_world_has_its_name
case_topology_is_looked_for_once_per_node
case_no_memory_to_write_is_for_now
case_what_a_process_cannot_get_ends_all 1 SF-E314 "its environment"
case_what_a_process_cannot_get_ends_all 2 SF-E322 "the socket for its packets"
cases_of_ipv6
case_nothing_is_left
finish
