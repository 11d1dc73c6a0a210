/* The encoder block of BERT, RoBERTa and DistilBERT: attention and a feed-forward network, each
 * beside a residual connection and before a LayerNorm. */
#include "pretrained/encoder.h"

#include <string.h>

#include "adze/nn/containers.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/attention.h"
#include "adze/ops/dropout.h"
#include "adze/ops/shape.h"

bool adzi_models_add_path(adz_module *parent, const char *path, adz_module *child)
{
    const char *point = strchr(path, '.');
    while (child != NULL && parent != NULL && point != NULL) {
        char name[MODELS_NAME];
        const size_t length = (size_t)(point - path);
        memcpy(name, path, length);
        name[length] = '\0';
        adz_module *next = NULL;
        for (size_t i = 0; i < adz_module_child_count(parent) && next == NULL; ++i) {
            const bool same = strcmp(adz_module_child_name_at(parent, i), name) == 0;
            next = same ? adz_module_child_at(parent, i) : NULL;
        }
        parent = next != NULL
                     ? next
                     : adz_module_add_child(parent, name, adz_module_dict_new(NULL, NULL, 0));
        path = point + 1;
        point = strchr(path, '.');
    }
    if (child == NULL || parent == NULL) {
        adz_module_release(&child);
        return false;
    }
    return adz_module_add_child(parent, path, child) != NULL;
}

/* ---- the block ------------------------------------------------------------------------------ */

typedef struct {
    models_encoder e;
} block_state;

static adz_tensor *forward(adz_module *self, const char *path, adz_tensor *x)
{
    return adz_module_forward(adz_module_get_child(self, path), x);
}

static adz_tensor *heads_of(adz_module *self, const char *path, adz_tensor *x, int64_t heads)
{
    return adz_permute(
        adzi_models_split_heads(forward(self, path, x), heads), ADZ_DIMS(0, 2, 1, 3));
}

static adz_tensor *attend(
    adz_module *self, const models_encoder *e, adz_tensor *x, adz_tensor *mask)
{
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.attn_mask = mask;
    o.dropout_p = e->attention_dropout;
    o.training = adz_module_is_training(self);
    adz_tensor *q = heads_of(self, e->names->query, x, e->heads);
    adz_tensor *k = heads_of(self, e->names->key, x, e->heads);
    adz_tensor *v = heads_of(self, e->names->value, x, e->heads);
    adz_tensor *y = adzi_models_merge_heads(adz_scaled_dot_product_attention(q, k, v, &o));
    return forward(self, e->names->out, y);
}

/* The inner layer's bias and activation take one pass. */
static adz_tensor *feed_forward(adz_module *self, const models_encoder *e, adz_tensor *h)
{
    adz_bias_activation_options o = ADZ_BIAS_ACTIVATION_OPTIONS;
    o.activation = e->activation;
    adz_tensor *inner = forward(self, e->names->inner, h);
    inner = adz_bias_activation(inner, ADZ_NONE, ADZ_NONE, ADZ_NONE, &o);
    return forward(self, e->names->outer, inner);
}

static adz_status block_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const models_encoder *e = &((const block_state *)models_state(self))->e;
    const bool training = adz_module_is_training(self);
    adz_tensor *x = adz_values_argument(in, 0, "x"), *mask = adz_values_argument(in, 1, "mask");
    if (!adz_check_tensor(adz_module_name(self), "x", x)) {
        return adz_error_code();
    }
    adz_tensor *h = adz_dropout(attend(self, e, x, mask), e->dropout, training, NULL);
    h = forward(self, e->names->attention_norm, adz_add(h, x));
    adz_tensor *y = adz_dropout(feed_forward(self, e, h), e->dropout, training, NULL);
    return adz_values_add(out, "", forward(self, e->names->norm, adz_add(y, h)));
}

static const adz_field block_fields[] = {
    ADZ_FIELD_AS(block_state, e.heads, "heads", ADZ_FIELD_I64, .value = 0),
};

static const adz_module_type block_type = { .size = sizeof(adz_module_type),
    .name = "EncoderLayer",
    .call = block_call,
    .fields = block_fields,
    .n_fields = 1 };

adz_module *adzi_models_encoder_new(models_weights *w, const char *path, const models_encoder *e)
{
    const models_encoder_names *n = e->names;
    const struct {
        const char *path;
        int64_t in, out; /* out 0: a LayerNorm */
    } parts[] = { { n->query, e->hidden, e->hidden }, { n->key, e->hidden, e->hidden },
        { n->value, e->hidden, e->hidden }, { n->out, e->hidden, e->hidden },
        { n->attention_norm, e->hidden, 0 }, { n->inner, e->hidden, e->intermediate },
        { n->outer, e->intermediate, e->hidden }, { n->norm, e->hidden, 0 } };
    adz_module *self = adz_module_new(&block_type, sizeof(block_state));
    if (self == NULL) {
        return NULL;
    }
    ((block_state *)models_state(self))->e = *e;
    bool good = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && good; ++i) {
        char at[MODELS_NAME];
        adzi_models_join(at, path, parts[i].path);
        good = adzi_models_add_path(self, parts[i].path,
            parts[i].out == 0 ? adzi_models_layer_norm(w, at, parts[i].in, e->norm_eps)
                              : adzi_models_linear(w, at, parts[i].in, parts[i].out, true));
    }
    return adzi_models_or_free(good, self);
}
