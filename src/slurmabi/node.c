/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "slurmabi/node.h"
#include "slurmabi/stepd.h"

int slurmabi_own_extra(char *buf, size_t size)
{
    const char *name = slurmabi_node_name();
    node_info_msg_t *msg = NULL;
    int rc = -1;

    *buf = '\0';
    /* It takes a char *, and changes nothing. */
    if (!name || slurm_load_node_single(&msg, (char *)(uintptr_t)name,
                                        SHOW_ALL) != SLURM_SUCCESS)
        return -1;
    if (msg->record_count == 1 && msg->node_array[0].name &&
        strcmp(msg->node_array[0].name, name) == 0) {
        snprintf(buf, size, "%s",
                 msg->node_array[0].extra ? msg->node_array[0].extra : "");
        rc = 0;
    }
    slurm_free_node_info_msg(msg);
    return rc;
}

int slurmabi_each_extra(time_t *as_of, slurmabi_extra_f *f, void *arg)
{
    node_info_msg_t *msg = NULL;

    if (slurm_load_node(*as_of, &msg, SHOW_ALL) != SLURM_SUCCESS)
        return errno == SLURM_NO_CHANGE_IN_DATA ? 1 : -1;
    for (uint32_t i = 0; i < msg->record_count; i++)
        if (msg->node_array[i].name)
            f(msg->node_array[i].name, msg->node_array[i].extra, arg);
    *as_of = msg->last_update;
    slurm_free_node_info_msg(msg);
    return 0;
}
