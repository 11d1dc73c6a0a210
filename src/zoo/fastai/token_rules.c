/* fastai's rules on a text, which are applied before the text is split into words, and on each word
 * after that. Their names are those of fastai's functions. */
#include "adze/zoo/fastai_tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "adze/data/text.h"
#include "fastai/token_text.h"
#include "zoo.h"

/* A name of a character in HTML, such as "eacute". */
typedef struct html_name {
    const char *name;
    uint16_t point; /* the code point of the character */
    uint16_t open;  /* 1 if the name may stand without a semicolon */
} html_name;

#include "generated/html_names.h"

/* Each rule reads one text and writes another. A zero byte ends the text that is read, so that
 * looking at one byte after the next needs no check. */
typedef struct passage {
    const char *at, *end; /* the part that is not read yet */
    zoo_text to;          /* the text that is written */
} passage;

/* Copies the text up to `until` unchanged. */
static void copy_to(passage *p, const char *until)
{
    adzi_zoo_text_add_n(&p->to, p->at, (size_t)(until - p->at));
    p->at = until;
}

static void add_point(zoo_text *to, uint32_t point)
{
    char bytes[4];
    adzi_zoo_text_add_n(to, bytes, adz_utf8_write(point, bytes, sizeof bytes));
}

/* ---- fix_html ------------------------------------------------------------------------------- */

/* Replaces every occurrence of `what` by `with`. */
static void replace(passage *p, const char *what, const char *with)
{
    size_t n = strlen(what);
    for (const char *from = p->at; (size_t)(p->end - from) >= n;) {
        const char *hit = memchr(from, what[0], (size_t)(p->end - from) - n + 1);
        if (hit == NULL) {
            break;
        }
        from = hit + 1;
        if (memcmp(hit, what, n) == 0) {
            copy_to(p, hit);
            adzi_zoo_text_add(&p->to, with);
            from = p->at = hit + n;
        }
    }
    copy_to(p, p->end);
}

/* The replacements of fastai's fix_html, in its order. */
static const char *const html_replacements[][2] = {
    { "#39;", "'" },
    { "amp;", "&" },
    { "#146;", "'" },
    { "nbsp;", " " },
    { "#36;", "$" },
    { "\\n", "\n" },
    { "quot;", "'" },
    { "<br />", "\n" },
    { "\\\"", "\"" },
    { "<unk>", "xxunk" },
    { " @.@ ", "." },
    { " @-@ ", "-" },
    { " @,@ ", "," },
    { "\\", " \\ " },
};

/* In HTML, the numbers 128 to 159 stand for characters of Windows-1252. 0 if that has none. */
static const uint16_t windows_1252[32] = { 0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020,
    0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017d, 0, 0, 0x2018, 0x2019, 0x201c, 0x201d,
    0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178 };

/* Writes the character that a number in HTML stands for, by the rules of Python's html.unescape.
 * Numbers of other control characters and of noncharacters write nothing. */
static void add_numbered(zoo_text *to, uint32_t number)
{
    if (number == 0 || number > 0x10ffff || (number >= 0xd800 && number <= 0xdfff)) {
        add_point(to, ADZ_UTF8_REPLACEMENT);
    } else if (number >= 0x80 && number <= 0x9f) {
        uint32_t point = windows_1252[number - 0x80];
        add_point(to, point != 0 ? point : number);
    } else if ((number >= 0x20 && number != 0x7f && (number < 0xfdd0 || number > 0xfdef) &&
                   (number & 0xfffe) != 0xfffe) ||
               number == '\t' || number == '\n' || number == '\f' || number == '\r') {
        add_point(to, number);
    }
}

static int digit_of(char c, int base)
{
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : base;
    return digit < base ? digit : -1;
}

/* Replaces "&#65;" or "&#x41;". The semicolon is optional. False if there is no digit. */
static bool unescape_number(passage *p)
{
    const char *at = p->at + 2;
    int base = *at == 'x' || *at == 'X' ? 16 : 10;
    at += base == 16 ? 1 : 0;
    uint32_t number = 0;
    const char *first = at;
    for (int digit; (digit = digit_of(*at, base)) >= 0; ++at) {
        number = number > 0x10ffff ? number : number * (uint32_t)base + (uint32_t)digit;
    }
    if (at == first) {
        return false;
    }
    add_numbered(&p->to, number);
    p->at = at + (*at == ';' ? 1 : 0);
    return true;
}

