/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events of RDMA devices, from uverbs: a port has lost its link or has it back,
 * or a device is in a fatal state.  nicd then looks at once instead of waiting
 * for the next regular look.
 *
 * The kernel delivers events to processes that hold a context of the device.
 * How to open one differs between drivers, and libibverbs knows how.  So a
 * separate program, nicd-verbs, opens it, hands over the context's two
 * descriptors and exits: a driver that hangs there holds up nothing, and the
 * library does not stay in memory.  An event is 16 bytes
 * (rdma/ib_user_verbs.h).
 */
#ifndef SF_NICD_VERBS_H
#define SF_NICD_VERBS_H

#include <ev.h>
#include <stdint.h>

#include "base/limits.h"
#include "nicd/sysfs.h"

/* Start to open a device.  Returns a socket (SOCK_SEQPACKET) on which one
 * message will arrive: either an empty text with two descriptors (the device's
 * and that of its events, which is nonblocking), or a text that says why it
 * failed.  -1 with errno. */
typedef int verbs_open_f(const char *device, void *arg);
/* Something has happened to a device; what: the text for the log. */
typedef void verbs_event_f(const char *device, const char *what, void *arg);

struct verbs_options {
    struct ev_loop *loop;
    verbs_open_f *open;
    verbs_event_f *event;
    void *arg; /* passed to both */
};

struct verbs;
/* NULL with errno (ENOMEM). */
struct verbs *verbs_new(const struct verbs_options *options);
void verbs_free(struct verbs *v);

/* Call this with the devices that exist each time they have been listed.  New
 * ones are opened, those that are gone are closed.  One that cannot be opened
 * is tried again after 1, 2, 4, .. 512 lists, and logged once. */
void verbs_devices(struct verbs *v, const struct sysfs_rdma *rdma, size_t n);

/* Once a device has reported an event, it is not listened to until this is
 * called, so that a storm of events costs no more than one look for each call.
 */
void verbs_listen(struct verbs *v);

/* The verbs_open_f that runs nicd-verbs from where it is installed. */
int verbs_open_by_program(const char *device, void *arg);

/* Describe the last of these events, as read, that concerns the device or one
 * of its ports ("port 1: error").  False if none does.  Bytes after the last
 * whole event are ignored. */
#define VERBS_EVENT_TEXT 40
bool verbs_event_text(char text[VERBS_EVENT_TEXT], const void *events,
                      size_t len);

#endif
