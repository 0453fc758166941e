/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/switch_elan/site.h"
#include "slurmabi/slurm_sym.h"

static void report(const char *text, void *arg)
{
    int *n = arg;

    if ((*n)++ < 20)
        slurm_error("SF-E102 switch/elan: %s", text);
}

/* The file's bytes; NULL with errno.  What is no file is refused and not
 * waited for: slurmctld's locks are held.  One byte more than allowed is read,
 * so that the parser sees a file that is too long. */
static char *read_file(const char *path, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    size_t max = (size_t)SF_ELAN_HOSTS_SIZE_MAX + 1, want;
    struct stat st;
    char *buf = NULL;
    ssize_t n;

    *len = 0;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        want = (size_t)st.st_size < max ? (size_t)st.st_size : max;
        buf = malloc(want + 1);
        while (buf && *len < want &&
               (n = read(fd, buf + *len, want - *len)) > 0)
            *len += (size_t)n;
    } else {
        errno = EINVAL;
    }
    close(fd);
    return buf;
}

static struct elanhosts *read_hosts(const char *path, struct errbuf *err)
{
    struct elanhosts *hosts;
    size_t len;
    char *text = read_file(path, &len);
    int errors = 0;

    if (!text && errno == ENOENT)
        return elanhosts_natural();
    if (!text) {
        errprintf(err, "%s: %s", path, strerror(errno));
        return NULL;
    }
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
