/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sitedir.h"
#include "elan/program_holder.h"
#include "elan/program_spare.h"
#include "plugins/switch_elan/sweep.h"
#include "slurmabi/stepd.h"

int switch_elan_rundir(char *dir, size_t size, struct errbuf *err)
{
    const char *node = slurmabi_node_name(), *path;
    struct sitedir sitedir;

    if (!node || !*node || strchr(node, '/') || node[0] == '.') {
        errno = EINVAL;
        return errprintf(err, "the name of this node is not known");
    }
    path = sitedir_run(&sitedir, node);
    if ((size_t)snprintf(dir, size, "%s", path) >= size || !*path) {
        errno = ENAMETOOLONG;
        return errprintf(err, "%s: path too long", path);
    }
    return program_make_rundir(dir, err);
}

void switch_elan_sweep(bool step)
{
    struct errbuf err;
    char dir[128];
    int n;

    if (switch_elan_rundir(dir, sizeof(dir), &err) < 0) {
        slurm_error("SF-E129 switch/elan: %s", err.text);
        return;
    }
    n = step ? program_sweep_if_any(dir) : program_sweep(dir);
    if (n > 0)
        slurm_info("switch/elan: removed %d programs that nobody held", n);
}

void switch_elan_announce(void)
{
    struct errbuf err;
    char dir[128];

    if (switch_elan_rundir(dir, sizeof(dir), &err) == 0)
        program_spare_tell(dir);
}
