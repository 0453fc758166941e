# SPDX-License-Identifier: BSD-3-Clause
# SF_SLURM: find Slurm's public headers, its exact version and its plugin
# directory.  Refuses a version whose plugin ABI this tree does not know.
AC_DEFUN([SF_SLURM], [
    AS_IF([test "$with_slurm" != /usr],
        [test -r "$with_slurm/include/slurm/slurm_version.h" ||
            AC_MSG_ERROR([no slurm/slurm_version.h in $with_slurm/include])
         SLURM_CPPFLAGS="-I$with_slurm/include"
         SLURM_LDFLAGS="-L$with_slurm/lib"])
    sf_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
    AC_CHECK_HEADERS([slurm/slurm.h slurm/slurm_version.h slurm/spank.h], [],
        [AC_MSG_ERROR([Slurm's headers not found: install libslurm-dev,
 or say --with-slurm=PREFIX])])
    AC_MSG_CHECKING([for the version of Slurm])
    AC_COMPUTE_INT([sf_slurm_hex], [SLURM_VERSION_NUMBER],
        [#include <slurm/slurm_version.h>], [sf_slurm_hex=0])
    sf_major=$(( (sf_slurm_hex >> 16) & 255 ))
    sf_minor=$(( (sf_slurm_hex >> 8) & 255 ))
    sf_micro=$(( sf_slurm_hex & 255 ))
    SLURM_VERSION=$(printf '%d.%02d.%d' $sf_major $sf_minor $sf_micro)
    AC_MSG_RESULT([$SLURM_VERSION])
    AS_CASE([$sf_major.$sf_minor],
        [22.5], [],
        [AC_MSG_ERROR([Slurm $SLURM_VERSION is not supported.
 This release knows the plugin ABI of Slurm 22.05 only.])])
    CPPFLAGS=$sf_save_CPPFLAGS
    AC_MSG_CHECKING([for Slurm's plugin directory])
    sf_multiarch=$($CC -print-multiarch 2>/dev/null)
    slurmplugindir=$with_slurm_plugindir
    for sf_dir in "$with_slurm/lib/$sf_multiarch/slurm-wlm" \
        "$with_slurm/lib64/slurm" "$with_slurm/lib/slurm"; do
        AS_IF([test -z "$slurmplugindir" && test -d "$sf_dir"],
            [slurmplugindir=$sf_dir])
    done
    AS_IF([test -z "$slurmplugindir"],
        [AC_MSG_ERROR([not found: say --with-slurm-plugindir=DIR])])
    AC_MSG_RESULT([$slurmplugindir])
    AC_SUBST([slurmplugindir])
    AC_SUBST([SLURM_VERSION])
    AC_SUBST([SLURM_CPPFLAGS])
    AC_SUBST([SLURM_LDFLAGS])
    AC_SUBST([SLURM_LIBS], [-lslurm])
])
