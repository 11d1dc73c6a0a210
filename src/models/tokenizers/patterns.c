/* The regular expressions by which published tokenizers split text. Each function takes the first
 * alternative that matches, as the expression does. */
#include "patterns.h"

/* The classes of the character at `at` and its bytes; 0 at the end of the text. */
static inline uint32_t look(const char *at, const char *end, size_t *bytes)
{
    if (at >= end) {
        *bytes = 0;
        return 0;
    }
    return adzi_tok_class(adzi_tok_read(at, bytes));
}

/* The end of the run of characters that have one of the classes, or none of them if `without`. At
 * most `most` characters. */
static inline const char *run_of(
    const char *at, const char *end, uint32_t classes, bool without, size_t most)
{
    size_t bytes;
    for (; at < end && most > 0; at += bytes, --most) {
        if (((look(at, end, &bytes) & classes) != 0) == without) {
            break;
        }
    }
    return at;
}

enum { LN = CLASS_LETTER | CLASS_NUMBER, LNS = CLASS_LETTER | CLASS_NUMBER | CLASS_SPACE };

static inline bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

/* \s+(?!\S)|\s+ : white space but for its last character if something else follows. */
static size_t spaces(const char *at, const char *end)
{
    size_t bytes;
    const char *last = at, *stop = at;
    while (stop < end && (look(stop, end, &bytes) & CLASS_SPACE) != 0) {
        last = stop;
        stop += bytes;
    }
    return (size_t)((stop < end && last > at ? last : stop) - at);
}

/* \s*[\r\n]+ : white space up to its last line break; 0 if it has none. */
static size_t lines(const char *at, const char *end)
{
    size_t bytes;
    const char *stop = at, *last = at;
    while (stop < end && (look(stop, end, &bytes) & CLASS_SPACE) != 0) {
        stop += bytes;
        last = is_break(stop[-1]) ? stop : last;
    }
    return (size_t)(last - at);
}

