/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/host_names.h"
#include "base/limits.h"
#include "base/number.h"
#include "impid/impid_conf.h"

enum kind { TEXT, NUMBER, PORT, FLAG };

struct key {
    const char *name;
    enum kind kind;
    size_t offset;
    bool required;
};

#define KEY(name, kind, member, required)                                      \
    {                                                                          \
        name, kind, offsetof(struct impid_conf, member), required              \
    }

static const struct key keys[] = {
    KEY("nodes", TEXT, nodes, false),
    KEY("step", TEXT, step, true),
    KEY("dir", TEXT, dir, true),
    KEY("munge", TEXT, munge, false),
    KEY("pmix_module", TEXT, pmix_module, true),
    KEY("conf", TEXT, conf, true),
    KEY("auth_key", TEXT, auth_key, false),
    KEY("auth_none", TEXT, auth_none, false),
    KEY("reorder", TEXT, reorder, false),
    KEY("coll_xsize", TEXT, coll_xsize, false),
    KEY("coll_maxlinear", TEXT, coll_maxlinear, false),
    KEY("clients", TEXT, clients, false),
    KEY("direct", TEXT, direct, false),
    KEY("ifname", TEXT, ifname, false),
    KEY("log", TEXT, log, false),
    KEY("client", NUMBER, client, false),
    KEY("component", NUMBER, component, true),
    KEY("offset", NUMBER, offset, true),
    KEY("ntasks", NUMBER, ntasks, true),
    KEY("nodeid", NUMBER, nodeid, true),
    KEY("watch", FLAG, watch, false),
};
#define NKEYS (sizeof(keys) / sizeof(keys[0]))

static int bad(struct errbuf *err, const char *key, const char *value)
{
    errno = EINVAL;
    return errprintf(err, "bad value of %s: '%s'", key, value);
}

static int set_number(void *dst, enum kind kind, const char *name,
                      const char *value, struct errbuf *err)
{
    uint32_t v;

    if (number_parse(&v, value, 0, kind == PORT ? UINT16_MAX : UINT32_MAX) < 0)
        return bad(err, name, value);
    if (kind == PORT)
        *(uint16_t *)dst = (uint16_t)v;
    else if (kind == FLAG)
        *(bool *)dst = v != 0;
    else
        *(uint32_t *)dst = v;
    return 0;
}

static int set_text(char **dst, const char *value)
{
    char *copy = strdup(value);

    if (!copy)
        return -1;
    free(*dst);
    *dst = copy;
    return 0;
}

static int set_address(struct netaddr *out, const char *name, const char *value,
                       struct errbuf *err)
{
    return netaddr_parse(out, value) < 0 ? bad(err, name, value) : 0;
}

static int set_secret(struct impid_conf *conf, const char *value,
                      struct errbuf *err)
{
    if (strlen(value) != 2 * sizeof(conf->secret))
        return bad(err, "secret", "(length)");
    if (number_hex(conf->secret, sizeof(conf->secret), value) < 0)
        return bad(err, "secret", "(not hexadecimal)");
    return 0;
}

static int set_listed(struct impid_conf *conf, const struct key *key,
                      const char *value, struct errbuf *err)
{
    void *dst = (char *)conf + key->offset;

    if (key->kind == TEXT)
        return set_text(dst, value);
    return set_number(dst, key->kind, key->name, value, err);
}

static int set(struct impid_conf *conf, const char *name, const char *value,
               struct errbuf *err)
{
    if (strcmp(name, "server") == 0)
        return set_address(&conf->server, name, value, err);
    if (strcmp(name, "foreign") == 0)
        return set_address(&conf->foreign, name, value, err);
    if (strcmp(name, "secret") == 0)
        return set_secret(conf, value, err);
    if (strcmp(name, "tasks") == 0) {
        taskmap_free(&conf->map);
        return taskmap_parse(&conf->map, value, err);
    }
    for (size_t i = 0; i < NKEYS; i++)
        if (strcmp(name, keys[i].name) == 0)
            return set_listed(conf, &keys[i], value, err);
    errno = EINVAL;
    return errprintf(err, "unknown key '%s'", name);
}

static int parse_record(struct impid_conf *conf, const char *record,
                        struct errbuf *err)
{
    const char *eq = strchr(record, '=');
    char name[32];

    if (!eq || (size_t)(eq - record) >= sizeof(name)) {
        errno = EINVAL;
        return errprintf(err, "not a record: '%.40s'", record);
    }
    memcpy(name, record, (size_t)(eq - record));
    name[eq - record] = '\0';
    return set(conf, name, eq + 1, err);
}

