/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytebuf.h"
#include "health/table.h"

#define HEADER_LEN 31 /* "SFHEALTH 1 0000000000 00000000\n" */

/* CRC-32 (IEEE 802.3), four bits at a time. */
static uint32_t crc32_of(const char *p, size_t len)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = ~0u;

    for (size_t i = 0; i < len; i++) {
        crc ^= (uint8_t)p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static int by_name(const void *a, const void *b)
{
    const struct health_table_node *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void add_line(struct bytebuf *b, const char *line)
{
    bytebuf_add(b, line, strlen(line));
}

static void add_node(struct bytebuf *b, const struct health_table_node *n)
{
    char line[SF_REPORT_NAME_MAX + SF_REPORT_WHY_MAX + 100];

    snprintf(line, sizeof(line), "%s %s %" PRId64 " %u %02x %02x %s\n", n->name,
             health_state_name(n->state), n->since, n->count, n->rails,
             n->refuse, n->why);
    add_line(b, line);
}

char *health_table_encode(struct health_table *t, size_t *len)
{
    struct bytebuf b;
    char line[100], *text = NULL;

    if (t->n)
        qsort(t->list, t->n, sizeof(*t->list), by_name);
    bytebuf_init(&b, SF_HEALTH_TABLE_MAX);
    snprintf(line, sizeof(line), "written %" PRId64 "\nnodes %u healthy %u\n",
             t->written, t->nodes, t->healthy);
    add_line(&b, line);
    for (size_t i = 0; i < t->n; i++)
        add_node(&b, &t->list[i]);
    if (!b.bad)
        text = malloc(HEADER_LEN + bytebuf_len(&b) + 1);
    if (text) {
        *len = HEADER_LEN + bytebuf_len(&b);
        snprintf(text, HEADER_LEN + 1, "SFHEALTH %d %010zu %08x\n",
                 HEALTH_TABLE_VERSION, bytebuf_len(&b),
                 crc32_of((const char *)bytebuf_data(&b), bytebuf_len(&b)));
        memcpy(text + HEADER_LEN, bytebuf_data(&b), bytebuf_len(&b));
        text[*len] = '\0';
    }
    bytebuf_free(&b);
    return text;
}

static int bad(struct errbuf *err, const char *what)
{
    errprintf(err, "health table: %s", what);
    errno = EBADMSG;
    return -1;
}

static int check_header(const char *text, size_t len, struct errbuf *err)
{
    unsigned version, crc;
    size_t body;
    int end = 0;
    char head[HEADER_LEN + 1];

    if (len > SF_HEALTH_TABLE_MAX) {
        errno = EMSGSIZE;
        return errprintf(err, "health table: too long");
    }
    if (len < HEADER_LEN)
        return bad(err, "cut off in its header");
    memcpy(head, text, HEADER_LEN);
    head[HEADER_LEN] = '\0';
    if (sscanf(head, "SFHEALTH %1u %10zu %8x%n", &version, &body, &crc, &end) !=
            3 ||
        end != HEADER_LEN - 1 || head[end] != '\n')
        return bad(err, "no header of its kind");
    if (version != HEALTH_TABLE_VERSION) {
        errno = EPROTO;
        return errprintf(err, "health table: version %u, not %d", version,
                         HEALTH_TABLE_VERSION);
    }
    if (body != len - HEADER_LEN)
        return bad(err, "truncated, or longer than its header says");
    if (crc32_of(text + HEADER_LEN, body) != crc)
        return bad(err, "its checksum is wrong");
    if (memchr(text, '\0', len))
        return bad(err, "holds a NUL");
    return 0;
}

/* One word of a line; NULL at its end. */
static char *word(char **at)
{
    char *w = *at;
    size_t len = strcspn(w, " ");

    if (len == 0)
        return NULL;
    *at = w + len + (w[len] == ' ');
    w[len] = '\0';
    return w;
}

static bool number(const char *s, int base, int64_t max, int64_t *out)
{
    char *end;

    if (!s || !isxdigit((unsigned char)*s))
        return false;
    errno = 0;
    *out = strtoll(s, &end, base);
    return *end == '\0' && errno == 0 && *out >= 0 && *out <= max;
}

static bool parse_node(char *line, struct health_table_node *n)
{
    char *at = line, *name = word(&at), *state = word(&at), *since = word(&at);
    char *count = word(&at), *rails = word(&at), *refuse = word(&at);
    int s = health_state_parse(state);
    int64_t v[4];

    if (!name || s < 0 || strlen(name) >= sizeof(n->name) ||
        strlen(at) >= sizeof(n->why) || !number(since, 10, INT64_MAX, &v[0]) ||
        !number(count, 10, UINT32_MAX, &v[1]) || !number(rails, 16, 255, &v[2]))
        return false;
    if (!number(refuse, 16, 255, &v[3]))
        return false;
    *n = (struct health_table_node){.state = (enum health_state)s,
                                    .since = v[0],
                                    .count = (uint32_t)v[1],
                                    .rails = (uint8_t)v[2],
                                    .refuse = (uint8_t)v[3]};
    strcpy(n->name, name);
    strcpy(n->why, at);
    return true;
}

static char *next_line(char **at)
{
    char *line = *at, *nl = strchr(line, '\n');

    if (!nl)
        return NULL;
    *nl = '\0';
    *at = nl + 1;
    return line;
}

static size_t count_lines(const char *s)
{
    size_t n = 0;

    for (; (s = strchr(s, '\n')); s++)
        n++;
    return n;
}

static int parse_body(struct health_table *t, char *body, struct errbuf *err)
{
    char *at = body, *line = next_line(&at);
    size_t max;

    if (!line || sscanf(line, "written %" SCNd64, &t->written) != 1)
        return bad(err, "does not say when it was written");
    line = next_line(&at);
    if (!line ||
        sscanf(line, "nodes %u healthy %u", &t->nodes, &t->healthy) != 2)
        return bad(err, "does not say how many nodes");
    max = count_lines(at);
    t->list = calloc(max ? max : 1, sizeof(*t->list));
    if (!t->list) {
        errno = ENOMEM;
        return errprintf(err, "out of memory");
    }
    while ((line = next_line(&at))) {
        if (!parse_node(line, &t->list[t->n]))
            return bad(err, "a malformed line");
        if (t->n && by_name(&t->list[t->n - 1], &t->list[t->n]) >= 0)
            return bad(err, "lines out of order");
        t->n++;
    }
    return *at ? bad(err, "no end of line") : 0;
}

int health_table_decode(struct health_table *t, const char *text, size_t len,
                        struct errbuf *err)
{
    char *copy;
    int rc, e;

    memset(t, 0, sizeof(*t));
    if (check_header(text, len, err) < 0)
        return -1;
    copy = malloc(len - HEADER_LEN + 1);
    if (!copy) {
        errno = ENOMEM;
        return errprintf(err, "out of memory");
    }
    memcpy(copy, text + HEADER_LEN, len - HEADER_LEN);
    copy[len - HEADER_LEN] = '\0';
    rc = parse_body(t, copy, err);
    e = errno;
    free(copy);
    if (rc < 0)
        health_table_free(t);
    errno = e;
    return rc;
}

void health_table_free(struct health_table *t)
{
    free(t->list);
    memset(t, 0, sizeof(*t));
}

const struct health_table_node *health_table_find(const struct health_table *t,
                                                  const char *name)
{
    struct health_table_node key;

    if (strlen(name) >= sizeof(key.name) || t->n == 0)
        return NULL;
    strcpy(key.name, name);
    return bsearch(&key, t->list, t->n, sizeof(*t->list), by_name);
}
