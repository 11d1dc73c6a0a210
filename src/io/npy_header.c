/* Parses the text of an npy header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } */
#include "io/npy.h"

#include <string.h>

#include "base/bytes.h"
#include "base/source.h"
#include "base/error.h"

/* A position `at` in the header's text [begin, end), and the names for messages. */
typedef struct cursor {
    const char *op, *where;
    const char *begin, *at, *end;
} cursor;

/* Records ADZ_ERR_FORMAT with the position. */
static adz_status wrong(const cursor *c, const char *what)
{
    return adzi_error(c->op, ADZ_ERR_FORMAT, "%s: character %zu of its header: %s", c->where,
        (size_t)(c->at - c->begin), what);
}

static void skip_spaces(cursor *c)
{
    while (
        c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) {
        ++c->at;
    }
}

/* Skips spaces and reads the character `wanted`. False if another one follows. */
static bool take(cursor *c, char wanted)
{
    skip_spaces(c);
    bool found = c->at < c->end && *c->at == wanted;
    c->at += found ? 1 : 0;
    return found;
}

/* Skips spaces and reads a word. False if something else follows. */
static bool take_word(cursor *c, const char *word)
{
    size_t length = strlen(word);
    skip_spaces(c);
    bool found = (size_t)(c->end - c->at) >= length && memcmp(c->at, word, length) == 0;
    c->at += found ? length : 0;
    return found;
}

/* Reads a string in single or double quotes, without skipping spaces. Escapes are not supported,
 * because no key or dtype has one. */
static bool take_string(cursor *c, const char **text, size_t *length)
{
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) {
        return false;
    }
    const char *close = memchr(c->at + 1, *c->at, (size_t)(c->end - c->at) - 1);
    if (close == NULL) {
        return false;
    }
    *text = c->at + 1;
    *length = (size_t)(close - *text);
    c->at = close + 1;
    return true;
}

static adz_status parse_descr(cursor *c, adzi_npy_header *h)
{
    const char *text;
    size_t length;
    adzi_shown shown;
    skip_spaces(c);
    if (c->at < c->end && *c->at == '[') {
        return adzi_error(c->op, ADZ_ERR_UNSUPPORTED,
            "%s: a structured array; save its fields one by one", c->where);
    }
    if (!take_string(c, &text, &length)) {
        return wrong(c, "descr must be a string");
    }
    /* A name without a byte order, or with '=' or '|', is in the order of the host. */
    const bool ordered = length > 0 && strchr("<>|=", text[0]) != NULL;
    const bool given = ordered && (text[0] == '<' || text[0] == '>');
    h->big_endian = given ? text[0] == '>' : adzi_host_is_big_endian();
    h->stored = adzi_stored_npy(text + ordered, length - ordered);
    if (h->stored != NULL) {
        return ADZ_OK;
    }
    return adzi_error(c->op, ADZ_ERR_UNSUPPORTED,
        "%s: dtype '%s' is not offered; convert it with astype to a float of 2, 4 or 8 bytes, an integer or bool before saving",
        c->where, adzi_show_bytes(&shown, text, length));
}

/* Reads digits. False if there are none or the number does not fit int64_t. */
static bool take_size(cursor *c, int64_t *size)
{
    const char *first = c->at;
    *size = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; ++c->at) {
        if (__builtin_mul_overflow(*size, (int64_t)10, size) ||
            __builtin_add_overflow(*size, (int64_t)(*c->at - '0'), size)) {
            return false;
        }
    }
    bool some = c->at > first;
    (void)take(c, 'L'); /* Python 2 wrote long integers as 3L */
    return some;
}

static adz_status parse_shape(cursor *c, adzi_npy_header *h)
{
    if (!take(c, '(')) {
        return wrong(c, "shape must be a tuple");
    }
    while (!take(c, ')')) {
        int64_t size;
        if (!take_size(c, &size)) {
            return wrong(c, "a size in shape must be a whole number from 0 on that fits 64 bits");
        }
        if (h->rank == ADZ_MAX_RANK) {
            return adzi_error(
                c->op, ADZ_ERR_UNSUPPORTED, "%s: more than %d dimensions", c->where, ADZ_MAX_RANK);
        }
        h->sizes[h->rank++] = size;
        bool comma = take(c, ','), last = c->at < c->end && *c->at == ')';
        if (!comma && (!last || h->rank == 1)) { /* (3) is a number and (3,) is a tuple */
            return wrong(c, "shape must be a tuple of sizes");
        }
    }
    return ADZ_OK;
}

static adz_status parse_order(cursor *c, adzi_npy_header *h)
{
    h->fortran_order = take_word(c, "True");
    return h->fortran_order || take_word(c, "False")
               ? ADZ_OK
               : wrong(c, "fortran_order must be True or False");
}

adz_status adzi_npy_parse(
    const char *op, const char *where, const char *text, size_t length, adzi_npy_header *header)
{
    static const struct {
        const char *key;
        adz_status (*parse)(cursor *c, adzi_npy_header *h);
    } entries[] = { { "descr", parse_descr }, { "fortran_order", parse_order },
        { "shape", parse_shape } };
    cursor c = { op, where, text, text, text + length };
    bool seen[3] = { false, false, false };
    *header = (adzi_npy_header){ .rank = 0 };
    if (!take(&c, '{')) {
        return wrong(&c, "a dict must begin here");
    }
    while (!take(&c, '}')) {
        const char *key;
        size_t n, which = 0;
        if (!take_string(&c, &key, &n) || !take(&c, ':')) {
            return wrong(&c, "a key and a colon must stand here");
        }
        while (which < 3 &&
               (strlen(entries[which].key) != n || memcmp(entries[which].key, key, n) != 0)) {
            ++which;
        }
        if (which == 3 || seen[which]) {
            return wrong(&c, which == 3 ? "an unknown key" : "a key for the second time");
        }
        seen[which] = true;
        adz_status status = entries[which].parse(&c, header);
        if (status != ADZ_OK) {
            return status;
        }
        bool comma = take(&c, ',');
        if (!comma && (c.at >= c.end || *c.at != '}')) {
            return wrong(&c, "a comma or the dict's end must stand here");
        }
    }
    if (!seen[0] || !seen[1] || !seen[2]) {
        return wrong(&c, "descr, fortran_order and shape must all be given");
    }
    skip_spaces(&c);
    return c.at == c.end ? ADZ_OK : wrong(&c, "nothing may follow the dict");
}
