# SPDX-License-Identifier: BSD-3-Clause
# awk -v version="22 5 8" -f slurm-measured.awk layouts.inc
# EXIT STATUS: 0 a row of src/slurmabi/layouts.inc is of that release, 1 none.
BEGIN { split(version, v, " ") }
/\.(first|last) = SLURM_VERSION_NUM/ {
    split($0, n, /[(,)]/)
    same = n[2] + 0 == v[1] + 0 && n[3] + 0 == v[2] + 0
    if (/first/)
        begun = same && n[4] + 0 <= v[3] + 0
    else if (begun && same && v[3] + 0 <= n[4] + 0)
        found = 1
}
END { exit !found }