/* 's|'t|'re|'ve|'m|'ll|'d ; `folds`: in either case, and with the long s. */
static size_t contraction(const char *at, const char *end, bool folds)
{
    if (end - at < 2 || *at != '\'') {
        return 0;
    }
    const char fold = folds ? 0x20 : 0;
    const char one = (char)(at[1] | fold);
    if (one == 's' || one == 't' || one == 'm' || one == 'd') {
        return 2;
    }
    const char two = end - at > 2 ? (char)(at[2] | fold) : 0;
    if (((one == 'r' || one == 'v') && two == 'e') || (one == 'l' && two == 'l')) {
        return 3;
    }
    return folds && end - at > 2 && memcmp(at + 1, "\xc5\xbf", 2) == 0 ? 3 : 0;
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
size_t adzi_tok_pattern_gpt2(const char *at, const char *end)
{
    const size_t short_form = *at == '\'' ? contraction(at, end, false) : 0;
    if (short_form > 0) {
        return short_form;
    }
    size_t bytes;
    const char *word = at + (*at == ' ');
    const uint32_t class = look(word, end, &bytes);
    const char *stop = word;
    if ((class & CLASS_LETTER) != 0) {
        stop = run_of(word, end, CLASS_LETTER, false, SIZE_MAX);
    } else if ((class & CLASS_NUMBER) != 0) {
        stop = run_of(word, end, CLASS_NUMBER, false, SIZE_MAX);
    } else if (word < end && (class & CLASS_SPACE) == 0) {
        stop = run_of(word, end, LNS, true, SIZE_MAX);
    }
    return stop > word ? (size_t)(stop - at) : spaces(at, end);
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n]*
 * |\s*[\r\n]+|\s+(?!\S)|\s+ */
static size_t cl100k(const char *at, const char *end, size_t digits)
{
    size_t length = contraction(at, end, true), bytes, next;
    if (length > 0) {
        return length;
    }
    const uint32_t class = look(at, end, &bytes);
    const bool before = (class & LN) == 0 && !is_break(*at);
    if ((class & CLASS_LETTER) != 0 ||
        (before && (look(at + bytes, end, &next) & CLASS_LETTER) != 0)) {
        return (size_t)(run_of(at + bytes, end, CLASS_LETTER, false, SIZE_MAX) - at);
    }
    if ((class & CLASS_NUMBER) != 0) {
        return (size_t)(run_of(at, end, CLASS_NUMBER, false, digits) - at);
    }
    const char *signs = at + (*at == ' ');
    const char *stop = run_of(signs, end, LNS, true, SIZE_MAX);
    if (stop > signs) {
        while (stop < end && is_break(*stop)) {
            ++stop;
        }
        return (size_t)(stop - at);
    }
    length = lines(at, end);
    return length > 0 ? length : spaces(at, end);
}

static size_t llama3(const char *at, const char *end)
{
    return cl100k(at, end, 3);
}

static size_t qwen2(const char *at, const char *end)
{
    return cl100k(at, end, 1);
}

/* \w+|[^\w\s]+ */
size_t adzi_tok_pattern_words(const char *at, const char *end)
{
    size_t bytes;
    const uint32_t class = look(at, end, &bytes);
    if ((class & CLASS_WORD) != 0) {
        return (size_t)(run_of(at, end, CLASS_WORD, false, SIZE_MAX) - at);
    }
    return (size_t)(run_of(at, end, CLASS_WORD | CLASS_SPACE, true, SIZE_MAX) - at);
}

/* \p{N}{1,3} */
static size_t three_numbers(const char *at, const char *end)
{
    return (size_t)(run_of(at, end, CLASS_NUMBER, false, 3) - at);
}

/* \p{N}+ */
static size_t numbers(const char *at, const char *end)
{
    return (size_t)(run_of(at, end, CLASS_NUMBER, false, SIZE_MAX) - at);
}

/* \p{N} */
static size_t number(const char *at, const char *end)
{
    return (size_t)(run_of(at, end, CLASS_NUMBER, false, 1) - at);
}

/* [0-9][0-9][0-9] */
static size_t three_digits(const char *at, const char *end)
{
    size_t n = 0;
    while (n < 3 && at + n < end && at[n] >= '0' && at[n] <= '9') {
        ++n;
    }
    return n == 3 ? n : 0;
}

/* [\p{P}\$\+<=>\^~\|]+ */
static size_t signs(const char *at, const char *end)
{
    return (size_t)(run_of(at, end, CLASS_SIGN, false, SIZE_MAX) - at);
}

/* \s+ */
static size_t white_space(const char *at, const char *end)
{
    return (size_t)(run_of(at, end, CLASS_SPACE, false, SIZE_MAX) - at);
}

#define CONTRACTIONS "'s|'t|'re|'ve|'m|'ll|'d"
#define CL100K(digits)                                            \
    "(?i:" CONTRACTIONS ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CL100K_POSSESSIVE                                              \
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}" \
    "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"

adzi_tok_pattern adzi_tok_pattern_of(const char *expression)
{
    static const struct {
        const char *expression;
        adzi_tok_pattern pattern;
    } known[] = {
        { CONTRACTIONS "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
            adzi_tok_pattern_gpt2 },
        { CL100K("\\p{N}{1,3}"), llama3 },
        { CL100K("\\p{N}"), qwen2 },
        { CL100K_POSSESSIVE, llama3 },
        { "\\p{N}{1,3}", three_numbers },
        { "\\p{N}+", numbers },
        { "\\p{N}", number },
        { "[0-9][0-9][0-9]", three_digits },
        { "[\\p{P}\\$\\+<=>\\^~\\|]+", signs },
        { "\\s+", white_space },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (strcmp(known[i].expression, expression) == 0) {
            return known[i].pattern;
        }
    }
    return NULL;
}
