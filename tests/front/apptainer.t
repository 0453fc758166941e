#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the front says to Apptainer and Singularity, where these are programs
# that have their names and show their environment.
. "$(dirname "$0")/lib.sh"
agent=$tmp/step/agent
mkdir "$tmp/step" "$tmp/be" "$tmp/be,2" "$tmp/new" "$tmp/old"
# One that has the name of its variables in it, and one that has not.
cp "$(command -v env)" "$tmp/old/singularity"
{ cat "$tmp/old/singularity"; echo APPTAINERENV_; } >"$tmp/new/apptainer"
chmod +x "$tmp/new/apptainer"
ln -s apptainer "$tmp/new/singularity"

# PROGRAM SETTING..: as a task; what it shows and says is in $tmp/said.
task() {
    local program=$tmp/$1
    shift
    env -i LD_PRELOAD="$front" SLURM_IMPI_AGENT="$agent" SLURM_PROCID=3 "$@" \
        "$program" -u LD_PRELOAD >"$tmp/said" 2>&1
}
said() { grep -E -- "$1" "$tmp/said"; }
binds=$tmp/step:$tmp/step,$lib:$lib:ro

task new/apptainer SLURM_IMPI_BACKENDS="$tmp/be:/not/there"
is "step, front and the back ends that are there are seen where they are" \
    "$(said _BIND=)" "APPTAINER_BIND=$binds,$tmp/be:$tmp/be:ro"
task new/singularity
is "by its older name it is told the same" "$(said _BIND=)" \
    "APPTAINER_BIND=$binds"
task old/singularity
is "Singularity has other names" "$(said _BIND=)" "SINGULARITY_BIND=$binds"
is "for all of it" "$(said ENV_ | sed 's/ENV_.*//' | sort -u)" SINGULARITY
task new/apptainer APPTAINER_BIND=/data:/mnt:ro
is "what the user has bound stays" "$(said _BIND=)" \
    "APPTAINER_BIND=/data:/mnt:ro,$binds"
task new/apptainer APPTAINER_BIND="$tmp/step2:$tmp/step2"
is "the directory of another step, whose name is longer, is not ours" \
    "$(said _BIND=)" "APPTAINER_BIND=$tmp/step2:$tmp/step2,$binds"
task new/apptainer SLURM_X='a b=c' UCX_TLS=tcp HOME=/h MY_SLURM_X=2
is "in a clean environment is what a library is tuned by, and the front" \
    "$(said APPTAINERENV_ | sort)" "APPTAINERENV_LD_PRELOAD=$front
APPTAINERENV_SLURM_IMPI_AGENT=$agent
APPTAINERENV_SLURM_PROCID=3
APPTAINERENV_SLURM_X=a b=c
APPTAINERENV_UCX_TLS=tcp"
task new/apptainer UCX_TLS=tcp APPTAINERENV_UCX_TLS=self
is "what the user says about it counts" "$(said APPTAINERENV_UCX)" \
    APPTAINERENV_UCX_TLS=self
task new/apptainer SLURM_IMPI_AGENT=
is "outside a step nothing is said" "$(said 'APPTAINER|SF-')" ""

refuses() { # TEXT PART SETTING..
    local text=$1 part=$2
    shift 2
    task new/apptainer "$@"
    like "$text" "$(said SF-E507)" "$part"
    is "${text}: the program runs as it is" "$(said '^SLURM_PROCID=')" \
        SLURM_PROCID=3
}
refuses "a comma in a directory's name" "a comma in its name" \
    SLURM_IMPI_BACKENDS="$tmp/be,2"
printf -v long '%*s' 70000 ''
refuses "more than fits" "longer than" APPTAINER_BIND="${long// //}"
finish
