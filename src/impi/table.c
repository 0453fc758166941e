/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "impi/crowd.h"

#define TABLE_MAGIC 0x49544102 /* "ITA", 2 */

/* What an image begins with.  The arrays follow in the order of parts(). */
struct head {
    uint32_t magic;
    uint32_t nclients, nhosts, nprocs, nplaces, nmasters, nnatives;
    uint32_t zero;
};

struct part {
    size_t at, len;
};

enum part_name {
    HOSTS,
    PLACES,
    PLACE,
    PID,
    IDENTITY,
    NUM_OF,
    MASTERS,
    FIRST,
    LOCALS,
    NATIVES,
    NATIVE_RANKS,
    PORT,
    N_PARTS
};

/* Most worlds have a place per node and client. */
static bool is_wide(const struct head *h)
{
    return h->nplaces > UINT16_MAX + 1;
}

/* Where each part lies.  Returns the length of the whole. */
static size_t lay_out(struct part *part, const struct head *h)
{
    const size_t each[N_PARTS] = {
        [HOSTS] = h->nhosts * sizeof(struct impi_host),
        [PLACES] = h->nplaces * sizeof(struct impi_table_place),
        [PLACE] =
            h->nprocs * (is_wide(h) ? sizeof(uint32_t) : sizeof(uint16_t)),
        [PID] = h->nprocs * sizeof(uint32_t),
        [IDENTITY] = h->nprocs * sizeof(int),
        [NUM_OF] = h->nprocs * sizeof(uint32_t),
        [MASTERS] = h->nmasters * sizeof(uint32_t),
        [FIRST] = ((size_t)h->nmasters + 1) * sizeof(uint32_t),
        [LOCALS] = h->nprocs * sizeof(uint32_t),
        [NATIVES] = h->nnatives * sizeof(uint32_t),
        [NATIVE_RANKS] = (size_t)h->nnatives * h->nprocs * sizeof(int),
        [PORT] = h->nprocs * sizeof(uint16_t),
    };
    size_t at = sizeof(*h);

    for (int i = 0; i < N_PARTS; i++) {
        part[i] = (struct part){at, each[i]};
        at += (each[i] + 7) & ~(size_t)7;
    }
    return at;
}

/* ---- building ---- */

struct building {
    const struct impi_world *w;
    uint8_t *image;
    struct part part[N_PARTS];
    struct head head;
    uint32_t *place, *first; /* [nprocs], see impi_world_places() */
    uint32_t *client;        /* [nprocs] */
    struct impi_group group;
};

static void *part_of(const struct building *b, enum part_name name)
{
    return b->image + b->part[name].at;
}

static void put(const struct building *b, enum part_name name, const void *from)
{
    memcpy(part_of(b, name), from, b->part[name].len);
}

static int put_places(const struct building *b)
{
    struct impi_table_place *places = part_of(b, PLACES);
    uint32_t *count = calloc(b->head.nprocs, sizeof(*count));

    if (!count || impi_crowd_count(b->w, count) < 0) {
        free(count);
        return -1;
    }
    for (uint32_t i = 0; i < b->head.nplaces; i++) {
        impi_world_get_place(b->w, b->first[i], &places[i].place);
        places[i].neighbours = count[b->first[i]];
    }
    free(count);
    return 0;
}

static void put_place(const struct building *b)
{
    uint16_t *narrow = part_of(b, PLACE);

    if (is_wide(&b->head)) {
        put(b, PLACE, b->place);
        return;
    }
    for (uint32_t r = 0; r < b->head.nprocs; r++)
        narrow[r] = (uint16_t)b->place[r];
}

static void put_procs(const struct building *b)
{
    uint32_t *pid = part_of(b, PID);
    uint16_t *port = part_of(b, PORT);
    int *identity = part_of(b, IDENTITY);

    for (uint32_t r = 0; r < b->head.nprocs; r++) {
        pid[r] = (uint32_t)b->w->procs[r].pid;
        port[r] = b->w->procs[r].port;
        identity[r] = (int)r;
    }
}

static void put_native_ranks(const struct building *b, const uint32_t *clients)
{
    int *row = part_of(b, NATIVE_RANKS);

    for (uint32_t i = 0; i < b->head.nnatives; i++, row += b->head.nprocs) {
        int n = 0;

        for (uint32_t r = 0; r < b->head.nprocs; r++)
            row[r] = b->client[r] == clients[i] ? n++ : -1;
    }
}

static int prepare(struct building *b)
{
    uint32_t n = b->w->nprocs;

    b->place = calloc(n, sizeof(*b->place));
    b->first = calloc(n, sizeof(*b->first));
    b->client = calloc(n, sizeof(*b->client));
    if (!b->place || !b->first || !b->client)
        return -1;
    for (uint32_t r = 0; r < n; r++)
        b->client[r] = b->w->procs[r].client;
    b->head.nplaces = impi_world_places(b->w, b->place, b->first);
    if (b->head.nplaces == 0)
        return -1;
    return impi_group_init(&b->group, b->client, n);
}

static int fill(struct building *b, size_t *len, const uint32_t *clients)
{
    b->head.nmasters = b->group.nmasters;
    *len = lay_out(b->part, &b->head);
    b->image = calloc(1, *len);
    if (!b->image)
        return -1;
    memcpy(b->image, &b->head, sizeof(b->head));
    put(b, HOSTS, b->w->hosts);
    put_place(b);
    put(b, NUM_OF, b->group.num_of);
    put(b, MASTERS, b->group.masters);
    put(b, FIRST, b->group.first);
    put(b, LOCALS, b->group.locals);
    put(b, NATIVES, clients);
    put_procs(b);
    put_native_ranks(b, clients);
    return put_places(b);
}

