# SPDX-License-Identifier: BSD-3-Clause
# SF_SLURM: find Slurm's public headers, its exact version and its plugin
# directory.  Refuses a version whose plugin ABI this tree does not know.
AC_DEFUN([SF_SLURM], [
    AS_IF([test "$with_slurm" != /usr],
        [test -r "$with_slurm/include/slurm/slurm_version.h" ||
            AC_MSG_ERROR([no slurm/slurm_version.h in $with_slurm/include])
         SLURM_CPPFLAGS="-isystem $with_slurm/include"
         for sf_dir in "$with_slurm/lib64" "$with_slurm/lib"; do
             AS_IF([test -e "$sf_dir/libslurm.so"],
                 [SLURM_LIBS="-L$sf_dir -Wl,-rpath,$sf_dir"])
         done])
    sf_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
    AC_CHECK_HEADERS([slurm/slurm.h slurm/slurm_version.h slurm/spank.h], [],
        [AC_MSG_ERROR([Slurm's headers not found: install libslurm-dev
 (of SchedMD's packages slurm-smd-dev or slurm-devel), or say --with-slurm=PREFIX])])
    AC_MSG_CHECKING([for the version of Slurm])
    AC_COMPUTE_INT([sf_slurm_hex], [SLURM_VERSION_NUMBER],
        [#include <slurm/slurm_version.h>], [sf_slurm_hex=0])
    sf_major=$(( (sf_slurm_hex >> 16) & 255 ))
    sf_minor=$(( (sf_slurm_hex >> 8) & 255 ))
    sf_micro=$(( sf_slurm_hex & 255 ))
    SLURM_VERSION=$(printf '%d.%02d.%d' $sf_major $sf_minor $sf_micro)
    AC_MSG_RESULT([$SLURM_VERSION])
    AS_CASE([$sf_major.$sf_minor],
        [22.5 | 23.2 | 23.11], [sf_hooks=22.05],
        [24.5 | 24.11 | 25.5 | 25.11 | 26.5], [sf_hooks=24.05],
        [AC_MSG_ERROR([Slurm $SLURM_VERSION is not supported.
 This release knows the plugin ABI of Slurm 22.05 to 26.05.])])
    AS_IF([$AWK -v version="$sf_major $sf_minor $sf_micro" \
        -f "$srcdir/tools/slurm-measured.awk" \
        "$srcdir/src/slurmabi/layouts.inc"], [],
        [AC_MSG_ERROR([Slurm $SLURM_VERSION is not known to this release, as its records were not measured.
 With its sources: tools/slurm-layout SOURCES, then autogen.sh and configure.])])
    CPPFLAGS=$sf_save_CPPFLAGS
    AC_MSG_CHECKING([for Slurm's plugin directory])
    sf_multiarch=$($CC -print-multiarch 2>/dev/null)
    # Where Slurm's own library is, for an older slurm-fabric may have left a
    # directory at another packager's place.
    slurmplugindir=
    slurmlibdir=
    for sf_dir in "$with_slurm/lib/$sf_multiarch/slurm-wlm" \
        "$with_slurm/lib/$sf_multiarch/slurm" \
        "$with_slurm/lib64/slurm" "$with_slurm/lib/slurm"; do
        AS_IF([test -z "$slurmplugindir" && test -d "$sf_dir"],
            [slurmplugindir=$sf_dir])
        AS_IF([test -z "$slurmlibdir" && test -e "$sf_dir/libslurmfull.so"],
            [slurmlibdir=$sf_dir])
    done
    AS_IF([test -n "$slurmlibdir"], [slurmplugindir=$slurmlibdir])
    AS_IF([test -n "$with_slurm_plugindir"],
        [slurmplugindir=$with_slurm_plugindir])
    AS_IF([test -z "$slurmplugindir"],
        [AC_MSG_ERROR([not found: say --with-slurm-plugindir=DIR])])
    AC_MSG_RESULT([$slurmplugindir])
    AM_CONDITIONAL([SLURM_HOOKS_22_05], [test "$sf_hooks" = 22.05])
    AM_CONDITIONAL([SLURM_HOOKS_24_05], [test "$sf_hooks" = 24.05])
    AC_SUBST([slurmplugindir])
    AC_SUBST([slurmlibdir], [${slurmlibdir:-$slurmplugindir}])
    AC_SUBST([SLURM_PREFIX], [$with_slurm])
    AC_SUBST([SLURM_VERSION])
    AC_SUBST([SLURM_CPPFLAGS])
    AC_SUBST([SLURM_LIBS], ["$SLURM_LIBS -lslurm"])
])

# SF_HARDEN: what the compiler and the linker have against a mistake that
# somebody wants to use.  Sets
#   HARDEN_CPPFLAGS     fortified calls of the C library
#   HARDEN_CFLAGS       stack protector, stack clash, control flow
#   HARDEN_USER_CFLAGS  the same for what is loaded into users' programs
#   HARDEN_LDFLAGS      relocations read only, all bound at the start
#   HARDEN_PROG_CFLAGS, HARDEN_PROG_LDFLAGS  programs at any address
# What the builder's own flags say already is left to them: a distribution
# passes its choice in CFLAGS, CPPFLAGS and LDFLAGS.

# SF_HARDEN_CC(FLAGS, VARIABLE): if the compiler takes them without a word.
AC_DEFUN([SF_HARDEN_CC], [
    AC_MSG_CHECKING([whether $CC knows $1])
    sf_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes]); $2="$$2 $1"], [AC_MSG_RESULT([no])])
    CFLAGS=$sf_save_CFLAGS
])
AC_DEFUN([SF_HARDEN_LD], [
    AC_MSG_CHECKING([whether the linker knows $1])
    sf_save_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS $1"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes]); $2="$$2 $1"], [AC_MSG_RESULT([no])])
    LDFLAGS=$sf_save_LDFLAGS
])
# SF_HARDEN_SAYS(EXPRESSION): whether the preprocessor finds it true with the
# builder's flags.  Nothing of the C library is included: its headers define
# _FORTIFY_SOURCE anew.
AC_DEFUN([SF_HARDEN_SAYS], [AC_COMPILE_IFELSE([AC_LANG_SOURCE([
#if !($1)
#error not so
#endif
int sf_harden;])], [$2], [$3])])

AC_DEFUN([SF_HARDEN_FORTIFY], [
    AC_MSG_CHECKING([which fortified calls there are])
    sf_fortify=
    SF_HARDEN_SAYS([defined _FORTIFY_SOURCE], [sf_fortify="the builder's"])
    SF_HARDEN_SAYS([defined __OPTIMIZE__], [],
        [sf_fortify="none without optimization"])
    AS_IF([test -n "$SANITIZER$sf_sanitized"],
        [sf_fortify="none with sanitizers"])
    sf_save_CFLAGS=$CFLAGS
    for sf_level in 3 2; do
        AS_IF([test -z "$sf_fortify"], [
            CFLAGS="$sf_save_CFLAGS -Werror"
            AC_COMPILE_IFELSE([AC_LANG_SOURCE([
#define _FORTIFY_SOURCE $sf_level
#include <string.h>
#if !defined __USE_FORTIFY_LEVEL || __USE_FORTIFY_LEVEL != $sf_level
#error not of that level
#endif
int sf_harden;])], [sf_fortify=$sf_level
                HARDEN_CPPFLAGS=-D_FORTIFY_SOURCE=$sf_level])])
    done
    CFLAGS=$sf_save_CFLAGS
    AC_MSG_RESULT([${sf_fortify:-none}])
])

# SF_HARDEN_MPICC(WRAPPER): a back end's compiler may be another one.
AC_DEFUN([SF_HARDEN_MPICC], [
    AS_IF([test -n "$1" && test -n "$HARDEN_USER_CFLAGS"], [
    sf_save_CC=$CC
    sf_flags= CC=$1
    SF_HARDEN_CC([$HARDEN_USER_CFLAGS], [sf_flags])
    AS_IF([test -z "$sf_flags"], [HARDEN_USER_CFLAGS=])
    CC=$sf_save_CC
    ])
])

AC_DEFUN([SF_HARDEN], [
    HARDEN_CPPFLAGS= HARDEN_CFLAGS= HARDEN_USER_CFLAGS= HARDEN_LDFLAGS=
    HARDEN_PROG_CFLAGS= HARDEN_PROG_LDFLAGS=
    AS_IF([test "x$enable_hardening" != xno], [
        SF_HARDEN_FORTIFY
        SF_HARDEN_CC([-fstack-protector-strong], [HARDEN_CFLAGS])
        SF_HARDEN_CC([-fstack-clash-protection], [HARDEN_CFLAGS])
        HARDEN_USER_CFLAGS=$HARDEN_CFLAGS
        AS_CASE([$host_cpu], [x86_64 | i?86], [
            SF_HARDEN_CC([-fcf-protection=full], [HARDEN_CFLAGS])
            SF_HARDEN_CC([-fcf-protection=return], [HARDEN_USER_CFLAGS])])
        SF_HARDEN_LD([-Wl,-z,relro], [HARDEN_LDFLAGS])
        SF_HARDEN_LD([-Wl,-z,now], [HARDEN_LDFLAGS])
        SF_HARDEN_SAYS([defined __PIE__], [], [
            SF_HARDEN_CC([-fPIE -pie], [HARDEN_PROG_LDFLAGS])
            AS_IF([test -n "$HARDEN_PROG_LDFLAGS"],
                [HARDEN_PROG_CFLAGS=-fPIE HARDEN_PROG_LDFLAGS=-pie])])])
    AC_SUBST([HARDEN_CPPFLAGS])
    AC_SUBST([HARDEN_CFLAGS])
    AC_SUBST([HARDEN_USER_CFLAGS])
    AC_SUBST([HARDEN_LDFLAGS])
    AC_SUBST([HARDEN_PROG_CFLAGS])
    AC_SUBST([HARDEN_PROG_LDFLAGS])
    AS_IF([test "x$enable_hardening" = xno],
        [HARDENING="off"],
        [HARDENING=$(echo $HARDEN_CPPFLAGS $HARDEN_CFLAGS $HARDEN_LDFLAGS)])
    AC_SUBST([HARDENING])
])
