/* Splitting a text into words, and the rules of a program's own on words. */
#include <string.h>

#include "base/door.h"
#include "base/error.h"
#include "data/tokenizer_rules.h"
#include "data/unicode.h"

enum { RIGHT_QUOTE = 0x2019 };

/* A text [begin, end) that is being split; `at` is the next character. */
typedef struct splitting {
    const char *op;
    const char *begin, *at, *end;
    const adz_token_rules *rules; /* NULL for none */
    adz_token_put put;
    void *to;
    bool refused; /* `put` has returned false */
} splitting;

/* ---- rules on words ------------------------------------------------------------------------- */

/* Takes a token of the rules. */
static bool put_token(void *to, adz_text token)
{
    splitting *s = to;
    if (token.size == 0 || adzi_utf8_valid(token.bytes, token.size) < token.size) {
        adzi_error(s->op, ADZ_ERR_FORMAT, "the rules %s made a token that is %s", s->rules->name,
            token.size == 0 ? "empty" : "not UTF-8");
        return false;
    }
    s->refused = s->refused || !s->put(s->to, token);
    return !s->refused;
}

/* Gives a word to the taker, after the rules on words. */
static bool give(splitting *s, const char *from, const char *to)
{
    const adz_text word = { from, (size_t)(to - from) };
    if (s->rules == NULL || s->rules->on_word == NULL) {
        return s->put(s->to, word);
    }
    const bool good = s->rules->on_word(word, put_token, s) && !s->refused;
    if (!good && !s->refused) {
        adzi_callback_failed(
            s->op, ADZ_ERR_ARGUMENT, "the rules %s failed on a word", s->rules->name);
    }
    return good;
}

/* ---- splitting ------------------------------------------------------------------------------ */

static bool is_word(uint32_t point)
{
    return point == '_' || adzi_is_alphanumeric(point) || adzi_is_mark(point);
}

static bool is_digit(uint32_t point)
{
    return point >= '0' && point <= '9';
}

static bool is_letter(uint32_t point)
{
    return is_word(point) && !is_digit(point) && point != '_';
}

/* 0 at the end of the text, where a zero byte stands. */
static uint32_t peek(const splitting *s, const char *at)
{
    return adzi_utf8_next(&at, s->end);
}

/* For the apostrophe at `quote`: where the n of a final "n't" begins, as in "don't", else NULL. */
static const char *negation(const splitting *s, const char *word, const char *quote, size_t bytes)
{
    const char *t = quote + bytes;
    bool n = quote - word > 1 && (quote[-1] == 'n' || quote[-1] == 'N');
    return n && (*t == 't' || *t == 'T') && !is_word(peek(s, t + 1)) ? quote - 1 : NULL;
}

/* Whether the point at s->at, which is inside a word but no part of it, joins the number around
 * it. */
static bool joins_number(const splitting *s, uint32_t point)
{
    return (point == '.' || point == ',') && is_digit((unsigned char)s->at[-1]) &&
           is_digit(peek(s, s->at + 1));
}

/* At the first character of a word. */
static bool split_word(splitting *s)
{
    const char *word = s->at;
    for (;;) { /* The zero byte that ends the text is in no word. */
        const char *next = s->at;
        uint32_t point = adzi_utf8_next(&next, s->end);
        bool quote = (point == '\'' || point == RIGHT_QUOTE) &&
                     is_letter(adzi_utf8_before(s->begin, s->at)) && is_letter(peek(s, next));
        if (quote) {
            const char *n = negation(s, word, s->at, (size_t)(next - s->at));
            const char *cut = n != NULL ? n : s->at;
            if (!give(s, word, cut)) {
                return false;
            }
            word = cut;
        } else if (!is_word(point) && !joins_number(s, point)) {
            break;
        }
        s->at = next;
    }
    return give(s, word, s->at);
}

/* Reads a run of equal characters that belong to no word, such as "...". */
static bool split_run(splitting *s, uint32_t point)
{
    const char *first = s->at;
    while (s->at < s->end && peek(s, s->at) == point) {
        adzi_utf8_next(&s->at, s->end);
    }
    return give(s, first, s->at);
}

bool adzi_split_words(const char *op, const adzi_text *text, const adz_token_rules *rules,
    adz_token_put put, void *to)
{
    const char *begin = adzi_text_get(text);
    splitting s = { op, begin, begin, begin + text->length, rules, put, to, false };
    bool good = !text->failed;
    while (s.at < s.end && good) {
        uint32_t point = peek(&s, s.at);
        if (point == '\n') {
            good = put(to, (adz_text){ "\n", 1 });
            ++s.at;
        } else if (adzi_is_space(point)) {
            adzi_utf8_next(&s.at, s.end);
        } else {
            good = is_word(point) ? split_word(&s) : split_run(&s, point);
        }
    }
    return good;
}