int impi_table_build(uint8_t **image, size_t *len, const struct impi_world *w,
                     const uint32_t *clients, uint32_t nclients)
{
    struct building b = {.w = w,
                         .head = {.magic = TABLE_MAGIC,
                                  .nclients = w->nclients,
                                  .nhosts = w->nhosts,
                                  .nprocs = w->nprocs,
                                  .nnatives = nclients}};
    int rc = prepare(&b) < 0 ? -1 : fill(&b, len, clients);

    *image = b.image;
    if (rc < 0) {
        free(b.image);
        *image = NULL;
        errno = ENOMEM;
    }
    impi_group_free(&b.group);
    free(b.place);
    free(b.first);
    free(b.client);
    return rc;
}

/* ---- looking ---- */

static int fail(struct errbuf *err, const char *text)
{
    errno = EPROTO;
    return errprintf(err, "the world's table: %s", text);
}

static bool all_below(const uint32_t *v, uint32_t n, uint32_t end)
{
    for (uint32_t i = 0; i < n; i++)
        if (v[i] >= end)
            return false;
    return true;
}

static bool are_places_good(const struct impi_table *t)
{
    for (uint32_t i = 0; i < t->nplaces; i++)
        if (t->places[i].place.client >= t->nclients ||
            t->places[i].place.host >= t->nhosts ||
            t->places[i].place.cpus > UINT16_MAX)
            return false;
    if (!t->place)
        return all_below(t->wide_place, t->nprocs, t->nplaces);
    for (uint32_t r = 0; r < t->nprocs; r++)
        if (t->place[r] >= t->nplaces)
            return false;
    return true;
}

static bool is_group_good(const struct impi_group *g)
{
    if (!all_below(g->num_of, g->size, g->nmasters) ||
        !all_below(g->masters, g->nmasters, g->size) ||
        !all_below(g->locals, g->size, g->size) || g->first[0] != 0 ||
        g->first[g->nmasters] != g->size)
        return false;
    for (uint32_t i = 0; i < g->nmasters; i++)
        if (g->first[i] >= g->first[i + 1])
            return false;
    return true;
}

static bool are_natives_good(const struct impi_table *t)
{
    size_t n = (size_t)t->nnatives * t->nprocs;

    for (size_t i = 0; i < n; i++)
        if (t->native_ranks[i] < -1 || t->native_ranks[i] >= (int)t->nprocs)
            return false;
    for (uint32_t i = 0; i < t->nprocs; i++)
        if (t->identity[i] != (int)i)
            return false;
    return all_below(t->natives, t->nnatives, t->nclients);
}

static void point(struct impi_table *t, const struct head *h,
                  const uint8_t *image, const struct part *part)
{
    *t = (struct impi_table){
        .nclients = h->nclients,
        .nhosts = h->nhosts,
        .nprocs = h->nprocs,
        .nplaces = h->nplaces,
        .hosts = (const void *)(image + part[HOSTS].at),
        .places = (const void *)(image + part[PLACES].at),
        .place = is_wide(h) ? NULL : (const void *)(image + part[PLACE].at),
        .wide_place = (const void *)(image + part[PLACE].at),
        .pid = (const void *)(image + part[PID].at),
        .port = (const void *)(image + part[PORT].at),
        .identity = (const void *)(image + part[IDENTITY].at),
        .group = {.size = h->nprocs,
                  .nmasters = h->nmasters,
                  .num_of = (void *)(image + part[NUM_OF].at),
                  .masters = (void *)(image + part[MASTERS].at),
                  .first = (void *)(image + part[FIRST].at),
                  .locals = (void *)(image + part[LOCALS].at)},
        .nnatives = h->nnatives,
        .natives = (const void *)(image + part[NATIVES].at),
        .native_ranks = (const void *)(image + part[NATIVE_RANKS].at),
    };
}

int impi_table_open(struct impi_table *t, const struct impi_world *w,
                    const void *image, size_t len, struct errbuf *err)
{
    struct part part[N_PARTS];
    struct head h;

    if (len < sizeof(h))
        return fail(err, "cut short");
    memcpy(&h, image, sizeof(h));
    if (h.magic != TABLE_MAGIC)
        return fail(err, "not one, or of another version");
    if (h.nclients != w->nclients || h.nhosts != w->nhosts ||
        h.nprocs != w->nprocs)
        return fail(err, "of another world");
    if (h.nplaces < 1 || h.nplaces > h.nprocs || h.nmasters < 1 ||
        h.nmasters > h.nclients || h.nnatives > h.nclients ||
        lay_out(part, &h) != len)
        return fail(err, "wrong length");
    point(t, &h, image, part);
    if (!are_places_good(t) || !is_group_good(&t->group) ||
        !are_natives_good(t))
        return fail(err, "an index is out of range");
    return 0;
}

const int *impi_table_native(const struct impi_table *t, uint32_t client)
{
    for (uint32_t i = 0; i < t->nnatives; i++)
        if (t->natives[i] == client)
            return t->native_ranks + (size_t)i * t->nprocs;
    return NULL;
}
