/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the steps of a collective call send and receive: past all queues where
 * that can be, else by requests.  The connections, the requests and the waiting
 * are played here and write down what they are asked for; nothing of the MPI
 * library but its header is used.
 */
#define _GNU_SOURCE /* a recursive mutex */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "libimpi/buffer.h"
#include "libimpi/coll_agree.h"
#include "libimpi/coll_run.h"
#include "libimpi/data.h"
#include "libimpi/failed.h"
#include "libimpi/large.h"
#include "libimpi/late_free.h"
#include "libimpi/conns.h"
#include "libimpi/p2p_calls.h"
#include "libimpi/progress.h"
#include "libimpi/req.h"
#include "libimpi/status.h"

#define RANKS 4
#define CID 40
#define TAG 7
#define TAG_BASE 1000

/* ---- the players ---- */

static struct {
    char log[256];
    bool plain;         /* data need no conversion */
    enum conns_put put; /* what a connection takes */
    bool here[RANKS];   /* a message of rank r is */
    bool busy;          /* a round may not be left out */
    struct impi_send sent;
    struct impi_recv wanted;
} play;

static struct req requests[RANKS];
static int nrequests;

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
    size_t len = strlen(play.log);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(play.log + len, sizeof(play.log) - len, fmt, ap);
    va_end(ap);
}

struct backend impi_be;
struct impi_real impi_real;
const struct type_info *data_plain;

bool data_look_plain(int count, MPI_Datatype type, uint64_t *len)
{
    (void)type;
    *len = (uint64_t)count * sizeof(double);
    return play.plain;
}

/* No type here is empty. */
void data_spare_empty(int *count, MPI_Datatype *type)
{
    (void)count;
    (void)type;
}

void *large_at(const void *buf, MPI_Count n, MPI_Datatype type)
{
    (void)type;
    return (char *)(uintptr_t)buf + n * (MPI_Count)sizeof(double);
}

enum conns_put conns_put(const struct impi_send *args, size_t *part)
{
    say(" put%u", args->peer);
    play.sent = *args;
    *part = 9;
    return play.put;
}

bool conns_take(const struct impi_recv *want, bool wait,
                struct impi_status *status)
{
    (void)status;
    say(" %s%u", wait ? "take" : "glance", want->peer);
    play.wanted = *want;
    return play.here[want->peer];
}

bool conns_skip_round(void)
{
    return !play.busy;
}

int send_copy_rest(struct message *m, size_t part)
{
    say(" rest%d(%zu)", m->comm->world[m->peer], part);
    return MPI_SUCCESS;
}

struct req *req_alloc(void)
{
    struct req *r = &requests[nrequests++];

    *r = (struct req){.index = 0};
    return r;
}

int req_send(struct req *r, const struct message *m, bool sync)
{
    (void)r;
    (void)sync;
    say(" send%d", m->comm->world[m->peer]);
    return MPI_SUCCESS;
}

int req_recv(struct req *r, const struct message *m)
{
    (void)r;
    say(" recv%d", m->comm->world[m->peer]);
    return MPI_SUCCESS;
}

bool req_poll(struct req *r)
{
    return r->done;
}

int req_result(struct req *r, MPI_Status *status, bool quiet)
{
    (void)r;
    (void)status;
    (void)quiet;
    return MPI_SUCCESS;
}

void req_free(struct req *r)
{
    (void)r;
}

void req_coll(struct req *r, struct coll *x)
{
    (void)r;
    (void)x;
}

/* While the program waits, everything that is under way comes to its end. */
void progress_wait(struct waiter *w)
{
    (void)w;
    say(" wait");
    for (int i = 0; i < nrequests; i++)
        requests[i].done = true;
    coll_progress();
}

bool progress_once(void)
{
    say(" round");
    return false;
}

