/* Saves and loads the values that modules carry from call to call, such as the state of an
 * AWD-LSTM. */
#include "io/checkpoint_carried.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "io/checkpoint.h"
#include "tensor/copy.h"

bool adzi_carried_name(
    const char *op, adzi_text *name, const adzi_micro_state *state, int micro, size_t i)
{
    const char *buffer = adzi_micro_state_name(state, i);
    adzi_text_format(name, ADZI_CHECKPOINT_CARRIED "%d.%s", micro, buffer);
    if (name->failed) {
        adzi_fail_memory(op, sizeof ADZI_CHECKPOINT_CARRIED + strlen(buffer));
    }
    return !name->failed;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Checks the micro-batches and the seed of the file. */
static adz_status check_run(
    const char *op, const adz_data_parallel *p, adz_safetensors *file, const char *micro)
{
    char text[24];
    const char *seed = adz_safetensors_get_metadata(file, ADZI_CHECKPOINT_SEED);
    snprintf(text, sizeof text, "%d", p->micro_batches);
    if (strcmp(micro, text) != 0) {
        return adzi_error(op, ADZ_ERR_STATE,
            "the file's run has %.20s micro-batches, this one %d; results depend on their number, so make the adz_data_parallel with micro_batches = %.20s",
            micro, p->micro_batches, micro);
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)p->seed);
    if (seed == NULL || strcmp(seed, text) != 0) {
        return adzi_error(op, ADZ_ERR_STATE,
            "the file's run has the seed %.20s, this one %s; make the adz_data_parallel with the seed of the file",
            seed != NULL ? seed : "(none)", text);
    }
    return ADZ_OK;
}

/* Copies the tensor into value k, if it belongs to this rank. */
static adz_status take(
    const char *op, adzi_carried_values *c, int micro, size_t i, const adz_tensor *t)
{
    const adz_data_parallel *p = c->parallel;
    if (micro < p->first || micro >= p->first + p->count) {
        return ADZ_OK;
    }
    adz_tensor *copy = adzi_tensor_new(adzi_self(), op, (adz_dtype)t->dtype, t->rank, t->sizes);
    if (copy == NULL) {
        return ADZ_ERR_MEMORY;
    }
    adzi_copy(copy, t);
    c->values[(size_t)(micro - p->first) * c->per_micro + i] = copy;
    return ADZ_OK;
}

/* Reads one value. `found` counts those that the file has. */
static adz_status read_one(const char *op, adzi_carried_values *c, const adz_safetensors *file,
    int micro, size_t i, size_t *found)
{
    adzi_text name = { 0 };
    if (!adzi_carried_name(op, &name, c->parallel->state, micro, i)) {
        return ADZ_ERR_MEMORY;
    }
    const size_t at = adzi_safetensors_find(file, adzi_text_get(&name));
    adzi_text_free(&name);
    if (at == file->n_tensors) {
        return ADZ_OK; /* nothing was carried */
    }
    ++*found;
    return take(op, c, micro, i, file->tensors[at].tensor);
}

/* Every carried value of the file belongs to the module. */
static adz_status check_names(const char *op, const adz_safetensors *file, size_t found)
{
    size_t all = 0;
    for (size_t i = 0; i < file->n_tensors; ++i) {
        const char *name = file->tensors[i].name;
        all += strncmp(name, ADZI_CHECKPOINT_CARRIED, strlen(ADZI_CHECKPOINT_CARRIED)) == 0;
    }
    return all == found
               ? ADZ_OK
               : adzi_error(op, ADZ_ERR_STATE,
                     "the file has %zu carried values, of which the module knows %zu; it was saved from another module",
                     all, found);
}

adz_status adzi_carried_read(
    const char *op, adzi_carried_values *c, adz_data_parallel *parallel, adz_safetensors *file)
{
    const char *micro = adz_safetensors_get_metadata(file, ADZI_CHECKPOINT_MICRO_BATCHES);
    if (micro == NULL) {
        return ADZ_OK;
    }
    adz_status status = check_run(op, parallel, file, micro);
    if (status != ADZ_OK) {
        return status;
    }
    c->parallel = parallel;
    c->per_micro = adzi_micro_state_carried(parallel->state);
    const size_t all = (size_t)parallel->count * c->per_micro;
    c->values = adzi_alloc_zero(all * sizeof *c->values);
    if (c->values == NULL) {
        adzi_fail_memory(op, all * sizeof *c->values);
        return ADZ_ERR_MEMORY;
    }
    size_t found = 0;
    for (int m = 0; m < parallel->micro_batches; ++m) {
        for (size_t i = 0; i < c->per_micro && status == ADZ_OK; ++i) {
            status = read_one(op, c, file, m, i, &found);
        }
    }
    return status == ADZ_OK ? check_names(op, file, found) : status;
}

/* ---- changing ------------------------------------------------------------------------------- */

void adzi_carried_commit(adzi_carried_values *c)
{
    const adz_data_parallel *p = c->parallel;
    for (int m = 0; p != NULL && m < p->count; ++m) {
        for (size_t i = 0; i < c->per_micro; ++i) {
            adz_tensor *t = c->values[(size_t)m * c->per_micro + i];
            adzi_micro_state_set(p->state, p->first + m, i, t != NULL ? t : ADZ_NONE);
        }
    }
}

void adzi_carried_end(adzi_carried_values *c)
{
    if (c->values == NULL) {
        return;
    }
    const size_t all = (size_t)c->parallel->count * c->per_micro;
    for (size_t k = 0; k < all; ++k) {
        adzi_drop(c->values[k]);
    }
    adzi_free(c->values, all * sizeof *c->values);
}
