/* SPDX-License-Identifier: BSD-3-Clause
 * The joining client against a scripted server: versions and labels.
 */
#define _GNU_SOURCE /* memmem */
#include "join_script.h"

/* All that follows VERSION; 127.0.1.1 and 127.0.2.1, one process each. */
static const char standard_labels[] =
    "COLL\0\0\0\x10\0\0\x11\0\0\0\0\3\0\0\0\1\0\0\0\1"
    "COLL\0\0\0\x10\0\0\x12\0\0\0\0\3\0\0\0\1\0\0\0\1"
    "COLL\0\0\0\x10\0\0\x13\0\0\0\0\3\0\1\0\0\0\0\x0f\xa0"
    "COLL\0\0\0\x10\0\0\x14\0\0\0\0\3\x7f\xff\xff\xff\0\0\x7f\xff"
    "COLL\0\0\0\x10\0\0\x15\0\0\0\0\3\xff\xff\xff\xff\xff\xff\xff\xff"
    "COLL\0\0\0\x10\0\0\x16\0\0\0\0\3\xff\xff\xff\xff\xff\xff\xff\xff"
    "COLL\0\0\0\x28\0\0\x20\0\0\0\0\3"
    "\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\1\1\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\2\1"
    "COLL\0\0\0\x10\0\0\x21\0\0\0\0\3\0\0\x13\x89\0\0\x17\x71"
    "COLL\0\0\0\x10\0\0\x22\0\0\0\0\3\0\0\0\1\0\0\0\1"
    "COLL\0\0\0\x10\0\0\x23\0\0\0\0\3\0\0\0\12\0\0\0\12"
    "COLL\0\0\0\x10\0\0\x24\0\0\0\0\3\0\0\0\24\0\0\0\24"
    "COLL\0\0\0\x28\0\0\x30\0\0\0\0\3"
    "\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\1\1\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\2\1"
    "COLL\0\0\0\x18\0\0\x31\0\0\0\0\3\0\0\0\0\0\0\0\x64\0\0\0\0\0\0\0\x64";

#define LABEL(bytes)                                                           \
    {                                                                          \
        bytes, sizeof(bytes) - 1                                               \
    }

/* What client 0 says behind VERSION. */
static const struct {
    const char *bytes;
    size_t len;
} own_labels[] = {
    LABEL("COLL\0\0\0\10\0\0\x11\0\0\0\0\1"),
    LABEL("COLL\0\0\0\10\0\0\x12\0\0\0\0\1"),
    LABEL("COLL\0\0\0\10\0\0\x13\0\0\1\0\0"),
    LABEL("COLL\0\0\0\10\0\0\x14\0\x7f\xff\xff\xff"),
    LABEL("COLL\0\0\0\10\0\0\x15\0\xff\xff\xff\xff"),
    LABEL("COLL\0\0\0\10\0\0\x16\0\xff\xff\xff\xff"),
    LABEL("COLL\0\0\0\24\0\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\1\1"),
    LABEL("COLL\0\0\0\10\0\0\x21\0\0\0\x13\x89"),
    LABEL("COLL\0\0\0\10\0\0\x22\0\0\0\0\1"),
    LABEL("COLL\0\0\0\10\0\0\x23\0\0\0\0\12"),
    LABEL("COLL\0\0\0\10\0\0\x24\0\0\0\0\24"),
    LABEL("COLL\0\0\0\24\0\0\x30\0\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\1\1"),
    LABEL("COLL\0\0\0\14\0\0\x31\0\0\0\0\0\0\0\0\x64"),
};

/* The server broadcasts the label that begins there; what follows it. */
static const char *tell_next(struct script *s, const char *p)
{
    struct impi_cmd c = impi_cmd_decode((const uint8_t *)p);
    size_t len = IMPI_CMD_SIZE + (size_t)c.len;

    assert_int_equal(tell(s, p, len), 0);
    return p + len;
}

/* One label, its answer, the next: a server that waits for the others at each
 * label has nothing to lose of what it has read ahead. */
