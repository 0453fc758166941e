/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How programs whose worlds meet by a port do so: the accepting one publishes a
 * name, the other one looks it up; or the name is "-", and the port's own name
 * is printed, which the other one is given.
 */
#ifndef TESTS_MPI_PORTS_H
#define TESTS_MPI_PORTS_H

#include <unistd.h>

#include "check.h"
#include "descriptors.h"

static int accepts;
static int is_deaf; /* this process has no descriptor left while it meets */

static int class_of(int rc)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(rc, &class);
    return class;
}

static void look_up(const char *name, char *port)
{
    MPI_Errhandler before;

    if (strncmp(name, "impi1/", 6) == 0) {
        snprintf(port, MPI_MAX_PORT_NAME, "%s", name);
        return;
    }
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (MPI_Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS)
        usleep(10000);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
}

static void tell(const char *name, const char *port)
{
    if (strcmp(name, "-") != 0) {
        MPI_Publish_name(name, MPI_INFO_NULL, port);
        return;
    }
    printf("port %s\n", port);
    fflush(stdout);
}

static int meet_as(const char *name, MPI_Comm local, int root, MPI_Comm *inter)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int own, rc;

    MPI_Comm_rank(local, &own);
    if (accepts && own == root) {
        MPI_Open_port(MPI_INFO_NULL, port);
        tell(name, port);
    } else if (own == root) {
        look_up(name, port);
    }
    if (is_deaf)
        take_descriptors();
    if (accepts)
        rc = MPI_Comm_accept(port, MPI_INFO_NULL, root, local, inter);
    else
        rc = MPI_Comm_connect(port, MPI_INFO_NULL, root, local, inter);
    if (is_deaf)
        give_descriptors_back();
    if (accepts && own == root) {
        if (strcmp(name, "-") != 0)
            MPI_Unpublish_name(name, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    return rc;
}

static MPI_Comm meet(const char *name, MPI_Comm local, int root)
{
    MPI_Comm inter;

    CHECK(meet_as(name, local, root, &inter) == MPI_SUCCESS);
    return inter;
}

#endif
