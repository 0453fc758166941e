/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nicd's configuration.
 */
#ifndef SF_NICD_NICD_H
#define SF_NICD_NICD_H

#include <stdbool.h>

#include "base/conf.h"
#include "health/nic.h"

/* nicd.conf; texts are owned, NULL: not given; times in seconds. */
struct nicd_conf {
    char *node, *health, *munge, *root, *watch, *ignore, *behind, *rules;
    char *verbs_events, *log_level;
    long rail, health_interval, look_interval, link_wait, vanish_after;
    bool syslog;
    struct nic_rules judge; /* of the file Rules */
};

/* -1 with errno; what is wrong was reported. */
int nicd_conf_read(struct nicd_conf *conf, const char *path, bool must,
                   conf_error_f *report, void *arg);
void nicd_conf_free(struct nicd_conf *conf);

#endif