static void strict_client_sends_its_14_labels_in_order(void **state)
{
    const char *answer = standard_labels;
    struct impi_world w;
    struct script s;

    script_joined(&s, false);
    assert_int_equal(TELL(&s, VERSIONS), 0);
    for (size_t i = 0; i < sizeof(own_labels) / sizeof(own_labels[0]); i++) {
        said(&s, own_labels[i].bytes, own_labels[i].len);
        answer = tell_next(&s, answer);
    }
    assert_ptr_equal(answer, standard_labels + sizeof(standard_labels) - 1);
    SAID(&s, "DONE\0\0\0\0");
    assert_false(impi_join_done(s.k.join));
    assert_int_equal(TELL(&s, "DONE\0\0\0\0"), 0);
    assert_true(impi_join_done(s.k.join));
    impi_join_take_world(s.k.join, &w);
    assert_int_equal(w.maxdatalen, 4000);
    assert_int_equal(w.tagub, 32767);
    assert_int_equal(w.nprocs, 2);
    assert_int_equal(w.flags, 0);
    impi_world_free(&w);
    impi_join_fini(s.k.join);
    SAID(&s, "FINI\0\0\0\0");
    assert_int_equal(impi_join_eof(s.k.join, &s.err), 0);
    impi_join_destroy(s.k.join);
}

static void nothing_is_sent_before_the_version_is_known(void **state)
{
    struct script s;

    script_joined(&s, true);
    assert_int_equal(tell(&s, VERSIONS, 20), 0);
    SAID(&s, "");
    impi_join_destroy(s.k.join);
}

static void answer_to_impi_may_come_early(void **state)
{
    struct script s;

    script_joined(&s, false); /* the other client has not been heard of */
    assert_int_equal(TELL(&s, VERSIONS), 0);
    impi_join_destroy(s.k.join);
}

static void unknown_labels_and_commands_are_ignored(void **state)
{
    struct script s;

    script_joined(&s, false);
    assert_int_equal(TELL(&s, VERSIONS), 0);
    assert_int_equal(TELL(&s, "COLL\0\0\0\14\0\0\x10\x90\0\0\0\2what"), 0);
    assert_int_equal(TELL(&s, "WHAT\0\0\0\6DONE\0\0"), 0);
    assert_int_equal(TELL(&s, "WHAT\0\0\0\0"), 0);
    assert_int_equal(tell(&s, standard_labels, sizeof(standard_labels) - 1), 0);
    assert_int_equal(TELL(&s, "COLL\0\0\0\10\0\0\x77\x77\0\0\0\2"), 0);
    assert_int_equal(TELL(&s, "COLL\0\0\0\10\0\0\x77\x78\0\0\0\0"), 0);
    assert_int_equal(TELL(&s, "DONE\0\0\0\0"), 0);
    assert_true(impi_join_done(s.k.join));
    impi_join_destroy(s.k.join);
}

/* A server that swallows what it does not know: X_EXT never comes back. */
static void swallowed_extensions_mean_standard(void **state)
{
    struct impi_world w;
    struct script s;

    script_joined(&s, true);
    assert_int_equal(TELL(&s, VERSIONS), 0);
    assert_int_equal(tell(&s, standard_labels, sizeof(standard_labels) - 1), 0);
    assert_int_equal(TELL(&s, "DONE\0\0\0\0"), 0);
    impi_join_take_world(s.k.join, &w);
    assert_int_equal(w.flags, 0);
    impi_world_free(&w);
    impi_join_destroy(s.k.join);
}

/* X_EXT and NHOSTS go together, since nobody need answer X_EXT; where not all
 * have said it, the rest goes label by label. */
static void without_agreement_labels_go_one_by_one(void **state)
{
    const char *answer = standard_labels;
    struct script s;

    script_joined(&s, true);
    assert_int_equal(TELL(&s, VERSIONS), 0);
    SAID(&s, "COLL\0\0\0\10\0\0\x10\x80\0\0\0\13"
             "COLL\0\0\0\10\0\0\x11\0\0\0\0\1");
    assert_int_equal(TELL(&s, "COLL\0\0\0\14\0\0\x10\x80\0\0\0\1"
                              "\0\0\0\3"),
                     0);
    SAID(&s, "");
    for (size_t i = 1; i < sizeof(own_labels) / sizeof(own_labels[0]); i++) {
        answer = tell_next(&s, answer);
        said(&s, own_labels[i].bytes, own_labels[i].len);
    }
    impi_join_destroy(s.k.join);
}

