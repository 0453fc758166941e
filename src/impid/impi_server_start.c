/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The line "start key=value ..." by which impi-server is told what to do.
 */
#include <stdlib.h>
#include <string.h>

#include "base/netaddr.h"
#include "base/number.h"
#include "impid/impi_server.h"

static int set_secret(struct server_start *s, const char *v)
{
    return number_hex(s->secret, sizeof(s->secret), v);
}

static int set_job(struct server_start *s, const char *v)
{
    return number_parse(&s->job, v, 0, UINT32_MAX);
}

static int set_step(struct server_start *s, const char *v)
{
    return number_parse(&s->step, v, 0, UINT32_MAX);
}

static int set_agents(struct server_start *s, const char *v)
{
    return number_parse(&s->agents, v, 1, SF_AGENTS_MAX);
}

static int set_tasks(struct server_start *s, const char *v)
{
    return number_parse(&s->tasks, v, 0, UINT32_MAX);
}

static int set_bind(struct server_start *s, const char *v)
{
    if (strcmp(v, "any") == 0)
        return 0;
    return netaddr_parse_ip(&s->bind, v);
}

static int set_advertise(struct server_start *s, const char *v)
{
    if (!*v)
        return 0;
    return netaddr_parse_ip(&s->advertise, v);
}

static int set_ports(struct server_start *s, const char *v)
{
    size_t len = strcspn(v, "-");
    char first[sizeof("65535")] = "";
    uint32_t lo, hi;

    if (len >= sizeof(first) || v[len] != '-')
        return -1;
    memcpy(first, v, len);
    if (number_parse(&hi, v + len + 1, 0, UINT16_MAX) < 0 ||
        number_parse(&lo, first, 0, hi) < 0 || (lo == 0 && hi != 0))
        return -1;
    s->port_lo = (uint16_t)lo;
    s->port_hi = (uint16_t)hi;
    return 0;
}

static int set_munge(struct server_start *s, const char *v)
{
    if (strlen(v) >= sizeof(s->munge))
        return -1;
    strcpy(s->munge, v);
    return 0;
}

static int set_listener(struct server_start *s, const char *v)
{
    s->listener = strcmp(v, "4") == 0;
    return s->listener ? 0 : -1;
}

static int set_presence(struct server_start *s, const char *v)
{
    s->presence = strcmp(v, "5") == 0;
    return s->presence ? 0 : -1;
}

static int set_lines(struct server_start *s, const char *v)
{
    return number_parse(&s->lines, v, 0, SF_IMPI_LINES_MAX);
}

static int set_stdio(struct server_start *s, const char *v)
{
    s->stdio = strcmp(v, "1") == 0;
    return s->stdio ? 0 : -1;
}

static int set_withhold(struct server_start *s, const char *v)
{
    s->withhold = strcmp(v, "1") == 0;
    return s->withhold ? 0 : -1;
}

static int set_fanout(struct server_start *s, const char *v)
{
    return number_parse(&s->fanout, v, 2, SF_AGENTS_MAX);
}

static int set_world(struct server_start *s, const char *v)
{
    return number_parse(&s->world, v, 0, UINT32_MAX);
}

static int set_auth(struct server_start *s, const char *v)
{
    if (strlen(v) >= sizeof(s->auth))
        return -1;
    strcpy(s->auth, v);
    return 0;
}

static const struct key {
    const char *name;
    bool needed;
    int (*set)(struct server_start *s, const char *value);
} keys[] = {
    {"secret", true, set_secret},
    {"job", true, set_job},
    {"step", true, set_step},
    {"agents", true, set_agents},
    {"tasks", true, set_tasks},
    {"bind", false, set_bind},
    {"advertise", false, set_advertise},
    {"ports", false, set_ports},
    {"munge", false, set_munge},
    {"listener", false, set_listener},
    {"presence", false, set_presence},
    {"lines", false, set_lines},
    {"stdio", false, set_stdio},
    {"fanout", false, set_fanout},
    {"world", false, set_world},
    {"auth", false, set_auth},
    {"withhold", false, set_withhold},
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

/* One word; *seen has a bit for each key. */
static int parse_word(struct server_start *s, char *word, uint32_t *seen,
                      struct errbuf *err)
{
    char *value = strchr(word, '=');

    if (!value)
        return errprintf(err, "start line: \"%s\" is not key=value", word);
    *value++ = '\0';
    for (size_t i = 0; i < N_KEYS; i++) {
        if (strcmp(keys[i].name, word) != 0)
            continue;
        if (*seen >> i & 1)
            return errprintf(err, "start line: %s twice", word);
        *seen |= 1u << i;
        if (keys[i].set(s, value) == 0)
            return 0;
        return errprintf(err, "start line: bad value of %s", word);
    }
    return errprintf(err, "start line: no such key: %s", word);
}

int server_start_parse(struct server_start *start, const char *line,
                       struct errbuf *err)
{
    char *copy = strdup(line), *save = NULL, *word;
    uint32_t seen = 0;
    int rc = 0;

    memset(start, 0, sizeof(*start));
    start->fanout = SF_AGENT_FANOUT;
    if (!copy)
        return errprintf(err, "out of memory");
    word = strtok_r(copy, " ", &save);
    if (!word || strcmp(word, "start") != 0)
        rc = errprintf(err, "expected a start line");
    while (rc == 0 && (word = strtok_r(NULL, " ", &save)))
        rc = parse_word(start, word, &seen, err);
    for (size_t i = 0; rc == 0 && i < N_KEYS; i++)
        if (keys[i].needed && !(seen >> i & 1))
            rc = errprintf(err, "start line: %s is missing", keys[i].name);
    explicit_bzero(copy, strlen(line));
    free(copy);
    return rc;
}
