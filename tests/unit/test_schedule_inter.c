/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules between the two groups of an intercommunicator.
 */
#include "schedule_sim.h"

static struct impi_sides sides_of(uint32_t r, uint32_t low, uint32_t size)
{
    struct impi_sides s = {0, low, low, size - low};

    return r < low ? s : (struct impi_sides){low, size - low, 0, low};
}

static enum impi_role role_of(uint32_t r, uint32_t root, uint32_t low)
{
    if (r == root)
        return IMPI_ROLE_ROOT;
    return (r < low) == (root < low) ? IMPI_ROLE_IDLE : IMPI_ROLE_OTHER;
}

#define EACH_PAIR                                                              \
    for (uint32_t size = 2; size <= 8; size++)                                 \
        for (uint32_t nclients = 1; nclients <= 3; nclients++)                 \
            for (uint32_t low = 1; low < size; low++)

static void rooted(uint32_t size, uint32_t low, uint32_t root, int what)
{
    for (uint32_t r = 0; r < size; r++) {
        struct process *p = &sim.p[r];
        struct impi_sides s = sides_of(r, low, size);
        enum impi_role role = role_of(r, root, low);
        int rc = -1;

        sprintf(p->buf[IMPI_BUF_OWN].s, "%c", 'a' + r);
        if (r == root && what == 0)
            strcpy(p->buf[IMPI_BUF_DATA].s, "news");
        p->single_out = r != root;
        p->single_in = r != root;
        if (what == 0)
            rc = impi_schedule_inter_bcast(&p->s, &sim.g, r, &s, role, root);
        else if (what < 3)
            rc = impi_schedule_inter_reduce(&p->s, &sim.g, r, &s, role, root,
                                            what == 1);
        else if (what == 3)
            rc = impi_schedule_inter_gather(&p->s, &sim.g, r, &s, role, root);
        else
            rc = impi_schedule_inter_scatter(&p->s, &sim.g, r, &s, role, root);
        assert_int_equal(rc, 0);
    }
}

static void rooted_between_two_groups(void **state)
{
    EACH_PAIR for (uint32_t root = 0; root < size; root++)
    {
        for (int what = 0; what < 5; what++) {
            struct impi_sides s = sides_of(root, low, size);

            begin(size, nclients);
            rooted(size, low, root, what);
            run();
            if (what == 1 || what == 2)
                is_letters(sim.p[root].buf[IMPI_BUF_DATA].s, s.peer, s.npeers,
                           what == 2);
            for (uint32_t i = 0; i < s.npeers; i++) {
                if (what == 0)
                    assert_string_equal(sim.p[s.peer + i].buf[IMPI_BUF_DATA].s,
                                        "news");
                if (what == 3)
                    is_block(&sim.p[root].in[i], s.peer + i, 0);
                if (what == 4)
                    is_block(&sim.p[s.peer + i].in[0], root, i);
            }
        }
    }
}

static void all_between_two_groups(void **state)
{
    EACH_PAIR for (int commutes = 0; commutes < 2; commutes++)
    {
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++) {
            struct impi_sides s = sides_of(r, low, size);

            sprintf(sim.p[r].buf[IMPI_BUF_OWN].s, "%c", 'a' + r);
            assert_int_equal(impi_schedule_inter_allreduce(&sim.p[r].s, &sim.g,
                                                           r, &s, commutes),
                             0);
        }
        run();
        for (uint32_t r = 0; r < size; r++) {
            struct impi_sides s = sides_of(r, low, size);

            is_letters(sim.p[r].buf[IMPI_BUF_TMP].s, s.peer, s.npeers,
                       !commutes);
            assert_string_equal(sim.p[r].buf[IMPI_BUF_TMP].s,
                                sim.p[s.first].buf[IMPI_BUF_TMP].s);
        }
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++) {
            struct impi_sides s = sides_of(r, low, size);

            assert_int_equal(
                impi_schedule_inter_alltoall(&sim.p[r].s, &sim.g, r, &s), 0);
        }
        run();
        for (uint32_t r = 0; r < size; r++) {
            struct impi_sides s = sides_of(r, low, size);

            for (uint32_t i = 0; i < s.npeers; i++)
                is_block(&sim.p[r].in[i], s.peer + i, r - s.first);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rooted_between_two_groups),
        cmocka_unit_test(all_between_two_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
