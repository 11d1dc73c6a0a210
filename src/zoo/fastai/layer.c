/* fastai's DecoderLayer (attention, then a feed-forward network) and the initial values of its
 * transformers. */
#include <string.h>

#include "adze/zoo/fastai_transformer.h"
#include "adze/nn/init.h"
#include "fastai/text.h"
#include "zoo.h"

enum { MHRA, FF };

/* Passes all named arguments on to the attention. */
static adz_status layer_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *x = adz_values_argument(in, 0, "x"), *mask = adz_values_argument(in, 1, "mask");
    for (size_t i = 2; i < adz_values_count(in); ++i) {
        if (adz_values_name_at(in, i)[0] == '\0' && !zoo_is_none(adz_values_at(in, i))) {
            return adz_error_format(adz_module_name(self), ADZ_ERR_ARGUMENT,
                "value %zu has no name, but only x and mask are taken by position", i);
        }
    }
    adz_tensor *h = adzi_fastai_call(zoo_child(self, MHRA), x, mask, in);
    return adz_values_add(out, "", adz_module_forward(zoo_child(self, FF), h));
}

static const adz_module_type layer_type = {
    .size = sizeof(adz_module_type),
    .name = "DecoderLayer",
    .call = layer_call,
};

static const adz_field fields[] = {
    ADZ_FIELD(adz_fastai_decoder_layer_options, resid_p, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_decoder_layer_options, attn_p, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_decoder_layer_options, ff_p, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_decoder_layer_options, bias, .value = true),
    ADZ_FIELD(adz_fastai_decoder_layer_options, scale, .value = true),
    ADZ_FIELD_AS(adz_fastai_decoder_layer_options, act, "act", ADZ_FIELD_ENUM,
        .values = adzi_fastai_activations),
    ADZ_FIELD(adz_fastai_decoder_layer_options, double_drop, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_fastai_decoder_layer_options),
};

ADZ_OPTIONS_TABLE(adz_fastai_decoder_layer_options, ADZ_FASTAI_DECODER_LAYER_OPTIONS, fields)

adz_module *adz_fastai_decoder_layer_new(int64_t n_heads, int64_t d_model, int64_t d_head,
    int64_t d_inner, const adz_fastai_decoder_layer_options *options)
{
    adz_fastai_decoder_layer_options o;
    if (!adz_options_take(
            "adz_fastai_decoder_layer_new", &adz_fastai_decoder_layer_options_table, &o, options)) {
        return NULL;
    }
    adz_fastai_attention_options attention = ADZ_FASTAI_ATTENTION_OPTIONS;
    attention.d_head = d_head;
    attention.resid_p = o.resid_p;
    attention.attn_p = o.attn_p;
    attention.bias = o.bias;
    attention.scale = o.scale;
    attention.dtype = o.dtype;
    attention.generator = o.generator;
    adz_fastai_feed_forward_options ff = ADZ_FASTAI_FEED_FORWARD_OPTIONS;
    ff.ff_p = o.ff_p;
    ff.act = o.act;
    ff.double_drop = o.double_drop;
    ff.dtype = o.dtype;
    ff.generator = o.generator;
    adz_fastai_attention_class attn_cls =
        o.attn_cls != NULL ? o.attn_cls : adz_fastai_attention_new;
    adz_module *self = adz_module_new(&layer_type, 0);
    bool good =
        self != NULL &&
        adz_module_add_child(self, "mhra", attn_cls(n_heads, d_model, &attention)) != NULL &&
        adz_module_add_child(self, "ff", adz_fastai_feed_forward_new(d_model, d_inner, &ff)) !=
            NULL;
    return adzi_zoo_or_free(good, self);
}

/* ---- initial values ------------------------------------------------------------------------- */

/* The parameter of the module itself with this name, or ADZ_NONE. */
static adz_tensor *own(adz_module *module, const char *name)
{
    const adz_named_list all = adz_module_named_parameters(module);
    for (size_t i = 0; i < all.count; ++i) {
        if (strcmp(all.items[i].name, name) == 0) {
            return all.items[i].tensor;
        }
    }
    return ADZ_NONE;
}

/* Draws t from N(mean, 0.02^2), unless it is ADZ_NONE. */
static bool draw(adz_tensor *t, double mean)
{
    return zoo_is_none(t) || adz_init_normal_(t, mean, 0.02, NULL) != NULL;
}

/* Visitor of adz_module_apply. As in fastai, the class's name decides what is drawn. */
static adz_status init_one(adz_module *module, void *user)
{
    (void)user;
    const char *kind = adz_module_name(module);
    bool linear = strstr(kind, "Linear") != NULL, good = true;
    if (linear || strstr(kind, "LayerNorm") != NULL) {
        adz_tensor *bias = own(module, "bias");
        good = draw(own(module, "weight"), linear ? 0 : 1) &&
               (zoo_is_none(bias) || adz_init_zeros_(bias) != NULL);
    } else if (strstr(kind, "TransformerXL") != NULL) {
        good = draw(own(module, "u"), 0) && draw(own(module, "v"), 0);
    }
    return good ? ADZ_OK : adz_error_code();
}

adz_status adz_fastai_init_transformer(adz_module *module)
{
    return module != NULL ? adz_module_apply(module, init_one, NULL)
                          : adz_error_null("adz_fastai_init_transformer", "module");
}
