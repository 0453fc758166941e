/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The users as whom the units start the daemons that need no root
 * (dist/sysusers).  Where such a user is not there, it trusts nobody more.
 */
#ifndef SF_BASE_SERVICE_H
#define SF_BASE_SERVICE_H

#include <grp.h>
#include <pwd.h>
#include <stddef.h>

#define SERVICE_USER "slurm-fabric"          /* switchmgrd's collector */
#define SERVICE_MAPPER "slurm-fabric-mapper" /* mapperd */
#define SERVICE_SWFAB "slurm-fabric-swfab"   /* swfabd */

/* 0, which is root, who is trusted anyway, where there is no such user. */
static inline uid_t service_uid(const char *user)
{
    const struct passwd *pw = getpwnam(user);

    return pw ? pw->pw_uid : 0;
}

#endif
