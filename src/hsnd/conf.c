/* SPDX-License-Identifier: BSD-3-Clause
 * hsn.conf.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf.h"
#include "hsnd/hsnd.h"

#define AT(member) offsetof(struct hsnd_conf, member)

static const struct conf_key keys[] = {
    {"NodeName", CONF_STRING, AT(node), 0, 0},
    {"Rail", CONF_INT, AT(rail), 0, SF_ELAN_RAILS_MAX - 1},
    {"Board", CONF_STRING, AT(board), 0, 0},
    {"ElanHosts", CONF_STRING, AT(elanhosts), 0, 0},
    {"Socket", CONF_STRING, AT(socket), 0, 0},
    {"ControlSocket", CONF_STRING, AT(control), 0, 0},
    {"ControlGroup", CONF_STRING, AT(control_group), 0, 0},
    {"RawGroup", CONF_STRING, AT(raw_group), 0, 0},
    {"DatagramGroup", CONF_STRING, AT(dgram_group), 0, 0},
    {"Nic", CONF_STRING, AT(nic), 0, 0},
    {"Fabric", CONF_STRING, AT(fabric), 0, 0},
    {"Link", CONF_STRING, AT(link), 0, 0},
    {"Interface", CONF_STRING, AT(interface), 0, 0},
    {"PeerMac", CONF_STRING, AT(peer_mac), 0, 0},
    {"TrustedSegment", CONF_BOOL, AT(trusted), 0, 0},
    {"ServiceUser", CONF_STRING, AT(service_user), 0, 0},
    {"MungeSocket", CONF_STRING, AT(munge), 0, 0},
    {"Routes", CONF_STRING, AT(routes), 0, 0},
    {"PageSize", CONF_INT, AT(page_size), 4096, 8192},
    {"FragmentTimeout", CONF_INT, AT(fragment_ms), 1, 60000},
    {"SendTimeout", CONF_INT, AT(send_ms), 1, 60000},
    {"Batch", CONF_INT, AT(batch), 1, 1024},
    {"RingSize", CONF_INT, AT(ring_kb), SF_HSN_RING_MIN / 1024,
     SF_HSN_RING_MAX / 1024},
    {"SpinTime", CONF_INT, AT(spin_us), 0, 1000000},
    {"EchoInterval", CONF_INT, AT(echo_s), 0, 3600},
    {"Health", CONF_STRING, AT(health), 0, 0},
    {"HealthInterval", CONF_INT, AT(health_s), 1, 3600},
    {"LogLevel", CONF_STRING, AT(log_level), 0, 0},
    {"Syslog", CONF_BOOL, AT(syslog), 0, 0},
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

struct errors {
    conf_error_f *report;
    void *arg;
    const char *path;
    int n;
};

static void wrong(struct errors *e, const char *key, const char *what)
{
    struct errbuf text;

    errprintf(&text, "%s: %s: %s", e->path, key, what);
    e->report(text.text, e->arg);
    e->n++;
}

static bool one_of(const char *value, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(value, *words) == 0)
            return true;
    return false;
}

/* What the keys mean together. */
static void check(const struct hsnd_conf *c, struct errors *e)
{
    static const char *const nics[] = {"none", "ring",     "seqpacket",
                                       "udp",  "ethernet", NULL};
    static const char *const levels[] = {"error", "warn", "info", "debug",
                                         NULL};
    const char *nic = c->nic ? c->nic : "none";

    if (!one_of(nic, nics))
        wrong(e, "Nic", "not none, ring, seqpacket, udp or ethernet");
    if (c->log_level && !one_of(c->log_level, levels))
        wrong(e, "LogLevel", "not error, warn, info or debug");
    if (c->page_size != 4096 && c->page_size != 8192)
        wrong(e, "PageSize", "not 4096 or 8192");
    if (c->ring_kb & (c->ring_kb - 1))
        wrong(e, "RingSize", "not a power of two");
    if (strcmp(nic, "ethernet") == 0 && !c->trusted)
        wrong(e, "Nic", "ethernet needs TrustedSegment=yes");
    if (strcmp(nic, "ethernet") == 0 && !c->interface)
        wrong(e, "Nic", "ethernet needs Interface");
    if (strcmp(nic, "none") != 0 && strcmp(nic, "ethernet") != 0 && !c->fabric)
        wrong(e, "Fabric", "is missing");
    if (c->echo_s == 0 && c->health)
        wrong(e, "EchoInterval", "Health reports need echoes: 1 or more");
}

int hsnd_conf_read(struct hsnd_conf *c, const char *path, bool must,
                   conf_error_f *report, void *arg)
{
    struct errors e = {report, arg, path, 0};

    if (conf_read(path, keys, NKEYS, c, report, arg) < 0 && must)
        return -1;
    check(c, &e);
    return e.n ? -1 : 0;
}

void hsnd_conf_free(struct hsnd_conf *c)
{
    conf_free(keys, NKEYS, c);
}