/* Who knows that all are ours waits for no label any more. */
static void agreed_labels_go_in_one_burst(void **state)
{
    const uint8_t *data;
    struct script s;
    size_t have;

    script_joined(&s, true);
    assert_int_equal(TELL(&s, VERSIONS), 0);
    impi_join_sent(s.k.join, impi_join_output(s.k.join, &data));
    assert_int_equal(TELL(&s, "COLL\0\0\0\x10\0\0\x10\x80\0\0\0\3"
                              "\0\0\0\3\0\0\0\3"),
                     0);
    have = impi_join_output(s.k.join, &data);
    assert_memory_equal(data, own_labels[1].bytes, own_labels[1].len);
    assert_memory_equal(data + have - 8, "DONE\0\0\0\0", 8);
    impi_join_destroy(s.k.join);
}

/* The server's number of clients must be above our own rank, also where no
 * number was expected. */
static void own_rank_beyond_the_size_is_refused(void **state)
{
    for (uint8_t size = 1; size <= 3; size++) {
        uint8_t said_size[] = "IMPI\0\0\0\4\0\0\0";
        struct script s;

        script_begin(&s, false);
        impi_join_destroy(s.k.join);
        s.k.o.client = 2;
        s.k.o.nclients = 0;
        s.k.join = impi_join_create(&s.k.o, NULL);
        assert_non_null(s.k.join);
        said_size[11] = size;
        assert_int_equal(TELL(&s, "\0\0\0\0\0\0\0\0"), 0);
        assert_int_equal(tell(&s, said_size, 12), size == 3 ? 0 : -1);
        if (size < 3)
            assert_non_null(strstr(s.err.text, "we are client 2 of"));
        impi_join_destroy(s.k.join);
    }
}

/* Both clients say X_EXT, the other one that version; then X_RANK, X_ADDR,
 * X_PORT and X_REPR. */
static void script_extended(struct script *s, uint8_t version)
{
    uint8_t ext[] = "COLL\0\0\0\x10\0\0\x10\x80\0\0\0\3\0\0\0\13\0\0\0";

    script_joined(s, true);
    assert_int_equal(TELL(s, VERSIONS), 0);
    ext[sizeof(ext) - 1] = version;
    assert_int_equal(tell(s, ext, sizeof(ext)), 0);
    assert_int_equal(tell(s, standard_labels, sizeof(standard_labels) - 1), 0);
    assert_int_equal(TELL(s, "COLL\0\0\0\x10\0\0\x40\0\0\0\0\3"
                             "\0\0\0\0\0\0\0\1"
                             "COLL\0\0\0\x28\0\0\x41\0\0\0\0\3"
                             "\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\1\1"
                             "\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\2\1"
                             "COLL\0\0\0\x10\0\0\x42\0\0\0\0\3"
                             "\0\0\0\7\0\0\0\7"
                             "COLL\0\0\0\x28\0\0\x43\0\0\0\0\3"
                             "0123456789abcdef0123456789abcdef"),
                     0);
}

static bool said_cpus(struct script *s)
{
    static const char label[] = {0, 0, 0x44, 0};
    const uint8_t *data;
    size_t have = impi_join_output(s->k.join, &data);

    return memmem(data, have, label, sizeof(label)) != NULL;
}

/* Nobody hears of X_CPUS before all know what it is. */
static void third_version_of_the_extensions_needs_every_client(void **state)
{
    struct impi_world w;
    struct script s;

    script_extended(&s, 2);
    assert_false(said_cpus(&s));
    assert_int_equal(TELL(&s, "DONE\0\0\0\0"), 0);
    impi_join_take_world(s.k.join, &w);
    assert_int_equal(w.flags, IMPI_WORLD_EXTENDED | IMPI_WORLD_SHARE |
                                  IMPI_WORLD_NATIVE);
    assert_int_equal(w.procs[1].cpus, 0);
    impi_world_free(&w);
    impi_join_destroy(s.k.join);
}

static void third_version_tells_the_processors(void **state)
{
    struct impi_world w;
    struct script s;

    script_extended(&s, 3);
    assert_true(said_cpus(&s));
    assert_int_equal(TELL(&s, "COLL\0\0\0\x10\0\0\x44\0\0\0\0\3"
                              "\0\0\0\2\0\0\xff\xff"
                              "DONE\0\0\0\0"),
                     0);
    impi_join_take_world(s.k.join, &w);
    assert_true(w.flags & IMPI_WORLD_FLAT);
    assert_false(w.flags & IMPI_WORLD_RMA);
    assert_int_equal(w.procs[0].cpus, 2);
    assert_int_equal(w.procs[1].cpus, 0xffff);
    impi_world_free(&w);
    impi_join_destroy(s.k.join);
}

