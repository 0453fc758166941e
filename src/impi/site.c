/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/site.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/conf.h"
#include "base/limits.h"

#define TEXT(key, member) CONF_KEY_STRING(impi_site, key, member)
#define FLAG(key, member) CONF_KEY_BOOL(impi_site, key, member)
#define NUMBER(key, member, lo, hi) CONF_KEY_INT(impi_site, key, member, lo, hi)

static const struct conf_key keys[] = {
    TEXT("PortRange", port_range),
    TEXT("Network", network),
    TEXT("Advertise", advertise),
    TEXT("Fabric", fabric),
    TEXT("PortUsers", port_users),
    NUMBER("DirectMax", direct_max, 0, SF_IMPI_PROCS_MAX),
    NUMBER("FanOut", fanout, 2, SF_AGENTS_MAX),
    FLAG("Debug", debug),
    FLAG("SharedMemory", shared_memory),
};
#define NKEYS (sizeof(keys) / sizeof(keys[0]))

struct first {
    struct errbuf *err;
    bool seen;
};

static void keep_first(const char *text, void *arg)
{
    struct first *first = arg;

    if (!first->seen)
        errprintf(first->err, "%s", text);
    first->seen = true;
}

static bool port(const char *text, const char *end, uint16_t *out)
{
    unsigned v = 0;

    if (text == end || end - text > 5)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        v = v * 10 + (unsigned)(*text - '0');
    }
    *out = (uint16_t)v;
    return v > 0 && v <= UINT16_MAX;
}

int impi_port_range_parse(uint16_t *lo, uint16_t *hi, const char *text,
                          struct errbuf *err)
{
    const char *dash = strchr(text, '-');

    if (dash && port(text, dash, lo) &&
        port(dash + 1, dash + strlen(dash), hi) && *lo <= *hi)
        return 0;
    *lo = *hi = 0;
    errno = EINVAL;
    return errprintf(err, "'%s' is not a range of ports like 4000-4100", text);
}

int impi_site_read(struct impi_site *site, const char *path, struct errbuf *err)
{
    struct first first = {err, false};
    struct errbuf why;

    memset(site, 0, sizeof(*site));
    site->direct_max = -1;
    site->fanout = SF_AGENT_FANOUT;
    site->shared_memory = true;
    if (conf_read(path, false, keys, NKEYS, site, keep_first, &first) < 0)
        goto error;
    if (site->port_range &&
        impi_port_range_parse(&site->port_lo, &site->port_hi, site->port_range,
                              &why) < 0) {
        errprintf(err, "PortRange: %s", why.text);
        conf_locate(err, path);
        goto error;
    }
    if (site->fabric && strlen(site->fabric) >= SF_FABRIC_ORDER_MAX) {
        errprintf(err, "Fabric: more than %d bytes", SF_FABRIC_ORDER_MAX - 1);
        errno = EINVAL;
        goto error;
    }
    site->any_user = site->port_users && strcmp(site->port_users, "any") == 0;
    if (site->port_users && !site->any_user &&
        strcmp(site->port_users, "same") != 0) {
        errprintf(err, "PortUsers: '%s' is neither same nor any",
                  site->port_users);
        conf_locate(err, path);
        errno = EINVAL;
        goto error;
    }
    return 0;
error:
    impi_site_free(site);
    return -1;
}

void impi_site_free(struct impi_site *site)
{
    int saved = errno;

    conf_free(keys, NKEYS, site);
    memset(site, 0, sizeof(*site));
    errno = saved;
}
