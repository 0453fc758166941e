/* SPDX-License-Identifier: BSD-3-Clause
 * In a file of its own: only hsnd compares capabilities, and so links
 * mac_equal().
 */
#include <string.h>

#include "base/mac.h"
#include "elan/capability.h"

bool elan_capability_equal(const struct elan_capability *a,
                           const struct elan_capability *b)
{
    bool same_key = mac_equal(&a->UserKey, &b->UserKey, sizeof(a->UserKey));

    return same_key && a->Version == b->Version && a->Type == b->Type &&
           a->LowContext == b->LowContext && a->HighContext == b->HighContext &&
           a->LowNode == b->LowNode && a->HighNode == b->HighNode &&
           a->Entries == b->Entries && a->RailMask == b->RailMask &&
           memcmp(a->Bitmap, b->Bitmap, sizeof(a->Bitmap)) == 0;
}
