/* SPDX-License-Identifier: BSD-3-Clause
 *
 * swfabd.conf: keys, defaults, what belongs together.
 */
#include <errno.h>
#include <string.h>

#include "base/conf.h"
#include "base/sitedir.h"
#include "swfabd/swfabd.h"

#define STRING(key, member) CONF_KEY_STRING(swfabd_conf, key, member)
#define FLAG(key, member) CONF_KEY_BOOL(swfabd_conf, key, member)
#define NUMBER(key, member, lo, hi)                                            \
    CONF_KEY_INT(swfabd_conf, key, member, lo, hi)

static const struct conf_key keys[] = {
    STRING("Net", net),
    STRING("Parts", parts),
    STRING("Part", part),
    STRING("Socket", socket),
    STRING("ControlSocket", control),
    STRING("ControlGroup", control_group),
    STRING("Udp", udp),
    STRING("Ethernet", ethernet),
    STRING("MungeSocket", munge),
    STRING("User", user),
    STRING("Faults", faults),
    FLAG("TrustedSegment", trusted_segment),
    NUMBER("RingSize", ring_size, SF_SWFABD_RING_MIN, SF_RING_SIZE_MAX),
    NUMBER("Seed", seed, 0, 0x7fffffff),
};

enum { NKEYS = sizeof(keys) / sizeof(keys[0]) };

void swfabd_conf_init(struct swfabd_conf *conf)
{
    memset(conf, 0, sizeof(*conf));
    conf->ring_size = 1024 * 1024;
    conf->seed = 1;
}

void swfabd_conf_free(struct swfabd_conf *conf)
{
    conf_free(keys, NKEYS, conf);
}

/* The value, or the default, on the heap; empty means: not this one. */
static int set_default(char **value, const char *fallback)
{
    if (!*value)
        *value = strdup(fallback);
    return *value ? 0 : -1;
}

/* What one key says about another: the text, or NULL. */
static const char *contradiction(const struct swfabd_conf *c)
{
    if (!c->net || !c->net[0])
        return "Net: missing";
    if (c->ethernet && c->ethernet[0] && !c->trusted_segment)
        return "Ethernet: needs TrustedSegment=yes: whoever is on that "
               "segment can disturb the fabric";
    if (!c->parts != !c->part)
        return c->parts ? "Parts: needs Part, too" : "Part: needs Parts, too";
    if (c->ring_size & (c->ring_size - 1))
        return "RingSize: not a power of two";
    return NULL;
}

int swfabd_conf_read(struct swfabd_conf *conf, const char *path,
                     conf_error_f *report, void *arg)
{
    struct errbuf err;
    const char *wrong;

    if (conf_read(path, true, keys, NKEYS, conf, report, arg) < 0)
        return -1;
    wrong = contradiction(conf);
    if (wrong) {
        errno = EINVAL;
        errprintf(&err, "%s", wrong);
        conf_locate(&err, path);
        report(err.text, arg);
        return -1;
    }
    if (set_default(&conf->socket, SITEDIR_OWN_RUN("swfabd.sock")) < 0 ||
        set_default(&conf->control, SITEDIR_OWN_RUN("swfabd.ctl")) < 0)
        return -1;
    return 0;
}
