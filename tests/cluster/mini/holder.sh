#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The first process of a node: runs in fresh UTS, mount and cgroup
# namespaces, gives the node its own name, munged, run-time directory, shared
# memory and cgroup trees, then just keeps the namespaces alive.
#     holder.sh MINIDIR DIR ID PLACE FABRIC_ETC
set -eu
mini=$1 dir=$2 id=$3 place=$4 fabric_etc=$5
. "$mini/cgroup.sh"

hostname "$place"
mount --bind "$dir/etc/hosts" /etc/hosts
mount --bind "$dir/run.$place" /run/slurm-fabric
mount -t tmpfs -o mode=1777,nosuid,nodev shm /dev/shm
if [ "$place" != ctl ]; then
    mount --bind "$dir/munge.$place" "$dir/munge.ctl"
fi
if [ -n "$fabric_etc" ] && [ -d "$fabric_etc" ]; then
    mount --bind "$dir/etc.fabric" "$fabric_etc"
fi
while read -r type top; do
    [ -d "$top/minislurm-$id/$place" ] || continue
    mount --bind "$top/minislurm-$id/$place" "$top"
    [ "$type" = cgroup2 ] &&
        echo $$ >"$top/system.slice/slurmd.service/cgroup.procs"
done < <(cg_mounts)
echo $$ >"$dir/ns/$place.new"
mv "$dir/ns/$place.new" "$dir/ns/$place"
exec sleep infinity
