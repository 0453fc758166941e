/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/netaddr.h"
#include "base/number.h"
#include "impid/names.h"
#include "impid/user_env.h"

/* A launch that is one client of a job with others. */
static int check_join(struct errbuf *err)
{
    const char *join = getenv(ENV_JOIN), *client = getenv(ENV_CLIENT);
    struct netaddr at;
    uint32_t n;

    if (!join)
        return 0;
    if (netaddr_parse(&at, join) < 0)
        return errprintf(err, "%s=%s: expected ADDRESS:PORT or [IPV6]:PORT",
                         ENV_JOIN, join);
    if (number_parse(&n, client, 0, SF_IMPI_CLIENTS_MAX - 1) < 0)
        return errprintf(err, "%s wants %s, 0 to %u", ENV_JOIN, ENV_CLIENT,
                         SF_IMPI_CLIENTS_MAX - 1);
    return 0;
}

static int check_direct(struct errbuf *err)
{
    const char *text = getenv(ENV_DIRECT);

    if (!text || strspn(text, "0123456789") == strlen(text))
        return 0;
    return errprintf(err, "%s=%s: expected a number", ENV_DIRECT, text);
}

int user_env_check(struct errbuf *err)
{
    const char *clients = getenv(ENV_CLIENTS);

    if (check_join(err) < 0 || check_direct(err) < 0)
        return -1;
    if (!clients || !clients[0] || strcmp(clients, "node") == 0 ||
        strcmp(clients, "library") == 0)
        return 0;
    return errprintf(err, "%s=%s: must be 'node' or 'library'", ENV_CLIENTS,
                     clients);
}

static const struct {
    const char *name, *one, *other;
} switches[] = {
    {"SLURM_IMPI_THREAD", "multiple", "no"},
    {"SLURM_IMPI_DATA", "external32", NULL},
    {"SLURM_IMPI_FLAT", "yes", "no"},
    {ENV_REORDER, "1", "0"},
    {"IMPI_SHM", "0", "1"},
    {"SLURM_IMPI_WINDOWS", "messages", "shared"},
    {"IMPI_STATS", "1", "0"},
    {"IMPI_TRACE", "1", "0"},
};
#define NSWITCHES (sizeof(switches) / sizeof(switches[0]))

static bool is_ignored(size_t i, struct errbuf *text)
{
    const char *value = getenv(switches[i].name);
    const char *one = switches[i].one, *other = switches[i].other;

    if (!value || !value[0] || strcmp(value, one) == 0 ||
        (other && strcmp(value, other) == 0))
        return false;
    errprintf(text, "SF-E305: %s=%.100s is ignored: '%s'%s%s%s known",
              switches[i].name, value, one, other ? " and '" : "",
              other ? other : "", other ? "' are" : " is");
    return true;
}

static bool cannot_log(struct errbuf *text)
{
    const char *dir = getenv(ENV_LOG);

    if (!dir || !dir[0] || access(dir, W_OK | X_OK) == 0)
        return false;
    errprintf(text, "SF-E305: no log of impi-server: %s=%.200s: %s", ENV_LOG,
              dir, strerror(errno));
    return true;
}

int user_env_ignored(size_t *at, struct errbuf *text)
{
    while (*at < NSWITCHES)
        if (is_ignored((*at)++, text))
            return 1;
    return (*at)++ == NSWITCHES && cannot_log(text);
}
