/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls to the file system that do not come back: a server that stalls holds
 * the process in the kernel, where it can say nothing, and with it all that
 * wait for it.  A thread tells of such a call, and ends the job if
 * IMPI_FILE_SILENCE says after how long.
 */
#ifndef LIBIMPI_DISK_WATCH_H
#define LIBIMPI_DISK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* A call that is under way, where its caller keeps it. */
struct disk_call {
    const char *file, *what;
    int64_t since;
    bool told;
    struct disk_call *next;
};

/* So many files more (or less) are open. */
void disk_watch_file(int more);
/* At MPI_Finalize. */
void disk_watch_stop(void);

/* Any thread, without the lock.  errno stays as it is. */
void disk_call_begin(struct disk_call *c, const char *file, const char *what);
void disk_call_end(struct disk_call *c);

#endif
