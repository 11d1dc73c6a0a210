/* Converts the state of a fastai language model to another vocabulary. A word that both
 * vocabularies have keeps its row of the embedding; a new word gets the mean of all rows. */
#include <stdlib.h>
#include <string.h>

#include "adze/autograd.h"
#include "adze/zoo/fastai_decoder.h"
#include "adze/ops/index.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "zoo.h"

/* ---- two vocabularies ----------------------------------------------------------------------- */

/* A word and its index in the old vocabulary. */
typedef struct {
    const char *word;
    size_t position;
} old_word;

static int by_word(const void *a, const void *b)
{
    return strcmp(((const old_word *)a)->word, ((const old_word *)b)->word);
}

/* Order of qsort: by word; of equal words the last one of the vocabulary comes first, because a
 * Python dictionary keeps the last. */
static int by_word_and_position(const void *a, const void *b)
{
    const size_t position_a = ((const old_word *)a)->position,
                 position_b = ((const old_word *)b)->position;
    const int order = by_word(a, b);
    return order != 0 ? order : position_a > position_b ? -1 : 1;
}

/* Removes all but the first of equal words in a sorted list. Returns how many are left. */
static size_t without_doubles(old_word *sorted, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; ++i) {
        if (kept == 0 || by_word(&sorted[kept - 1], &sorted[i]) != 0) {
            sorted[kept++] = sorted[i];
        }
    }
    return kept;
}

/* True if no word is NULL; false with the error recorded under the argument's name. */
static bool all_given(const char *op, const char *name, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        if (words == NULL || words[i] == NULL) {
            adz_error_null(op, name);
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
        return adz_error_null(op, "old_index");
    }
    old_word *sorted = adzi_zoo_alloc((n_old + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return ADZ_ERR_MEMORY;
    }
    for (size_t i = 0; i < n_old; ++i) {
        sorted[i] = (old_word){ old_words[i], i };
    }
    qsort(sorted, n_old, sizeof *sorted, by_word_and_position);
    n_old = without_doubles(sorted, n_old);
    for (size_t i = 0; i < n_new; ++i) {
        const old_word wanted = { new_words[i], 0 };
        const old_word *found = bsearch(&wanted, sorted, n_old, sizeof *sorted, by_word);
        old_index[i] = found != NULL ? (int64_t)found->position : -1;
    }
    adzi_zoo_free(sorted);
    return ADZ_OK;
}

/* ---- the state ------------------------------------------------------------------------------ */

static const char op[] = "adz_fastai_convert_weights";
static const char encoder[] = "0.encoder.weight", dropped[] = "0.encoder_dp.emb.weight",
                  decoder[] = "1.decoder.weight", decoder_bias[] = "1.decoder.bias";

/* The given rows of `old`, where the row number after the last one stands for the mean of all rows.
 */
static adz_tensor *pick(adz_tensor *old, adz_tensor *rows)
{
    adz_tensor *both[] = { old, adz_mean(old, ADZ_DIMS(0), ADZ_KEEPDIM) };
    return adz_index_select(adz_cat(both, 2, 0), 0, rows);
}

/* old_index as row numbers for pick(): -1 becomes n_old, the number of the mean. */
static adz_tensor *rows_of(const int64_t *old_index, size_t n_new, int64_t n_old)
{
    adz_tensor *rows = adz_empty(ADZ_SHAPE((int64_t)n_new), ADZ_I64);
    for (size_t i = 0; i < n_new && rows != NULL; ++i) {
        if (old_index[i] < -1 || old_index[i] >= n_old) {
            return zoo_fail(op, ADZ_ERR_INDEX, "old_index[%zu] is %lld, but there are %lld words",
                i, (long long)old_index[i], (long long)n_old);
        }
        adz_tensor_data_i64(rows)[i] = old_index[i] < 0 ? n_old : old_index[i];
    }
    return rows;
}

/* The entry of the state with this name, which must have this rank and one row per word; `words` 0
 * accepts any number. ADZ_NONE if there is none and it is not needed (`must`); NULL with the error
 * recorded. */
static adz_tensor *entry_of(
    const adz_state_dict *state, const char *name, int rank, int64_t words, bool must)
{
    adz_tensor *t = adz_state_dict_get(state, name);
    if (t == NULL) {
        return must ? zoo_fail(op, ADZ_ERR_STATE,
                          "the state has no %s; is it that of an encoder and its decoder?", name)
                    : ADZ_NONE;
    }
    if (adz_tensor_rank(t) != rank || adz_tensor_size(t, 0) < 1) {
        return zoo_fail(op, ADZ_ERR_STATE, "%s%s must have %d dimensions and a row for each word",
            name, adz_text_shape(t), rank);
    }
    if (words > 0 && adz_tensor_size(t, 0) != words) {
        return zoo_fail(op, ADZ_ERR_STATE, "%s%s does not fit the %lld words of %s", name,
            adz_text_shape(t), (long long)words, encoder);
    }
    return t;
}

/* Copies the entries of `from` to `to`, with the new table and bias instead of the old ones. Adds
 * the decoder's weight if `from` has none, because the decoder shares the table. False with the
 * error recorded, also if the table or the bias is NULL. */
static bool fill(
    adz_state_dict *to, const adz_state_dict *from, adz_tensor *table, adz_tensor *bias)
{
    bool good = true, decodes = false;
    for (size_t i = 0; i < adz_state_dict_count(from) && good; ++i) {
        const char *name = adz_state_dict_name_at(from, i);
        adz_tensor *t = adz_state_dict_at(from, i);
        bool is_decoder = strcmp(name, decoder) == 0;
        if (is_decoder || strcmp(name, encoder) == 0 || strcmp(name, dropped) == 0) {
            t = table;
        } else if (strcmp(name, decoder_bias) == 0) {
            t = bias;
        }
        decodes = decodes || is_decoder;
        good = adz_state_dict_add(to, name, t) == ADZ_OK;
    }
    return good && (decodes || adz_state_dict_add(to, decoder, table) == ADZ_OK);
}

static bool convert(
    adz_state_dict *to, const adz_state_dict *from, const int64_t *old_index, size_t n_new)
{
    adz_tensor *table = entry_of(from, encoder, 2, 0, true);
    int64_t words = table != NULL ? adz_tensor_size(table, 0) : 0;
    adz_tensor *bias = table != NULL ? entry_of(from, decoder_bias, 1, words, false) : NULL;
    if (bias == NULL || entry_of(from, dropped, 2, words, false) == NULL ||
        entry_of(from, decoder, 2, words, false) == NULL) {
        return false;
    }
    adz_tensor *rows = rows_of(old_index, n_new, words);
    const bool recorded = adz_set_grad_enabled(false);
    bool good = fill(to, from, pick(table, rows), zoo_is_none(bias) ? bias : pick(bias, rows));
    adz_set_grad_enabled(recorded);
    return good;
}

adz_state_dict *adz_fastai_convert_weights(
    const adz_state_dict *state, const int64_t *old_index, size_t n_new)
{
    if (state == NULL || old_index == NULL) {
        return zoo_fail_null(op, state == NULL ? "state" : "old_index");
    }
    if (n_new < 1) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT, "n_new is 0, but a vocabulary needs words");
    }
    adz_scope *scope = adz_scope_open();
    adz_state_dict *converted = adz_state_dict_new();
    bool good = converted != NULL && convert(converted, state, old_index, n_new);
    adz_scope_close(scope);
    if (!good) {
        adz_state_dict_free(&converted);
    }
    return converted;
}
