/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonx.h"
#include "base/limits.h"

static struct json_object *bad(struct errbuf *err, const char *what)
{
    errprintf(err, "not a JSON object: %s", what);
    errno = EBADMSG;
    return NULL;
}

/* Only white space may follow the object. */
static bool ends_there(const char *text, size_t len, size_t at)
{
    while (at < len && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at == len;
}

struct json_object *jsonx_parse(const char *text, size_t len,
                                struct errbuf *err)
{
    struct json_tokener *tok;
    struct json_object *o;
    const char *why;
    size_t end;

    if (len > INT32_MAX || memchr(text, '\0', len))
        return bad(err, "holds a NUL or is too long");
    tok = json_tokener_new_ex(SF_JSON_DEPTH_MAX);
    if (!tok) {
        errprintf(err, "out of memory");
        errno = ENOMEM;
        return NULL;
    }
    json_tokener_set_flags(tok, JSON_TOKENER_STRICT |
                                    JSON_TOKENER_ALLOW_TRAILING_CHARS |
                                    JSON_TOKENER_VALIDATE_UTF8);
    o = json_tokener_parse_ex(tok, text, (int)len);
    why = json_tokener_error_desc(json_tokener_get_error(tok));
    end = json_tokener_get_parse_end(tok);
    json_tokener_free(tok);
    if (json_object_is_type(o, json_type_object) && ends_there(text, len, end))
        return o;
    if (o)
        why = "something else, or more than one";
    json_object_put(o);
    return bad(err, why);
}

static struct json_object *get(struct json_object *o, const char *key,
                               enum json_type type)
{
    struct json_object *m = NULL;

    if (!json_object_is_type(o, json_type_object) ||
        !json_object_object_get_ex(o, key, &m) || !json_object_is_type(m, type))
        return NULL;
    return m;
}

const char *jsonx_str(struct json_object *o, const char *key, size_t size)
{
    struct json_object *m = get(o, key, json_type_string);
    const char *s;
    size_t len;

    if (!m)
        return NULL;
    s = json_object_get_string(m);
    len = (size_t)json_object_get_string_len(m);
    if (!s || len >= size)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
            return NULL;
    }
    return s;
}

bool jsonx_int(struct json_object *o, const char *key, int64_t lo, int64_t hi,
               int64_t *out)
{
    struct json_object *m = get(o, key, json_type_int);
    int64_t v;

    if (!m)
        return false;
    v = json_object_get_int64(m);
    if (v < lo || v > hi)
        return false;
    *out = v;
    return true;
}

bool jsonx_bool(struct json_object *o, const char *key, bool *out)
{
    struct json_object *m = get(o, key, json_type_boolean);

    if (!m)
        return false;
    *out = json_object_get_boolean(m);
    return true;
}

bool jsonx_hex(struct json_object *o, const char *key, uint64_t *out)
{
    const char *s = jsonx_str(o, key, 17);

    if (!s || *s == '\0' || strspn(s, "0123456789abcdefABCDEF") != strlen(s))
        return false;
    *out = strtoull(s, NULL, 16);
    return true;
}

struct json_object *jsonx_array(struct json_object *o, const char *key,
                                size_t *n)
{
    struct json_object *m = get(o, key, json_type_array);

    *n = m ? json_object_array_length(m) : 0;
    return m;
}

struct json_object *jsonx_object(struct json_object *o, const char *key)
{
    return get(o, key, json_type_object);
}

static void add(struct json_object *o, const char *key, struct json_object *m)
{
    if (m && json_object_object_add(o, key, m) < 0)
        json_object_put(m);
}

void jsonx_add_str(struct json_object *o, const char *key, const char *value)
{
    add(o, key, json_object_new_string(value));
}

void jsonx_add_int(struct json_object *o, const char *key, int64_t value)
{
    add(o, key, json_object_new_int64(value));
}

void jsonx_add_uint(struct json_object *o, const char *key, uint64_t value)
{
    add(o, key, json_object_new_uint64(value));
}

void jsonx_add_bool(struct json_object *o, const char *key, bool value)
{
    add(o, key, json_object_new_boolean(value));
}

void jsonx_add_hex(struct json_object *o, const char *key, uint64_t value)
{
    char text[17];

    snprintf(text, sizeof(text), "%012" PRIx64, value);
    jsonx_add_str(o, key, text);
}

const char *jsonx_text(struct json_object *o, size_t *len)
{
    return json_object_to_json_string_length(
        o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, len);
}
