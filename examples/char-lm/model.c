/* Chooses the file of the architecture, and keeps the cache of keys and values. */
#include "model.h"

#include <stdlib.h>

bool is_carrying(const options *o)
{
    return o->arch != GPT2 && o->arch != TRANSFORMER;
}

adz_module *new_network(const options *o, int64_t vocabulary)
{
    return o->arch == GPT2 ? new_gpt2(o, vocabulary) : new_fastai(o, vocabulary);
}

adz_tensor *run_network(adz_module *network, adz_tensor *ids, adz_values *results)
{
    adz_values *in = adz_values_new();
    size_t first = adz_values_count(results);
    adz_values_add(in, "", ids);
    adz_module_call(network, in, results);
    adz_values_free(&in);
    return adz_values_at(results, first);
}

adz_tensor *loss_of(adz_tensor *scores, adz_tensor *targets)
{
    adz_tensor *rows = adz_reshape(scores, ADZ_SHAPE(-1, adz_tensor_size(scores, -1)));
    return adz_cross_entropy(rows, adz_reshape(targets, ADZ_SHAPE(-1)), ADZ_NONE, NULL);
}

void export_onnx(const options *o, adz_module *network, const char *path)
{
    adz_scope *scope = adz_scope_open();
    adz_module_eval(network);
    adz_module_reset(network);
    adz_module_write_onnx(network, adz_zeros(ADZ_SHAPE(2, o->context), ADZ_I64), path, NULL);
    adz_scope_close(scope);
}

adz_module *new_ffn(const options *o)
{
    static const char *const variants[] = { "GLU", "Bilinear", "ReGLU", "GEGLU", "SwiGLU" };
    static const adz_activation activations[] = { [FFN_GELU] = ADZ_ACTIVATION_GELU,
        [FFN_RELU] = ADZ_ACTIVATION_RELU,
        [FFN_SWISH] = ADZ_ACTIVATION_SILU };
    adz_feed_forward_options f = ADZ_FEED_FORWARD_OPTIONS;
    f.dropout = 0;
    if (o->ffn >= FFN_GLU) {
        return adz_feed_forward_variant_new(variants[o->ffn - FFN_GLU], o->width, o->hidden, &f);
    }
    f.activation = activations[o->ffn];
    return adz_feed_forward_new(o->width, o->hidden, &f);
}

/* ---- the cache ------------------------------------------------------------------------------ */

cache new_cache(const options *o)
{
    size_t count = (size_t)o->layers * (o->arch == TRANSFORMER ? 2 : 1);
    return (cache){ allocate(count * sizeof(adz_tensor *)), count, 0 };
}

void forget(cache *c)
{
    for (size_t i = 0; i < c->count; ++i) {
        adz_release(&c->past[i]);
    }
    c->length = 0;
}

void free_cache(cache *c)
{
    forget(c);
    free(c->past);
}

void remember(cache *c, size_t i, adz_tensor *t)
{
    adz_tensor *kept = adz_keep(t);
    adz_release(&c->past[i]);
    c->past[i] = kept;
}

adz_tensor *run_cached(const options *o, adz_module *network, adz_tensor *ids, cache *c)
{
    adz_values *results = adz_values_new();
    adz_tensor *scores = o->arch == GPT2 ? run_gpt2_cached(network, ids, c, results)
                                         : run_transformer_cached(o, network, ids, c);
    c->length += adz_tensor_size(ids, 1);
    adz_values_free(&results);
    return scores;
}
