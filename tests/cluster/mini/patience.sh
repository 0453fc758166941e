# SPDX-License-Identifier: BSD-3-Clause
# How long something may take before a test gives it up.  All such seconds are
# SF_SLOW each; where nobody says it (an emulated machine does), as many as
# there are processes to run for each processor, 10 at the most.
patience_cpus=$(nproc)
slowness() {
    local load rest times=${SF_SLOW-}
    if [ -z "$times" ]; then
        read -r load rest </proc/loadavg
        times=$((${load%.*} / patience_cpus))
        [ $times -ge 1 ] || times=1
        [ $times -le 10 ] || times=10
    fi
    echo "$times"
}
patience() { # SECONDS
    echo $(($1 * $(slowness)))
}
# wait_until SECONDS COMMAND..: ask again every 50 ms until it says yes.  The
# load may rise meanwhile, and a virtual machine may stand still for a minute:
# of one look no more than five seconds count.
wait_until() {
    local seconds=$1 last=$SECONDS passed=0 look
    shift
    until "$@" >/dev/null 2>&1; do
        look=$((SECONDS - last))
        last=$SECONDS
        passed=$((passed + (look < 5 ? look : 5)))
        [ $passed -lt "$(patience "$seconds")" ] || return 1
        sleep 0.05
    done
}
