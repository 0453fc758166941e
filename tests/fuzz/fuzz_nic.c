/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any text as what sysfs says of a port, look by look, and as a file of rules:
 * lines of "state", "phys", "rate", "gid", "mac", counters by their names, a
 * line "rule ...", a line "away", and "." for a look.  What comes out must be
 * a report that can be read.
 */
#include <stdio.h>

#include "fuzz.h"
#include "health/nic.h"
#include "health/nic_text.h"

struct seen {
    struct nic_port port;
    char state[SF_NIC_FILE_MAX];
    bool away;
    int64_t now;
};

static void report(struct nics *nics, int64_t now)
{
    struct report_record r[NIC_RECORDS_MAX];
    struct report back, rep = {.from = REPORT_NICD, .node = "n1", .records = r};
    struct errbuf err;
    bool changed;
    char *text;

    rep.nrecords = nics_records(nics, "n1", 0, r, &changed, now);
    text = report_encode(&rep, &err);
    if (!text || report_decode(&back, text, strlen(text), &err) < 0)
        abort();
    report_free(&back);
    free(text);
}

static void counter(struct nic_port *p, const char *line)
{
    for (int i = 0; i < TALLY_COUNTERS; i++) {
        const char *name = tally_counter_name((enum tally_counter)i);
        size_t len = strlen(name);

        if (strncmp(line, name, len) == 0 && line[len] == ' ')
            nic_text_counter((enum tally_counter)i, line + len + 1, p);
    }
}

static void take(struct seen *s, struct nics *nics, const char *line)
{
    if (strncmp(line, "state ", 6) == 0)
        snprintf(s->state, sizeof(s->state), "%s", line + 6);
    else if (strncmp(line, "phys ", 5) == 0)
        nic_text_link(s->state, line + 5, &s->port);
    else if (strncmp(line, "rate ", 5) == 0)
        nic_text_rate(line + 5, &s->port);
    else if (strncmp(line, "gid ", 4) == 0)
        s->port.board = nic_text_gid(line + 4);
    else if (strncmp(line, "mac ", 4) == 0)
        s->port.board = nic_text_mac(line + 4);
    else if (strncmp(line, "name ", 5) == 0)
        snprintf(s->port.name, sizeof(s->port.name), "%.30s", line + 5);
    else if (strcmp(line, "away") == 0)
        s->away = !s->away;
    else if (*line == '.') {
        s->now += 1000;
        nics_look(nics, &s->port, s->away ? 0 : 1, s->now);
        report(nics, s->now);
    } else
        counter(&s->port, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen s = {.port = {.name = "mlx5_0/1"}};
    struct nic_rules rules;
    struct errbuf err;
    struct nics *nics;
    char line[SF_NIC_FILE_MAX];

    nic_rules_default(&rules);
    nic_rules_parse(&rules, "rules", (const char *)data, size, &err);
    nics = nics_new(&rules);
    for (size_t at = 0; nics && at < size;) {
        size_t n = 0;

        while (at < size && data[at] != '\n' && n < sizeof(line) - 1)
            line[n++] = (char)data[at++];
        at++;
        line[n] = '\0';
        take(&s, nics, line);
    }
    nics_free(nics);
    return 0;
}
