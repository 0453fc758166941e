/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A task that attaches to its context and talks to all others of its program.
 *
 *     elan_ping ping SIZE        all to all: each process gets an answer from
 *                                every other one; prints "all N answered"
 *     elan_ping pages SIZE       the same by pages, every third of which is
 * kept for a while elan_ping hoard            pages of processes that died
 * holding them; needs two contexts elan_ping hold FILE        attaches, writes
 * its capability to FILE, stays until FILE.end is there; attaches anew when
 *                                hsnd went
 *     elan_ping twice            what a member may not do
 *     elan_ping die              contexts of dead processes are free again
 * Outside a program:
 *     elan_ping attach FILE      with a capability that it should not have
 *     elan_ping forge FILE       the same with another key
 *     elan_ping open             what needs privilege
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "elan/capability.h"
#include "elan/rmscall.h"
#include "hsn/libhsn.h"

#define PROCS_MAX 256

enum kind { PING, PONG, DONE };

struct header {
    uint32_t kind, from, to, number;
};

static ELAN_CAPABILITY cap;
static uint8_t page[HSN_DATA_MAX];

static const char *name_of(int error)
{
    switch (error) {
    case 0:
        return "ok";
    case EPERM:
        return "EPERM";
    case EACCES:
        return "EACCES";
    case ERANGE:
        return "ERANGE";
    case EBUSY:
        return "EBUSY";
    case ENOSYS:
        return "ENOSYS";
    default:
        return strerror(error);
    }
}

static void tell(const char *what, struct hsn *h)
{
    printf("%s: %s\n", what, name_of(h ? 0 : errno));
    fflush(stdout);
    hsn_close(h);
}

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint8_t byte_of(uint32_t from, uint32_t to, size_t i)
{
    return (uint8_t)(from * 31 + to * 17 + i);
}

/* Into a page of the network's, if there is one: else it is asked for again. */
static void send_to(struct hsn *h, uint32_t to, struct header head, size_t size)
{
    uint8_t *own = hsn_page_size(h) && size ? hsn_page_get(h) : NULL;
    uint8_t *data = own ? own : page;
    struct hsn_message m = {.data = data,
                            .data_len = size,
                            .header = &head,
                            .header_len = sizeof(head)};

    for (size_t i = 0; i < size; i++)
        data[i] = byte_of(head.from, head.to, i);
    if (elan3_locate(&cap, to, &m.node, &m.context) < 0)
        return;
    if (!own && (!hsn_page_size(h) || !size))
        hsn_send(h, &m);
    else if (own && hsn_send_page(h, &m) < 0)
        hsn_page_free(h, own);
}

/* Is the message what that process says, and from where it is? */
static int right(const struct hsn_message *m, uint32_t me, struct header *head)
{
    uint32_t node, context;
    const uint8_t *data = m->data;

    if (m->header_len != sizeof(*head))
        return 0;
    memcpy(head, m->header, sizeof(*head));
    if (head->to != me || elan3_locate(&cap, head->from, &node, &context) < 0 ||
        node != m->node || context != m->context)
        return 0;
    for (size_t i = 0; i < m->data_len; i++)
        if (data[i] != byte_of(head->from, head->to, i))
            return 0;
    return 1;
}

struct talk {
    struct hsn *h;
    uint32_t me, n;
    size_t size;
    uint8_t answered[PROCS_MAX], done[PROCS_MAX];
    struct {
        uint64_t next, pause; /* ms */
    } asked[PROCS_MAX];
    unsigned wrong;
    unsigned early;          /* data that came before pages were asked for */
    unsigned paged, unpaged; /* data that came in pages, or might have */
    void *kept;
    struct header kept_head; /* what came with it */
};

static uint32_t missing(const struct talk *t, const uint8_t *flags)
{
    uint32_t k = 0;

    for (uint32_t i = 0; i < t->n; i++)
        k += i != t->me && !flags[i];
    return k;
}

/* Ask for pages; what came before that is by the ring. */
static void open_pages(struct talk *t)
{
    struct hsn_message m;

    if (hsn_pages_open(t->h) < 0) {
        printf("process %u: pages: %s\n", t->me, name_of(errno));
        return;
    }
    while (hsn_try_recv(t->h, &m) == 0)
        t->early += m.data_len >= HSN_PAGES_LEAST &&
                    (uintptr_t)m.data % hsn_page_size(t->h);
}

/* Data that might have come in a page: has it?  Every third is kept, and must
 * still be right when the next one is. */
