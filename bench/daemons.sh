# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A munged of the benchmark's own, and the daemons beside it: each is in pids,
# and is waited for at the end, because munged writes its seed then.
pids=()

end_daemons() {
    local p
    for p in "${pids[@]}"; do kill "$p" 2>/dev/null; done
    wait 2>/dev/null
}

until_ok() {
    local tries=200
    while ! "$@" >/dev/null 2>&1; do
        [ $((tries -= 1)) -gt 0 ] || { note "in vain: $*"; return 1; }
        sleep 0.05
    done
}

start_munged() {
    need_program munged || return 1
    chmod 755 "$tmp"
    head -c 1024 /dev/urandom >"$tmp/key"
    chmod 400 "$tmp/key"
    munged -F --force --num-threads 2 -S "$tmp/munge" --key-file "$tmp/key" \
        --pid-file "$tmp/munge.pid" --seed-file "$tmp/seed" \
        --log-file "$tmp/munge.log" >"$tmp/munge.out" 2>&1 &
    pids+=($!)
    until_ok munge -n -S "$tmp/munge"
}