/* Finds a name of n characters in the sorted list. NULL if it is not there. */
static const html_name *find_name(const char *text, size_t n)
{
    size_t low = 0, high = sizeof html_names / sizeof *html_names;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *name = html_names[middle].name;
        int order = strncmp(name, text, n);
        if (order == 0 && name[n] == '\0') {
            return &html_names[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* Replaces a name such as "&eacute;". Without a semicolon, the longest beginning is taken that is
 * one of the old names, which need none. */
static bool unescape_name(passage *p)
{
    enum { LONGEST = 8 };
    const char *name = p->at + 1;
    size_t n = 0;
    while (n < LONGEST && adz_character_is_alphanumeric((unsigned char)name[n]) &&
           (unsigned char)name[n] < 0x80) {
        ++n;
    }
    bool closed = name[n] == ';';
    for (size_t length = n; length > 1; --length) {
        const html_name *found = find_name(name, length);
        bool whole = length == n && closed;
        if (found != NULL && (whole || found->open)) {
            add_point(&p->to, found->point);
            p->at = name + length + (whole ? 1 : 0);
            return true;
        }
    }
    return false;
}

/* Replaces HTML's numbers and names of characters, as Python's html.unescape does. */
static void unescape(passage *p)
{
    for (const char *hit; (hit = memchr(p->at, '&', (size_t)(p->end - p->at))) != NULL;) {
        copy_to(p, hit);
        bool number = hit[1] == '#';
        if (!(number ? unescape_number(p) : unescape_name(p))) {
            copy_to(p, hit + 1);
        }
    }
    copy_to(p, p->end);
}

/* ---- repetitions ---------------------------------------------------------------------------- */

static void add_count(zoo_text *to, const char *token, size_t count)
{
    char text[40];
    snprintf(text, sizeof text, " %s %zu ", token, count);
    adzi_zoo_text_add(to, text);
}

/* "aaaa" becomes " xxrep 4 a ". */
static void replace_rep(passage *p)
{
    for (const char *at = p->at; at < p->end;) {
        const char *first = at;
        uint32_t point = zoo_next_point(&at, p->end);
        size_t bytes = (size_t)(at - first), count = 1;
        while ((size_t)(p->end - at) >= bytes && memcmp(at, first, bytes) == 0) {
            at += bytes;
            ++count;
        }
        if (count >= 4 && !adz_character_is_space(point)) {
            copy_to(p, first);
            add_count(&p->to, "xxrep", count);
            adzi_zoo_text_add_n(&p->to, first, bytes);
            adzi_zoo_text_add(&p->to, " ");
            p->at = at;
        }
    }
    copy_to(p, p->end);
}

/* The end of the run of word characters (or, if `word` is false, of other characters) at `at`. */
static const char *end_of_run(const char *at, const char *end, bool word)
{
    for (const char *next = at; at < end; at = next) {
        uint32_t point = zoo_next_point(&next, end);
        if ((point == '_' || adz_character_is_alphanumeric(point)) != word) {
            break;
        }
    }
    return at;
}

/* The number of pieces into which spaces divide a text. */
static size_t count_chunks(const char *at, const char *end)
{
    size_t chunks = 0;
    for (bool inside = false; at < end;) {
        bool space = adz_character_is_space(zoo_next_point(&at, end));
        chunks += !space && !inside ? 1 : 0;
        inside = !space;
    }
    return chunks;
}

/* "no no no no " becomes " xxwrep 4 no  ". The number is counted as fastai counts it: the pieces
 * into which spaces divide the repetitions after the first, plus one. */
static void replace_wrep(passage *p)
{
    const char *at = end_of_run(p->at, p->end, false);
    while (at < p->end) {
        const char *unit = at;
        at = end_of_run(end_of_run(at, p->end, true), p->end, false);
        size_t bytes = (size_t)(at - unit), repeats = 0;
        const char *after = at;
        for (; (size_t)(p->end - after) >= bytes && memcmp(after, unit, bytes) == 0; ++repeats) {
            after += bytes;
        }
        if (repeats >= 3) {
            copy_to(p, unit);
            add_count(&p->to, "xxwrep", count_chunks(at, after) + 1);
            adzi_zoo_text_add_n(&p->to, unit, bytes);
            adzi_zoo_text_add(&p->to, " ");
            p->at = after;
            at = end_of_run(after, p->end, false);
        }
    }
    copy_to(p, p->end);
}

/* ---- spaces --------------------------------------------------------------------------------- */

/* "a##b" becomes "a # #b". fastai also adds a space behind them and around line breaks, where the
 * text is split anyway. */
static void spec_add_spaces(passage *p)
{
    for (const char *at = p->at; at < p->end; ++at) {
        if (*at == '/' || *at == '#') {
            copy_to(p, at);
            adzi_zoo_text_add(&p->to, " ");
        }
    }
    copy_to(p, p->end);
}

/* One space of several stays, so that repeated words are equal with what follows them. */
static void rm_useless_spaces(passage *p)
{
    for (const char *at = p->at; at < p->end; ++at) {
        if (at[0] == ' ' && at[1] == ' ') {
            copy_to(p, at);
            p->at = at + 1;
        }
    }
    copy_to(p, p->end);
}

/* ---- rules on words ------------------------------------------------------------------------- */

/* How many characters a word has, how many are capitals, and whether the first one is. */
typedef struct capitals {
    size_t characters, uppers;
    bool has_lower, first;
} capitals;

/* Appends a word in lower case to `to`, and counts its capitals. */
static capitals lower_word(zoo_text *to, const char *at, const char *end)
{
    capitals c = { 0 };
    while (at < end) {
        uint32_t point = zoo_next_point(&at, end);
        bool upper = adz_character_is_upper(point);
        c.first = c.characters == 0 ? upper : c.first;
        c.characters += 1;
        c.uppers += upper ? 1 : 0;
        c.has_lower = c.has_lower || adz_character_is_lower(point);
        add_point(to, adz_character_to_lower(point));
    }
    return c;
}

static bool put_token(adz_token_put put, void *to, const char *token)
{
    return put(to, (adz_text){ token, strlen(token) });
}

/* Lower case, with xxup before a word in capitals and xxmaj before a word with a capital at its
 * start. */
static bool on_word(adz_text word, adz_token_put put, void *to)
{
    char room[64]; /* most words need no memory of their own */
    zoo_text lower = { .data = room, .capacity = sizeof room, .borrowed = true };
    capitals c = lower_word(&lower, word.bytes, word.bytes + word.size);
    bool up = c.characters > 1 && c.uppers > 0 && !c.has_lower;
    bool major = !up && c.first && c.uppers == 1 && c.has_lower;
    bool good = !lower.failed && (!up || put_token(put, to, "xxup")) &&
                (!major || put_token(put, to, "xxmaj")) &&
                put(to, (adz_text){ lower.data, lower.length });
    adzi_zoo_text_free(&lower);
    return good;
}

/* ---- rules on texts ------------------------------------------------------------------------- */

static void begin(passage *p, const zoo_text *text)
{
    *p = (passage){ .at = text->data };
    p->end = p->at + text->length;
    adzi_zoo_text_reserve(&p->to, text->length);
}

/* Ends a pass: replaces the text by the text that the rule has written. */
static void finish(passage *p, zoo_text *text)
{
    adzi_zoo_text_free(text);
    *text = p->to;
}

static void apply_rules(zoo_text *text)
{
    static void (*const rules[])(
        passage * p) = { unescape, rm_useless_spaces, replace_rep, replace_wrep, spec_add_spaces };
    passage p;
    for (size_t i = 0; i < sizeof html_replacements / sizeof *html_replacements && !text->failed;
         ++i) {
        begin(&p, text);
        replace(&p, html_replacements[i][0], html_replacements[i][1]);
        finish(&p, text);
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !text->failed; ++i) {
        begin(&p, text);
        rules[i](&p);
        finish(&p, text);
    }
}

static bool on_text(adz_text text, adz_token_put put, void *to)
{
    zoo_text own = { 0 };
    adzi_zoo_text_add_n(&own, text.bytes, text.size);
    apply_rules(&own);
    bool good = !own.failed && put(to, (adz_text){ own.data, own.length });
    adzi_zoo_text_free(&own);
    return good;
}

const adz_token_rules *adz_fastai_token_rules(void)
{
    static const adz_token_rules rules = { sizeof rules, "fastai", on_text, on_word };
    return &rules;
}