/* Descriptors that a process needs for other things. */
#define DESCRIPTORS_OTHER 256

/* Connections to other processes that each process may have. */
static int choose_direct(struct impid_conf *conf, struct errbuf *err)
{
    struct rlimit r;

    if (conf->direct && conf->direct[0])
        return set_number(&conf->direct_max, NUMBER, "SLURM_IMPI_DIRECT",
                          conf->direct, err);
    conf->direct_max = (uint32_t)conf->site.direct_max;
    if (conf->site.direct_max >= 0)
        return 0;
    conf->direct_max = UINT32_MAX;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_max < UINT32_MAX)
        conf->direct_max = r.rlim_max > 2 * DESCRIPTORS_OTHER
                               ? (uint32_t)r.rlim_max - DESCRIPTORS_OTHER
                               : (uint32_t)r.rlim_max / 2;
    return 0;
}

/* All that must be there is; then find ourselves in the map. */
static int complete(struct impid_conf *conf, struct errbuf *err)
{
    const char *dot = conf->step ? strchr(conf->step, '.') : NULL;
    int64_t node;

    for (size_t i = 0; i < NKEYS; i++) {
        char *const *text = (void *)((char *)conf + keys[i].offset);

        if (keys[i].required && keys[i].kind == TEXT && !*text)
            return bad(err, keys[i].name, "(missing)");
    }
    if (conf->server.port == 0)
        return bad(err, "server", "(missing)");
    if (conf->map.ntasks == 0)
        return bad(err, "tasks", "(missing)");
    node = taskmap_component_node(&conf->map, conf->offset, conf->ntasks,
                                  conf->nodeid);
    if (node < 0)
        return errprintf(err, "node %u of component %u is not in the task map",
                         conf->nodeid, conf->component);
    conf->node = (uint32_t)node;
    conf->job = (uint32_t)strtoul(conf->step, NULL, 10);
    conf->stepid = dot ? (uint32_t)strtoul(dot + 1, NULL, 10) : 0;
    if (conf->foreign.port != 0 && conf->client >= SF_IMPI_CLIENTS_MAX)
        return bad(err, "client", "(at most 31)");
    conf->by_node = conf->clients && strcmp(conf->clients, "node") == 0;
    if (impi_site_read(&conf->site, conf->conf, err) < 0)
        return -1;
    return choose_direct(conf, err);
}

int impid_conf_parse(struct impid_conf *conf, const char *text, size_t len,
                     struct errbuf *err)
{
    memset(conf, 0, sizeof(*conf));
    while (len > 0) {
        size_t n = strnlen(text, len);

        if (n == len) {
            errno = EINVAL;
            errprintf(err, "the last record does not end");
            goto error;
        }
        if (parse_record(conf, text, err) < 0)
            goto error;
        text += n + 1;
        len -= n + 1;
    }
    if (complete(conf, err) == 0)
        return 0;
error:
    impid_conf_free(conf);
    return -1;
}

static ssize_t read_all(int fd, char *buf, size_t size)
{
    size_t len = 0;

    while (len < size) {
        ssize_t n = read(fd, buf + len, size - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            return (ssize_t)len;
        len += (size_t)n;
    }
    errno = EFBIG;
    return -1;
}

int impid_conf_read(struct impid_conf *conf, int fd, struct errbuf *err)
{
    char *buf = malloc(SF_IMPID_CONF_MAX);
    ssize_t n = buf ? read_all(fd, buf, SF_IMPID_CONF_MAX) : -1;
    int rc;

    if (n < 0)
        rc = errprintf(err, "cannot read: %s", strerror(errno));
    else
        rc = impid_conf_parse(conf, buf, (size_t)n, err);
    if (n > 0)
        explicit_bzero(buf, (size_t)n);
    free(buf);
    return rc;
}

void impid_conf_free(struct impid_conf *conf)
{
    int saved = errno;

    for (size_t i = 0; i < NKEYS; i++)
        if (keys[i].kind == TEXT)
            free(*(char **)((char *)conf + keys[i].offset));
    taskmap_free(&conf->map);
    impi_site_free(&conf->site);
    explicit_bzero(conf, sizeof(*conf));
    errno = saved;
}

void impid_conf_node_name(const struct impid_conf *conf, uint32_t node,
                          char *buf, size_t size)
{
    if (!conf->nodes || !host_names_nth(conf->nodes, node, buf, size))
        snprintf(buf, size, "node%u", node);
}
