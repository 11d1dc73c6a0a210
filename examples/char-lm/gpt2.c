/* GPT-2, with the initial weights that its authors used. */
#include <adze/zoo.h>
#include <math.h>
#include <stdio.h>

#include "model.h"

/* Draws the output weights of a layer. They are smaller if there are more layers, because the
 * outputs of all layers are added up. */
static void draw_projection(const options *o, adz_module *module, const char *weight)
{
    adz_init_normal_(
        adz_module_get_parameter(module, weight), 0, 0.02 / sqrt(2 * (double)o->layers), NULL);
}

/* Makes the feed-forward network of --ffn, which replaces that of a block. Its initial weights are
 * drawn like those of the model. */
static adz_module *other_ffn(const options *o)
{
    adz_module *ffn = new_ffn(o);
    adz_tensor_list all = adz_module_parameters(ffn);
    for (size_t i = 0; i < all.count; ++i) {
        bool matrix = adz_tensor_rank(all.items[i]) == 2;
        adz_init_normal_(all.items[i], 0, matrix ? 0.02 : 0, NULL);
    }
    draw_projection(o, ffn, "layer2.weight");
    return ffn;
}

/* Adds a dropout after a child. */
static void drop_after(adz_module *block, const char *name, double p)
{
    if (p > 0) {
        adz_module *inner = adz_module_keep(adz_module_get_child(block, name));
        adz_module_set_child(block, name, ADZ_SEQUENTIAL(inner, adz_dropout_new(p, NULL)));
    }
}

adz_module *new_gpt2(const options *o, int64_t vocabulary)
{
    adz_gpt2_options g = ADZ_GPT2_OPTIONS;
    g.vocab_size = vocabulary;
    g.n_positions = g.n_ctx = o->context;
    g.n_embd = o->width;
    g.n_layer = o->layers;
    g.n_head = o->heads;
    g.embd_pdrop = o->embed_p;
    adz_module *network = adz_gpt2_lm_head_model_new(&g);
    adz_init_normal_(adz_module_get_parameter(network, "transformer.wte.weight"), 0, 0.02, NULL);
    adz_init_normal_(adz_module_get_parameter(network, "transformer.wpe.weight"), 0, 0.02, NULL);
    for (int64_t i = 0; i < o->layers; ++i) {
        char path[64];
        snprintf(path, sizeof path, "transformer.h.%lld", (long long)i);
        adz_module *block = adz_module_get_child(network, path);
        draw_projection(o, block, "attn.c_proj.weight");
        if (o->ffn != FFN_GELU) {
            adz_module_set_child(block, "mlp", other_ffn(o));
        } else {
            adz_module_set_child(block, "mlp", adz_gpt2_mlp_new(o->hidden, &g));
            draw_projection(o, block, "mlp.c_proj.weight");
        }
        drop_after(adz_module_get_child(block, "attn"), "c_proj", o->dropout);
        drop_after(block, "mlp", o->ff_p);
    }
    return network;
}

adz_tensor *run_gpt2_cached(adz_module *network, adz_tensor *ids, cache *c, adz_values *results)
{
    adz_values *in = adz_values_new();
    char name[32];
    adz_values_add(in, "input_ids", ids);
    for (size_t i = 0; i < c->count && c->length > 0; ++i) {
        snprintf(name, sizeof name, "past.%zu", i);
        adz_values_add(in, name, c->past[i]);
    }
    adz_module_call(network, in, results);
    adz_values_free(&in);
    for (size_t i = 0; i < c->count; ++i) {
        snprintf(name, sizeof name, "present.%zu", i);
        remember(c, i, adz_values_get(results, name));
    }
    return adz_values_at(results, 0);
}
