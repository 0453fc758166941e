/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include <slurm/slurm_version.h>

#include "slurmabi/layout.h"

static const struct slurmabi_layout layouts[] = {
#include "slurmabi/layouts.inc"
};

const struct slurmabi_layout *slurmabi_layout_find(uint32_t version)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (version >= layouts[i].first && version <= layouts[i].last)
            return &layouts[i];
    return NULL;
}

const struct slurmabi_layout *slurmabi_layout(void)
{
    return sizeof(void *) == 8 ? slurmabi_layout_find(SLURM_VERSION_NUMBER)
                               : NULL;
}
