/* fastai's MultiBatchEncoder, which encodes long texts ids[B, T] in chunks of bptt steps. Only the
 * results of the last max_len steps are kept; the chunks before them run without gradients and only
 * move the encoder's hidden state on. */
#include <stdio.h>

#include "adze/autograd.h"
#include "adze/zoo/fastai_classifier.h"
#include "adze/ops/compare.h"
#include "adze/ops/shape.h"
#include "fastai/outputs.h"
#include "zoo.h"

typedef struct {
    int64_t bptt, max_len, pad_idx;
} encoder_state;

/* The results of the chunks that are kept. */
typedef struct chunks {
    adz_values **lists; /* for each chunk, the results of all layers */
    adz_tensor **parts; /* memory for one result of each chunk */
    size_t count;
} chunks;

static bool chunks_begin(chunks *all, size_t capacity)
{
    *all = (chunks){ NULL, NULL, 0 };
    all->lists = adzi_zoo_scratch(capacity * sizeof *all->lists);
    all->parts = adzi_zoo_scratch(capacity * sizeof(adz_tensor *));
    return all->lists != NULL && all->parts != NULL;
}

static void chunks_end(chunks *all)
{
    for (size_t i = 0; i < all->count; ++i) {
        adz_values_free(&all->lists[i]);
    }
}

static adz_status read_chunk(adz_module *encoder, adz_tensor *ids, adz_values *out)
{
    adz_values *in = adz_values_new();
    adz_status status = adz_values_add(in, "", ids);
    status = status == ADZ_OK ? adz_module_call(encoder, in, out) : status;
    adz_values_free(&in);
    return status;
}

/* Calls the encoder without gradients and drops its results: only its hidden state changes. */
static adz_status skim_chunk(adz_module *encoder, adz_tensor *ids)
{
    adz_scope *scope = adz_scope_open();
    adz_values *out = scope != NULL ? adz_values_new() : NULL;
    bool recording = adz_set_grad_enabled(false);
    adz_status status = read_chunk(encoder, ids, out);
    adz_set_grad_enabled(recording);
    adz_values_free(&out);
    adz_scope_close(scope);
    return status;
}

/* The step at which the first chunk that is kept begins: the first multiple of bptt above
 * T - max_len, or 0 if the text has fewer than max_len steps. */
static int64_t first_kept(const encoder_state *state, int64_t steps)
{
    int64_t after = steps - state->max_len;
    return after < 0 ? 0 : (after / state->bptt + 1) * state->bptt;
}

/* Resets the encoder and calls it with one chunk after the other. */
static adz_status read_all(adz_module *self, adz_tensor *ids, int64_t first, chunks *kept)
{
    const encoder_state *state = zoo_state(self);
    adz_module *encoder = zoo_child(self, 0);
    adz_status status = adz_module_reset(encoder);
    for (int64_t i = 0, steps = adz_tensor_size(ids, 1); i < steps && status == ADZ_OK;
         i += state->bptt) {
        int64_t length = steps - i < state->bptt ? steps - i : state->bptt;
        adz_tensor *chunk = adz_narrow(ids, 1, i, length);
        if (i < first) {
            status = skim_chunk(encoder, chunk);
        } else {
            adz_values *list = kept->lists[kept->count++] = adz_values_new();
            status = read_chunk(encoder, chunk, list);
        }
    }
    return status;
}

/* Concatenates the results of this name along the time, dimension 1. */
static adz_tensor *join(const char *op, chunks *kept, const char *name)
{
    for (size_t i = 0; i < kept->count; ++i) {
        adz_tensor *part = adz_values_get(kept->lists[i], name);
        if (zoo_is_none(part) || adz_tensor_rank(part) < 2) {
            return zoo_fail(op, ADZ_ERR_SHAPE, "the encoder's %s is no [B, T, ...]", name);
        }
        kept->parts[i] = part;
    }
    return adz_cat(kept->parts, kept->count, 1);
}

