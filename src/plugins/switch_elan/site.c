/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/file.h"
#include "plugins/switch_elan/site.h"
#include "slurmabi/slurm_sym.h"

static void report(const char *text, void *arg)
{
    int *n = arg;

    if ((*n)++ < 20)
        slurm_error("SF-E102 switch/elan: %s", text);
}

/* What is no file is refused and not waited for: slurmctld's locks are held. */
static struct elanhosts *read_hosts(const char *path, struct errbuf *err)
{
    struct elanhosts *hosts;
    size_t len;
    char *text = file_read(path, SF_ELAN_HOSTS_SIZE_MAX, 0, &len, err);
    int errors = 0;

    if (!text)
        return errno == ENOENT ? elanhosts_natural() : NULL;
    hosts = elanhosts_parse(path, text, len, report, &errors);
    free(text);
    if (!hosts)
        errprintf(err, "%s: %d errors", path, errors);
    return hosts;
}

int site_read(struct site *site, struct errbuf *err)
{
    *site = (struct site){.hosts = NULL};
    if (elan_site_parse(&site->options, slurm_conf.switch_param, err) < 0)
        return -1;
    errprintf(err, "out of memory");
    site->hosts = read_hosts(site->options.elanhosts, err);
    return site->hosts ? 0 : -1;
}

void site_free(struct site *site)
{
    if (site->hosts)
        elanhosts_destroy(site->hosts);
    site->hosts = NULL;
}
