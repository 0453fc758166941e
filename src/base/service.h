/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The users as whom the units start the daemons that need no root
 * (dist/sysusers).  Where no such user exists, only root is trusted.
 */
#ifndef SF_BASE_SERVICE_H
#define SF_BASE_SERVICE_H

#include <grp.h>
#include <pwd.h>
#include <stddef.h>

#define SERVICE_USER "slurm-fabric"          /* switchmgrd's collector */
#define SERVICE_MAPPER "slurm-fabric-mapper" /* mapperd */
#define SERVICE_SWFAB "slurm-fabric-swfab"   /* swfabd */

/* The user's id; where there is no such user 0, since root is trusted anyway.
 */
static inline uid_t service_uid(const char *user)
{
    const struct passwd *pw = getpwnam(user);

    return pw ? pw->pw_uid : 0;
}

#endif
