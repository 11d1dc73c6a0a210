/* Rows of a generation: their tokens and their text. */
#include "rows.h"

#include <string.h>

/* Appends bytes to the row's text, with a zero behind them. */
static bool append(models_row *row, adz_text text)
{
    if (row->bytes + text.size + 1 > row->capacity) {
        const size_t capacity = 2 * (row->bytes + text.size) + 64;
        char *larger = adzi_models_alloc(capacity);
        if (larger == NULL) {
            return false;
        }
        if (row->bytes > 0) {
            memcpy(larger, row->text, row->bytes);
        }
        adzi_models_free(row->text);
        row->text = larger;
        row->capacity = capacity;
    }
    if (text.size > 0) {
        memcpy(row->text + row->bytes, text.bytes, text.size);
    }
    row->bytes += text.size;
    row->text[row->bytes] = 0;
    return true;
}

/* Whether a stop string ends behind byte `from` of the row's text. */
static bool completes_stop(const models_row *row, const adz_generate_options *o, size_t from)
{
    for (size_t i = 0; i < o->n_stop_strings; ++i) {
        const char *stop = o->stop_strings[i];
        const size_t size = strlen(stop), begin = from > size - 1 ? from - (size - 1) : 0;
        for (size_t at = begin; at + size <= row->bytes; ++at) {
            if (memcmp(row->text + at, stop, size) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_end(const adz_generate_options *o, int64_t id)
{
    for (size_t i = 0; i < o->n_eos_token_ids; ++i) {
        if (o->eos_token_ids[i] == id) {
            return true;
        }
    }
    return false;
}

bool adzi_models_row_add(
    models_row *row, const adz_generate_options *o, int64_t id, bool is_last, adz_text *text)
{
    const size_t from = row->bytes;
    const bool ends = is_end(o, id);
    row->ids[row->count++] = id;
    ++row->made;
    row->finished = ends || is_last;
    *text = (adz_text){ "", 0 };
    if (row->stream == NULL) {
        return true;
    }
    /* The token that ends a text, such as </s>, is no part of it. */
    const adz_text piece = ends ? *text : adz_token_stream_next(row->stream, id);
    if (piece.bytes == NULL || !append(row, piece)) {
        return false;
    }
    row->finished = row->finished || completes_stop(row, o, from);
    if (row->finished) {
        const adz_text rest = adz_token_stream_end(row->stream);
        if (rest.bytes == NULL || !append(row, rest)) {
            return false;
        }
    }
    *text = (adz_text){ row->text + from, row->bytes - from };
    return true;
}

void adzi_models_row_free(models_row *row)
{
    adz_token_stream_free(&row->stream);
    adzi_models_free(row->text);
    row->text = NULL;
}
