/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading topology.conf as Slurm 22.05's topology/tree does: see topo.h.
 * Keys are not case-sensitive; a backslash at the end continues a line; an
 * Include cannot be followed here and is refused.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/graph.h"
#include "net/lines.h"
#include "net/topo_check.h"

/* KEY=VALUE; false: told. */
static bool take_word(struct topo_check *c, unsigned line, char *word,
                      struct topo_words *w)
{
    char *value = strchr(word, '=');
    uint64_t speed;
    char **slot = NULL;

    if (!value) {
        topo_check_tell(c, true, line, "what is %s?", word);
        return false;
    }
    *value++ = '\0';
    if (strcasecmp(word, "SwitchName") == 0)
        slot = &w->name;
    else if (strcasecmp(word, "Nodes") == 0)
        slot = &w->nodes;
    else if (strcasecmp(word, "Switches") == 0)
        slot = &w->switches;
    if (slot) {
        size_t n = strlen(value);

        if (n > 1 && value[0] == '"' && value[n - 1] == '"') {
            value[n - 1] = '\0';
            value++;
        }
        *slot = value;
        return true;
    }
    if (strcasecmp(word, "LinkSpeed") != 0) {
        topo_check_tell(c, true, line, "what is %s?", word);
        return false;
    }
    if (net_parse_number(value, 10, UINT32_MAX, &speed) ||
        strcasecmp(value, "UNLIMITED") == 0 ||
        strcasecmp(value, "INFINITE") == 0)
        return true;
    topo_check_tell(c, true, line, "LinkSpeed=%s is not a number", value);
    return false;
}

static void take_line(struct topo_check *c, unsigned line, char *at)
{
    struct topo_words w = {0};
    char *comment = strchr(at, '#'), *word;

    if (comment)
        *comment = '\0';
    word = net_next_word(&at);
    if (!word)
        return;
    if (strcasecmp(word, "Include") == 0) {
        topo_check_tell(c, true, line, "Include is not followed here");
        return;
    }
    do {
        if (!take_word(c, line, word, &w))
            return;
    } while ((word = net_next_word(&at)));
    topo_check_add(c, line, &w);
}

/* Lines that end in a backslash go on in the next. */
static void take_text(struct topo_check *c, const char *text, size_t len)
{
    struct errbuf err;
    struct net_lines l;
    char *whole = malloc(len + 1);
    size_t have = 0;
    unsigned first = 0;

    if (!whole) {
        topo_check_no_memory(c);
        return;
    }
    net_lines_init(&l, "topology.conf", text, len, &err);
    while (net_lines_next(&l)) {
        size_t n = strlen(l.line);
        bool more = n > 0 && l.line[n - 1] == '\\';

        if (!have)
            first = l.number;
        n -= more;
        memcpy(whole + have, l.line, n);
        have += n;
        whole[have] = '\0';
        if (more)
            continue;
        take_line(c, first, whole);
        have = 0;
    }
    if (have)
        take_line(c, first, whole);
    if (l.bad)
        topo_check_tell(c, true, l.number, "%s", err.text);
    free(whole);
}

int net_topo_check(const char *text, size_t len, net_topo_report_f *report,
                   net_topo_known_f *known, void *arg)
{
    return topo_check_run(take_text, text, len, report, known, arg);
}
