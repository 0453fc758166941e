/* SPDX-License-Identifier: BSD-3-Clause
 *
 * topo_conf write NET: topology.conf of a net by name (net/build.h).
 * topo_conf check FILE: exit status 0 if Slurm would start with it, else 1,
 * and why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/build.h"
#include "net/topo.h"

static int write_conf(const char *name)
{
    struct errbuf err = {"out of memory"};
    struct net *net = net_build_named(name, &err);
    struct net_topo *topo = net ? net_topo_new(net, 0) : NULL;
    struct bytebuf out;
    int bad;

    if (!topo) {
        fprintf(stderr, "%s: %s\n", name, err.text);
        return 1;
    }
    bytebuf_init(&out, SF_NET_FILE_MAX);
    net_topo_write_conf(topo, &out);
    bad = out.bad;
    fwrite(bytebuf_data(&out), 1, bytebuf_len(&out), stdout);
    bytebuf_free(&out);
    net_topo_free(topo);
    net_free(net);
    return bad;
}

static void say(void *arg, bool fatal, unsigned line, const char *text)
{
    printf("%s: line %u: %s\n", fatal ? "fatal" : "logged", line, text);
}

static int check_conf(const char *path)
{
    char *text = malloc(SF_NET_FILE_MAX);
    FILE *f = fopen(path, "r");
    size_t n = f && text ? fread(text, 1, SF_NET_FILE_MAX, f) : 0;
    int rc = f && net_topo_check(text, n, say, NULL, NULL) == 0 ? 0 : 1;

    if (f)
        fclose(f);
    free(text);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_conf(argv[2]);
    if (argc == 3 && strcmp(argv[1], "check") == 0)
        return check_conf(argv[2]);
    fprintf(stderr, "usage: topo_conf write NET | check FILE\n");
    return 2;
}
