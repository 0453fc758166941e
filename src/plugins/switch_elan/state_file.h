/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The small file in StateSaveLocation that survives slurmctld.
 */
#ifndef SF_SWITCH_ELAN_STATE_FILE_H
#define SF_SWITCH_ELAN_STATE_FILE_H

#include "base/errbuf.h"

#define STATE_FILE_NAME "switch_elan_state"

/* Replace it, by rename, mode 0600, on disk before it counts.  0, or -1 with
 * text. */
int state_file_write(const char *dir, const char *text, struct errbuf *err);

/* *text is allocated (free() it); NULL when there is no file.  0, or -1 with
 * text. */
int state_file_read(const char *dir, char **text, struct errbuf *err);

#endif
