/* SPDX-License-Identifier: BSD-3-Clause
 * The test of the own cable: what counts as lost, and what is no rate.
 */
#include "hsn/loop_test.h"
#include "hsn_util.h"

struct world {
    struct hsn_loop x;
    uint32_t lose;    /* frames of a look that do not come back */
    uint32_t refuse;  /* ... that do not leave */
    bool dead, later; /* nothing comes back; it does, but not yet */
    uint64_t crowded;
    unsigned sent;
};

static bool send(void *arg, uint32_t number, unsigned frame)
{
    struct world *w = arg;

    w->sent++;
    if (w->refuse >> frame & 1)
        return false;
    if (!w->dead && !w->later && !(w->lose >> frame & 1))
        hsn_loop_returned(&w->x, number, frame);
    return true;
}

static void look(struct world *w, int n)
{
    for (; n > 0; n--)
        hsn_loop_look(&w->x, w->crowded, send, w);
}

/* One look in which these are lost, and so many around it that it is judged. */
static void look_losing(struct world *w, uint32_t frames)
{
    look(w, HSN_LOOP_WAIT + 2);
    w->lose = frames;
    look(w, 1);
    w->lose = 0;
    look(w, HSN_LOOP_WAIT + 2);
}

static void crossings_and_losses_are_counted(void **state)
{
    struct world w = {.dead = false};

    look_losing(&w, 0);
    assert_true(w.x.sent > 0);
    assert_int_equal(w.x.lost, 0);
    look_losing(&w, 5);
    assert_int_equal(w.x.lost, 2);
    assert_int_equal(w.x.gaps, 0);
    assert_true(w.x.sent <= 2 * w.sent);
}

static void a_missing_frame_brings_many(void **state)
{
    struct world w = {.dead = false};
    unsigned before;

    look(&w, 100);
    assert_int_equal(w.sent, 100 * HSN_LOOP_FEW);
    w.lose = 1;
    look(&w, 1);
    w.lose = 0;
    look(&w, HSN_LOOP_SOON);
    before = w.sent;
    look(&w, HSN_LOOP_WARY);
    assert_int_equal(w.sent - before, HSN_LOOP_WARY * HSN_LOOP_MANY);
    before = w.sent;
    look(&w, 10);
    assert_int_equal(w.sent - before, 10 * HSN_LOOP_FEW);
}

/* The edge of an outage is no rate, whatever of it came back. */
static void an_outage_is_a_gap_and_no_rate(void **state)
{
    struct world w = {.dead = false};

    for (int i = 0; i < 5; i++) {
        look(&w, 50);
        w.lose = 7;
        look(&w, 1);
        w.dead = true;
        look(&w, 1 + 20 * (i % 2));
        w.dead = false;
        look(&w, 1);
        w.lose = 0;
    }
    look(&w, 50);
    assert_int_equal(w.x.lost, 0);
    assert_int_equal(w.x.gaps, 5);
}

static void what_had_no_room_here_is_no_loss(void **state)
{
    struct world w = {.dead = false};

    look(&w, 50);
    w.lose = 3;
    look(&w, 1);
    w.crowded++;
    w.lose = 0;
    look(&w, 50);
    w.dead = true;
    look(&w, 1);
    w.crowded++;
    w.dead = false;
    look(&w, 50);
    assert_int_equal(w.x.lost, 0);
    assert_int_equal(w.x.gaps, 0);
}

static void what_never_left_is_no_loss(void **state)
{
    struct world w = {.refuse = 3};

    look(&w, 50);
    w.refuse = 0;
    w.later = true;
    look(&w, 1);
    for (unsigned i = 0; i < HSN_LOOP_MANY; i++)
        hsn_loop_unsent(&w.x, w.x.number, i);
    w.later = false;
    look(&w, 50);
    assert_int_equal(w.x.lost, 0);
    assert_int_equal(w.x.gaps, 0);
}

/* A daemon that stands still for a while, ours or the crossbars'. */
static void what_comes_late_is_no_loss(void **state)
{
    struct world w = {.dead = false};
    uint32_t first;

    look(&w, 50);
    w.later = true;
    look(&w, HSN_LOOP_WAIT - 1);
    w.later = false;
    first = w.x.number - (HSN_LOOP_WAIT - 1) + 1;
    for (uint32_t n = first; n <= w.x.number; n++)
        for (unsigned i = 0; i < HSN_LOOP_MANY; i++)
            hsn_loop_returned(&w.x, n, i);
    look(&w, 50);
    assert_int_equal(w.x.lost, 0);
    assert_int_equal(w.x.gaps, 0);
}