static int native_isend(const void *buf, int count, MPI_Datatype type, int dest,
                        int tag, MPI_Comm comm, MPI_Request *request)
{
    (void)buf, (void)count, (void)type, (void)tag, (void)comm;
    say(" native%d", dest);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* All are done, one at each call. */
static int native_testany(int count, MPI_Request r[], int *i, int *flag,
                          MPI_Status *status)
{
    (void)r;
    (void)status;
    *i = count - 1;
    *flag = 1;
    return MPI_SUCCESS;
}

/* ---- not asked for here ---- */

void be_lock_slow(void)
{
    fail();
}

void be_unlock(void)
{
    be_unlock_same();
}

void be_die(int code, const char *fmt, ...)
{
    (void)code;
    fail_msg("%s", fmt);
    abort();
}

int be_raise_error(MPI_Comm comm, int code)
{
    (void)comm;
    return code;
}

/* No communicator here has processes of another world. */
int failed_note_why(MPI_Comm comm, int code, const char *why)
{
    (void)comm;
    fail_msg("%s", why);
    return code;
}

bool coll_agree(struct coll *x)
{
    (void)x;
    fail_msg("agreement in one world");
    return true;
}

bool buffer_devices(void)
{
    return true;
}

void buffer_page_keep(struct buffer_page *page, const void *buf)
{
    (void)page;
    (void)buf;
}

void status_from_core(MPI_Status *status, const struct impi_status *st)
{
    (void)status;
    (void)st;
}

bool impi_p2p_busy(const struct impi_p2p *p2p)
{
    (void)p2p;
    return false;
}

uint32_t impi_group_num_local_to_rank(const struct impi_group *g, uint32_t r)
{
    (void)g;
    (void)r;
    return 1;
}

void comm_free(struct impi_comm *c)
{
    (void)c;
}

void late_free_all(void)
{
}

void *block_at(const struct blocks *b, int i)
{
    (void)i;
    return b->base;
}

/* No block here has made a type. */
void blocks_drop(struct blocks *b)
{
    (void)b;
}

int block_count(const struct blocks *b, int i)
{
    (void)b;
    (void)i;
    return 0;
}

MPI_Datatype block_type(const struct blocks *b, int i)
{
    (void)b;
    (void)i;
    return MPI_BYTE;
}

int data_assign(void *to, const void *from, int count, MPI_Datatype type)
{
    (void)to, (void)from, (void)count, (void)type;
    return MPI_SUCCESS;
}

int data_copy(void *to, const void *from, int count, MPI_Datatype type)
{
    return data_assign(to, from, count, type);
}

/* ---- a communicator and its calls ---- */

/* Ranks are dealt out backwards; rank 3 is of the own client. */
static int world[RANKS] = {3, 2, 1, 0};
static int native[RANKS] = {-1, -1, -1, 1};
static struct impi_comm comm;
static double data[1024];

static int set_up(void **state)
{
    (void)state;
    memset(&play, 0, sizeof(play));
    play.plain = true;
    play.put = CONNS_PUT_ALL;
    memset(&impi_be, 0, sizeof(impi_be));
    impi_real.Isend = native_isend;
    impi_real.Testany = native_testany;
    nrequests = 0;
    comm = (struct impi_comm){.cid = CID,
                              .world = world,
                              .native = native,
                              .size = RANKS,
                              .peers = RANKS,
                              .native_size = 2,
                              .tag_base = TAG_BASE,
                              .queue_end = &comm.queue};
    return 0;
}

#define SEND(r)                                                                \
    {                                                                          \
        .kind = IMPI_STEP_SEND, .buf = IMPI_BUF_DATA, .tag = TAG, .rank = (r)  \
    }
#define RECV(r)                                                                \
    {                                                                          \
        .kind = IMPI_STEP_RECV, .buf = IMPI_BUF_DATA, .tag = TAG, .rank = (r)  \
    }

static struct coll *call_of(struct impi_step *steps, size_t n, int count)
{
    struct coll *x = coll_new(&comm);

    x->steps.steps = steps;
    x->steps.count = n;
    x->buf[IMPI_BUF_DATA] = data;
    x->count = count;
    x->type = MPI_DOUBLE;
    return x;
}

/* What a blocking call of these steps asks for. */
static const char *blocking(struct impi_step *steps, size_t n, int count)
{
    assert_int_equal(coll_run_quiet(call_of(steps, n, count), MPI_SUCCESS),
                     MPI_SUCCESS);
    assert_int_equal(comm.refs, 0);
    return play.log;
}

/* ---- sends ---- */

static void a_short_send_is_written_at_once(void **state)
{
    struct impi_step steps[] = {SEND(0)};

    (void)state;
    assert_string_equal(blocking(steps, 1, 1), " put3");
    assert_int_equal(play.sent.tag, TAG_BASE + TAG);
    assert_int_equal(play.sent.cid, CID + 1);
    assert_int_equal(play.sent.count, 1);
    assert_int_equal(play.sent.buf.len, sizeof(double));
    assert_ptr_equal(play.sent.buf.base, data);
    assert_false(play.sent.sync);
}

static void what_no_connection_takes_has_a_request(void **state)
{
    struct impi_step steps[] = {SEND(0)};

    (void)state;
    play.put = CONNS_PUT_NONE;
    assert_string_equal(blocking(steps, 1, 1), " put3 send3 wait");
}

static void the_rest_of_a_part_is_copied(void **state)
{
    struct impi_step steps[] = {SEND(0)};

    (void)state;
    play.put = CONNS_PUT_PART;
    assert_string_equal(blocking(steps, 1, 1), " put3 rest3(9)");
}

static void a_long_or_converted_one_has_a_request(void **state)
{
    struct impi_step steps[] = {SEND(0)}, in[] = {RECV(0)};

    (void)state;
    play.here[3] = true;
    blocking(steps, 1, CONNS_FAST_MAX / sizeof(double) + 1);
    blocking(in, 1, CONNS_FAST_MAX / sizeof(double) + 1);
    assert_string_equal(play.log, " send3 wait recv3 wait");
    play.log[0] = '\0';
    play.plain = false;
    nrequests = 0;
    blocking(steps, 1, 1);
    blocking(in, 1, 1);
    assert_string_equal(play.log, " send3 wait recv3 wait");
}

static void the_longest_short_one_has_none(void **state)
{
    struct impi_step steps[] = {SEND(0), RECV(0)};

    (void)state;
    play.here[3] = true;
    assert_string_equal(blocking(steps, 2, CONNS_FAST_MAX / sizeof(double)),
                        " put3 take3");
}

/* ---- receives ---- */

static void a_short_message_is_taken_at_once(void **state)
{
    struct impi_step steps[] = {RECV(1)};

    (void)state;
    play.here[2] = true;
    assert_string_equal(blocking(steps, 1, 1), " take2");
    assert_int_equal(play.wanted.tag, TAG_BASE + TAG);
    assert_int_equal(play.wanted.cid, CID + 1);
    assert_int_equal(play.wanted.buf.len, sizeof(double));
    assert_ptr_equal(play.wanted.buf.base, data);
}

static void what_is_not_here_has_a_request(void **state)
{
    struct impi_step steps[] = {RECV(1)};

    (void)state;
    assert_string_equal(blocking(steps, 1, 1), " take2 recv2 wait");
}

/* Those before it are older, and may be of the same peer. */
static void only_the_last_of_a_row_is_taken(void **state)
{
    struct impi_step steps[] = {RECV(1), RECV(2)};

    (void)state;
    steps[0].more = true;
    play.here[1] = play.here[2] = true;
    assert_string_equal(blocking(steps, 2, 1), " recv2 recv1 wait");
}

static void rows_are_taken_one_after_the_other(void **state)
{
    struct impi_step steps[] = {SEND(0), RECV(1), SEND(2), RECV(0)};

    (void)state;
    steps[0].more = steps[2].more = true;
    play.here[2] = play.here[3] = true;
    assert_string_equal(blocking(steps, 4, 1), " put3 take2 put1 take3");
}

static void none_is_taken_beside_a_native_request(void **state)
{
    struct impi_step steps[] = {SEND(3), RECV(1)};

    (void)state;
    steps[0].local = steps[0].more = true;
    play.here[2] = true;
    assert_string_equal(blocking(steps, 2, 1), " native1 recv2 wait");
}

/* It would hold up the others, who have what it waits for. */
static void none_is_taken_in_a_crowd(void **state)
{
    struct impi_step steps[] = {SEND(0), RECV(1)};

    (void)state;
    impi_be.crowded = true;
    play.here[2] = true;
    assert_string_equal(blocking(steps, 2, 1), " put3 recv2 wait");
}

static void nobody_looks_twice_beside_other_threads(void **state)
{
    struct impi_step steps[] = {RECV(1)};

    (void)state;
    impi_be.threads = true;
    impi_be.lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    play.here[2] = true;
    assert_string_equal(blocking(steps, 1, 1), " glance2");
}

/* ---- the call ---- */

/* MPI_Ibcast must not wait for anybody. */
static void a_nonblocking_call_takes_none(void **state)
{
    struct impi_step steps[] = {SEND(0), RECV(1)};
    MPI_Request request;
    struct waiter w = {.native = false};
    struct coll *x = call_of(steps, 2, 1);

    (void)state;
    play.here[2] = true;
    assert_int_equal(coll_run(x, MPI_SUCCESS, &request), MPI_SUCCESS);
    assert_string_equal(play.log, " put3 recv2 round");
    progress_wait(&w);
    assert_true(x->done);
    assert_int_equal(coll_end(x), MPI_SUCCESS);
}

static void others_have_their_round_before_long(void **state)
{
    struct impi_step steps[] = {SEND(0)};

    (void)state;
    play.busy = true;
    assert_string_equal(blocking(steps, 1, 1), " put3 round");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_short_send_is_written_at_once, set_up),
        cmocka_unit_test_setup(what_no_connection_takes_has_a_request, set_up),
        cmocka_unit_test_setup(the_rest_of_a_part_is_copied, set_up),
        cmocka_unit_test_setup(a_long_or_converted_one_has_a_request, set_up),
        cmocka_unit_test_setup(the_longest_short_one_has_none, set_up),
        cmocka_unit_test_setup(a_short_message_is_taken_at_once, set_up),
        cmocka_unit_test_setup(what_is_not_here_has_a_request, set_up),
        cmocka_unit_test_setup(only_the_last_of_a_row_is_taken, set_up),
        cmocka_unit_test_setup(rows_are_taken_one_after_the_other, set_up),
        cmocka_unit_test_setup(none_is_taken_beside_a_native_request, set_up),
        cmocka_unit_test_setup(none_is_taken_in_a_crowd, set_up),
        cmocka_unit_test_setup(nobody_looks_twice_beside_other_threads, set_up),
        cmocka_unit_test_setup(a_nonblocking_call_takes_none, set_up),
        cmocka_unit_test_setup(others_have_their_round_before_long, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
