/* SPDX-License-Identifier: BSD-3-Clause
 * hsn.conf.
 */
#include <ctype.h>
#include <string.h>

#include "base/conf.h"
#include "hsnd/hsnd.h"

#define TEXT(key, member) CONF_KEY_STRING(hsnd_conf, key, member)
#define FLAG(key, member) CONF_KEY_BOOL(hsnd_conf, key, member)
#define NUMBER(key, member, lo, hi) CONF_KEY_INT(hsnd_conf, key, member, lo, hi)

static const struct conf_key keys[] = {
    TEXT("NodeName", node),
    NUMBER("Rail", rail, 0, SF_ELAN_RAILS_MAX - 1),
    TEXT("Board", board),
    TEXT("ElanHosts", elanhosts),
    TEXT("Socket", socket),
    TEXT("ControlSocket", control),
    TEXT("ControlGroup", control_group),
    TEXT("RawGroup", raw_group),
    TEXT("DatagramGroup", dgram_group),
    TEXT("Nic", nic),
    TEXT("Fabric", fabric),
    TEXT("Link", link),
    TEXT("Interface", interface),
    TEXT("PeerMac", peer_mac),
    FLAG("TrustedSegment", trusted),
    TEXT("ServiceUser", service_user),
    TEXT("MungeSocket", munge),
    TEXT("Routes", routes),
    NUMBER("PageSize", page_size, 4096, 8192),
    NUMBER("FragmentTimeout", fragment_ms, 1, 60000),
    NUMBER("SendTimeout", send_ms, 1, 60000),
    NUMBER("Batch", batch, 1, 1024),
    NUMBER("RingSize", ring_kb, SF_HSN_RING_MIN / 1024, SF_HSN_RING_MAX / 1024),
    NUMBER("SpinTime", spin_us, 0, 1000000),
    NUMBER("EchoInterval", echo_s, 0, 3600),
    TEXT("Health", health),
    NUMBER("HealthInterval", health_s, 1, 3600),
    TEXT("LogLevel", log_level),
    FLAG("Syslog", syslog),
};
#define NKEYS (sizeof(keys) / sizeof(keys[0]))

void hsnd_conf_default(struct hsnd_conf *c)
{
    *c = (struct hsnd_conf){
        .page_size = 8192,
        .fragment_ms = 1000,
        .send_ms = 1000,
        .batch = 32,
        .ring_kb = 256,
        .spin_us = LOOK_MOST_NS / 1000,
        .echo_s = 5,
        .health_s = 5,
    };
}

/* Words are compared without case here, and as they stand later. */
static void lower(char *word)
{
    for (; word && *word; word++)
        *word = (char)tolower((unsigned char)*word);
}

/* What the keys mean together. */
static void check(struct hsnd_conf *c, struct conf_check *e)
{
    static const char *const nics[] = {"none", "ring",     "seqpacket",
                                       "udp",  "ethernet", NULL};
    static const char *const levels[] = {"error", "warn", "info", "debug",
                                         NULL};
    const char *nic = c->nic ? c->nic : "none";

    lower(c->nic);
    lower(c->log_level);
    conf_one_of(e, "Nic", nic, nics,
                "not none, ring, seqpacket, udp or ethernet");
    conf_one_of(e, "LogLevel", c->log_level, levels,
                "not error, warn, info or debug");
    if (c->page_size != 4096 && c->page_size != 8192)
        conf_wrong(e, "PageSize", "not 4096 or 8192");
    if (c->ring_kb & (c->ring_kb - 1))
        conf_wrong(e, "RingSize", "not a power of two");
    if (strcmp(nic, "ethernet") == 0 && !c->trusted)
        conf_wrong(e, "Nic", "ethernet needs TrustedSegment=yes");
    if (strcmp(nic, "ethernet") == 0 && !c->interface)
        conf_wrong(e, "Nic", "ethernet needs Interface");
    if (strcmp(nic, "none") != 0 && strcmp(nic, "ethernet") != 0 && !c->fabric)
        conf_wrong(e, "Fabric", "is missing");
    if (c->echo_s == 0 && c->health)
        conf_wrong(e, "EchoInterval", "Health reports need echoes: 1 or more");
}

int hsnd_conf_read(struct hsnd_conf *c, const char *path, bool must,
                   conf_error_f *report, void *arg)
{
    struct conf_check e = {path, report, arg, 0};

    if (conf_read(path, must, keys, NKEYS, c, report, arg) < 0)
        return -1;
    check(c, &e);
    return e.errors ? -1 : 0;
}

void hsnd_conf_free(struct hsnd_conf *c)
{
    conf_free(keys, NKEYS, c);
}