/* Appends every result of the layers, joined over the chunks, to `out`. */
static adz_status join_all(const char *op, chunks *kept, adz_values *out)
{
    adz_status status = ADZ_OK;
    bool any = false;
    const adz_values *layers = kept->lists[0];
    for (size_t i = 0; i < adz_values_count(layers) && status == ADZ_OK; ++i) {
        const char *name = adz_values_name_at(layers, i);
        if (adzi_is_layer_output(name)) {
            status = adz_values_add(out, name, join(op, kept, name));
            any = true;
        }
    }
    if (status == ADZ_OK && !any) {
        status = adz_error_format(
            op, ADZ_ERR_ARGUMENT, "the encoder gives no results called raw.0 or out.0");
    }
    return status;
}

static adz_status check_ids(const adz_module *self, const adz_tensor *ids, int64_t *first)
{
    const encoder_state *state = zoo_state(self);
    const char *name = adz_module_name(self);
    if (!adz_check_tensor(name, "ids", ids)) {
        return adz_error_code();
    }
    if (adz_tensor_rank(ids) != 2 || adz_tensor_size(ids, 1) < 1) {
        return adz_error_format(name, ADZ_ERR_SHAPE, "ids%s must be [B, T] with at least one step",
            adz_text_shape(ids));
    }
    *first = first_kept(state, adz_tensor_size(ids, 1));
    if (*first >= adz_tensor_size(ids, 1)) {
        return adz_error_format(name, ADZ_ERR_SHAPE,
            "no chunk of ids%s in steps of %lld starts after %lld (T - max_len); raise max_len or lower bptt",
            adz_text_shape(ids), (long long)state->bptt,
            (long long)(adz_tensor_size(ids, 1) - state->max_len));
    }
    return ADZ_OK;
}

/* Besides the layers' results gives "mask"[B, T kept], true at padding. */
static adz_status encoder_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const encoder_state *state = zoo_state(self);
    const char *name = adz_module_name(self);
    adz_tensor *ids = adz_values_argument(in, 0, "ids");
    int64_t first = 0;
    adz_status status = check_ids(self, ids, &first);
    if (status != ADZ_OK) {
        return status;
    }
    size_t count = (size_t)((adz_tensor_size(ids, 1) - first - 1) / state->bptt + 1);
    chunks kept;
    status = chunks_begin(&kept, count) ? read_all(self, ids, first, &kept) : ADZ_ERR_MEMORY;
    status = status == ADZ_OK ? join_all(name, &kept, out) : status;
    chunks_end(&kept);
    if (status == ADZ_OK) {
        adz_tensor *last = adz_narrow(ids, 1, first, adz_tensor_size(ids, 1) - first);
        status = adz_values_add(out, "mask", adz_eq_number(last, (double)state->pad_idx));
    }
    return status;
}

static const adz_field encoder_fields[] = {
    ADZ_FIELD(encoder_state, bptt, .value = 0),
    ADZ_FIELD(encoder_state, max_len, .value = 0),
    ADZ_FIELD(encoder_state, pad_idx, .value = 0),
};

static const adz_module_type encoder_type = {
    .size = sizeof(adz_module_type),
    .name = "MultiBatchEncoder",
    .call = encoder_call,
    .fields = encoder_fields,
    .n_fields = sizeof encoder_fields / sizeof *encoder_fields,
};

adz_module *adz_fastai_multi_batch_encoder_new(
    int64_t bptt, int64_t max_len, adz_module *module, int64_t pad_idx)
{
    static const char op[] = "adz_fastai_multi_batch_encoder_new";
    if (module != NULL && (bptt < 1 || max_len < 1)) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "bptt %lld and max_len %lld must be 1 or more",
            (long long)bptt, (long long)max_len);
        adz_module_release(&module);
        return NULL;
    }
    if (module == NULL) {
        return zoo_fail_null(op, "module");
    }
    adz_module *self = adz_module_new(&encoder_type, sizeof(encoder_state));
    if (self != NULL) {
        *(encoder_state *)zoo_state(self) = (encoder_state){ bptt, max_len, pad_idx };
    }
    return adzi_zoo_or_free(adz_module_add_child(self, "module", module) != NULL, self);
}
