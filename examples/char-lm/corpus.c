/* Reads a text, turns it into token numbers, and cuts these into batches. */
#include "corpus.h"

#include <adze/zoo.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/files.h"
#include "../text/encoding.h"
#include "../text/text.h"
#include "model.h"

/* Removes the byte order mark that some editors write in front of a text. It is no character of the
 * text. */
static void drop_mark(char *text, size_t *size)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t length = sizeof mark - 1;
    if (*size >= length && memcmp(text, mark, length) == 0) {
        *size -= length;
        memmove(text, text + length, *size + 1); /* the zero at its end as well */
    }
}

char *read_corpus(const options *o, const char **name, size_t *size)
{
    *name = o->data != NULL ? o->data : embedded_name;
    char *text = o->data != NULL ? read_whole_file(o->data, size) : embedded_text(size);
    if (*size == 0) {
        fail("%s: the text is empty", *name);
    }
    if (o->tokens != ADZ_TOKENS_BYTES) {
        check_utf8(*name, text, *size, "; --tokens bytes learns any file as it is");
        drop_mark(text, size);
    }
    return text;
}

adz_tokenizer *new_tokenizer(const options *o, const char *text, size_t size)
{
    adz_tokenizer_options t = ADZ_TOKENIZER_OPTIONS;
    t.max_vocab = o->max_vocab;
    t.min_freq = o->min_freq;
    t.rules = adz_fastai_token_rules();
    return adz_tokenizer_build((adz_token_kind)o->tokens, &(adz_text){ text, size }, 1, &t);
}

/* Counts characters of UTF-8. For other bytes the count is only an estimate. */
static double count_characters(const char *text, size_t size)
{
    double count = 0;
    for (size_t i = 0; i < size; ++i) {
        count += ((unsigned char)text[i] & 0xc0u) != 0x80u;
    }
    return count;
}

static void check_length(const options *o, const corpus *c)
{
    int64_t needed = o->batch * o->context + 1;
    if (c->train.n < needed) {
        fail(
            "%s: the text has %lld tokens to train on; one batch of %lld rows of %lld needs %lld: give a longer text, or a smaller --batch-size or --context",
            c->name, (long long)c->train.n, (long long)o->batch, (long long)o->context,
            (long long)needed);
    }
    if (c->valid.n < 2) {
        fail(
            "%s: the text has %lld tokens to validate on, 2 are needed: a larger --validation than %g",
            c->name, (long long)c->valid.n, o->valid);
    }
}

corpus cut_corpus(
    const options *o, const char *name, const char *text, size_t size, adz_tokenizer *tokenizer)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *ids = adz_tokenizer_encode(tokenizer, text, size);
    int64_t n = adz_tensor_numel(ids);
    corpus c = { .name = name, .tokenizer = tokenizer };
    c.train.n = (int64_t)((1 - o->valid) * (double)n);
    c.valid.n = n - c.train.n;
    c.train.ids = allocate((size_t)n * sizeof *c.train.ids);
    memcpy(c.train.ids, adz_tensor_data_i64(ids), (size_t)n * sizeof *c.train.ids);
    c.valid.ids = c.train.ids + c.train.n;
    c.characters = count_characters(text, size) / (double)n;
    adz_scope_close(scope);
    check_length(o, &c);
    return c;
}

void free_corpus(corpus *c)
{
    free(c->train.ids); /* the other parts lie in this block too */
    *c = (corpus){ 0 };
}

/* ---- batches -------------------------------------------------------------------------------- */

adz_tensor *gather(const part *p, const int64_t *starts, int64_t rows, int64_t length)
{
    adz_tensor *ids = adz_empty(ADZ_SHAPE(rows, length), ADZ_I64);
    int64_t *to = adz_tensor_data_i64(ids);
    for (int64_t r = 0; r < rows; ++r) {
        memcpy(to + r * length, p->ids + starts[r], (size_t)length * sizeof *to);
    }
    return ids;
}

/* Windows of one step are drawn without replacement. */
static void begin_anywhere(const options *o, const part *p, int64_t step, int64_t *starts)
{
    for (int64_t r = 0; r < o->batch; ++r) {
        starts[r] = adz_shuffle_index((uint64_t)o->seed, (uint64_t)step, p->n - o->context, r);
    }
}

/* Finds the next positions of the streams. The text is cut into equal streams, one per row of the
 * batch, so that a micro-batch has the same streams in every step. Returns true if the streams
 * begin again, and then the model forgets its state. */
static bool go_on(const options *o, const part *p, int64_t step, int64_t *starts)
{
    int64_t length = (p->n - 1) / o->batch, at = step % (length / o->context) * o->context;
    for (int64_t r = 0; r < o->batch; ++r) {
        starts[r] = r * length + at;
    }
    return at == 0;
}

bool find_starts(const options *o, const part *p, int64_t step, int64_t *starts)
{
    bool starts_again = is_carrying(o) && go_on(o, p, step, starts);
    if (!is_carrying(o)) {
        begin_anywhere(o, p, step, starts);
    }
    return starts_again;
}
