/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the parts of the fabric alone.  Lowest is fabric_frames.c (buffers,
 * and frames in both directions), above it are fabric_stream.c (the bytes of a
 * channel) and fabric_moves.c (memory of windows), on top fabric.c.
 */
#ifndef LIBIMPI_FABRIC_PARTS_H
#define LIBIMPI_FABRIC_PARTS_H

#include "libimpi/fabric.h"
#include "libimpi/libfabric.h"

#ifdef WITH_FABRIC
#include <sys/queue.h>

#include "impi/frames.h"

#define FRAME SF_FABRIC_FRAME
#define CREDITS SF_FABRIC_CREDITS
/* Places for frames of a peer that overtook others, by sequence number. */
#define HELD 64

enum use { USE_IN, USE_OUT, USE_READ, USE_MOVE };

/* What the provider works on: a frame's memory, a read, or a move. */
struct work {
    struct fi_context2 context; /* first: completions name it */
    enum use use;
};

/* One frame's memory. */
struct buffer {
    struct work work; /* first */
    TAILQ_ENTRY(buffer) link;
    struct fabric_peer *peer; /* on whose behalf, or NULL */
    uint8_t *data;
    void *desc;
    size_t len, at; /* in: of the payload or the lent piece; what was read */
    /* In, a frame that announces a piece of the peer's memory: */
    bool lends;   /* it does; its own bytes precede the piece */
    bool is_lent; /* those were read, and the piece is next */
    struct impi_lend lend;
    unsigned reads; /* reads of the piece under way */
    bool over;      /* all of it was requested */
    TAILQ_ENTRY(buffer) lent_link;
};
TAILQ_HEAD(buffers, buffer);
struct reading;
TAILQ_HEAD(readings, reading);
struct moving;
TAILQ_HEAD(movings, moving);

/* Memory that a peer reads. */
struct lent {
    struct fid_mr *mr;
    size_t len;
    size_t before; /* bytes in frames since the piece before */
};

struct fabric_peer {
    uint32_t number; /* index in fabric.peers */
    struct impi_frames frames;
    fi_addr_t addr;
    bool known;           /* we have its address */
    struct buffer *early; /* a frame that came before that */
    size_t early_size;
    struct buffer *held[HELD];
    struct buffers in;  /* frames to read */
    struct buffers out; /* frames that the provider has not taken yet */
    unsigned sending;   /* frames that it has taken */
    uint32_t frame;     /* size of the longest frame to the peer */
    /* Out: pieces that the peer has not read, from the oldest on; bytes of the
     * stream in frames behind them; bytes before them that were not yet
     * reported to the caller. */
    struct lent lent[SF_FABRIC_LENDS];
    unsigned first_lent, nlent;
    size_t behind, ready;
    /* In: pieces that the peer lent, reads of them that are under way, and
     * reads that are complete. */
    struct buffers pieces;
    struct readings reads, kept;
    struct reading *staged; /* of the first piece, into our own memory */
    uint32_t returns;       /* pieces to return */
    struct movings moves;
    uint64_t key_out, key_in;
    struct errbuf error;
};

/* The fabric of this process. */
extern struct fabric {
    bool tried, open;
    struct libfabric lib;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    bool delivers; /* the provider says when bytes are in a peer's memory */
    int fd;
    struct impi_fabric_end end; /* its number aside */
    struct buffers free_out;
    struct buffers unposted; /* to be given to the provider again */
    size_t nfree_out, nin;   /* nin: all of those to receive */
    struct fabric_peer **peers;
    size_t npeers, peers_room;
    size_t nlive;
    struct errbuf broken;
    struct fabric_counts counts;
} fabric __attribute__((visibility("hidden")));

static inline bool fabric_can_read(void)
{
    return fabric.info->caps & FI_RMA;
}

static inline void fabric_close_fid(struct fid *fid)
{
    if (fid)
        fi_close(fid);
}

/* The first error of a peer is kept.  Returns -1. */
int fabric_peer_fail(struct fabric_peer *p, const char *what, int code);

/* ---- memory (fabric_frames.c) ---- */

/* Register memory with the provider.  Returns 0, or its error and *mr is NULL.
 */
int fabric_register(void *memory, size_t len, uint64_t access,
                    struct fid_mr **mr);
/* The same for our own use of the memory: 0 and NULL where the provider does
 * not want it. */
int fabric_register_own(void *memory, size_t len, uint64_t access,
                        struct fid_mr **mr);

/* ---- buffers and frames (fabric_frames.c) ---- */

/* Append n new buffers to the list.  Returns 0, or -1 if there is no memory or
 * the provider registers none. */
int fabric_add_buffers(size_t n, bool out, struct buffers *list);
/* Free all of them, once the endpoint is closed. */
void fabric_free_buffers(void);
/* Buffers that the provider still has come back later, for nobody. */
void fabric_disown_buffers(const struct fabric_peer *p);

/* A buffer to send to this peer, or NULL: later.  A peer that has one already
 * leaves one to each of the others, so that a peer that takes nothing holds up
 * nobody else. */
struct buffer *fabric_take_out(struct fabric_peer *p);
void fabric_give_back_out(struct buffer *b);
bool fabric_may_write(const struct fabric_peer *p);
/* Send the frame in b, whose payload of len bytes is in place. */
void fabric_send_frame(struct fabric_peer *p, struct buffer *b,
                       enum impi_frame_kind kind, size_t len);
/* A frame without payload.  False: no buffer. */
bool fabric_send_bare(struct fabric_peer *p, enum impi_frame_kind kind);
/* Give the provider the frames that it has not taken yet, in order. */
void fabric_push(struct fabric_peer *p);

/* Give the provider the buffers to receive in that it does not have. */
void fabric_post_all(void);
void fabric_repost(struct buffer *b);
/* Tell the peer how many of its frames were read, if that is due. */
void fabric_pay_back(struct fabric_peer *p);

/* ---- the bytes of a channel (fabric_stream.c) ---- */

/* The next frame of its peer has come. */
void fabric_take(struct fabric_peer *p, struct buffer *b,
                 const struct impi_frame *frame);
/* Give the provider the reads that it has not taken yet. */
void fabric_push_reads(struct fabric_peer *p);
/* The provider has done with a read (USE_READ). */
void fabric_read_done(struct work *w, int error);
/* Tell the peer that its oldest pieces have been read, once they have. */
void fabric_return_pieces(struct fabric_peer *p);
/* fabric_write() or fabric_kept() has something to say. */
bool fabric_has_told(const struct fabric_peer *p);
/* Forget the pieces that were lent in either direction. */
void fabric_drop_pieces(struct fabric_peer *p);
/* Free the reads of peers that are gone, once the endpoint is closed. */
void fabric_free_reads(void);

/* ---- memory of windows (fabric_moves.c) ---- */

/* Give the provider the moves that it has not taken yet. */
void fabric_push_moves(struct fabric_peer *p);
/* The provider has done with a move (USE_MOVE). */
void fabric_move_done(struct work *w, int error);
/* fabric_moved() will return a token. */
bool fabric_any_moved(void);
void fabric_drop_moves(struct fabric_peer *p);
/* Free the moves and hide all memory, once the endpoint is closed. */
void fabric_free_moves(void);

#endif
#endif
