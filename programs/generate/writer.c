/* Writes the first unfinished text of a batch token by token, and the others after it. */
#define _GNU_SOURCE
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../examples/shared/command_line.h"
#include "../../examples/shared/progress.h"

writer begin_writing(void)
{
    return (writer){ .terminal = isatty(STDOUT_FILENO) != 0 };
}

/* Writes text. On a terminal, control characters besides the newline and the tabulator are shown as
 * escapes, so that no text of a model is a command. */
static void put(const writer *w, const char *text, size_t size)
{
    for (size_t i = 0; i < size; ++i) {
        const unsigned char c = (unsigned char)text[i];
        const unsigned char next = (unsigned char)(i + 1 < size ? text[i + 1] : 0);
        const bool long_control = c == 0xc2 && next >= 0x80 && next < 0xa0;
        const bool control = (c < ' ' && c != '\n' && c != '\t') || c == 0x7f || long_control;
        if (w->terminal && control) {
            printf("\\x%02x", long_control ? next : c);
            i += long_control;
        } else {
            putchar(c);
        }
    }
    if (fflush(stdout) != 0 || ferror(stdout)) { /* no more tokens are worth their time */
        fail("standard output: %s", strerror(errno));
    }
}

static void begin_row(writer *w)
{
    if (w->any) {
        put(w, "---\n", 4);
    }
    w->any = true;
    put(w, w->prompts[w->current].bytes, w->prompts[w->current].size);
    put(w, w->rows[w->current].text, w->rows[w->current].size);
    set_line_open(true);
}

static void end_row(writer *w)
{
    put(w, "\n", 1);
    set_line_open(false);
    ++w->current;
}

void write_batch(writer *w, const adz_text *prompts, size_t count)
{
    w->prompts = prompts;
    w->count = count;
    w->current = 0;
    w->rows = allocate(count * sizeof *w->rows);
    begin_row(w);
}

bool hear_token(const adz_generated *token, void *user)
{
    writer *w = user;
    row *r = &w->rows[token->row];
    w->last = seconds_now();
    w->first = w->tokens++ == 0 ? w->last : w->first;
    r->finished = token->finished;
    if ((size_t)token->row == w->current) {
        put(w, token->text.bytes, token->text.size);
    } else if (token->text.size > 0) {
        r->text = reallocate(r->text, r->size + token->text.size, 1);
        memcpy(r->text + r->size, token->text.bytes, token->text.size);
        r->size += token->text.size;
    }
    while (w->current < w->count && w->rows[w->current].finished) {
        end_row(w);
        if (w->current < w->count) {
            begin_row(w);
        }
    }
    return true;
}

void end_batch(writer *w)
{
    while (w->current < w->count) { /* none is left unless the library ended a row silently */
        end_row(w);
        if (w->current < w->count) {
            begin_row(w);
        }
    }
    for (size_t i = 0; i < w->count; ++i) {
        free(w->rows[i].text);
    }
    free(w->rows);
    w->rows = NULL;
}