static uint32_t flags_with(uint8_t version)
{
    struct impi_world w;
    struct script s;
    uint32_t flags;

    script_extended(&s, version);
    assert_int_equal(TELL(&s, "COLL\0\0\0\x10\0\0\x44\0\0\0\0\3"
                              "\0\0\0\2\0\0\0\2"
                              "DONE\0\0\0\0"),
                     0);
    impi_join_take_world(s.k.join, &w);
    flags = w.flags;
    impi_world_free(&w);
    impi_join_destroy(s.k.join);
    return flags;
}

static void fourth_version_has_windows(void **state)
{
    assert_true(flags_with(4) & IMPI_WORLD_RMA);
    assert_false(flags_with(4) & IMPI_WORLD_RMA_SHARE);
}

/* The other client is newer still. */
static void fifth_version_shares_their_memory(void **state)
{
    assert_true(flags_with(6) & IMPI_WORLD_RMA);
    assert_true(flags_with(6) & IMPI_WORLD_RMA_SHARE);
}

static void seventh_version_has_files(void **state)
{
    assert_false(flags_with(6) & IMPI_WORLD_FILES);
    assert_true(flags_with(8) & IMPI_WORLD_FILES);
}

static void eighth_version_has_windows_that_the_network_reads(void **state)
{
    assert_false(flags_with(7) & IMPI_WORLD_RMA_FABRIC);
    assert_true(flags_with(8) & IMPI_WORLD_RMA_FABRIC);
}

/* An older release in the world: all keep to the schedules that it has. */
static void ninth_version_has_collective_calls_of_few_rounds(void **state)
{
    assert_false(flags_with(8) & IMPI_WORLD_FEW_ROUNDS);
    assert_true(flags_with(9) & IMPI_WORLD_FEW_ROUNDS);
}

/* An older release asks for locks by themselves, and keeps nothing. */
static void tenth_version_has_locks_that_operations_bring_along(void **state)
{
    assert_false(flags_with(9) & IMPI_WORLD_RMA_EARLY);
    assert_true(flags_with(10) & IMPI_WORLD_RMA_EARLY);
}

/* An older release sends whole vectors, or parts of clients in blocks. */
static void eleventh_version_has_collective_calls_of_few_bytes(void **state)
{
    assert_false(flags_with(10) & IMPI_WORLD_FEW_BYTES);
    assert_true(flags_with(11) & IMPI_WORLD_FEW_BYTES);
}

static void third_version_wants_sane_processors_of_all(void **state)
{
    struct script s;

    script_extended(&s, 3);
    assert_int_equal(TELL(&s, "DONE\0\0\0\0"), -1);
    assert_non_null(strstr(s.err.text, "X_CPUS"));
    impi_join_destroy(s.k.join);
    script_extended(&s, 3);
    assert_int_equal(TELL(&s, "COLL\0\0\0\x10\0\0\x44\0\0\0\0\3"
                              "\0\0\0\2\0\1\0\0"
                              "DONE\0\0\0\0"),
                     -1);
    assert_string_equal(s.err.text, "SF-E213: client 1: X_CPUS is 65536");
    impi_join_destroy(s.k.join);
}

/* Tell the standard labels, one of them changed. */
static void tell_changed(struct script *s, const char *find, size_t len,
                         const char *put)
{
    char copy[sizeof(standard_labels)];
    char *at;

    memcpy(copy, standard_labels, sizeof(copy));
    at = memmem(copy, sizeof(copy), find, len);
    assert_non_null(at);
    memcpy(at, put, len);
    script_joined(s, false);
    assert_int_equal(TELL(s, VERSIONS), 0);
    if (tell(s, copy, sizeof(copy) - 1) == 0)
        assert_int_equal(TELL(s, "DONE\0\0\0\0"), -1);
    impi_join_destroy(s->k.join);
}

#define CHANGED(s, find, put) tell_changed(s, find, sizeof(find) - 1, put)

static void missing_label_names_client_and_label(void **state)
{
    struct script s;

    CHANGED(&s, "COLL\0\0\0\x10\0\0\x14\0\0\0\0\3",
            "COLL\0\0\0\x10\0\0\x14\0\0\0\0\1");
    assert_string_equal(s.err.text,
                        "SF-E211: client 1 did not send IMPI_C_TAGUB");
    /* the label never comes at all */
    CHANGED(&s, "COLL\0\0\0\x10\0\0\x24\0", "WHAT\0\0\0\x10\0\0\x24\0");
    assert_string_equal(s.err.text,
                        "SF-E211: client 0 did not send IMPI_H_HIWATER");
}

