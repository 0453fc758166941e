#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The house rule of doc/architecture.md: a folder of src/ includes headers of
# its own and of folders below it, never of one above or beside it.  And the
# engines stay pure: no sockets, clocks, threads or Slurm headers.
set -u
. "$(dirname "$0")/tap.sh"
cd "$top/src" || exit 99

# folder: what it may include beside itself
declare -A below=(
    [base]=""
    [slurmabi]="base"
    [elan]="base"
    [impi]="base"
    [pmi]="base"
    [net]="base"
    [health]="base"
    [libimpi]="base impi"
    [libimpi/standard]=""
    [swfab]="base net"
    [hsn]="base elan net health"
    [mapper]="base net"
    [impid]="base impi pmi"
    [conform]=""
    [hsnd]="base elan net health hsn"
    [nicd]="base health"
    [swfabd]="base net swfab"
    [mapperd]="base elan net health hsn mapper swfab"
    [switchmgrd]="base slurmabi elan net health"
    [sfabric]="base slurmabi elan impi net health hsn mapper"
    [plugins/switch_elan]="base slurmabi elan health"
    [plugins/mpi_impi]="base slurmabi impi impid"
)
engines="elan impi pmi net health swfab hsn mapper"
# The named glue files that may do I/O inside an engine folder.
glue='elan/program_|elan/libelan|pmi/pmix_host'
glue+='|hsn/nic_|hsn/libhsn|health/sender'
impure='sys/socket\.h|pthread\.h|<time\.h>|ev\.h|slurm/|poll\.h|syslog\.h'

while IFS= read -r folder; do
    if [ -z "${below[$folder]+set}" ]; then
        check "$folder has a floor" "$folder: add it to tests/layers.t"
        continue
    fi
    allowed="$folder ${below[$folder]}"
    bad=$(grep -nE '^#include "[a-z_]+/' "$folder"/*.[ch] /dev/null |
        while IFS= read -r line; do
            header=$(sed 's/.*#include "\([^"]*\)".*/\1/' <<<"$line")
            case " $allowed " in
            *" $(dirname "$header") "*) ;;
            *) echo "$line" ;;
            esac
        done)
    check "$folder includes only what stands below it" "$bad"
done < <(find . -name '*.[ch]' -printf '%h\n' | sed 's,^\./,,' | sort -u)

for folder in $engines; do
    bad=$(grep -nE "^#include <?\"?($impure)" "$folder"/*.[ch] /dev/null \
        2>/dev/null | grep -vE "^($glue)")
    check "$folder holds engines: no I/O, clock, threads, Slurm" "$bad"
done

# What some release's headers do not have; src/slurmabi decides what stands for
# it, or the plugins would not compile there.
lacking='ESLURM_INTERCONNECT_BUSY' # 25.11
bad=$(grep -rnE --include='*.[ch]' "^[^*]*[^A-Z_*]($lacking)([^A-Z_]|\$)" . |
    grep -v '^\./slurmabi/')
check "what a release of Slurm lacks is named in slurmabi only" "$bad"
finish