static void where_nothing_turns_round_nothing_is_said(void **state)
{
    struct world w = {.dead = true};

    look(&w, 2000);
    assert_int_equal(w.x.sent + w.x.lost + w.x.gaps, 0);
    assert_true(w.sent < 60 * HSN_LOOP_FEW + 2000 / HSN_LOOP_RARE + 1);
    w.dead = false; /* the cable is plugged into a crossbar */
    look(&w, 2 * HSN_LOOP_RARE + HSN_LOOP_WAIT);
    assert_true(w.x.sent > 0);
}

static void a_link_that_went_down_takes_its_frames_along(void **state)
{
    for (int before = 10; before <= 50; before += 40) {
        struct world w = {.dead = false};

        look(&w, before);
        w.dead = true;
        look(&w, 3);
        hsn_loop_forget(&w.x);
        w.dead = false;
        look(&w, 100);
        assert_true(w.x.sent > 0);
        assert_int_equal(w.x.lost, 0);
        assert_int_equal(w.x.gaps, 0);
    }
}

/* A cable that goes down and up ten times a second in step with looks that were
 * even would be well or dead for ever. */
static void looks_come_at_uneven_times(void **state)
{
    struct world w = {.dead = false};
    uint64_t sum = 0, now = 0;
    unsigned up = 0;

    for (int i = 0; i < 1000; i++) {
        uint64_t pause = hsn_loop_pause(&w.x);

        assert_true(pause >= HSN_LOOP_LOOK_NS * 3 / 4);
        assert_true(pause <= HSN_LOOP_LOOK_NS * 5 / 4);
        sum += pause;
        now += pause;
        up += now / (HSN_LOOP_LOOK_NS / 4) % 2;
        look(&w, 1);
    }
    assert_in_range(sum / 1000, HSN_LOOP_LOOK_NS * 98 / 100,
                    HSN_LOOP_LOOK_NS * 102 / 100);
    assert_in_range(up, 400, 600);
}

static void whether_the_other_end_answers(void **state)
{
    struct world w = {.dead = true};

    look(&w, 10);
    assert_int_equal(hsn_loop_answers(&w.x), 0); /* it never did */
    w.dead = false;
    look(&w, 1);
    assert_int_equal(hsn_loop_answers(&w.x), 1);
    w.dead = true;
    look(&w, HSN_LOOP_SOON);
    assert_int_equal(hsn_loop_answers(&w.x), 1);
    look(&w, 1);
    assert_int_equal(hsn_loop_answers(&w.x), -1);
    look(&w, 100);
    assert_int_equal(hsn_loop_answers(&w.x), -1);
    hsn_loop_forget(&w.x);
    assert_int_equal(hsn_loop_answers(&w.x), 0);
}

/* Whatever a stranger says has come back. */
static void strangers_frames_are_nothing(void **state)
{
    struct world w = {.dead = true};

    look(&w, 3);
    hsn_loop_returned(&w.x, w.x.number + 1, 0);
    hsn_loop_returned(&w.x, w.x.number, 200);
    hsn_loop_returned(&w.x, w.x.number, HSN_LOOP_FEW);
    hsn_loop_returned(&w.x, 0, 0);
    hsn_loop_returned(&w.x, UINT32_MAX, 31);
    hsn_loop_unsent(&w.x, w.x.number, 255);
    assert_false(w.x.works);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crossings_and_losses_are_counted),
        cmocka_unit_test(a_missing_frame_brings_many),
        cmocka_unit_test(an_outage_is_a_gap_and_no_rate),
        cmocka_unit_test(what_had_no_room_here_is_no_loss),
        cmocka_unit_test(what_never_left_is_no_loss),
        cmocka_unit_test(what_comes_late_is_no_loss),
        cmocka_unit_test(where_nothing_turns_round_nothing_is_said),
        cmocka_unit_test(a_link_that_went_down_takes_its_frames_along),
        cmocka_unit_test(looks_come_at_uneven_times),
        cmocka_unit_test(whether_the_other_end_answers),
        cmocka_unit_test(strangers_frames_are_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
