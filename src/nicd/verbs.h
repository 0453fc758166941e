/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events of RDMA devices, by uverbs: a port has lost its link or has one again,
 * a device is in a fatal state.  Then a look need not wait for its time.
 *
 * The kernel tells them to who has a context of the device.  What opens one
 * differs from driver to driver and is libibverbs' to know; so another program,
 * nicd-verbs, does it, hands the context's two descriptors over and ends.  A
 * driver that hangs there holds up nobody, and nothing of the library stays in
 * memory.  An event is 16 bytes (rdma/ib_user_verbs.h).
 */
#ifndef SF_NICD_VERBS_H
#define SF_NICD_VERBS_H

#include <ev.h>
#include <stdint.h>

#include "base/limits.h"
#include "nicd/sysfs.h"

/* What is needed of a device: start to open it.  A socket (SOCK_SEQPACKET) from
 * which one message will come: a text, "" and both descriptors (the device's
 * and that of events, which does not block), or why not.  -1 with errno. */
typedef int verbs_open_f(const char *device, void *arg);
/* Something has happened to a device; what: as the log has it. */
typedef void verbs_event_f(const char *device, const char *what, void *arg);

struct verbs_options {
    struct ev_loop *loop;
    verbs_open_f *open;
    verbs_event_f *event;
    void *arg; /* of both */
};

struct verbs;
/* NULL with errno (ENOMEM). */
struct verbs *verbs_new(const struct verbs_options *options);
void verbs_free(struct verbs *v);

/* The devices that there are now, each time they were listed.  New ones are
 * opened, who is gone is closed.  One that refuses is tried again after 1, 2,
 * 4, .. 512 lists; the log says so once. */
void verbs_devices(struct verbs *v, const struct sysfs_rdma *rdma, size_t n);

/* A device that has told an event is not listened to until this is called, so
 * that no storm of them costs more than as many looks. */
void verbs_listen(struct verbs *v);

/* A verbs_open_f by nicd-verbs, wherever it is installed. */
int verbs_open_by_program(const char *device, void *arg);

/* Of events as read: what the last one that concerns the device or a port of it
 * says ("port 1: error"), false: none does.  Bytes behind the last whole event
 * are none. */
#define VERBS_EVENT_TEXT 40
bool verbs_event_text(char text[VERBS_EVENT_TEXT], const void *events,
                      size_t len);

#endif
