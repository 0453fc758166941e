/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/mpi_impi/node_list.h"
#include "slurmabi/slurm_sym.h"

char *impi_node_list(const char *node_list)
{
    struct hostlist *nodes = slurm_hostlist_create(node_list);
    char *text = NULL, *name;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    while (f && (name = slurm_hostlist_shift(nodes))) {
        fprintf(f, "%s%s", ftell(f) > 0 ? "," : "", name);
        free(name);
    }
    slurm_hostlist_destroy(nodes);
    if (f)
        fclose(f);
    if (!text || len <= IMPI_NODE_LIST_MAX)
        return text;
    free(text);
    return strdup(strlen(node_list) <= IMPI_NODE_LIST_MAX ? node_list : "");
}