static void counts_must_be_positive_and_add_up(void **state)
{
    struct script s;

    CHANGED(&s, "\0\0\x11\0\0\0\0\3\0\0\0\1\0\0\0\1",
            "\0\0\x11\0\0\0\0\3\0\0\0\1\0\0\0\0");
    assert_string_equal(s.err.text, "SF-E213: client 1: IMPI_C_NHOSTS is 0");
    CHANGED(&s, "\0\0\x12\0\0\0\0\3\0\0\0\1\0\0\0\1",
            "\0\0\x12\0\0\0\0\3\0\0\0\1\xff\xff\xff\xff");
    assert_string_equal(s.err.text,
                        "SF-E218: client 1: IMPI_C_NPROCS is 4294967295");
    CHANGED(&s, "\0\0\x22\0\0\0\0\3\0\0\0\1\0\0\0\1",
            "\0\0\x22\0\0\0\0\3\0\0\0\1\0\0\0\2");
    assert_string_equal(s.err.text,
                        "SF-E213: client 1: IMPI_H_NPROCS add up to 2, "
                        "IMPI_C_NPROCS is 1");
    CHANGED(&s, "\0\0\x22\0\0\0\0\3\0\0\0\1\0\0\0\1",
            "\0\0\x22\0\0\0\0\3\0\0\0\1\0\0\0\0");
    assert_string_equal(s.err.text, "SF-E213: client 1: IMPI_H_NPROCS is 0");
    CHANGED(&s, "\0\0\x13\x89\0\0\x17\x71", "\0\0\x13\x89\0\1\x17\x71");
    assert_string_equal(s.err.text, "SF-E213: client 1: IMPI_H_PORT is 71537");
}

