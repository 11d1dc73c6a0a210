/* Writes text with a trained network: computes the scores of the next token, and draws it. */
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/interrupt.h"

/* ---- scores --------------------------------------------------------------------------------- */

writer begin_writing(const options *o, adz_module *network)
{
    adz_module_eval(network);
    adz_module_reset(network);
    return (writer){ .o = o, .network = network, .cache = new_cache(o) };
}

void end_writing(writer *w)
{
    free_cache(&w->cache);
    free(w->ids);
}

static void append(writer *w, const int64_t *ids, int64_t n)
{
    if (w->count + n > w->capacity) {
        w->capacity = 2 * (w->count + n);
        w->ids = reallocate(w->ids, (size_t)w->capacity, sizeof *w->ids);
    }
    memcpy(w->ids + w->count, ids, (size_t)n * sizeof *ids);
    w->count += n;
}

static adz_tensor *last_ids(const writer *w, int64_t n)
{
    return adz_tensor_from(w->ids + w->count - n, ADZ_SHAPE(1, n), ADZ_I64);
}

static adz_tensor *run_plainly(const writer *w, adz_tensor *ids)
{
    adz_values *results = adz_values_new();
    adz_tensor *scores = run_network(w->network, ids, results);
    adz_values_free(&results);
    return scores;
}

/* Scores of a model that carries its state. A long text is read in pieces of the length that was
 * used in training. */
static adz_tensor *run_carrying(const writer *w, int64_t n)
{
    adz_tensor *scores = NULL;
    for (int64_t done = 0; done < n;) {
        int64_t some = n - done < w->o->context ? n - done : w->o->context;
        const int64_t *from = w->ids + w->count - n + done;
        scores = run_plainly(w, adz_tensor_from(from, ADZ_SHAPE(1, some), ADZ_I64));
        done += some;
    }
    return scores;
}

/* Scores of a model that sees a window. When the window is full, its newer half is read again from
 * an empty cache, so that the other half is free for new tokens. */
static adz_tensor *run_window(writer *w, int64_t n)
{
    int64_t context = w->o->context;
    if (w->o->window == WINDOW_SLIDE) {
        return run_plainly(w, last_ids(w, w->count < context ? w->count : context));
    }
    if (w->cache.length + n > context) {
        forget(&w->cache);
        n = context / 2 < w->count ? context / 2 : w->count;
    }
    return run_cached(w->o, w->network, last_ids(w, n), &w->cache);
}

adz_tensor *write_on(writer *w, const int64_t *ids, int64_t n)
{
    bool grad = adz_set_grad_enabled(false);
    append(w, ids, n);
    adz_tensor *scores = is_carrying(w->o) ? run_carrying(w, n) : run_window(w, n);
    adz_set_grad_enabled(grad);
    return adz_select(adz_select(scores, 0, 0), 0, -1);
}

/* ---- choosing ------------------------------------------------------------------------------- */

static int64_t choose_token(const options *o, adz_tensor *scores, adz_generator *generator)
{
    int64_t n = adz_tensor_numel(scores), k = o->top_k > 0 && o->top_k < n ? o->top_k : n;
    if (o->temperature == 0) {
        return adz_item_i64(adz_argmax(scores, ADZ_ALL_DIMS, ADZ_DROPDIM));
    }
    adz_tensor *tokens, *best = adz_topk(scores, k, 0, true, &tokens);
    adz_tensor *p = adz_softmax(adz_mul_number(best, 1 / o->temperature), 0);
    return adz_item_i64(adz_index_select(tokens, 0, adz_multinomial(p, 1, false, generator)));
}

static void write_text(adz_text text)
{
    fwrite(text.bytes, 1, text.size, stdout);
    fflush(stdout);
}

/* The token numbers of the text to continue. For an empty text it is the first token of the
 * vocabulary. */
static int64_t *first_ids(const options *o, adz_tokenizer *tokenizer, int64_t *n)
{
    adz_tensor *ids = adz_tokenizer_encode(tokenizer, o->sample, strlen(o->sample));
    *n = adz_tensor_numel(ids) > 0 ? adz_tensor_numel(ids) : 1;
    int64_t *first = allocate((size_t)*n * sizeof *first);
    if (adz_tensor_numel(ids) > 0) {
        memcpy(first, adz_tensor_data_i64(ids), (size_t)*n * sizeof *first);
    }
    return first;
}

void write_sample(const options *o, adz_module *network, adz_tokenizer *tokenizer)
{
    adz_scope *whole = adz_scope_open();
    int64_t n, *ids = first_ids(o, tokenizer, &n);
    writer w = begin_writing(o, network);
    adz_generator *generator = adz_generator_new((uint64_t)o->seed);
    adz_token_stream *stream = adz_token_stream_new(tokenizer);
    listen_to_interrupts();
    for (int64_t i = 0; i < n && o->sample[0] != '\0'; ++i) {
        write_text(adz_token_stream_next(stream, ids[i]));
    }
    for (int64_t i = 0; i < o->length && !is_interrupted(); ++i) {
        adz_scope *scope = adz_scope_open();
        int64_t next = choose_token(o, write_on(&w, ids, n), generator);
        write_text(adz_token_stream_next(stream, next));
        ids[0] = next;
        n = 1;
        adz_scope_close(scope);
    }
    write_text(adz_token_stream_end(stream));
    putchar('\n');
    adz_token_stream_free(&stream);
    adz_generator_free(&generator);
    end_writing(&w);
    free(ids);
    adz_scope_close(whole);
}