static void look_at_page(struct talk *t, const struct hsn_message *m,
                         const struct header *head)
{
    size_t size = hsn_page_size(t->h);

    if (!size || m->data_len < HSN_PAGES_LEAST)
        return;
    if ((uintptr_t)m->data % size) {
        t->unpaged++;
        return;
    }
    if (t->paged++ % 3)
        return;
    for (size_t i = 0; t->kept && i < t->size; i++)
        t->wrong += ((uint8_t *)t->kept)[i] !=
                    byte_of(t->kept_head.from, t->kept_head.to, i);
    if (t->kept)
        t->wrong += hsn_page_free(t->h, t->kept) < 0;
    t->kept = hsn_page_keep(t->h);
    t->kept_head = *head;
    t->wrong += !t->kept;
}

static void take(struct talk *t, const struct hsn_message *m)
{
    struct header head;

    if (!right(m, t->me, &head)) {
        t->wrong++;
        return;
    }
    look_at_page(t, m, &head);
    if (head.kind == PING)
        send_to(t->h, head.from, (struct header){PONG, t->me, head.from, 0},
                t->size);
    else if (head.kind == PONG)
        t->answered[head.from] = 1;
    else
        t->done[head.from] = 1;
}

/* Is it time to ask that process again?  Rarer and rarer: who does not look
 * for a while, on a machine that is busy, must not find more data than he has
 * pages for. */
static bool may_ask(struct talk *t, uint32_t i)
{
    uint64_t pause = t->asked[i].pause ? 2 * t->asked[i].pause : 20;

    if (now_ms() < t->asked[i].next)
        return false;
    t->asked[i].pause = pause < 4000 ? pause : 4000;
    t->asked[i].next = now_ms() + t->asked[i].pause;
    return true;
}

static void say(struct talk *t)
{
    uint32_t waiting = missing(t, t->answered);

    for (uint32_t i = 0; i < t->n; i++) {
        if (i == t->me)
            continue;
        if (!t->answered[i] && may_ask(t, i))
            send_to(t->h, i, (struct header){PING, t->me, i, 0}, t->size);
        if (!waiting)
            send_to(t->h, i, (struct header){DONE, t->me, i, 0}, 0);
    }
}

static int ping(size_t size, bool pages)
{
    struct talk *t = calloc(1, sizeof(*t));
    struct hsn_message m;
    uint64_t quiet = now_ms(), end = quiet + 60000;

    t->h = hsn_attach(NULL, &cap, -1);
    t->me = (uint32_t)atoi(getenv("RMS_PROCID"));
    t->n = (uint32_t)cap.Entries;
    t->size = size;
    if (!t->h || t->n > PROCS_MAX) {
        printf("attach: %s\n", name_of(errno));
        free(t);
        return 1;
    }
    if (pages)
        open_pages(t);
    while (now_ms() < end && (missing(t, t->answered) || missing(t, t->done) ||
                              now_ms() < quiet + 300)) {
        if (missing(t, t->answered) || missing(t, t->done))
            quiet = now_ms();
        say(t);
        if (hsn_wait(t->h, 20) < 0 && errno != EINTR) {
            printf("process %u: waiting: %s\n", t->me, name_of(errno));
            break;
        }
        while (hsn_recv(t->h, &m) == 0)
            take(t, &m);
    }
    printf("process %u: all %u answered, %u wrong, %u missing\n", t->me,
           t->n - 1 - missing(t, t->answered), t->wrong,
           missing(t, t->answered));
    if (pages)
        printf("process %u: %s in pages, %u not, %u before\n", t->me,
               t->paged ? "data came" : "nothing came", t->unpaged, t->early);
    hsn_close(t->h);
    return missing(t, t->answered) || t->wrong;
}

static void write_cap(const char *path)
{
    FILE *f = fopen(path, "w");

    if (f) {
        fwrite(&cap, sizeof(cap), 1, f);
        fclose(f);
    }
}

static int read_cap(const char *path)
{
    FILE *f = fopen(path, "r");
    int ok = f && fread(&cap, sizeof(cap), 1, f) == 1;

    if (f)
        fclose(f);
    return ok ? 0 : -1;
}

static struct hsn *attach_patiently(void)
{
    struct hsn *h;

    for (int i = 0; i < 600; i++) {
        h = hsn_attach(NULL, &cap, -1);
        if (h)
            return h;
        poll(NULL, 0, 50);
    }
    return NULL;
}

static int hold(const char *path)
{
    struct hsn *h = hsn_attach(NULL, &cap, -1);
    char end[512], part[512];
    uint64_t late = now_ms() + 600000;

    printf("attach: %s\n", name_of(h ? 0 : errno));
    snprintf(end, sizeof(end), "%s.end", path);
    snprintf(part, sizeof(part), "%s.part", path);
    write_cap(part);
    rename(part, path);
    while (h && now_ms() < late && access(end, F_OK) < 0) {
        struct hsn_message m;

        if (hsn_wait(h, 50) >= 0 || errno == EINTR) {
            while (hsn_try_recv(h, &m) == 0)
                ; /* else waiting would wait no more */
            continue;
        }
        printf("lost hsnd: %s\n", strerror(errno));
        hsn_close(h);
        h = attach_patiently();
        printf("attached again: %s\n", h ? "yes" : strerror(errno));
        fflush(stdout);
    }
    hsn_close(h);
    return 0;
}

