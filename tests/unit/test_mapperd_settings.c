/* SPDX-License-Identifier: BSD-3-Clause
 * mapperd: its command line, and the places of a board's files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mapperd/settings.h"

#define WORDS_MAX 4

/* The answer of settings_options() to these words. */
static int take(struct settings *s, struct errbuf *err, const char *words)
{
    char line[128] = "mapperd ", *argv[WORDS_MAX + 1] = {NULL}, *conf = NULL;
    int argc = 0;

    strncat(line, words, sizeof(line) - strlen(line) - 1);
    for (char *w = strtok(line, " "); w; w = strtok(NULL, " ")) {
        assert_true(argc < WORDS_MAX);
        argv[argc++] = w;
    }
    settings_default(s);
    err->text[0] = '\0';
    return settings_options(s, argc, argv, &conf, err);
}

static void three_spellings_of_the_board_are_one(void **state)
{
    static const char *const words[] = {"-B 3", "-b 3", "--unit=3", "-B3"};
    struct settings s;
    struct errbuf err;

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_int_equal(take(&s, &err, words[i]), 0);
        assert_int_equal(s.unit, 3);
        settings_free(&s);
    }
    assert_int_equal(take(&s, &err, "-B -1"), -1);
    settings_free(&s);
    assert_int_equal(take(&s, &err, "-b 1x"), -1);
    settings_free(&s);
}

static void places_are(const char *words, const char *hsnd, const char *control)
{
    struct settings s;
    struct errbuf err;

    assert_int_equal(take(&s, &err, words), 0);
    assert_int_equal(settings_finish(&s, &err), 0);
    assert_string_equal(s.hsnd, hsnd);
    assert_string_equal(s.control, control);
    assert_string_equal(s.pid_dir, "/run/gm_mapper");
    settings_free(&s);
}

/* Two boards of a host have mappers that do not meet. */
static void each_board_has_sockets_of_its_own(void **state)
{
    (void)state;
    places_are("", SF_RUNSTATEDIR "/hsnd-0", SF_RUNSTATEDIR "/mapperd.sock");
    places_are("-B 1", SF_RUNSTATEDIR "/hsnd-1",
               SF_RUNSTATEDIR "/mapperd-1.sock");
    places_are("-B 2", SF_RUNSTATEDIR "/hsnd-2",
               SF_RUNSTATEDIR "/mapperd-2.sock");
    places_are("-B 1 --control=/c", SF_RUNSTATEDIR "/hsnd-1", "/c");
}

static void verbose_is_what_three_options_say(void **state)
{
    struct settings s;
    struct errbuf err;

    (void)state;
    assert_int_equal(take(&s, &err, ""), 0);
    assert_false(s.verbose);
    settings_free(&s);
    assert_int_equal(take(&s, &err, "-v"), 0);
    assert_true(s.verbose && !s.verbose_file);
    settings_free(&s);
    assert_int_equal(take(&s, &err, "--verbose"), 0);
    assert_true(s.verbose && !s.verbose_file);
    settings_free(&s);
    assert_int_equal(take(&s, &err, "--verbose-file=/v"), 0);
    assert_int_equal(settings_finish(&s, &err), 0);
    assert_true(s.verbose);
    assert_string_equal(s.verbose_file, "/v");
    settings_free(&s);
}

static void is_refused(const char *words, const char *why)
{
    struct settings s;
    struct errbuf err;

    assert_int_equal(take(&s, &err, words), -1);
    assert_non_null(strstr(err.text, why));
    settings_free(&s);
}

static void what_is_unknown_is_named(void **state)
{
    (void)state;
    is_refused("--nonsense", "--nonsense");
    is_refused("-v --nonsense", "--nonsense");
    is_refused("--level", "--level"); /* of what? */
    is_refused("--level=high", "high");
    is_refused("-v board", "what is board?");
}

/* The option and its key in mapper.conf have the same limits and words. */
static void an_option_is_its_key(void **state)
{
    static const struct {
        const char *words, *key, *value;
    } same[] = {
        {"--num-passes=0", "NumPasses", "0"},
        {"--max-hops=1000", "MaxHops", "1000"},
        {"--start-delay=x", "StartDelay", "x"},
    };
    struct settings s, file;
    struct errbuf err, why;

    (void)state;
    settings_default(&file);
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        const char *wrong =
            settings_set(&file, same[i].key, same[i].value, &why);

        assert_int_equal(take(&s, &err, same[i].words), -1);
        assert_non_null(wrong);
        assert_non_null(strstr(err.text, same[i].words));
        assert_non_null(strstr(err.text, wrong));
        settings_free(&s);
    }
    settings_free(&file);
    assert_int_equal(take(&s, &err, "--thrash --control=/c --max-hops=9"), 0);
    assert_true(s.thrash && s.max_hops == 9 && s.max_hops_option);
    assert_string_equal(s.control, "/c");
    settings_free(&s);
}

static void each_word_of_the_document_is_its_own(void **state)
{
    static const char *const words[] = {
        "--thrash",   "--pause",         "--map-once", "--map-incrementally",
        "--non-clos", "--no-xbar-check", "--printeur", "--verbose"};
    enum { NWORDS = sizeof(words) / sizeof(words[0]) };
    struct settings s;
    struct errbuf err;

    (void)state;
    for (size_t on = 0; on < NWORDS; on++) {
        assert_int_equal(take(&s, &err, words[on]), 0);
        for (size_t i = 0; i < NWORDS; i++) {
            const bool is[NWORDS] = {
                s.thrash,   s.pause,         s.map_once, s.map_incrementally,
                s.non_clos, s.no_xbar_check, s.printeur, s.verbose};

            if (is[i] != (i == on))
                fail_msg("with %s, %s is %d", words[on], words[i], is[i]);
        }
        settings_free(&s);
    }
    assert_int_equal(take(&s, &err, "--num-passes=3 --extra-hosts=5 --level=2"),
                     0);
    assert_true(s.num_passes == 3 && s.extra_hosts == 5 && s.level == 2);
    settings_free(&s);
}

static void help_is_asked_for(void **state)
{
    struct settings s;
    struct errbuf err;

    (void)state;
    assert_int_equal(take(&s, &err, "--help"), 1);
    settings_free(&s);
    assert_int_equal(take(&s, &err, "--version"), 3);
    settings_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_spellings_of_the_board_are_one),
        cmocka_unit_test(each_board_has_sockets_of_its_own),
        cmocka_unit_test(verbose_is_what_three_options_say),
        cmocka_unit_test(what_is_unknown_is_named),
        cmocka_unit_test(an_option_is_its_key),
        cmocka_unit_test(each_word_of_the_document_is_its_own),
        cmocka_unit_test(help_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
