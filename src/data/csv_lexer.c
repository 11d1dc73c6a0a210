/* The lexer of CSV texts. */
#include "data/csv_lexer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/number.h"

void adzi_csv_lexer_end(adzi_csv_lexer *lexer)
{
    adzi_free(lexer->unquoted, lexer->capacity);
}

/* Whether c is a space or a tab and not the delimiter. */
static bool is_space(const adzi_csv_lexer *lexer, char c)
{
    return (c == ' ' || c == '\t') && c != lexer->delimiter;
}

static void skip_spaces(adzi_csv_lexer *lexer)
{
    while (lexer->at < lexer->end && is_space(lexer, *lexer->at)) {
        ++lexer->at;
    }
}

/* Reads LF, CRLF or CR, if one comes next. */
static bool take_line_end(adzi_csv_lexer *lexer)
{
    if (lexer->at == lexer->end || (*lexer->at != '\n' && *lexer->at != '\r')) {
        return false;
    }
    bool pair = *lexer->at == '\r' && lexer->at + 1 < lexer->end && lexer->at[1] == '\n';
    lexer->at += pair ? 2 : 1;
    ++lexer->line;
    return true;
}

void adzi_csv_lexer_begin(
    adzi_csv_lexer *lexer, const char *text, size_t size, char delimiter, char comment)
{
    size_t mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    *lexer = (adzi_csv_lexer){ text + mark, text + size, delimiter, comment, 1, NULL, 0 };
    const char *at = lexer->at;
    if (lexer->end - at >= 5 && adzi_same_word(at, 4, "sep=") && at[4] != '\n' && at[4] != '\r' &&
        (lexer->end - at == 5 || at[5] == '\n' || at[5] == '\r')) {
        lexer->delimiter = at[4];
        lexer->at += 5;
        (void)take_line_end(lexer);
    }
}

static bool is_comment(const adzi_csv_lexer *lexer)
{
    return lexer->comment != '\0' && lexer->at < lexer->end && *lexer->at == lexer->comment;
}

/* Goes to the end of the line if a comment comes next. */
static void skip_comment(adzi_csv_lexer *lexer)
{
    if (is_comment(lexer)) {
        while (lexer->at < lexer->end && *lexer->at != '\n' && *lexer->at != '\r') {
            ++lexer->at;
        }
    }
}

/* Reads the end of a field: a delimiter, the end of a line or the end of the text, perhaps after a
 * comment. False if another character follows. */
static bool take_field_end(adzi_csv_lexer *lexer, adzi_csv_field *field)
{
    skip_comment(lexer);
    field->last = lexer->at == lexer->end || *lexer->at != lexer->delimiter;
    if (!field->last) {
        ++lexer->at;
        return true;
    }
    return lexer->at == lexer->end || take_line_end(lexer);
}

/* Reads a field without quotes. */
static void plain_field(adzi_csv_lexer *lexer, adzi_csv_field *field)
{
    const char *first = lexer->at;
    while (lexer->at < lexer->end && *lexer->at != lexer->delimiter && *lexer->at != '\n' &&
           *lexer->at != '\r' && !is_comment(lexer)) {
        ++lexer->at;
    }
    const char *last = lexer->at;
    while (last > first && is_space(lexer, last[-1])) {
        --last;
    }
    field->text = first;
    field->length = (size_t)(last - first);
    (void)take_field_end(lexer, field);
}

/* Replaces each doubled quote in the field by a single one, in a copy. */
static bool undouble(adzi_csv_lexer *lexer, adzi_csv_field *field)
{
    if (!adzi_grow(&lexer->unquoted, &lexer->capacity, field->length, 1)) {
        return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < field->length; ++i) {
        lexer->unquoted[n++] = field->text[i];
        i += field->text[i] == '"' ? 1u : 0u;
    }
    field->text = lexer->unquoted;
    field->length = n;
    return true;
}

/* Reads a quoted field, which may contain delimiters and ends of lines. */
static adzi_csv_found quoted_field(adzi_csv_lexer *lexer, adzi_csv_field *field)
{
    bool doubled = false;
    field->text = ++lexer->at;
    for (;;) {
        if (lexer->at == lexer->end) {
            return ADZI_CSV_OPEN_QUOTE;
        }
        if (*lexer->at == '"') {
            if (lexer->at + 1 == lexer->end || lexer->at[1] != '"') {
                break;
            }
            doubled = true;
            lexer->at += 2;
        } else if (!take_line_end(lexer)) {
            ++lexer->at;
        }
    }
    field->length = (size_t)(lexer->at - field->text);
    ++lexer->at;
    skip_spaces(lexer);
    if (doubled && !undouble(lexer, field)) {
        return ADZI_CSV_NO_MEMORY;
    }
    return take_field_end(lexer, field) ? ADZI_CSV_FIELD : ADZI_CSV_AFTER_QUOTE;
}

adzi_csv_found adzi_csv_next_field(adzi_csv_lexer *lexer, adzi_csv_field *field)
{
    skip_spaces(lexer);
    field->line = lexer->line;
    if (lexer->at < lexer->end && *lexer->at == '"') {
        return quoted_field(lexer, field);
    }
    plain_field(lexer, field);
    return ADZI_CSV_FIELD;
}

adzi_csv_found adzi_csv_next_line(adzi_csv_lexer *lexer, adzi_csv_field *field)
{
    do {
        skip_spaces(lexer);
        skip_comment(lexer);
    } while (take_line_end(lexer));
    return lexer->at == lexer->end ? ADZI_CSV_END : adzi_csv_next_field(lexer, field);
}
