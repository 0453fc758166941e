/* SPDX-License-Identifier: BSD-3-Clause
 *
 * same_net TRUTH FOUND: are two net files the same fabric (net/same.h)?
 * same_net --ibsim TRUTH FOUND: the truth is a file that ibsim ran, which
 * gives port 1 of an adapter the adapter's GUID plus 1.
 * same_net --write NAME PATH: a net of net/build.h as a file.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mapperd/netfile.h"
#include "net/build.h"
#include "net/same.h"

static int write_net(const char *name, const char *path)
{
    struct errbuf err = {{0}};
    struct net *net = net_build_named(name, &err);
    int rc = net ? netfile_write(path, net, &err) : -1;

    if (rc < 0)
        fprintf(stderr, "same_net: %s\n", err.text);
    net_free(net);
    return rc < 0 ? 2 : 0;
}

static struct net *by_port_guid(const struct net *net)
{
    struct net *copy = net_copy(net);

    for (uint32_t n = 0; copy && n < copy->nnodes; n++)
        if (net_is_host(copy, n))
            net_set_id(copy, n, net->nodes[n].id + 1);
    return copy;
}

int main(int argc, char **argv)
{
    struct errbuf err = {{0}};
    struct net *a, *b = NULL;
    bool ibsim = argc == 4 && strcmp(argv[1], "--ibsim") == 0;
    int rc = 2;

    if (argc == 4 && strcmp(argv[1], "--write") == 0)
        return write_net(argv[2], argv[3]);
    if (ibsim)
        argv++;
    else if (argc != 3)
        return 2;
    a = netfile_read(argv[1], &err);
    if (a && ibsim) {
        struct net *ports = by_port_guid(a);

        net_free(a);
        a = ports;
    }
    if (a)
        b = netfile_read(argv[2], &err);
    if (a && b)
        rc = net_same(a, b, &err) ? 0 : 1;
    if (rc)
        fprintf(stderr, "same_net: %s\n", err.text);
    net_free(a);
    net_free(b);
    return rc;
}
