/* SPDX-License-Identifier: BSD-3-Clause
 * InfiniBand's directed-route packets: what is asked, byte for byte, and which
 * answers say something.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mapperd/smp.h"

#define GET 0x01
#define GET_RESP 0x81
#define DATA 64
#define PATH 128

/* A question for port 5's state, three hops away. */
static const struct smp_get question = {.tid = 0x01020304,
                                        .attr = SMP_PORT_INFO,
                                        .mod = 5,
                                        .hops = 3,
                                        .path = {1, 17, 36}};

static void question_golden_frame(void **state)
{
    static const uint8_t head[] = {
        1,    0x81, 1,    GET,  0, 0, 0, 3, /* hop pointer 0, three hops */
        0,    0,    0,    0,    1, 2, 3, 4, /* tid */
        0,    0x15, 0,    0,    0, 0, 0, 5, /* attribute and its modifier */
        0,    0,    0,    0,    0, 0, 0, 0, /* no M_Key */
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, /* from and to no LID */
    };
    uint8_t want[SMP_SIZE] = {0}, mad[SMP_SIZE];

    memcpy(want, head, sizeof(head));
    memcpy(want + PATH, (uint8_t[]){0, 1, 17, 36}, 4);
    memset(mad, 0xee, sizeof(mad));
    smp_make(mad, &question);
    assert_memory_equal(mad, want, SMP_SIZE);
}

/* Whatever is asked, it is a Get: nothing can be set in a fabric that a
 * subnet manager runs. */
static void nothing_but_questions_can_be_made(void **state)
{
    static const enum smp_attr attrs[] = {SMP_NODE_DESC, SMP_NODE_INFO,
                                          SMP_PORT_INFO};

    for (unsigned i = 0; i < 3; i++) {
        for (unsigned hops = 0; hops <= SMP_HOPS_MAX; hops++) {
            struct smp_get get = {.attr = attrs[i], .mod = 9};
            uint8_t mad[SMP_SIZE];

            get.hops = (uint8_t)hops;
            memset(get.path, 7, hops);
            smp_make(mad, &get);
            assert_int_equal(mad[3], GET);
            assert_int_equal(mad[7], hops);
            for (unsigned k = DATA; k <= PATH; k++)
                assert_int_equal(mad[k], 0);
            for (unsigned k = 1; k <= SMP_HOPS_MAX; k++)
                assert_int_equal(mad[PATH + k], k <= hops ? 7 : 0);
        }
    }
}

static void make_answer(uint8_t mad[SMP_SIZE], enum smp_attr attr)
{
    struct smp_get get = question;

    get.attr = attr;
    smp_make(mad, &get);
    mad[3] = GET_RESP;
    mad[4] = 0x80; /* on its way back */
}

static bool says(const uint8_t mad[SMP_SIZE])
{
    enum smp_attr attr;
    uint32_t tid;

    return smp_parse(mad, &attr, &tid);
}

static void only_answers_without_an_error_say_something(void **state)
{
    uint8_t mad[SMP_SIZE];
    enum smp_attr attr;
    uint32_t tid;

    make_answer(mad, SMP_NODE_INFO);
    assert_true(smp_parse(mad, &attr, &tid));
    assert_int_equal(attr, SMP_NODE_INFO);
    assert_int_equal(tid, question.tid);
    mad[4] = 0;
    assert_true(says(mad));
    mad[5] = 0x0c; /* attribute not supported */
    assert_false(says(mad));
    mad[4] = 0x80;
    assert_false(says(mad));
    make_answer(mad, SMP_NODE_INFO);
    mad[1] = 0x01; /* by LID */
    assert_false(says(mad));
    make_answer(mad, SMP_NODE_INFO);
    mad[3] = GET; /* our own question */
    assert_false(says(mad));
}

/* A switch of 36 ports that was asked by its port 17. */
static void make_node(uint8_t mad[SMP_SIZE])
{
    static const uint8_t data[] = {
        1,    1,    SMP_SWITCH, 36,               /* versions, type, ports */
        0,    0,    0,          0,    0, 0, 0, 1, /* system image */
        0x00, 0x02, 0xc9,       0,    0, 0, 0, 2, /* node */
        0x00, 0x02, 0xc9,       0,    0, 0, 0, 3, /* port */
        0,    8,    0x11,       0x22, 0, 0, 0, 1,
        17,   0,    0,          0, /* ..., local port, vendor */
    };

    make_answer(mad, SMP_NODE_INFO);
    memcpy(mad + DATA, data, sizeof(data));
}

static void node_info_golden_frame(void **state)
{
    struct smp_node_info info;
    uint8_t mad[SMP_SIZE];

    make_node(mad);
    assert_true(smp_node_info(mad, &info));
    assert_int_equal(info.type, SMP_SWITCH);
    assert_int_equal(info.ports, 36);
    assert_int_equal(info.entry, 17);
    assert_true(info.node_guid == 0x0002c90000000002);
    assert_true(info.port_guid == 0x0002c90000000003);
}

