/* Opens a folder in the form of sentence-transformers or a GGUF file, and encodes texts in batches.
 */
#include "encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/pretrained/entry.h"
#include "../../examples/pretrained/results.h"
#include "../../examples/shared/command_line.h"

static const char of_sentences[] = "sentence_bert_config.json";

/* ---- the folder ----------------------------------------------------------------------------- */

static void check_model(const encoder *e, const char *folder)
{
    if (model_gives(e->model, "logits")) {
        fail(
            "%s: a %s is a language model, which gives no embeddings; generate writes text with it",
            folder, adz_module_name(e->model));
    }
    if (!model_gives(e->model, "sentence_embedding") && ends_with(folder, ".gguf")) {
        fail("%s: the file names no pooling, which says how the tokens of a %s become one vector",
            folder, adz_module_name(e->model));
    }
    if (!model_gives(e->model, "sentence_embedding")) {
        fail(
            "%s: there is no modules.json of sentence-transformers, which says how the tokens of a %s become one vector",
            folder, adz_module_name(e->model));
    }
}

encoder open_encoder(const char *folder, int64_t max_length)
{
    check_model_path(folder);
    if (entry_is_set(folder, of_sentences, "do_lower_case")) {
        fail("%s/%s: do_lower_case is set, which embed does not know", folder, of_sentences);
    }
    if (entry_is_set(folder, "config_sentence_transformers.json", "default_prompt_name")) {
        fail(
            "%s/config_sentence_transformers.json: default_prompt_name is set, but embed adds no prompts to texts",
            folder);
    }
    adz_pretrained_options p = ADZ_PRETRAINED_OPTIONS;
    p.as_stored = true; /* nothing is trained, so weights in half precision stay as they are */
    encoder e = { .model = adz_pretrained_open(folder, &p) };
    check_model(&e, folder);
    e.tokenizer = adz_pretrained_tokenizer_open(folder, NULL);
    e.max_length = max_length > 0 ? max_length : adz_pretrained_max_seq_length(e.model);
    return e;
}

void close_encoder(encoder *e)
{
    adz_module_release(&e->model);
    adz_tokenizer_free(&e->tokenizer);
}

/* ---- batches -------------------------------------------------------------------------------- */

adz_tensor *encode_batch(const encoder *e, const adz_text *texts, size_t n, int64_t *lengths)
{
    adz_pretrained_encode_options o = ADZ_PRETRAINED_ENCODE_OPTIONS;
    o.truncation = ADZ_TRUNCATION_LONGEST_FIRST;
    o.max_length = e->max_length;
    o.padding = ADZ_PADDING_LONGEST;
    o.padding_side = ADZ_SIDE_RIGHT;
    adz_encoding encoding;
    adz_pretrained_encode(e->tokenizer, texts, NULL, n, &o, &encoding);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "input_ids", encoding.input_ids);
    adz_values_add(in, "attention_mask", encoding.attention_mask);
    adz_module_call(e->model, in, out);
    adz_tensor *vectors = adz_values_get(out, "sentence_embedding");
    adz_values_free(&in);
    adz_values_free(&out);
    if (lengths != NULL) {
        adz_tensor *sums = adz_sum(encoding.attention_mask, ADZ_DIMS(1), ADZ_DROPDIM);
        adz_tensor_read(sums, lengths, n * sizeof *lengths);
    }
    return vectors;
}

typedef struct sortable {
    size_t size, index;
} sortable;

static int longest_first(const void *a, const void *b)
{
    const sortable *x = a, *y = b;
    if (x->size != y->size) {
        return x->size > y->size ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Counts texts that have more tokens than were read, among those that fill all the room, and tells
 * of them. */
static void note_cut(
    const encoder *e, const adz_text *texts, const int64_t *lengths, size_t n, bool is_query)
{
    size_t cut = 0, first = 0;
    int64_t tokens = 0;
    for (size_t i = 0; i < n; ++i) {
        if (lengths[i] < e->max_length) {
            continue;
        }
        adz_scope *scope = adz_scope_open();
        const int64_t all =
            adz_tensor_numel(adz_tokenizer_encode(e->tokenizer, texts[i].bytes, texts[i].size));
        adz_scope_close(scope);
        if (all > e->max_length) {
            first = cut++ == 0 ? i : first;
            tokens = first == i ? all : tokens;
        }
    }
    const long long most = e->max_length;
    if (cut > 0 && is_query) {
        remark("the query has %lld tokens, and what is behind the first %lld is not in its vector",
            (long long)tokens, most);
    } else if (cut > 0) {
        remark(
            "%zu text%s longer than %lld tokens, and the rest of %s is not in the vector; the first is line %zu with %lld tokens",
            cut, cut == 1 ? " is" : "s are", most, cut == 1 ? "it" : "them", first + 1,
            (long long)tokens);
    }
}

/* Vectors of the lines, or of the query as the only text. */
static float *encode_texts(
    encoder *e, const adz_text *texts, size_t n, int64_t batch_size, bool is_query)
{
    const size_t size = (size_t)batch_size;
    sortable *order = allocate(n * sizeof *order);
    adz_text *batch = allocate(size * sizeof *batch);
    int64_t *lengths = allocate(n * sizeof *lengths), *some = allocate(size * sizeof *some);
    float *all = NULL;
    for (size_t i = 0; i < n; ++i) {
        order[i] = (sortable){ texts[i].size, i };
    }
    qsort(order, n, sizeof *order, longest_first);
    for (size_t from = 0; from < n; from += size) {
        const size_t count = n - from < size ? n - from : size;
        for (size_t i = 0; i < count; ++i) {
            batch[i] = texts[order[from + i].index];
        }
        adz_scope *scope = adz_scope_open();
        ADZ_NO_GRAD
        {
            adz_tensor *vectors = encode_batch(e, batch, count, some);
            if (all == NULL) {
                e->width = adz_tensor_size(vectors, 1);
                all = reallocate(NULL, n, (size_t)e->width * sizeof *all);
            }
            const float *from_batch = adz_tensor_data_f32(adz_contiguous(vectors));
            for (size_t i = 0; i < count; ++i) {
                const size_t index = order[from + i].index, width = (size_t)e->width;
                memcpy(all + index * width, from_batch + i * width, width * sizeof *all);
                lengths[index] = some[i];
            }
        }
        adz_scope_close(scope);
    }
    note_cut(e, texts, lengths, n, is_query);
    free(order);
    free(batch);
    free(lengths);
    free(some);
    return all;
}

float *encode_lines(encoder *e, const adz_text *texts, size_t n, int64_t batch_size)
{
    return encode_texts(e, texts, n, batch_size, false);
}

float *encode_query(encoder *e, adz_text query)
{
    return encode_texts(e, &query, 1, 1, true);
}
