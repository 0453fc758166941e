/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A client that sends messages of all sizes to its peers and looks hard at
 * what it gets, while daemons die around it:
 *
 *     hsn_storm SOCKET BOARD MODULE SEED FILE BOARD:MODULE..
 *
 * Every message says whose it is, and its bytes follow from that.  One that is
 * not for us, not from its sender, changed, there twice or out of order is
 * wrong: exit status 1 with a line that says what.  When hsnd is gone the
 * endpoint is opened again.  FILE always holds what was received from each
 * peer, then how often the endpoint was opened.  Ends on SIGTERM.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mac.h"
#include "hsn/libhsn.h"
#include "net/rng.h"

#define PEERS_MAX 16
#define SESSIONS_MAX 1024 /* endpoints that all peers open in a run */
#define BURST 64          /* messages at a time, at most */
#define PAUSE_MS 30 /* between two bursts, for a machine that others use */
#define AGAIN_MS 20
#define HEADER_MOST 200

/* What a message says of itself, at the beginning of its data. */
struct label {
    uint64_t session; /* of the sender's endpoint */
    uint64_t from, to;
    uint32_t from_module, to_module;
    uint32_t number; /* counted by the sender for each of its peers */
    uint16_t data_len, header_len;
};

struct peer {
    uint64_t board;
    uint16_t module;
    uint32_t sent;
    unsigned long got;
};

/* An endpoint of a peer, and the next number that may come from it. */
struct session {
    uint64_t name;
    uint32_t next;
};

struct storm {
    const char *socket;
    struct hsn *h;
    uint64_t board, session;
    uint16_t module;
    struct net_rng rng;
    int file;
    unsigned long opened;
    uint64_t next; /* when to send again */
    struct peer peers[PEERS_MAX];
    int npeers;
    struct session sessions[SESSIONS_MAX];
    int nsessions;
    uint8_t data[HSN_DATA_MAX], header[HEADER_MOST];
};

static volatile sig_atomic_t stopping;

static void on_term(int signo)
{
    (void)signo;
    stopping = 1;
}

static void wrong(const char *what, const struct label *l)
{
    printf("wrong: %s: session %llx from %012llx:%x to %012llx:%x number %u, "
           "%u and %u bytes\n",
           what, (unsigned long long)l->session, (unsigned long long)l->from,
           l->from_module, (unsigned long long)l->to, l->to_module, l->number,
           l->data_len, l->header_len);
    exit(1);
}

static void fill(struct net_rng *rng, uint8_t *at, size_t len)
{
    while (len > 0) {
        uint64_t word = net_rng_next(rng);
        size_t n = len < sizeof(word) ? len : sizeof(word);

        memcpy(at, &word, n);
        at += n;
        len -= n;
    }
}

/* The bytes of a message behind its label, and its header. */
static void make_bytes(const struct label *l, uint8_t *data, uint8_t *header)
{
    struct net_rng rng = {l->session ^ (uint64_t)l->number << 20 ^
                          l->to_module};

    memcpy(data, l, sizeof(*l));
    fill(&rng, data + sizeof(*l), l->data_len - sizeof(*l));
    fill(&rng, header, l->header_len);
}

static struct peer *peer_of(struct storm *s, const struct label *l)
{
    for (int i = 0; i < s->npeers; i++)
        if (s->peers[i].board == l->from &&
            s->peers[i].module == l->from_module)
            return &s->peers[i];
    wrong("no peer of mine", l);
    return NULL;
}

static struct session *session_of(struct storm *s, const struct label *l)
{
    for (int i = 0; i < s->nsessions; i++)
        if (s->sessions[i].name == l->session)
            return &s->sessions[i];
    if (s->nsessions == SESSIONS_MAX)
        wrong("too many sessions", l);
    s->sessions[s->nsessions].name = l->session;
    return &s->sessions[s->nsessions++];
}

static void check(struct storm *s, const struct hsn_message *m)
{
    struct label l = {0};
    struct session *from;

    if (m->data_len < sizeof(l))
        wrong("too short", &l);
    memcpy(&l, m->data, sizeof(l));
    if (l.data_len != m->data_len || l.header_len != m->header_len ||
        l.header_len > sizeof(s->header))
        wrong("another length", &l);
    if (l.to != s->board || l.to_module != s->module || m->module != s->module)
        wrong("not for me", &l);
    if (m->board != l.from)
        wrong("not from its sender", &l);
    make_bytes(&l, s->data, s->header);
    if (memcmp(m->data, s->data, l.data_len) != 0 ||
        memcmp(m->header, s->header, l.header_len) != 0)
        wrong("other bytes", &l);
    from = session_of(s, &l);
    if (l.number < from->next)
        wrong("again, or out of order", &l);
    from->next = l.number + 1;
    peer_of(s, &l)->got++;
}

