/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "net/format.h"
#include "net/topo.h"
#include "net/topo_domains.h"
#include "switchmgrd/topology.h"

/* Hosts get Slurm's names; those that Slurm does not have lose their cable,
 * so that the tree is made without them. */
static int name_hosts(struct net *net, const struct topology_ops *ops,
                      struct errbuf *err)
{
    for (uint32_t i = 0; i < net->nnodes; i++) {
        const char *name;

        if (!net_is_host(net, i))
            continue;
        name =
            net->nodes[i].id ? ops->resolve(net->nodes[i].id, ops->arg) : NULL;
        if (name && !net_set_name(net, i, name))
            return errprintf(err, "out of memory");
        if (net_peer_node(net, i, 0) != NET_NONE &&
            !ops->host(net->nodes[i].name, ops->arg))
            net_disconnect_all(net, i);
    }
    return 0;
}

bool topology_is_yaml(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && strcmp(dot, ".yaml") == 0;
}

/* -1 with text: it cannot be used. */
static int write_yaml(const struct net_topo *topo, const char *path,
                      struct bytebuf *out, struct errbuf *err)
{
    struct net_domains *domains = NULL;
    size_t len;
    char *text = NULL;

    if (path && *path) {
        text = file_read(path, SF_DOMAINS_SIZE_MAX, 0, &len, err);
        domains = text ? net_domains_parse(path, text, len, err) : NULL;
        free(text);
        if (!domains)
            return -1;
    }
    net_topo_write_yaml(topo, domains, out);
    net_domains_free(domains);
    return 0;
}

int topology_text(const char *name, const char *text, size_t len, bool yaml,
                  const char *domains, const struct topology_ops *ops,
                  struct bytebuf *out, struct errbuf *err)
{
    struct net *net = net_parse(name, text, len, err);
    struct net_topo *topo = NULL;
    int rc = -1;

    if (net && name_hosts(net, ops, err) == 0) {
        topo = net_topo_new(net, 0);
        if (!topo)
            errprintf(err, "out of memory");
    }
    if (topo) {
        rc = yaml ? write_yaml(topo, domains, out, err) : 0;
        if (!yaml)
            net_topo_write_conf(topo, out);
        if (out->bad)
            rc = errprintf(err, "the topology file gets too long");
    }
    net_topo_free(topo);
    net_free(net);
    return rc;
}

static void note_fatal(void *arg, bool fatal, unsigned line, const char *text)
{
    struct errbuf *err = arg;

    if (fatal && !err->text[0])
        errprintf(err, "line %u of the new file: %s", line, text);
}

int topology_install(const char *candidate, const char *path,
                     struct errbuf *err)
{
    size_t len, old_len;
    char *text =
        file_read(candidate, SF_TOPOLOGY_SIZE_MAX, FILE_NO_LINK, &len, err);
    char *old;
    int rc = 0;

    if (!text && errno != ENOENT) /* none yet */
        return -1;
    err->text[0] = '\0';
    if (!text)
        return 0;
    old = file_read(path, SF_TOPOLOGY_SIZE_MAX, 0, &old_len, NULL);
    if (old && old_len == len && memcmp(old, text, len) == 0)
        rc = 0;
    else if ((topology_is_yaml(path) ? net_topo_check_yaml : net_topo_check)(
                 text, len, note_fatal, NULL, err) < 0)
        rc = -1;
    else
        rc =
            file_replace(path, text, len, 0644, FILE_DURABLE, err) < 0 ? -1 : 1;
    free(old);
    free(text);
    return rc;
}
