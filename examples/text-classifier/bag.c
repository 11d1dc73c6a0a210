/* Logistic regression on bags of words. The scores of a text are the sum of its tokens' rows of a
 * table, weighted by tf-idf, so no matrix of all texts and all words is needed. */
#include "bag.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/program.h"

enum { BATCH = 64, STEPS = 1500, MOST_EPOCHS = 40, SEED = 1 };

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sets *count to the number of different tokens of a text and returns them in ascending order, each
 * followed by how often it occurs, for free(). */
static int64_t *count_tokens(const sample *text, size_t *count)
{
    const size_t n = (size_t)text->length;
    int64_t *sorted = allocate((n + 1) * sizeof *sorted);
    int64_t *pairs = allocate((2 * n + 1) * sizeof *pairs);
    memcpy(sorted, text->ids, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_ids);
    *count = 0;
    for (size_t i = 0; i < n; ++i) {
        if (i == 0 || sorted[i] != sorted[i - 1]) {
            pairs[2 * *count] = sorted[i];
            pairs[2 * *count + 1] = 0;
            ++*count;
        }
        ++pairs[2 * *count - 1];
    }
    free(sorted);
    return pairs;
}

static double *rarities(const samples *s, int64_t tokens)
{
    double *rarity = allocate((size_t)tokens * sizeof *rarity);
    for (int64_t t = 0; t < tokens; ++t) {
        rarity[t] = 0;
    }
    for (size_t i = 0; i < s->count; ++i) {
        size_t count;
        int64_t *pairs = count_tokens(&s->items[i], &count);
        for (size_t k = 0; k < count; ++k) {
            rarity[pairs[2 * k]] += 1;
        }
        free(pairs);
    }
    for (int64_t t = 0; t < tokens; ++t) {
        rarity[t] = log((1 + (double)s->count) / (1 + rarity[t])) + 1;
    }
    rarity[s->padding] = 0;
    return rarity;
}

/* One over the length of the vector of a text. */
static double scale_of(const bag *b, const sample *text)
{
    size_t count;
    double sum = 0;
    int64_t *pairs = count_tokens(text, &count);
    for (size_t k = 0; k < count; ++k) {
        const double value = (double)pairs[2 * k + 1] * b->rarity[pairs[2 * k]];
        sum += value * value;
    }
    free(pairs);
    return sum > 0 ? 1 / sqrt(sum) : 0;
}

/* Scores[n, labels] of texts, borrowed from the scope. */
static adz_tensor *scores_of_texts(
    const bag *b, const samples *s, const size_t *order, size_t n, adz_tensor **labels)
{
    adz_tensor *ids = make_batch(s, order, n, labels);
    const int64_t longest = adz_tensor_size(ids, 1);
    adz_tensor *values = adz_zeros(ADZ_SHAPE((int64_t)n, longest, 1), ADZ_F32);
    float *to = adz_tensor_data_f32(values);
    const int64_t *from = adz_tensor_data_i64(ids);
    for (size_t i = 0; i < n; ++i) {
        const double scale = scale_of(b, &s->items[order[i]]);
        for (int64_t t = 0; t < longest; ++t) {
            const size_t at = i * (size_t)longest + (size_t)t;
            to[at] = (float)(scale * b->rarity[from[at]]);
        }
    }
    return adz_sum(adz_mul(adz_module_forward(b->scores, ids), values), ADZ_DIMS(1), ADZ_DROPDIM);
}

static void train_step(bag *b, adz_optimizer *adam, const samples *s, const size_t *order, size_t n)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *labels, *scores = scores_of_texts(b, s, order, n, &labels);
    adz_module_zero_grad(b->scores);
    adz_backward(adz_cross_entropy(scores, labels, ADZ_NONE, NULL));
    adz_optimizer_step(adam);
    adz_scope_close(scope);
}

bag fit_bag(const model *m, const samples *train)
{
    const int64_t tokens = adz_tokenizer_count(m->tokenizer);
    bag b = { .scores = adz_embedding_new(tokens, (int64_t)m->n_labels, NULL),
        .rarity = rarities(train, tokens) };
    adz_tensor *table = adz_module_get_parameter(b.scores, "weight");
    adz_init_zeros_(table);
    const int64_t batches = ((int64_t)train->count + BATCH - 1) / BATCH;
    const int64_t wanted = STEPS / batches + 1;
    const int64_t epochs = wanted < MOST_EPOCHS ? wanted : MOST_EPOCHS;
    adz_optimizer *adam = adz_adamw_new(adz_module_parameters(b.scores), 0.1, NULL);
    adz_scheduler *cycle = adz_one_cycle_lr_new(adam, 0.1, epochs * batches + 1, NULL);
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
        size_t *order = shuffled_order(train, BATCH, SEED, epoch);
        for (size_t i = 0; i < train->count; i += BATCH) {
            const size_t left = train->count - i;
            train_step(&b, adam, train, order + i, left < BATCH ? left : BATCH);
            adz_scheduler_step(cycle);
        }
        free(order);
    }
    adz_scheduler_release(&cycle);
    adz_optimizer_release(&adam);
    return b;
}

double bag_accuracy(const bag *b, const samples *s)
{
    size_t hits = 0, *order = sorted_order(s);
    ADZ_NO_GRAD
    {
        for (size_t i = 0; i < s->count; i += BATCH) {
            const size_t n = s->count - i < BATCH ? s->count - i : BATCH;
            adz_scope *scope = adz_scope_open();
            adz_tensor *labels, *scores = scores_of_texts(b, s, order + i, n, &labels);
            adz_tensor *right = adz_eq(adz_argmax(scores, ADZ_DIMS(1), ADZ_DROPDIM), labels);
            hits += (size_t)adz_item_i64(adz_sum(right, ADZ_ALL_DIMS, ADZ_DROPDIM));
            adz_scope_close(scope);
        }
    }
    free(order);
    return s->count > 0 ? (double)hits / (double)s->count : NAN;
}

void free_bag(bag *b)
{
    adz_module_release(&b->scores);
    free(b->rarity);
}
