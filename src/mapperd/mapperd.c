/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapperd: what it is told, and what that leads to.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sitedir.h"
#include "mapperd/check.h"
#include "mapperd/mapperd.h"
#include "mapperd/run_ib.h"

#define EXIT_USAGE 2

static void report(const char *text, void *arg)
{
    log_error("SF-E850 %s", text);
}

/* A command line that cannot be read. */
static int wrong(const char *text)
{
    fprintf(stderr, "mapperd: %s\n\n%s", text, settings_usage);
    return -1;
}

/* What can be read, and is wrong. */
static int refuse(const struct errbuf *err)
{
    log_error("SF-E850 %s", err->text);
    return -1;
}

static int open_log(const struct settings *s, struct errbuf *err)
{
    struct log_options o = {.program = "mapperd",
                            .level = log_level_of(s->log_level, LOG_LEVEL_INFO),
                            .to_syslog = s->syslog && !s->verbose_file};

    if (s->verbose)
        o.level = LOG_LEVEL_DEBUG;
    if (s->verbose_file && !freopen(s->verbose_file, "a", stderr))
        return errprintf(err, "cannot write %s", s->verbose_file);
    setvbuf(stderr, NULL, _IOLBF, 0);
    log_open(&o);
    return 0;
}

/* The file first, then the command line over it.  As settings_options(), but
 * that what is wrong has been told. */
static int read_settings(struct settings *s, int argc, char **argv)
{
    struct settings first;
    struct errbuf err = {""};
    char *conf = NULL;
    int rc;

    settings_default(&first);
    rc = settings_options(&first, argc, argv, &conf, &err);
    settings_free(&first);
    if (rc < 0)
        return wrong(err.text);
    if (rc > 0)
        return rc;
    if (settings_read(s, conf ? conf : SITEDIR_CONF("mapper.conf"),
                      conf != NULL, report, NULL) < 0)
        return -1;
    if (settings_options(s, argc, argv, &conf, &err) < 0 ||
        settings_finish(s, &err) < 0 || open_log(s, &err) < 0)
        return refuse(&err);
    return 0;
}

int main(int argc, char **argv)
{
    const struct log_options log = {.program = "mapperd",
                                    .level = LOG_LEVEL_WARN};
    struct mapperd d = {0};
    int rc;

    log_open(&log);
    settings_default(&d.settings);
    rc = read_settings(&d.settings, argc, argv);
    if (rc == 2)
        return mapperd_check_main(argc, argv);
    if (rc == 1) {
        fputs(settings_usage, stdout);
        return 0;
    }
    if (rc == 3) {
        puts("mapperd (" PACKAGE_NAME ") " PACKAGE_VERSION);
        return 0;
    }
    if (rc < 0)
        rc = EXIT_USAGE;
    else
        rc = d.settings.prober ? run_ib(&d.settings) : mapperd_run(&d);
    settings_free(&d.settings);
    return rc;
}
