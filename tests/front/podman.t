#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the front writes for Podman, where Podman is a program that has its name
# and shows its environment.
. "$(dirname "$0")/lib.sh"
python3 -c 'import tomllib' 2>/dev/null || skip_all "python3 reads no TOML"
agent=$tmp/step/agent conf=$tmp/step/podman.3.conf
mkdir "$tmp/step" "$tmp/be" "$tmp/be:2" "$tmp/old" "$tmp/new"
# One that knows CONTAINERS_CONF alone, and one that knows the later variable.
cp "$(command -v env)" "$tmp/old/podman"
{ cat "$tmp/old/podman"; echo CONTAINERS_CONF_OVERRIDE; } >"$tmp/new/podman"
chmod +x "$tmp/new/podman"

# SETTING.. [PROGRAM]: as a task; what it shows and says is in $tmp/said.
task() {
    local program=$tmp/old/podman
    [ "${1-}" != new ] || { program=$tmp/new/podman; shift; }
    rm -f "$tmp"/step/podman*
    env -i LD_PRELOAD="$front" SLURM_IMPI_AGENT="$agent" SLURM_PROCID=3 "$@" \
        "$program" -u LD_PRELOAD >"$tmp/said" 2>&1
}
said() { grep -E -- "$1" "$tmp/said"; }
# PYTHON: of what a reader of TOML makes of the file, C and E.
written() {
    python3 - "$conf" "$1" <<'PYTHON'
import sys, tomllib
with open(sys.argv[1], "rb") as f:
    all = tomllib.load(f)
print(eval(sys.argv[2], {"C": all["containers"], "E": all["engine"]}))
PYTHON
}

task SLURM_IMPI_BACKENDS="$tmp/be:/not/there"
is "it begins again with the file's name" "$(said '^CONTAINERS')" \
    "CONTAINERS_CONF=$conf"
is "a later Podman has it read after the others" \
    "$(task new; said '^CONTAINERS')" "CONTAINERS_CONF_OVERRIDE=$conf"
is "the file is the user's own" "$(stat -c %a "$conf")" 600
is "and it is the only one" "$(ls "$tmp/step")" podman.3.conf
task SLURM_IMPI_BACKENDS="$tmp/be:/not/there"
is "namespaces are the host's" \
    "$(written '[C[k] for k in ("netns", "utsns", "pidns")]')" \
    "['host', 'host', 'host']"
is "there are no labels, and the step's cgroup stays" \
    "$(written '[C["label"], E["cgroup_manager"], E["events_logger"]]')" \
    "[False, 'cgroupfs', 'none']"
is "/dev/shm is the host's" \
    "$(written 'C.get("ipcns") == "host" or "/dev/shm:/dev/shm" in C["volumes"]')" \
    True
is "front, step and the back ends that are there are seen where they are" \
    "$(written '[v for v in C["volumes"] if v != "/dev/shm:/dev/shm"]')" \
    "['$lib:$lib:ro', '$tmp/step:$tmp/step', '$tmp/be:$tmp/be:ro']"
is "the front is loaded there" \
    "$(written '[e for e in C["env"] if e.startswith("LD_PRELOAD=")]')" \
    "['LD_PRELOAD=$front']"

task SLURM_X=1 UCX_TLS=tcp HOME=/h MY_SLURM_X=2 FI_PROVIDER=tcp
is "what a library is tuned by is passed, and nothing else" "$(written \
    'sorted(e for e in C["env"] if not e.startswith(("LD_", "PATH=", "SLURM_IMPI_")))')" \
    "['FI_PROVIDER=tcp', 'SLURM_PROCID=3', 'SLURM_X=1', 'UCX_TLS=tcp']"
task "SLURM_X=a\"b\\c"$'\n\t\x01\x7f'"ä" "SLURM_BAD="$'\xff\xfe' "SLURM_CUT="$'\xe2\x82'
is "quotes, lines and other letters come as they are" \
    "$(written '[e for e in C["env"] if e.startswith("SLURM_X")] == ["SLURM_X=a\"b\\c\n\t\x01\x7fä"]')" \
    True
is "what is no UTF-8 is left out" \
    "$(written '[e for e in C["env"] if e.startswith(("SLURM_BAD", "SLURM_CUT"))]')" \
    "[]"

# ---- what cannot be said ----------------------------------------------------
refuses() { # TEXT PART SETTING..
    local text=$1 part=$2
    shift 2
    task "$@"
    like "$text" "$(said SF-E507)" "$part"
    is "${text}: the program runs, without the file" \
        "$(ls "$tmp/step"; said '^SLURM_PROCID=' | wc -l)" 1
}
printf -v long '%*s' 100000 ''
refuses "an environment that is too long" "longer than" \
    "SLURM_A=$long" "SLURM_B=$long" "SLURM_C=$long"
refuses "a rank that would lead elsewhere" "SLURM_PROCID is wrong" \
    SLURM_PROCID=../3
refuses "a directory of the step that is not there" "No such file" \
    SLURM_IMPI_AGENT="$tmp/none/agent"
mkdir "$tmp/st:ep"
refuses "a colon in a directory's name" "has a colon" \
    SLURM_IMPI_AGENT="$tmp/st:ep/agent"
is "which has no file either" "$(ls "$tmp/st:ep")" ""

echo "# nothing" >"$tmp/own.conf"
refuses "a configuration that the user has set" \
    "CONTAINERS_CONF is set, to $tmp/own.conf" CONTAINERS_CONF="$tmp/own.conf"
is "it stays" "$(said '^CONTAINERS')" "CONTAINERS_CONF=$tmp/own.conf"
echo "env = [\"SLURM_IMPI_AGENT=$agent\"]" >"$tmp/own.conf"
task CONTAINERS_CONF="$tmp/own.conf"
is "one that names the step is taken as the user's work" \
    "$(said 'SF-E507|^CONTAINERS')" "CONTAINERS_CONF=$tmp/own.conf"
finish
