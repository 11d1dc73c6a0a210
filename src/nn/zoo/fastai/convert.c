/* A language model's state for another vocabulary. */
#include <string.h>

#include "adze/autograd.h"
#include "adze/nn/fastai_decoder.h"
#include "adze/ops/index.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "nn/module.h"
#include "nn/state.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/index.h"

/* ---- two vocabularies ----------------------------------------------------------------------- */

static bool is_word(const void *words, size_t place, const void *word, size_t size)
{
    (void)size;
    return strcmp(((const char *const *)words)[place], word) == 0;
}

static size_t find_word(const adzi_index *places, const char *const *words, const char *word)
{
    return adzi_index_find(places, word, strlen(word), is_word, words);
}

static bool all_given(const char *op, const char *name, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        if (words == NULL || words[i] == NULL) {
            adzi_error_null(op, name);
            return false;
        }
    }
    return true;
}

adz_status adz_fastai_old_index(const char *const *old_words, size_t n_old,
    const char *const *new_words, size_t n_new, int64_t *old_index)
{
    static const char op[] = "adz_fastai_old_index";
    if (!all_given(op, "old_words", old_words, n_old) ||
        !all_given(op, "new_words", new_words, n_new)) {
        return ADZ_ERR_NULL;
    }
    if (old_index == NULL && n_new > 0) {
        return adzi_error_null(op, "old_index");
    }
    adzi_index places = { 0 };
    if (!adzi_index_reserve(&places, n_old)) {
        adzi_fail_memory(op, 2 * n_old * sizeof(adzi_index_slot));
        return ADZ_ERR_MEMORY;
    }
    for (size_t i = n_old; i-- > 0;) { /* of a word that comes twice the last place counts */
        if (find_word(&places, old_words, old_words[i]) == ADZI_NOWHERE) {
            adzi_index_enter(&places, old_words[i], strlen(old_words[i]), i);
        }
    }
    for (size_t i = 0; i < n_new; ++i) {
        size_t place = find_word(&places, old_words, new_words[i]);
        old_index[i] = place != ADZI_NOWHERE ? (int64_t)place : -1;
    }
    adzi_index_free(&places);
    return ADZ_OK;
}

/* ---- the state ------------------------------------------------------------------------------ */

static const char op[] = "adz_fastai_convert_weights";
static const char encoder[] = "0.encoder.weight", dropped[] = "0.encoder_dp.emb.weight",
                  decoder[] = "1.decoder.weight", decoder_bias[] = "1.decoder.bias";

/* The rows that are asked for, the row after the last being the mean of all. */
static adz_tensor *pick(adz_tensor *old, adz_tensor *rows)
{
    adz_tensor *both[] = { old, adz_mean(old, ADZ_DIMS(0), ADZ_KEEPDIM) };
    return adz_index_select(adz_cat(both, 2, 0), 0, rows);
}

/* old_index as a tensor, with the mean's row for -1. */
static adz_tensor *rows_of(const int64_t *old_index, size_t n_new, int64_t n_old)
{
    adz_tensor *rows = adz_empty(ADZ_SHAPE((int64_t)n_new), ADZ_I64);
    for (size_t i = 0; i < n_new && rows != NULL; ++i) {
        if (old_index[i] < -1 || old_index[i] >= n_old) {
            return adzi_fail(op, ADZ_ERR_INDEX, "old_index[%zu] is %lld, but there are %lld words",
                i, (long long)old_index[i], (long long)n_old);
        }
        ((int64_t *)(void *)rows->data)[i] = old_index[i] < 0 ? n_old : old_index[i];
    }
    return rows;
}

/* An entry of the old vocabulary: a tensor of that rank, or ADZ_NONE when it is no must. */
static adz_tensor *entry_of(
    const adz_state *state, const char *name, int rank, int64_t words, bool must)
{
    adz_tensor *t = adz_state_find(state, name);
    if (t == NULL) {
        return must ? adzi_fail(op, ADZ_ERR_STATE,
                          "the state has no %s; is it that of an encoder and its decoder?", name)
                    : ADZ_NONE;
    }
    if (t->rank != rank || t->sizes[0] < 1) {
        return adzi_fail(op, ADZ_ERR_STATE, "%s%s must have %d dimensions and a row for each word",
            name, adzi_text_shape(t), rank);
    }
    if (words > 0 && t->sizes[0] != words) {
        return adzi_fail(op, ADZ_ERR_STATE, "%s%s does not fit the %lld words of %s", name,
            adzi_text_shape(t), (long long)words, encoder);
    }
    return t;
}

static bool fill(adz_state *to, const adz_state *from, adz_tensor *table, adz_tensor *bias)
{
    bool good = table != NULL && bias != NULL, decodes = false;
    for (size_t i = 0; i < adz_state_count(from) && good; ++i) {
        const char *name = adz_state_name(from, i);
        adz_tensor *t = adz_state_tensor(from, i);
        bool is_decoder = strcmp(name, decoder) == 0;
        if (is_decoder || strcmp(name, encoder) == 0 || strcmp(name, dropped) == 0) {
            t = table;
        } else if (strcmp(name, decoder_bias) == 0) {
            t = bias;
        }
        decodes = decodes || is_decoder;
        good = adz_state_add(to, name, t) == ADZ_OK;
    }
    return good && (decodes || adz_state_add(to, decoder, table) == ADZ_OK);
}

static bool convert(adz_state *to, const adz_state *from, const int64_t *old_index, size_t n_new)
{
    adz_tensor *table = entry_of(from, encoder, 2, 0, true);
    int64_t words = table != NULL ? table->sizes[0] : 0;
    adz_tensor *bias = table != NULL ? entry_of(from, decoder_bias, 1, words, false) : NULL;
    if (bias == NULL || entry_of(from, dropped, 2, words, false) == NULL ||
        entry_of(from, decoder, 2, words, false) == NULL) {
        return false;
    }
    adz_tensor *rows = rows_of(old_index, n_new, words);
    adzi_thread *thread = adzi_self();
    size_t frame = adzi_frame_begin_no_grad(thread, ADZI_FLOOR(), "adz_fastai_convert_weights");
    if (frame == SIZE_MAX) {
        return false;
    }
    bool good = fill(to, from, pick(table, rows), adzi_is_none(bias) ? bias : pick(bias, rows));
    adzi_frames_leave(thread, frame);
    return good;
}

adz_state *adz_fastai_convert_weights(
    const adz_state *state, const int64_t *old_index, size_t n_new)
{
    if (state == NULL || old_index == NULL) {
        return adzi_fail_null(op, state == NULL ? "state" : "old_index");
    }
    if (n_new < 1) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "n_new is 0, but a vocabulary needs words");
    }
    adzi_build build = adzi_build_begin();
    adz_state *converted = adz_state_new();
    bool good = converted != NULL && convert(converted, state, old_index, n_new);
    adzi_scope_unwind(build.thread, build.mark);
    if (!good) {
        adz_state_free(&converted);
    }
    return converted;
}
