/* Whether a text is JSON, without any memory.
 *
 * jansson sometimes takes a text for a wrong one when it could not store a part of it. A text that
 * it refuses and that this finds sound was refused memory. */
#include <string.h>

#include "adze/data/text.h"
#include "json.h"

/* What is left of the text. */
typedef struct cursor {
    const char *at, *end;
} cursor;

bool adzi_models_is_utf8(const char *bytes, size_t size)
{
    const adz_text text = { bytes, size };
    bool good = true;
    for (size_t at = 0, from = 0; at < size && good; from = at) {
        good = adz_utf8_next(text, &at) != ADZ_UTF8_REPLACEMENT ||
               (at - from == 3 && memcmp(bytes + from, "\xef\xbf\xbd", 3) == 0);
    }
    return good;
}

static bool is_in(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static void skip(cursor *c, const char *set)
{
    while (c->at < c->end && is_in(*c->at, set)) {
        ++c->at;
    }
}

static bool take(cursor *c, const char *text)
{
    const size_t n = strlen(text);
    const bool fits = (size_t)(c->end - c->at) >= n && memcmp(c->at, text, n) == 0;
    c->at += fits ? n : 0;
    return fits;
}

/* Takes four hexadecimal digits; 0 without them, since jansson refuses the character 0, too. */
static unsigned take_unit(cursor *c)
{
    unsigned unit = 0;
    for (int i = 0; i < 4; ++i, ++c->at) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = c->at < c->end && *c->at != '\0' ? strchr(digits, *c->at) : NULL;
        if (digit == NULL) {
            return 0;
        }
        const unsigned n = (unsigned)(digit - digits);
        unit = unit * 16 + (n < 16 ? n : n - 6);
    }
    return unit;
}

/* What follows a backslash. Halves of a pair of surrogates stand together. */
static bool escape(cursor *c)
{
    if (!take(c, "u")) {
        const bool good = c->at < c->end && is_in(*c->at, "\"\\/bfnrt");
        c->at += good;
        return good;
    }
    const unsigned unit = take_unit(c);
    if (unit < 0xd800 || unit > 0xdfff) {
        return unit != 0;
    }
    const unsigned low = unit < 0xdc00 && take(c, "\\u") ? take_unit(c) : 0;
    return low >= 0xdc00 && low <= 0xdfff;
}

static bool string(cursor *c)
{
    bool good = take(c, "\"");
    while (good && c->at < c->end && *c->at != '"') {
        good = (unsigned char)*c->at >= ' ' && (*c->at++ != '\\' || escape(c));
    }
    return good && take(c, "\"");
}

static bool digits(cursor *c)
{
    const char *from = c->at;
    skip(c, "0123456789");
    return c->at > from;
}

static bool number(cursor *c)
{
    take(c, "-");
    bool good = take(c, "0") || digits(c);
    good = good && (!take(c, ".") || digits(c));
    if (good && (take(c, "e") || take(c, "E"))) {
        good = (take(c, "+") || take(c, "-") || true) && digits(c);
    }
    return good;
}

/* A value and the white space around it. It recurses MODELS_JSON_DEPTH times at most. */
static bool value(cursor *c, int depth)
{
    static const char space[] = " \t\n\r";
    bool good = depth <= MODELS_JSON_DEPTH;
    skip(c, space);
    const bool object = take(c, "{");
    if (object || take(c, "[")) {
        const char *end = object ? "}" : "]";
        skip(c, space);
        bool ended = take(c, end);
        while (good && !ended) {
            if (object) {
                skip(c, space);
                good = string(c);
                skip(c, space);
                good = good && take(c, ":");
            }
            good = good && value(c, depth + 1);
            ended = good && take(c, end);
            good = ended || (good && take(c, ","));
        }
    } else if (c->at < c->end && *c->at == '"') {
        good = good && string(c);
    } else {
        good = good && (take(c, "true") || take(c, "false") || take(c, "null") || number(c));
    }
    skip(c, space);
    return good;
}

bool adzi_models_is_json(const char *bytes, size_t size)
{
    cursor c = { bytes, bytes + size };
    skip(&c, " \t\n\r");
    return c.at < c.end && (*c.at == '{' || *c.at == '[') && adzi_models_is_utf8(bytes, size) &&
           value(&c, 0) && c.at == c.end;
}
