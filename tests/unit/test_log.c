/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static void a_word_of_a_configuration_file_is_a_level(void **state)
{
    (void)state;
    assert_int_equal(log_level_of("error", LOG_LEVEL_INFO), LOG_LEVEL_ERROR);
    assert_int_equal(log_level_of("warn", LOG_LEVEL_INFO), LOG_LEVEL_WARN);
    assert_int_equal(log_level_of("info", LOG_LEVEL_WARN), LOG_LEVEL_INFO);
    assert_int_equal(log_level_of("debug", LOG_LEVEL_INFO), LOG_LEVEL_DEBUG);
    assert_int_equal(log_level_of("loud", LOG_LEVEL_WARN), LOG_LEVEL_WARN);
    assert_int_equal(log_level_of(NULL, LOG_LEVEL_INFO), LOG_LEVEL_INFO);
}

/* What is written to stderr while the level is `level`. */
static const char *written_at(enum log_level level)
{
    static char text[256];
    struct log_options o = {.program = "test", .level = level};
    int p[2], was = dup(STDERR_FILENO);
    ssize_t n;

    assert_int_equal(pipe(p), 0);
    dup2(p[1], STDERR_FILENO);
    close(p[1]);
    log_open(&o);
    log_warn("a %s", "warning");
    log_info("some news");
    dup2(was, STDERR_FILENO);
    close(was);
    n = read(p[0], text, sizeof(text) - 1);
    close(p[0]);
    text[n < 0 ? 0 : n] = '\0';
    return text;
}

static void what_is_less_urgent_than_the_level_is_dropped(void **state)
{
    (void)state;
    assert_string_equal(written_at(LOG_LEVEL_ERROR), "");
    assert_string_equal(written_at(LOG_LEVEL_WARN),
                        "test: warning: a warning\n");
    assert_string_equal(written_at(LOG_LEVEL_INFO),
                        "test: warning: a warning\ntest: info: some news\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_of_a_configuration_file_is_a_level),
        cmocka_unit_test(what_is_less_urgent_than_the_level_is_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
