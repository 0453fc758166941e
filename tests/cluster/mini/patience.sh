# SPDX-License-Identifier: BSD-3-Clause
# On an emulated machine all seconds that something may take are SF_SLOW.
patience() { # SECONDS
    echo $(($1 * ${SF_SLOW:-1}))
}
