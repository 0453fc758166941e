/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the parts of the holder: program_start.c starts elan-holder, which
 * is program_holder_main.c (what it was told) and program_holder.c (what it
 * does).
 */
#ifndef SF_ELAN_PROGRAM_HOLDER_PRIV_H
#define SF_ELAN_PROGRAM_HOLDER_PRIV_H

#include "elan/program_holder.h"
#include "elan/program_spare.h"

#define PROGRAM_GROUP_PREFIX "elan-prg-"
#define PROGRAM_LIFELINE 3 /* elan-holder's descriptor */
#define PROGRAM_REPORT_MAX (4096 + 64)
#define PROGRAM_REPORT_FDS 3 /* tree, group, and where tasks enter: or two */

/* What a holder that waits is told: the words of elan-holder's command line,
 * each with a zero behind it. */
#define PROGRAM_WORDS_MAX 8
#define PROGRAM_WORD_DESCENT "descent" /* the last */
#define PROGRAM_SPEC_MAX (2 * 4096)

/* One program's life, in the holder's process.  Returns when it is over, with
 * nothing left of it: true when it ended as it should, by PROGRAM_DESTROY.
 * *kept is used and filled. */
bool program_holder_run(int lifeline, const struct program_spec *spec,
                        pid_t starter, struct program_kept *kept);
/* Tell the starter that there will be none. */
void program_holder_refuse(int lifeline, int error, const struct errbuf *err);

/* Is this a socket that nobody listens on? */
bool program_socket_is_stale(const char *path);

#endif
