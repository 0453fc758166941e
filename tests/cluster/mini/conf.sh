# SPDX-License-Identifier: BSD-3-Clause
# slurm.conf, cgroup.conf and the directory of a cluster.
# Uses: dir, nodes, cpus, ports (array), switch, proctrack, mpi_default,
# extra (array of Key=Value), plugins (array), slurm, slurm_plugindir, plain,
# wanted.

find_slurm_plugindir() {
    local d
    for d in "$slurm/lib/$(uname -m)-linux-gnu/slurm-wlm" \
        "$slurm"/lib/*/slurm-wlm "$slurm/lib64/slurm" "$slurm/lib/slurm"; do
        [ -e "$d/auth_munge.so" ] && { echo "$d"; return 0; }
    done
    return 1
}

# One flat plugin directory: Slurm's own files, ours over them.
make_plugin_dir() {
    local d f
    mkdir -p "$dir/plugins"
    for d in "$slurm_plugindir" "${plugins[@]}"; do
        for f in "$d"/*.so; do
            [ -e "$f" ] && ln -sfn "$f" "$dir/plugins/${f##*/}"
        done
    done
    return 0
}

# On real machines /run is in memory; so it shall be here where that can be had.
runtime_dirs() {
    local k
    [ "$(stat -fc %T /dev/shm 2>/dev/null)" = tmpfs ] || return 0
    mkdir -m 755 "$(memory_dir "$id")" || die "$(memory_dir "$id") exists"
    echo "$dir" >"$(memory_dir "$id")/cluster" # whose it is
    for k in ctl $(node_names); do
        mkdir "$(memory_dir "$id")/run.$k"
        ln -s "$(memory_dir "$id")/run.$k" "$dir/run.$k"
    done
}

make_tree() {
    local k
    mkdir -p "$dir"/{etc,etc.fabric,log,state/ctld,spool,hosts,ns,work,home,tmp}
    chmod 755 "$dir" "$dir"/{etc,log,state,spool,hosts,ns}
    chmod 1777 "$dir/tmp"
    chown slurm: "$dir/log" "$dir/state" "$dir/state/ctld"
    chown "$user": "$dir/work" "$dir/home"
    open_mpi_on_one_machine
    runtime_dirs
    for k in ctl $(node_names); do
        mkdir -p "$dir/spool/$k" "$dir/munge.$k" "$dir/run.$k"
        chown munge: "$dir/munge.$k"
        chmod 755 "$dir/munge.$k" "$dir/run.$k"
    done
    ln -sfn munge.ctl "$dir/munge"
    head -c 1024 "${munge_key:-/dev/urandom}" >"$dir/etc/munge.key"
    chown munge: "$dir/etc/munge.key"
    chmod 400 "$dir/etc/munge.key"
}

node_names() {
    seq -f "n%g" 0 $((nodes - 1))
}

# Open MPI 5 (which has prterun) finds no pair of interfaces for two nodes that
# are one machine, but the loopback one.
open_mpi_on_one_machine() {
    command -v prterun >/dev/null || return 0
    mkdir -p "$dir/home/.openmpi"
    echo "btl_tcp_if_include = lo" >"$dir/home/.openmpi/mca-params.conf"
}

node_addr() {
    echo "127.0.0.$((10 + ${1#n}))"
}

place_addr() {
    case $1 in ctl) echo 127.0.0.1 ;; *) node_addr "$1" ;; esac
}

conf_defaults() {
    cat <<CONF
ClusterName=minislurm
SlurmctldHost=$(ctl_name)(127.0.0.1)
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=socket=$dir/munge/munge.socket
CredType=cred/munge
SwitchType=switch/$switch
MpiDefault=$mpi_default
PluginDir=$dir/plugins
PlugStackConfig=$dir/etc/plugstack.conf
ProctrackType=proctrack/$proctrack
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
ReturnToService=2
SlurmctldPort=${ports[0]}
SlurmctldPidFile=$dir/state/slurmctld.pid
SlurmdPidFile=$dir/state/slurmd.%n.pid
SlurmdSpoolDir=$dir/spool/%n
StateSaveLocation=$dir/state/ctld
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd.%n.log
SlurmctldDebug=debug
SlurmdDebug=debug
SlurmdParameters=config_overrides
KillWait=5
CONF
    echo "DebugFlags=Switch${plain:+,NO_CONF_HASH}"
    [ -z "$no_cgroup" ] || echo "SwitchParameters=descent=1"
    [ -z "${SF_SLOW-}" ] || conf_patience
}

# What Slurm itself gives up after 10 s takes longer where SF_SLOW is set; it
# does not like more than 100.
conf_patience() {
    local seconds
    seconds=$(patience 10)
    [ "$seconds" -le 100 ] || seconds=100
    echo "MessageTimeout=$seconds"
    echo "BatchStartTimeout=$seconds"
}

# slurmctld wants to be on the host of that name.
ctl_name() {
    local name=ctl
    [ -z "$plain" ] || name=$(uname -n)
    echo "${name%%.*}"
}

# The slurm.conf of a place.  Without a mount namespace a node finds its own
# munged by a file of its own.
conf_of() {
    local conf=$dir/etc/slurm.conf
    if [ -n "$plain" ] && [ "$1" != ctl ]; then
        sed "s,^AuthInfo=socket=$dir/munge/,AuthInfo=socket=$dir/munge.$1/," \
            "$conf" >"$dir/etc/slurm.$1.conf.new"
        mv "$dir/etc/slurm.$1.conf.new" "$dir/etc/slurm.$1.conf"
        conf=$dir/etc/slurm.$1.conf
    fi
    echo "$conf"
}

# The defaults, with each key that --conf names replaced.
conf_main() {
    local e line no_cgroup=''
    [ -z "$plain" ] || { [ -z "$wanted" ] && cg_writable; } || no_cgroup=1
    conf_defaults | while read -r line; do
        for e in "${extra[@]}"; do
            [ "${e%%=*}" = "${line%%=*}" ] && continue 2
        done
        echo "$line"
    done
    for e in "${extra[@]}"; do
        case $e in
        SwitchParameters=*) echo "$e${no_cgroup:+,descent=1}" ;;
        *) echo "$e" ;;
        esac
    done
}

conf_nodes() {
    local k
    for k in $(node_names); do
        echo "NodeName=$k NodeHostname=$k NodeAddr=$(node_addr "$k")" \
            "Port=${ports[1 + ${k#n}]} CPUs=$cpus RealMemory=1000" \
            "State=UNKNOWN $node_conf"
    done
    echo "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP" \
        "OverSubscribe=YES"
}

make_conf() {
    local k
    { conf_main; conf_nodes; } >"$dir/etc/slurm.conf"
    : >"$dir/etc/plugstack.conf"
    {
        if [ -n "$plain" ]; then
            : # nothing here uses them
        elif [ "$(cg_form)" = unified ]; then
            echo CgroupPlugin=cgroup/v2
            echo IgnoreSystemd=yes
        else
            echo CgroupPlugin=cgroup/v1
            echo CgroupAutomount=no
        fi
        echo ConstrainCores=no
    } >"$dir/etc/cgroup.conf"
    {
        echo "127.0.0.1 localhost"
        echo "127.0.0.1 ctl"
        for k in $(node_names); do echo "$(node_addr "$k") $k"; done
    } >"$dir/etc/hosts"
    chmod 644 "$dir"/etc/{slurm,cgroup,plugstack}.conf "$dir/etc/hosts"
}
