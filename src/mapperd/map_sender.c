/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See map_sender.h.
 */
#include "mapperd/map_sender.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/mac.h"

#define PART SF_REPORT_RECORDS_MAX /* records of one part */
_Static_assert(SF_REPORT_PARTS_MAX *PART >= SF_HEALTH_ITEMS_MAX &&
                   SF_REPORT_PARTS_MAX <= SF_SENDER_QUEUE_MAX,
               "a whole map in parts");

static void lost(const char *why)
{
    log_warn("SF-E855 a report is lost: %s", why);
}

int map_sender_open(struct map_sender *m, struct ev_loop *loop,
                    const struct settings *settings, struct errbuf *err)
{
    struct sender_options options = {.to = settings->health,
                                     .munge_socket = settings->munge,
                                     .reader = (uid_t)-1,
                                     .lost = lost};

    if (!settings->health)
        return 0;
    if (mac_random(&m->instance, sizeof(m->instance)) < 0)
        return errprintf(err, "no randomness");
    m->clerk = clerk_new(loop, SF_SENDER_QUEUE_MAX);
    if (!m->clerk)
        return errprintf(err, "no thread to ask munged");
    options.clerk = m->clerk;
    m->sender = sender_new(loop, &options, err);
    return m->sender ? 0 : -1;
}

bool map_sender_close(struct map_sender *m)
{
    if (!clerk_free(m->clerk))
        return false;
    sender_free(m->sender);
    return true;
}

bool map_sender_is_open(const struct map_sender *m)
{
    return m->sender != NULL;
}

void map_sender_put(struct map_sender *m, struct report *report)
{
    struct errbuf err;

    report->instance = m->instance;
    report->seq = ++m->seq;
    if (sender_put(m->sender, report, &err) < 0)
        lost(err.text);
}

void map_sender_put_parts(struct map_sender *m, struct report *report,
                          struct report_record *records, size_t n)
{
    if (!records) {
        lost("no memory");
        return;
    }
    report->map.parts = (uint32_t)((n + PART - 1) / PART);
    for (uint32_t i = 0; i < report->map.parts; i++) {
        size_t at = (size_t)i * PART;

        report->map.part = i + 1;
        report->records = records + at;
        report->nrecords = n - at < PART ? n - at : PART;
        map_sender_put(m, report);
    }
}

bool map_sender_lost_any(struct map_sender *m)
{
    struct sender_stats s;
    uint64_t now;

    sender_stats(m->sender, &s);
    now = s.connects + s.refused + s.dropped;
    if (now == m->mishaps)
        return false;
    m->mishaps = now;
    return true;
}
