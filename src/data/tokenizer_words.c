/* Splitting a text into words, and fastai's rules on words. */
#include <string.h>

#include "data/tokenizer_rules.h"
#include "data/unicode.h"

enum { RIGHT_QUOTE = 0x2019 };

/* A text [begin, end) that is being split; `at` is the next character. */
typedef struct splitting {
    const char *begin, *at, *end;
    bool rules; /* the rules on words are applied */
    adzi_word_taker take;
    void *user;
    adzi_text lower; /* a buffer for a word in lower case */
} splitting;

/* ---- rules on words ------------------------------------------------------------------------- */

static bool take_special(const splitting *s, adz_special_token token)
{
    const char *text = adzi_special_tokens[token];
    return s->take(s->user, (adz_text){ text, strlen(text) });
}

/* How many characters a word has, how many are capitals, and whether the first one is. */
typedef struct capitals {
    size_t characters, uppers;
    bool has_lower, first;
} capitals;

/* Appends a word in lower case to `to`, and counts its capitals. */
static capitals lower_word(adzi_text *to, const char *at, const char *end)
{
    capitals c = { 0 };
    while (at < end) {
        uint32_t point = adzi_utf8_next(&at, end);
        bool upper = adzi_is_upper(point);
        c.first = c.characters == 0 ? upper : c.first;
        c.characters += 1;
        c.uppers += upper ? 1 : 0;
        c.has_lower = c.has_lower || adzi_is_lower(point);
        char bytes[4];
        adzi_text_add_n(to, bytes, adzi_utf8_write(adzi_to_lower(point), bytes));
    }
    return c;
}

/* Gives a word to the taker, after the rules on words: lower case, with xxup before a word in
 * capitals and xxmaj before a word with a capital at its start. */
static bool give(splitting *s, const char *from, const char *to)
{
    if (!s->rules) {
        return s->take(s->user, (adz_text){ from, (size_t)(to - from) });
    }
    adzi_text_cut(&s->lower, 0);
    capitals c = lower_word(&s->lower, from, to);
    if (s->lower.failed) {
        return false;
    }
    bool up = c.characters > 1 && c.uppers > 0 && !c.has_lower;
    bool major = !up && c.first && c.uppers == 1 && c.has_lower;
    return (!up || take_special(s, ADZ_XXUP)) && (!major || take_special(s, ADZ_XXMAJ)) &&
           s->take(s->user, (adz_text){ adzi_text_get(&s->lower), s->lower.length });
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

bool adzi_split_words(const adzi_text *text, bool rules, adzi_word_taker take, void *user)
{
    const char *begin = adzi_text_get(text);
    splitting s = { begin, begin, begin + text->length, rules, take, user, { 0 } };
    bool good = !text->failed;
    while (s.at < s.end && good) {
        uint32_t point = peek(&s, s.at);
        if (point == '\n') {
            good = take(user, (adz_text){ "\n", 1 });
            ++s.at;
        } else if (adzi_is_space(point)) {
            adzi_utf8_next(&s.at, s.end);
        } else {
            good = is_word(point) ? split_word(&s) : split_run(&s, point);
        }
    }
    adzi_text_free(&s.lower);
    return good;
}
