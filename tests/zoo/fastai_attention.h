/* Calls of fastai's attentions. */
#ifndef ADZE_TESTS_ZOO_FASTAI_ATTENTION_H
#define ADZE_TESTS_ZOO_FASTAI_ATTENTION_H

#include "nn/case.h"

typedef struct {
    const char *name;
    adz_tensor *tensor;
} named;

/* Calls the module and returns the first result. */
static inline adz_tensor *call(adz_module *m, const named *arguments, size_t n)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < n && status == ADZ_OK; ++i) {
        status = adz_values_add(in, arguments[i].name, arguments[i].tensor);
    }
    adz_tensor *y =
        status == ADZ_OK && adz_module_call(m, in, out) == ADZ_OK ? adz_values_at(out, 0) : NULL;
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
}

#define CALL(m, ...) \
    call(m, (named[]){ __VA_ARGS__ }, sizeof((named[]){ __VA_ARGS__ }) / sizeof(named))

/* A mask that is true for later keys, which is what a causal mask hides. */
static inline adz_tensor *later(int64_t queries, int64_t keys)
{
    adz_tensor *ones = adz_ones(ADZ_SHAPE(1, 1, queries, keys), ADZ_F32);
    return adz_ne_number(adz_triu(ones, 1 + keys - queries), 0);
}

void relative_scores_are_content_and_position(void **state);
void weights_of_keys_are_dropped(void **state);
void a_layer_takes_its_mask_by_position(void **state);
void tensors_that_ended_are_refused(void **state);
void sizes_of_memories_are_compared(void **state);

#endif