/* A size at random, those at the bounds of packets more often. */
static uint16_t any_size(struct net_rng *rng)
{
    static const uint16_t bounds[] = {sizeof(struct label), 64, 4096, 8150,
                                      8192};
    uint32_t n = net_rng_below(rng, 2 * sizeof(bounds) / sizeof(bounds[0]));

    if (n < sizeof(bounds) / sizeof(bounds[0]))
        return bounds[n];
    return (
        uint16_t)(sizeof(struct label) +
                  net_rng_below(rng, HSN_DATA_MAX + 1 - sizeof(struct label)));
}

/* One message to anybody.  False: not now. */
static bool send_one(struct storm *s)
{
    struct peer *p = &s->peers[net_rng_below(&s->rng, (uint32_t)s->npeers)];
    struct label l = {.session = s->session,
                      .from = s->board,
                      .to = p->board,
                      .from_module = s->module,
                      .to_module = p->module,
                      .number = p->sent,
                      .data_len = any_size(&s->rng)};
    struct hsn_message m = {.board = p->board,
                            .module = p->module,
                            .data = s->data,
                            .data_len = l.data_len,
                            .header = s->header};

    l.header_len = (uint16_t)net_rng_below(&s->rng, HEADER_MOST);
    m.header_len = l.header_len;
    make_bytes(&l, s->data, s->header);
    if (hsn_send(s->h, &m) < 0)
        return false;
    p->sent++;
    return true;
}

/* False: hsnd is gone. */
static bool receive_all(struct storm *s)
{
    struct hsn_message m;

    while (hsn_recv(s->h, &m) == 0)
        check(s, &m);
    return errno == EAGAIN;
}

static void say_counts(struct storm *s)
{
    char line[PEERS_MAX * 12 + 24];
    int n = 0;

    for (int i = 0; i < s->npeers; i++)
        n += snprintf(line + n, sizeof(line) - (size_t)n, "%011lu ",
                      s->peers[i].got);
    n += snprintf(line + n, sizeof(line) - (size_t)n, "%011lu\n", s->opened);
    if (pwrite(s->file, line, (size_t)n, 0) != n)
        exit(2);
}

static bool is_open(struct storm *s)
{
    if (s->h)
        return true;
    s->h = hsn_dgram_open(s->socket, s->module);
    if (!s->h || mac_random(&s->session, sizeof(s->session)) < 0) {
        poll(NULL, 0, AGAIN_MS);
        return false;
    }
    s->opened++;
    for (int i = 0; i < s->npeers; i++)
        s->peers[i].sent = 0;
    return true;
}

/* A burst, when it is time for one.  False: hsnd is gone. */
static bool send_some(struct storm *s)
{
    uint32_t n = net_rng_below(&s->rng, BURST);

    if (clock_ns() < s->next)
        return true;
    while (n > 0 && send_one(s))
        n--;
    s->next = clock_ns() + PAUSE_MS * 1000000u;
    return n == 0 || errno == EAGAIN;
}

static void storm(struct storm *s)
{
    if (!send_some(s) || !receive_all(s) ||
        (hsn_wait(s->h, PAUSE_MS) < 0 && errno != EINTR)) {
        hsn_close(s->h);
        s->h = NULL;
    }
}

int main(int argc, char **argv)
{
    struct sigaction end = {.sa_handler = on_term};
    static struct storm s;

    if (argc < 7 || argc - 6 > PEERS_MAX)
        return 2;
    s.socket = argv[1];
    s.board = strtoull(argv[2], NULL, 16);
    s.module = (uint16_t)strtoul(argv[3], NULL, 16);
    s.rng.state = strtoull(argv[4], NULL, 0) ^ s.board ^ s.module;
    s.file = open(argv[5], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    for (int i = 6; i < argc; i++) {
        char *module;

        s.peers[s.npeers].board = strtoull(argv[i], &module, 16);
        s.peers[s.npeers++].module = (uint16_t)strtoul(module + 1, NULL, 16);
    }
    sigaction(SIGTERM, &end, NULL);
    while (!stopping) {
        if (is_open(&s))
            storm(&s);
        say_counts(&s);
    }
    hsn_close(s.h);
    return 0;
}
