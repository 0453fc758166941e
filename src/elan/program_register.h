/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The holder tells the network drivers of its node (hsnd, one per rail) of
 * its program: number, owner, group, capability.  The connection stays open
 * as long as the program lives; when a driver goes, the holder looks for it
 * again.  Only root is believed there.
 *
 *     request  u32 magic, u32 number, u32 uid, u8 own, str path of the
 *              group, u64 device, u64 inode, capability
 *     answer   u32 magic, u32 errno
 */
#ifndef SF_ELAN_PROGRAM_REGISTER_H
#define SF_ELAN_PROGRAM_REGISTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/be.h"
#include "elan/program_serve.h"

#define PROGRAM_REGISTER_MAGIC 0x48534e50 /* "HSNP" */
#define PROGRAM_REGISTER_MAX (4096 + 128 + ELAN_BITMAPSIZE * 4)

struct program_registration {
    uint32_t number, uid;
    uint8_t own;
    char path[4096];
    uint64_t dev, ino;
    struct elan_capability cap;
};

/* Length written into buf[PROGRAM_REGISTER_MAX]; 0: too long. */
size_t program_register_put(void *buf, const struct program_registration *r);
/* 0, or -1: malformed. */
int program_register_get(struct program_registration *r, const void *buf,
                         size_t len);

/* The holder's connections, by index of the capability. */
struct program_drivers {
    int fd[SF_PROGRAM_CAPS_MAX];     /* -1: none */
    bool asked[SF_PROGRAM_CAPS_MAX]; /* and has not answered yet */
    int pause_ms;                    /* until the next look for absent ones */
    char rundir[108];
};

void program_drivers_init(struct program_drivers *d, const char *rundir);
void program_drivers_close(struct program_drivers *d);
/* Say what was not said yet to the drivers that are there. */
void program_drivers_look(struct program_drivers *d,
                          const struct program_held *held);
/* Until they have answered, at most so long.  Who answers later is heard
 * later: a connection that we closed would take the program away again. */
void program_drivers_await(struct program_drivers *d, int ms);
/* Is there a capability without a driver? */
int program_drivers_missing(const struct program_drivers *d,
                            const struct program_held *held);
/* One of the connections has something to say: its answer, or that it is
 * over. */
void program_drivers_hear(struct program_drivers *d, int fd);

#endif