static int twice(void)
{
    struct hsn *h = hsn_attach(NULL, &cap, -1);

    printf("first: %s\n", name_of(h ? 0 : errno));
    tell("same context", hsn_attach(NULL, &cap, -1));
    tell("below the range", hsn_attach(NULL, &cap, cap.LowContext - 1));
    tell("above the range", hsn_attach(NULL, &cap, cap.HighContext + 1));
    tell("no context", hsn_attach(NULL, &cap, 100000));
    cap.UserKey.Values[2] ^= 1;
    tell("altered key", hsn_attach(NULL, &cap, -1));
    cap.UserKey.Values[2] ^= 1;
    cap.Bitmap[0] ^= 1;
    tell("altered bitmap", hsn_attach(NULL, &cap, -1));
    hsn_close(h);
    return 0;
}

/* A child takes our context and is killed; with a grandchild that keeps its
 * descriptors. */
static void lose_context(int heir)
{
    int pipefd[2];
    char c;
    pid_t pid;

    if (pipe(pipefd) < 0)
        return;
    pid = fork();
    if (pid == 0) {
        struct hsn *h = hsn_attach(NULL, &cap, -1);

        if (heir && fork() == 0) {
            close(pipefd[1]);
            poll(NULL, 0, 20000);
            _exit(0);
        }
        (void)!write(pipefd[1], h ? "y" : "n", 1);
        pause();
    }
    (void)!read(pipefd[0], &c, 1);
    printf("child attached: %c\n", c);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(pipefd[0]);
    close(pipefd[1]);
    tell("then we", attach_patiently());
}

/* How many pages a new process gets at context LowContext + 1, which dies with
 * them in its hands. */
static unsigned pages_of_a_child(void)
{
    unsigned n = 0;
    int pipefd[2], status;
    pid_t pid;

    if (pipe(pipefd) < 0)
        return 0;
    pid = fork();
    if (pid == 0) {
        struct hsn *h = NULL;

        for (int i = 0; i < 600 && !h; i++) {
            h = hsn_attach(NULL, &cap, cap.LowContext + 1);
            if (!h)
                poll(NULL, 0, 50);
        }
        if (h && hsn_pages_open(h) == 0)
            while (hsn_page_get(h))
                n++;
        (void)!write(pipefd[1], &n, sizeof(n));
        kill(getpid(), SIGKILL);
    }
    (void)!read(pipefd[0], &n, sizeof(n));
    waitpid(pid, &status, 0);
    close(pipefd[0]);
    close(pipefd[1]);
    return n;
}

static int hoard(void)
{
    struct hsn *h = hsn_attach(NULL, &cap, cap.LowContext);

    printf("attach: %s\n", name_of(h && hsn_pages_open(h) == 0 ? 0 : errno));
    for (int i = 0; i < 6; i++)
        printf("child got %u pages\n", pages_of_a_child());
    hsn_close(h);
    return 0;
}

static int open_things(void)
{
    struct hsn *h = hsn_open(NULL);

    tell("mapper packets", hsn_raw_open(NULL, HSN_TYPE_MAPPER));
    tell("low module", hsn_dgram_open(NULL, HSN_MODULE_SERVER));
    printf(
        "routes: %s\n",
        name_of(h && hsn_load_routes(h, 1, 0, true, NULL, 0) == 0 ? 0 : errno));
    tell("elan module", hsn_dgram_open(NULL, HSN_MODULE_ELAN));
    hsn_close(h);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "";

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(what, "open") == 0)
        return open_things();
    if (strcmp(what, "attach") == 0 || strcmp(what, "forge") == 0) {
        if (read_cap(arg) < 0)
            return 2;
        cap.UserKey.Values[1] ^= what[0] == 'f';
        tell(what, hsn_attach(NULL, &cap, cap.LowContext + 1));
        return 0;
    }
    if (rms_getcap(0, &cap) < 0) {
        printf("getcap: %s\n", strerror(errno));
        return 2;
    }
    if (strcmp(what, "ping") == 0)
        return ping((size_t)atoi(arg), false);
    if (strcmp(what, "pages") == 0)
        return ping((size_t)atoi(arg), true);
    if (strcmp(what, "hoard") == 0)
        return hoard();
    if (strcmp(what, "hold") == 0)
        return hold(arg);
    if (strcmp(what, "twice") == 0)
        return twice();
    if (strcmp(what, "die") == 0) {
        lose_context(0);
        lose_context(1);
        return 0;
    }
    return 2;
}
