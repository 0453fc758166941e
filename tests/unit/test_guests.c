/* SPDX-License-Identifier: BSD-3-Clause
 * Who must go when too many have not proved who they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/guests.h"
#include "base/limits.h"

#define MANY 200

struct visitor {
    struct guest g;
    struct guest_source is;
    unsigned asked;
};

static struct guests table;
static struct visitor who[MANY];
static size_t nwho;

static void ask(void *arg, const struct guest *g, struct guest_source *source)
{
    struct visitor *v = (struct visitor *)g;

    assert_ptr_equal(arg, &table);
    v->asked++;
    *source = v->is;
}

static void come(enum guest_kind kind, unsigned id, bool spoke)
{
    struct visitor *v = &who[nwho++];

    assert_true(nwho <= MANY);
    *v = (struct visitor){.is = {.kind = kind, .uid = id}};
    v->is.from.s6_addr[15] = (uint8_t)id;
    assert_int_equal(guests_enter(&table, &v->g, -1), 0);
    v->g.spoke = spoke;
}

/* The number of who must go, in the order in which they came. */
static size_t choice(uint64_t random)
{
    return (
        size_t)((struct visitor *)guests_choose(&table, ask, &table, random) -
                who);
}

static int empty(void **state)
{
    nwho = 0;
    return 0;
}

static int leave(void **state)
{
    guests_free(&table);
    return 0;
}

static void other_users_go_before_all(void **state)
{
    for (int i = 0; i < 5; i++)
        come(GUEST_OWN, 1000, false);
    come(GUEST_REMOTE, 7, false);
    come(GUEST_UNKNOWN, 0, false);
    come(GUEST_OTHER_USER, 65534, true);
    assert_int_equal(choice(0), 7);
    guests_leave(&table, &who[7].g);
    assert_int_equal(choice(0), 6);
    guests_leave(&table, &who[6].g);
    assert_int_equal(choice(0), 5);
    guests_leave(&table, &who[5].g);
    assert_int_equal(choice(0), 0);
}

static void the_most_frequent_source_pays(void **state)
{
    come(GUEST_REMOTE, 1, false);
    for (unsigned i = 0; i < 3; i++) {
        come(GUEST_REMOTE, 2, false);
        come(GUEST_REMOTE, 10 + i, false);
    }
    assert_int_equal(choice(0), 1); /* its oldest */
    guests_leave(&table, &who[1].g);
    guests_leave(&table, &who[3].g);
    assert_int_equal(choice(0), 0); /* all have one: the first address */
}

static void the_oldest_silent_one_goes(void **state)
{
    come(GUEST_UNKNOWN, 0, true);
    come(GUEST_UNKNOWN, 0, false);
    come(GUEST_UNKNOWN, 0, true);
    come(GUEST_UNKNOWN, 0, false);
    for (uint64_t r = 0; r < 8; r++)
        assert_int_equal(choice(r), 1);
}

/* A quarter: the one that came just now has had no time to speak. */
static void among_speakers_chance_decides(void **state)
{
    bool chosen[8] = {false};

    for (int i = 0; i < 8; i++)
        come(GUEST_UNKNOWN, 0, i > 1);
    for (uint64_t r = 0; r < 8; r++)
        chosen[choice(r)] = true;
    for (int i = 0; i < 8; i++)
        assert_true(chosen[i]);
}

static void who_it_is_is_asked_once(void **state)
{
    come(GUEST_OWN, 0, false);
    come(GUEST_OTHER_USER, 5, false);
    assert_int_equal(who[0].asked, 0);
    for (int i = 0; i < 3; i++)
        choice(0);
    assert_int_equal(who[0].asked, 1);
    assert_int_equal(who[1].asked, 1);
}

static void leaving_keeps_the_others(void **state)
{
    for (unsigned i = 0; i < MANY; i++)
        come(GUEST_REMOTE, i % 100, false);
    for (unsigned i = 0; i < MANY; i += 2)
        guests_leave(&table, &who[i].g);
    for (unsigned i = 0; i < MANY; i += 2) /* twice does no harm */
        guests_leave(&table, &who[i].g);
    assert_int_equal(table.n, MANY / 2);
    for (unsigned i = 1; i < MANY; i += 2) {
        size_t c = choice(0);

        assert_int_equal(c % 2, 1);
        guests_leave(&table, &who[c].g);
    }
    assert_int_equal(table.n, 0);
}

/* A flood of one source, which comes much faster than honest peers are read,
 * and speaks: with a proof that takes a few turns nearly all live. */
static void honest_peers_live_in_a_flood(void **state)
{
    uint64_t seed = 1;
    unsigned lost = 0;

    for (unsigned round = 0; round < 100; round++) {
        struct visitor honest = {.is = {.kind = GUEST_REMOTE}};
        bool gone = false;

        honest.is.from.s6_addr[15] = 99;
        nwho = 0;
        guests_enter(&table, &honest.g, -1);
        for (unsigned i = 0; i < MANY; i++) {
            struct guest *g;

            come(GUEST_REMOTE, 5, true);
            if (table.n <= 64)
                continue;
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            g = guests_choose(&table, ask, &table, seed >> 33);
            gone |= g == &honest.g;
            guests_leave(&table, g);
        }
        lost += gone;
        guests_free(&table);
    }
    assert_int_equal(lost, 0);
}

static void pauses_grow_and_are_bounded(void **state)
{
    unsigned least = guests_pause(1, 0), most = 0;

    assert_int_equal(least, SF_RETRY_MS_MIN / 2);
    for (unsigned tries = 1; tries < 100; tries++) {
        unsigned shortest = guests_pause(tries, 0);

        assert_true(shortest >= least);
        least = shortest;
        for (uint64_t r = 0; r < 2000; r++)
            if (guests_pause(tries, r) > most)
                most = guests_pause(tries, r);
    }
    assert_int_equal(least, SF_RETRY_MS_MAX / 2);
    assert_int_equal(most, SF_RETRY_MS_MAX);
    assert_int_equal(guests_pause(0, 0), SF_RETRY_MS_MIN / 2);
    assert_true(guests_pause(UINT32_MAX, UINT64_MAX) <= SF_RETRY_MS_MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, empty, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(other_users_go_before_all),    TEST(the_most_frequent_source_pays),
        TEST(the_oldest_silent_one_goes),   TEST(among_speakers_chance_decides),
        TEST(who_it_is_is_asked_once),      TEST(leaving_keeps_the_others),
        TEST(honest_peers_live_in_a_flood), TEST(pauses_grow_and_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
