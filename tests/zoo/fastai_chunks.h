/* An encoder whose calls are counted, for the tests of texts in chunks. */
#ifndef ADZE_TESTS_ZOO_FASTAI_CHUNKS_H
#define ADZE_TESTS_ZOO_FASTAI_CHUNKS_H

#include "nn/case.h"

typedef struct {
    int64_t calls; /* since the last reset */
    int64_t resets;
    int64_t recorded; /* calls that recorded a graph, since the last reset */
    int raw_rank; /* of raw.0 instead of 3 if it is not 0; below 0 it has none after the first call
                   */
} stub_state;

/* Two layers of widths 2 and 1, the second moved on by the calls so far. */
static inline adz_status stub_call(adz_module *self, const adz_values *in, adz_values *out)
{
    stub_state *s = adz_module_data(self);
    adz_tensor *ids = adz_values_argument(in, 0, "ids");
    adz_tensor *first = adz_module_forward(adz_module_child_at(self, 0), ids);
    adz_tensor *second = adz_sum(first, ADZ_DIMS(-1), ADZ_KEEPDIM);
    second = adz_add_number(adz_tanh(second), (double)s->calls);
    s->calls += 1;
    s->recorded += adz_is_grad_enabled() ? 1 : 0;
    adz_tensor *raw = s->raw_rank == 0  ? first
                      : s->raw_rank < 0 ? first
                      : s->raw_rank < 2 ? adz_reshape(first, ADZ_SHAPE(-1))
                                        : adz_select(first, 2, 0);
    adz_status status =
        s->raw_rank < 0 && s->calls > 1 ? ADZ_OK : adz_values_add(out, "raw.0", raw);
    status = status == ADZ_OK ? adz_values_add(out, "raw.1", second) : status;
    status = status == ADZ_OK ? adz_values_add(out, "hidden.0.h", first) : status;
    status = status == ADZ_OK ? adz_values_add(out, "out.0", adz_sin(first)) : status;
    return status == ADZ_OK ? adz_values_add(out, "out.1", adz_cos(second)) : status;
}

static inline adz_status stub_reset(adz_module *self)
{
    stub_state *s = adz_module_data(self);
    s->calls = s->recorded = 0;
    s->resets += 1;
    return ADZ_OK;
}

static const adz_module_type stub_type = {
    .size = sizeof(adz_module_type),
    .name = "Stub",
    .call = stub_call,
    .reset = stub_reset,
};

static inline adz_module *stub_new(void)
{
    adz_module *self = adz_module_new(&stub_type, sizeof(stub_state));
    if (adz_module_add_child(self, "encoder", adz_embedding_new(6, 2, NULL)) == NULL) {
        adz_module_release(&self);
    }
    return self;
}

void chunks_after_the_bound_are_kept(void **state);
void lost_chunks_get_no_gradient(void **state);
void results_of_all_chunks_are_joined(void **state);

#endif