static void half_a_version_is_refused(void **state)
{
    struct script s;

    script_joined(&s, false);
    assert_int_equal(TELL(&s, "COLL\0\0\0\x1c\0\0\x10\0\0\0\0\3"
                              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"),
                     -1);
    assert_string_equal(s.err.text, "SF-E212: IMPI_C_VERSION: 20 bytes in all");
    impi_join_destroy(s.k.join);
}

/* A foreign client may say it in the other form of IPv4. */
static void mapped_and_compatible_are_one_machine(void **state)
{
    static const char both[] =
        "\0\0\x30\0\0\0\0\3"
        "\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\1\1\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\2\1";
    char same[sizeof(both)];
    struct script s;

    memcpy(same, both, sizeof(both));
    memcpy(same + 8 + 16 + 10, "\xff\xff\x7f\0\1\1", 6);
    tell_changed(&s, both, sizeof(both) - 1, same);
    assert_string_equal(s.err.text,
                        "SF-E216: ranks 0 (client 0) and 1 (client 1) have the "
                        "same IMPI_P_IPV6 and IMPI_P_PID");
}

/* Client 1 has two processes and one host, which has one. */
static void too_few_processes_on_the_hosts(void **state)
{
    static const char nprocs[] = "\0\0\x12\0\0\0\0\3\0\0\0\1\0\0\0";
    char copy[sizeof(standard_labels)], *at;
    struct script s;

    memcpy(copy, standard_labels, sizeof(copy));
    at = memmem(copy, sizeof(copy), nprocs, sizeof(nprocs) - 1);
    assert_non_null(at);
    at[sizeof(nprocs) - 1] = 2;
    at = memmem(copy, sizeof(copy), "COLL\0\0\0\x28\0\0\x30", 11);
    assert_non_null(at);
    script_joined(&s, false);
    assert_int_equal(TELL(&s, VERSIONS), 0);
    assert_int_equal(tell(&s, copy, (size_t)(at - copy)), 0);
    assert_int_equal(TELL(&s, "COLL\0\0\0\x38\0\0\x30\0\0\0\0\3"
                              "\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\1\1"
                              "\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\2\1"
                              "\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\2\1"
                              "COLL\0\0\0\x20\0\0\x31\0\0\0\0\3\0\0\0\0\0\0\0\1"
                              "\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3"),
                     0);
    assert_int_equal(TELL(&s, "DONE\0\0\0\0"), -1);
    assert_string_equal(s.err.text,
                        "SF-E213: client 1: IMPI_H_NPROCS add up to 1, "
                        "IMPI_C_NPROCS is 2");
    impi_join_destroy(s.k.join);
}

/* Each label one element short and one too long: an error that names the
 * other client and the label, and (under ASan) no byte read past the end. */
static void wrong_length_names_client_and_label(void **state)
{
    for (int i = 0; i < IMPI_N_LABELS; i++) {
        const struct impi_label_info *l = &impi_labels[i];

        if (!l->mandatory || l->label == IMPI_C_VERSION)
            continue;
        for (int delta = -1; delta <= 1; delta += 2) {
            const char *p = standard_labels;
            struct script s;
            int rc = 0;

            script_joined(&s, false);
            assert_int_equal(TELL(&s, VERSIONS), 0);
            while (p < standard_labels + sizeof(standard_labels) - 1) {
                struct impi_cmd c = impi_cmd_decode((const uint8_t *)p);
                uint8_t copy[128] = {0};
                uint32_t label, len = (uint32_t)c.len;

                memcpy(copy, p, IMPI_CMD_SIZE + len);
                p += IMPI_CMD_SIZE + len;
                label = (uint32_t)copy[10] << 8 | copy[11];
                if ((int32_t)label == l->label) {
                    len = (uint32_t)((int)len + delta * (int)l->size);
                    copy[7] = (uint8_t)len;
                }
                rc |= tell(&s, copy, IMPI_CMD_SIZE + len);
            }
            assert_int_equal(rc, 0);
            assert_int_equal(TELL(&s, "DONE\0\0\0\0"), -1);
            assert_non_null(strstr(s.err.text, "SF-E212: client 1: "));
            assert_non_null(strstr(s.err.text, l->name));
            impi_join_destroy(s.k.join);
        }
    }
}

static void wrong_number_of_clients_is_refused(void **state)
{
    static const char *const sizes[] = {"\0\0\0\0", "\0\0\0\x21", "\0\0\0\3",
                                        "\xff\xff\xff\xff"};

    for (int i = 0; i < 4; i++) {
        struct script s;

        script_begin(&s, true);
        assert_int_equal(TELL(&s, "\0\0\0\0\0\0\0\0IMPI\0\0\0\4"), 0);
        assert_int_equal(tell(&s, sizes[i], 4), -1);
        assert_non_null(strstr(s.err.text, "we are client 0 of 2"));
        impi_join_destroy(s.k.join);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_client_sends_its_14_labels_in_order),
        cmocka_unit_test(nothing_is_sent_before_the_version_is_known),
        cmocka_unit_test(answer_to_impi_may_come_early),
        cmocka_unit_test(unknown_labels_and_commands_are_ignored),
        cmocka_unit_test(swallowed_extensions_mean_standard),
        cmocka_unit_test(without_agreement_labels_go_one_by_one),
        cmocka_unit_test(agreed_labels_go_in_one_burst),
        cmocka_unit_test(own_rank_beyond_the_size_is_refused),
        cmocka_unit_test(third_version_of_the_extensions_needs_every_client),
        cmocka_unit_test(third_version_tells_the_processors),
        cmocka_unit_test(fourth_version_has_windows),
        cmocka_unit_test(fifth_version_shares_their_memory),
        cmocka_unit_test(seventh_version_has_files),
        cmocka_unit_test(eighth_version_has_windows_that_the_network_reads),
        cmocka_unit_test(ninth_version_has_collective_calls_of_few_rounds),
        cmocka_unit_test(tenth_version_has_locks_that_operations_bring_along),
        cmocka_unit_test(eleventh_version_has_collective_calls_of_few_bytes),
        cmocka_unit_test(third_version_wants_sane_processors_of_all),
        cmocka_unit_test(missing_label_names_client_and_label),
        cmocka_unit_test(half_a_version_is_refused),
        cmocka_unit_test(mapped_and_compatible_are_one_machine),
        cmocka_unit_test(counts_must_be_positive_and_add_up),
        cmocka_unit_test(too_few_processes_on_the_hosts),
        cmocka_unit_test(wrong_length_names_client_and_label),
        cmocka_unit_test(wrong_number_of_clients_is_refused),
    };

    return cmocka_run_group_tests_name("impi_join_script", tests, NULL, NULL);
}
