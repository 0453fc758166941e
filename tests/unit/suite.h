/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program whose tests are in several files: each file has an array, all of
 * them are one group.  (A group of its own for each would print a plan of its
 * own, and the harness takes one.)
 */
#ifndef SF_TESTS_SUITE_H
#define SF_TESTS_SUITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SUITE_MAX 200

struct suite {
    const struct CMUnitTest *tests;
    size_t n;
};

/* Of the array of this file. */
#define SUITE(array)                                                           \
    {                                                                          \
        (array), sizeof(array) / sizeof(*(array))                              \
    }

/* Runs the tests of all suites, in order; the exit status. */
static inline int suites_run(const char *name,
                             const struct suite *const *suites, size_t nsuites)
{
    struct CMUnitTest all[SUITE_MAX];
    size_t n = 0;

    for (size_t i = 0; i < nsuites; i++) {
        if (suites[i]->n > SUITE_MAX - n)
            return 99; /* a hard error to the harness */
        memcpy(&all[n], suites[i]->tests, suites[i]->n * sizeof(*all));
        n += suites[i]->n;
    }
    return _cmocka_run_group_tests(name, all, n, NULL, NULL);
}

#endif
