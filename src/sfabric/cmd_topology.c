/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric topology [--conf] [--plane N] [--domains FILE] [FILE]: Slurm's
 * topology.yaml (with --conf topology.conf) of a net file or of mapperd's map,
 * on standard output.  What breaks Slurm's own rules is not printed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "net/format.h"
#include "net/topo.h"
#include "net/topo_domains.h"
#include "sfabric/netsource.h"

struct wishes {
    bool conf;
    uint32_t plane;
    const char *file, *domains;
};

static void tell(void *arg, bool fatal, unsigned line, const char *text)
{
    fprintf(stderr, "sfabric: line %u of what was made: %s\n", line, text);
}

static int put(const struct net *net, const struct wishes *w,
               const struct net_domains *domains)
{
    struct net_topo *topo = net_topo_new(net, w->plane);
    struct bytebuf out;
    int rc = SFABRIC_OK;

    bytebuf_init(&out, SF_TOPOLOGY_SIZE_MAX);
    if (topo && w->conf)
        net_topo_write_conf(topo, &out);
    else if (topo)
        net_topo_write_yaml(topo, domains, &out);
    if (!topo || out.bad)
        rc = sfabric_fail("out of memory");
    else if (!topo->nhosts)
        rc = sfabric_fail("plane %u has no host with a cable", w->plane);
    else if ((w->conf ? net_topo_check : net_topo_check_yaml)(
                 (const char *)bytebuf_data(&out), bytebuf_len(&out), tell,
                 NULL, NULL) < 0)
        rc = sfabric_fail("slurmctld would not start with it");
    else if (fwrite(bytebuf_data(&out), 1, bytebuf_len(&out), stdout) !=
             bytebuf_len(&out))
        rc = sfabric_fail("standard output: %m");
    bytebuf_free(&out);
    net_topo_free(topo);
    return rc;
}

enum { OPT_CONF = 0x1000, OPT_PLANE, OPT_DOMAINS };

static const struct option options[] = {
    {"conf", no_argument, NULL, OPT_CONF},
    {"plane", required_argument, NULL, OPT_PLANE},
    {"domains", required_argument, NULL, OPT_DOMAINS},
    {0},
};

static bool take(int val, const char *value, void *wishes)
{
    struct wishes *w = wishes;

    if (val == OPT_CONF)
        w->conf = true;
    else if (val == OPT_DOMAINS)
        w->domains = value;
    else
        return number_parse(&w->plane, value, 0, 999) == 0;
    return true;
}

/* NULL, told: it cannot be used. */
static struct net_domains *read_domains(const char *path)
{
    struct net_domains *d = NULL;
    struct errbuf err;
    size_t len;
    char *text = file_read(path, SF_DOMAINS_SIZE_MAX, 0, &len, &err);

    if (text)
        d = net_domains_parse(path, text, len, &err);
    if (!d)
        sfabric_fail("%s", err.text);
    free(text);
    return d;
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct wishes w = {0};
    struct net_domains *domains = NULL;
    struct net *net, *named;
    int rc;

    if (sfabric_parse(&cmd_topology, argc, argv, o, &w) < 0)
        return SFABRIC_UNKNOWN;
    if (w.conf && w.domains) /* topology.conf has no blocks */
        return sfabric_usage(&cmd_topology);
    w.file = argv[1];
    if (w.domains && !(domains = read_domains(w.domains)))
        return SFABRIC_UNKNOWN;
    net = sfabric_net(o, w.file);
    if (!net) {
        net_domains_free(domains);
        return SFABRIC_UNKNOWN;
    }
    named = net_copy_named(net);
    rc = named ? put(named, &w, domains) : sfabric_fail("out of memory");
    net_free(named);
    net_free(net);
    net_domains_free(domains);
    return rc;
}

const struct sfabric_cmd cmd_topology = {
    .name = "topology",
    .args = "[--conf] [--plane N] [--domains FILE] [FILE]",
    .help = "Slurm's topology.yaml of the fabric or of a net file",
    .options = options,
    .take = take,
    .most = 1,
    .run = run,
};
