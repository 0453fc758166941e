/* SPDX-License-Identifier: BSD-3-Clause
 * nicd.conf, and the file of rules that it names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/sitedir.h"
#include "nicd/nicd.h"

#define TEXT(key, member) CONF_KEY_STRING(nicd_conf, key, member)
#define FLAG(key, member) CONF_KEY_BOOL(nicd_conf, key, member)
#define NUMBER(key, member, lo, hi) CONF_KEY_INT(nicd_conf, key, member, lo, hi)
#define DAY 86400L

static const struct conf_key keys[] = {
    TEXT("NodeName", node),
    TEXT("Health", health),
    TEXT("MungeSocket", munge),
    TEXT("Root", root),
    TEXT("Watch", watch),
    TEXT("Ignore", ignore),
    TEXT("Behind", behind),
    TEXT("Rules", rules),
    TEXT("VerbsEvents", verbs_events),
    NUMBER("Rail", rail, 0, SF_ELAN_RAILS_MAX - 1),
    NUMBER("HealthInterval", health_interval, 1, 60),
    NUMBER("LookInterval", look_interval, 1, 3600),
    NUMBER("LinkWait", link_wait, 0, DAY),
    NUMBER("VanishAfter", vanish_after, 0, DAY),
    TEXT("LogLevel", log_level),
    FLAG("Syslog", syslog),
};
#define NKEYS (sizeof(keys) / sizeof(keys[0]))

/* Rules of the site over our own; the default's file need not be there. */
static void read_rules(struct nicd_conf *c, struct conf_check *k)
{
    const char *path = c->rules ? c->rules : SITEDIR_CONF("nic.rules");
    struct errbuf err;
    size_t len;
    char *text = file_read(path, SF_PORT_RULES_MAX, 0, &len, &err);

    if (!text && errno == ENOENT && !c->rules)
        return;
    if (!text || nic_rules_parse(&c->judge, path, text, len, &err) < 0) {
        k->errors++;
        k->report(err.text, k->arg);
    }
    free(text);
}

static void check(struct nicd_conf *c, struct conf_check *k)
{
    static const char *const levels[] = {"error", "warn", "info", "debug",
                                         NULL};

    conf_one_of(k, "LogLevel", c->log_level, levels,
                "not error, warn, info or debug");
    if (!c->health || !*c->health)
        conf_wrong(k, "Health", "missing: where does switchmgrd run?");
    if (c->root && *c->root != '/')
        conf_wrong(k, "Root", "not an absolute path");
    nic_rules_default(&c->judge);
    c->judge.link_wait_ms = c->link_wait * 1000;
    c->judge.vanish_ms = c->vanish_after * 1000;
    read_rules(c, k);
}

int nicd_conf_read(struct nicd_conf *c, const char *path, bool must,
                   conf_error_f *report, void *arg)
{
    struct conf_check k = {path, report, arg, 0};

    *c = (struct nicd_conf){.health_interval = 5,
                            .look_interval = 1,
                            .link_wait = 60,
                            .vanish_after = 30};
    if (conf_read(path, must, keys, NKEYS, c, report, arg) == 0)
        check(c, &k);
    else
        k.errors++;
    if (k.errors == 0)
        return 0;
    nicd_conf_free(c);
    errno = EINVAL;
    return -1;
}

void nicd_conf_free(struct nicd_conf *c)
{
    conf_free(keys, NKEYS, c);
}
