/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Included before every source (-include): what is loaded into a user's program
 * is built once and must load wherever that program's own C library is glibc
 * 2.28 or later.  So functions that glibc has moved or made anew since then are
 * asked for as they were; tests/portable.t reads what comes of it.  A name that
 * a source does not use is not touched.  fstat() has no older form:
 * fstat_old.h.
 */
#ifndef SF_BASE_OLD_GLIBC_H
#define SF_BASE_OLD_GLIBC_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||     \
    __has_feature(memory_sanitizer)
#define SF_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SF_SANITIZED
#endif

/* A sanitizer has functions of these names itself, without a version. */
#if defined(__x86_64__) && defined(__linux__) && !defined(SF_SANITIZED)
#define SF_OLD(name, version) SF_OLD_AS(name, name, version)
#define SF_OLD_AS(name, old, version)                                          \
    __asm__(".symver " #name "," #old "@GLIBC_" #version);

/* Of libdl and libpthread until 2.34. */
SF_OLD(dladdr, 2.2.5)
SF_OLD(dlclose, 2.2.5)
SF_OLD(dlerror, 2.2.5)
SF_OLD(dlinfo, 2.3.3)
SF_OLD(dlopen, 2.2.5)
SF_OLD(dlsym, 2.2.5)
SF_OLD(pthread_attr_setstacksize, 2.2.5)
SF_OLD(pthread_create, 2.2.5)
SF_OLD(pthread_join, 2.2.5)
SF_OLD(pthread_setname_np, 2.12)
SF_OLD(pthread_sigmask, 2.2.5)

/* What the headers of 2.38 and later make of them. */
SF_OLD_AS(__isoc23_strtol, strtol, 2.2.5)
SF_OLD_AS(__isoc23_strtoll, strtoll, 2.2.5)
SF_OLD_AS(__isoc23_strtoul, strtoul, 2.2.5)
SF_OLD_AS(__isoc23_strtoull, strtoull, 2.2.5)
SF_OLD_AS(__isoc23_sscanf, __isoc99_sscanf, 2.7)

#undef SF_OLD
#undef SF_OLD_AS
#endif
#undef SF_SANITIZED

#endif