static void nodes_that_cannot_be_are_refused(void **state)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } lies[] = {
        {2, 0},
        {2, 4}, /* types that are none */
        {3, 0},
        {36, 37}, /* no ports; asked by one it does not have */
    };
    struct smp_node_info info;
    uint8_t mad[SMP_SIZE];

    for (unsigned i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        make_node(mad);
        mad[DATA + lies[i].at] = lies[i].value;
        assert_false(smp_node_info(mad, &info));
    }
    make_node(mad);
    memset(mad + DATA + 12, 0, 8); /* no node GUID */
    assert_false(smp_node_info(mad, &info));
    make_node(mad);
    memset(mad + DATA + 20, 0, 8); /* no port GUID: a switch may */
    assert_true(smp_node_info(mad, &info));
    mad[DATA + 2] = SMP_CA;
    assert_false(smp_node_info(mad, &info));
}

static void descriptions_end_and_can_be_printed(void **state)
{
    char desc[SMP_DESC_SIZE + 1];
    uint8_t mad[SMP_SIZE];

    make_answer(mad, SMP_NODE_DESC);
    memset(mad + DATA, 'a', SMP_DESC_SIZE);
    memset(mad + DATA + SMP_DESC_SIZE, 'b', SMP_DESC_SIZE);
    smp_node_desc(mad, desc);
    assert_int_equal(strlen(desc), SMP_DESC_SIZE);
    memcpy(mad + DATA, "n1\033[2J\n", 8);
    smp_node_desc(mad, desc);
    assert_string_equal(desc, "n1?[2J?");
}

static void ports_are_up_from_init_on(void **state)
{
    uint8_t mad[SMP_SIZE];

    for (unsigned s = 0; s < 16; s++) {
        make_answer(mad, SMP_PORT_INFO);
        mad[DATA + 32] = (uint8_t)(0xf0 | s); /* and speeds */
        assert_int_equal(smp_port_is_up(mad), s >= 2 && s <= 4);
    }
}

/* A PortInfo of a 4x port at 25.8 Gb/s that runs on one lane at 10. */
static void port_info_tells_state_width_and_speed(void **state)
{
    uint8_t mad[SMP_SIZE] = {0};
    uint8_t *d = mad + DATA;
    struct smp_port_info i;

    d[16] = 0x12;
    d[17] = 0x34;
    d[29] = 1 | 2;      /* width enabled: 1x, 4x */
    d[30] = 1 | 2 | 8;  /* supported: 12x, too */
    d[31] = 1;          /* active: 1x */
    d[32] = 7 << 4 | 4; /* supported speeds; ACTIVE */
    d[33] = 5 << 4;     /* LinkUp */
    d[35] = 4 << 4 | 7; /* active 10, enabled 2.5 to 10 */
    d[62] = 4 | 2 | 1;  /* extended, supported: up to 53.1 */
    d[63] = 1 | 2;      /* enabled: 14, 25.8 */
    assert_true(smp_port_info(mad, &i));
    assert_int_equal(i.state, SMP_ACTIVE);
    assert_int_equal(i.physical, SMP_LINK_UP);
    assert_int_equal(i.now.width, 1);
    assert_int_equal(i.enabled.width, 4);
    assert_int_equal(i.supported.width, 12);
    assert_int_equal(i.now.speed, 100);
    assert_int_equal(i.enabled.speed, 258);
    assert_int_equal(i.supported.speed, 531);
    assert_int_equal(i.lid, 0x1234);
    d[31] = 2;
    d[62] |= 2 << 4;
    assert_true(smp_port_info(mad, &i));
    assert_int_equal(i.now.width, 4);
    assert_int_equal(i.now.speed, 258);
    d[63] = 30; /* no extended ones are enabled: no set of bits */
    assert_true(smp_port_info(mad, &i));
    assert_int_equal(i.enabled.speed, 100);
    d[62] = 0;
    assert_true(smp_port_info(mad, &i));
    assert_int_equal(i.supported.speed, 100);
    d[32] = 0; /* no such state */
    assert_false(smp_port_info(mad, &i));
    assert_string_equal(smp_physical_name(2), "Polling");
    assert_string_equal(smp_state_name(2), "INIT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(question_golden_frame),
        cmocka_unit_test(nothing_but_questions_can_be_made),
        cmocka_unit_test(only_answers_without_an_error_say_something),
        cmocka_unit_test(node_info_golden_frame),
        cmocka_unit_test(nodes_that_cannot_be_are_refused),
        cmocka_unit_test(descriptions_end_and_can_be_printed),
        cmocka_unit_test(ports_are_up_from_init_on),
        cmocka_unit_test(port_info_tells_state_width_and_speed),
    };

    return cmocka_run_group_tests_name("smp", tests, NULL, NULL);
}
