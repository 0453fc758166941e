/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Foreign JSON, read with care: a text of limited length and depth, members
 * of a given type and range.  Objects are json-c's; json_object_put() them.
 */
#ifndef SF_BASE_JSONX_H
#define SF_BASE_JSONX_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/* Parse text[0..len), which must be one JSON object and nothing else, nested
 * at most SF_JSON_DEPTH_MAX deep, in UTF-8 without NUL.  NULL with text and
 * errno EBADMSG, or ENOMEM. */
struct json_object *jsonx_parse(const char *text, size_t len,
                                struct errbuf *err);

/* A member that is a string without control characters, shorter than `size`;
 * NULL: absent, of another type, too long.  Borrowed. */
const char *jsonx_str(struct json_object *o, const char *key, size_t size);

/* A member that is a whole number between lo and hi (or true/false).  False:
 * absent or anything else; *out is left. */
bool jsonx_int(struct json_object *o, const char *key, int64_t lo, int64_t hi,
               int64_t *out);
bool jsonx_bool(struct json_object *o, const char *key, bool *out);

/* A member that is a string of 1 to 16 hexadecimal digits. */
bool jsonx_hex(struct json_object *o, const char *key, uint64_t *out);

/* A member that is an array (*n its length), or NULL; or an object. */
struct json_object *jsonx_array(struct json_object *o, const char *key,
                                size_t *n);
struct json_object *jsonx_object(struct json_object *o, const char *key);

/* Add members.  A lack of memory leaves them out. */
void jsonx_add_str(struct json_object *o, const char *key, const char *value);
void jsonx_add_int(struct json_object *o, const char *key, int64_t value);
void jsonx_add_uint(struct json_object *o, const char *key, uint64_t value);
void jsonx_add_bool(struct json_object *o, const char *key, bool value);
void jsonx_add_hex(struct json_object *o, const char *key, uint64_t value);

/* The object on one line; borrowed from it, valid until its next use. */
const char *jsonx_text(struct json_object *o, size_t *len);

#endif
