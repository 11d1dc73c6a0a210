/* MultiHeadAttention of the annotated transformers (labml_nn). The time comes first: x is
 * [T, B, D]. */
#include "adze/zoo/labml_attention.h"

#include "adze/nn/dropout.h"
#include "adze/nn/linear.h"
#include "adze/ops/attention.h"
#include "adze/ops/compare.h"
#include "adze/ops/linalg.h"
#include "adze/ops/shape.h"
#include "labml/labml.h"
#include "zoo.h"

/* ---- helpers of all files ------------------------------------------------------------------- */

bool adzi_labml_add_linear(
    adz_module *self, const char *name, int64_t in, int64_t out, const adz_linear_options *options)
{
    return adz_module_add_child(self, name, adz_linear_new(in, out, options)) != NULL;
}

adz_tensor *adzi_labml_call(adz_module *module, const adzi_argument *arguments, size_t n)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < n && status == ADZ_OK; ++i) {
        status = adz_values_add(in, arguments[i].name, arguments[i].tensor);
    }
    if (status == ADZ_OK) {
        status = adz_module_call(module, in, out);
    }
    adz_tensor *y = NULL;
    if (status == ADZ_OK) {
        y = adz_values_count(out) > 0
                ? adz_values_at(out, 0)
                : zoo_fail(adz_module_name(module), ADZ_ERR_STATE, "the call has no result");
    }
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
}

adz_module *adzi_labml_adopt(
    adz_module *self, const char *const *names, adz_module *const *children, size_t n)
{
    bool good = self != NULL;
    for (size_t i = 0; i < n; ++i) {
        adz_module *child = children[i];
        if (good) {
            good = adz_module_add_child(self, names[i], child) != NULL;
        } else {
            adz_module_release(&child);
        }
    }
    return adzi_zoo_or_free(good, self);
}

/* ---- PrepareForMultiHeadAttention ----------------------------------------------------------- */

typedef struct {
    int64_t heads, d_k;
} prepare_state;

/* linear(x) with its features split into heads: [..., D] becomes [..., H, d_k]. */
static adz_tensor *prepare_forward(adz_module *self, adz_tensor *x)
{
    const prepare_state *state = zoo_state(self);
    if (!adz_check_tensor(adz_module_name(self), "x", x)) {
        return NULL;
    }
    if (adz_tensor_rank(x) >= ADZ_MAX_RANK) {
        return zoo_fail(adz_module_name(self), ADZ_ERR_SHAPE,
            "x%s leaves no dimension for the heads", adz_text_shape(x));
    }
    adz_shape shape = adz_tensor_shape(x);
    adz_tensor *y = adz_module_forward(zoo_child(self, 0), x);
    if (y == NULL) {
        return NULL; /* for example a scalar x, which the linear layer refuses */
    }
    shape.sizes[shape.rank - 1] = state->heads;
    shape.sizes[shape.rank++] = state->d_k;
    return adz_reshape(y, shape);
}

static const adz_field prepare_fields[] = {
    ADZ_FIELD(prepare_state, heads, .value = 0),
    ADZ_FIELD(prepare_state, d_k, .value = 0),
};

static const adz_module_type prepare_type = {
    .size = sizeof(adz_module_type),
    .name = "PrepareForMultiHeadAttention",
    .forward = prepare_forward,
    .fields = prepare_fields,
    .n_fields = sizeof prepare_fields / sizeof *prepare_fields,
};

static const adz_field prepare_rows[] = {
    ADZ_FIELD_PARAMETER_DTYPE(adz_labml_prepare_options),
};

ADZ_OPTIONS_TABLE(adz_labml_prepare_options, ADZ_LABML_PREPARE_OPTIONS, prepare_rows)

adz_module *adz_labml_prepare_new(int64_t d_model, int64_t heads, int64_t d_k, bool bias,
    const adz_labml_prepare_options *options)
{
    static const char op[] = "adz_labml_prepare_new";
    adz_labml_prepare_options o;
    if (!adz_options_take(op, &adz_labml_prepare_options_table, &o, options)) {
        return NULL;
    }
    if (!adz_check_size(op, "d_model", d_model, 1) || !adz_check_size(op, "heads", heads, 1) ||
        !adz_check_size(op, "d_k", d_k, 1)) {
        return NULL;
    }
    if (heads > INT64_MAX / d_k) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT, "%lld heads of %lld features are too many",
            (long long)heads, (long long)d_k);
    }
    adz_module *self = adz_module_new(&prepare_type, sizeof(prepare_state));
    if (self != NULL) {
        *(prepare_state *)zoo_state(self) = (prepare_state){ heads, d_k };
        adz_linear_options linear = ADZ_LINEAR_OPTIONS;
        linear.bias = bias;
        linear.dtype = o.dtype;
        if (!adzi_labml_add_linear(self, "linear", d_model, heads * d_k, &linear)) {
            adz_module_release(&self);
        }
    }
    return self;
}

/* ---- MultiHeadAttention --------------------------------------------------------------------- */

enum { QUERY, KEY, VALUE, OUTPUT, DROPOUT }; /* children */

/* Checks the shapes of query[T, B, D], key[S, B, D] and value[S, B, D]. */
static bool check_rows(
    adz_module *self, const adz_tensor *query, const adz_tensor *key, const adz_tensor *value)
{
    const char *op = adz_module_name(self);
    int64_t d_model = adz_tensor_size(zoo_parameter(zoo_child(self, OUTPUT), 0), 0);
    if (adz_tensor_rank(query) != 3 || adz_tensor_size(query, 2) != d_model) {
        adz_error_format(op, ADZ_ERR_SHAPE, "query%s must be [T, B, %lld]", adz_text_shape(query),
            (long long)d_model);
        return false;
    }
    if (adz_tensor_rank(key) != 3 || adz_tensor_size(key, 1) != adz_tensor_size(query, 1) ||
        adz_tensor_size(key, 2) != d_model) {
        adz_error_format(op, ADZ_ERR_SHAPE, "key%s must be [S, %lld, %lld] for query%s",
            adz_text_shape(key), (long long)adz_tensor_size(query, 1), (long long)d_model,
            adz_text_shape(query));
        return false;
    }
    if (adz_tensor_rank(value) != 3 || adz_tensor_size(value, 0) != adz_tensor_size(key, 0) ||
        adz_tensor_size(value, 1) != adz_tensor_size(key, 1) ||
        adz_tensor_size(value, 2) != d_model) {
        adz_error_format(op, ADZ_ERR_SHAPE, "value%s must have the shape of key%s",
            adz_text_shape(value), adz_text_shape(key));
        return false;
    }
    return true;
}

/* The mask[T, S, B], each size of which may be 1, in the operator's layout: bool [B, 1, T, S]. NULL
 * with the error recorded. */
static adz_tensor *prepare_mask(
    adz_module *self, adz_tensor *mask, const adz_tensor *query, const adz_tensor *key)
{
    const char *op = adz_module_name(self);
    if (!adz_check_tensor(op, "mask", mask)) {
        return NULL;
    }
    const int64_t full[] = { adz_tensor_size(query, 0), adz_tensor_size(key, 0),
        adz_tensor_size(query, 1) };
    bool fits = adz_tensor_rank(mask) == 3;
    for (int i = 0; i < 3 && fits; ++i) {
        fits = adz_tensor_size(mask, i) == 1 || adz_tensor_size(mask, i) == full[i];
    }
    if (!fits) {
        return zoo_fail(op, ADZ_ERR_SHAPE,
            "mask%s must be [query, key, batch] = %s, where each size may be 1",
            adz_text_shape(mask), adz_text_sizes(adz_shape_of(3, full)));
    }
    if (adz_tensor_dtype(mask) != ADZ_BOOL) {
        mask = adz_ne_number(mask, 0);
    }
    return adz_unsqueeze(adz_permute(mask, ADZ_DIMS(2, 0, 1)), 1);
}

/* Sets the dropout of attention. A replayed mask is [T, S, B, H], as labml_nn has it, and is
 * permuted to the operator's [B, H, T, S]. After an error the mask is NULL. */
static void plan_dropout(adz_module *self, adz_attention_options *o)
{
    if (adzi_zoo_attention_dropout(zoo_child(self, DROPOUT), o) && o->dropout_mask != NULL &&
        !zoo_is_none(o->dropout_mask)) {
        o->dropout_mask = adz_permute(o->dropout_mask, ADZ_DIMS(2, 3, 0, 1));
    }
}

/* Projects x[T, B, D] by child `which` and permutes the heads to [B, H, T, D/H]. */
static adz_tensor *split(adz_module *self, size_t which, adz_tensor *x)
{
    return adz_permute(adz_module_forward(zoo_child(self, which), x), ADZ_DIMS(1, 2, 0, 3));
}

/* output(softmax(q k^T / sqrt(d_k)) v) for query[T, B, D]; shaped like query. */
static adz_tensor *attend(
    adz_module *self, adz_tensor *query, adz_tensor *key, adz_tensor *value, adz_tensor *mask)
{
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    adz_tensor *q = split(self, QUERY, query), *k = split(self, KEY, key);
    adz_tensor *v = split(self, VALUE, value);
    if (!zoo_is_none(mask)) {
        o.attn_mask = prepare_mask(self, mask, query, key);
    }
    plan_dropout(self, &o);
    /* After an error the operator refuses a mask that is NULL. */
    adz_tensor *y = adz_scaled_dot_product_attention(q, k, v, &o);
    y = adz_permute(y, ADZ_DIMS(2, 0, 1, 3));
    y = adz_reshape(y, adz_tensor_shape(query));
    return adz_module_forward(zoo_child(self, OUTPUT), y);
}

static adz_status attention_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const char *op = adz_module_name(self);
    adz_tensor *query = adz_values_argument(in, 0, "query");
    adz_tensor *key = adz_values_argument(in, 1, "key");
    adz_tensor *value = adz_values_argument(in, 2, "value");
    adz_tensor *mask = adz_values_argument(in, 3, "mask");
    key = zoo_is_none(key) ? query : key;
    value = zoo_is_none(value) ? key : value;
    if (!adz_check_tensor(op, "query", query) || !adz_check_tensor(op, "key", key) ||
        !adz_check_tensor(op, "value", value) || !check_rows(self, query, key, value)) {
        return adz_error_code();
    }
    return adz_values_add(out, "", attend(self, query, key, value, mask));
}

static const adz_module_type attention_type = {
    .size = sizeof(adz_module_type),
    .name = "MultiHeadAttention",
    .call = attention_call,
};

static const adz_field attention_rows[] = {
    ADZ_FIELD(adz_labml_attention_options, dropout_prob, .value = 0.1, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_labml_attention_options, bias, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_labml_attention_options),
};

ADZ_OPTIONS_TABLE(adz_labml_attention_options, ADZ_LABML_ATTENTION_OPTIONS, attention_rows)

static adz_module *attention_new(
    int64_t heads, int64_t d_model, const adz_labml_attention_options *o)
{
    static const char *const names[] = { "query", "key", "value" };
    adz_labml_prepare_options prepare = ADZ_LABML_PREPARE_OPTIONS;
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    adz_linear_options linear = ADZ_LINEAR_OPTIONS;
    prepare.dtype = linear.dtype = o->dtype;
    dropout.generator = o->generator;
    adz_module *self = adz_module_new(&attention_type, 0);
    bool good = self != NULL;
    for (int i = 0; i < 3 && good; ++i) {
        good = adz_module_add_child(self, names[i],
                   adz_labml_prepare_new(
                       d_model, heads, d_model / heads, i == VALUE || o->bias, &prepare)) != NULL;
    }
    good =
        good && adzi_labml_add_linear(self, "output", d_model, d_model, &linear) &&
        adz_module_add_child(self, "dropout", adz_dropout_new(o->dropout_prob, &dropout)) != NULL;
    return adzi_zoo_or_free(good, self);
}

adz_module *adz_labml_attention_new(
    int64_t heads, int64_t d_model, const adz_labml_attention_options *options)
{
    static const char op[] = "adz_labml_attention_new";
    adz_labml_attention_options o;
    if (!adz_options_take(op, &adz_labml_attention_options_table, &o, options)) {
        return NULL;
    }
    if (!adz_check_size(op, "d_model", d_model, 1)) {
        return NULL;
    }
    if (heads < 1 || d_model % heads != 0) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT, "heads is %lld, but must divide d_model, %lld",
            (long long)heads, (long long)d_model);
    }
    return attention_new(heads, d_model, &o);
}

adz_tensor *adz_labml_subsequent_mask(int64_t seq_len)
{
    if (seq_len < 0) {
        return zoo_fail("adz_labml_subsequent_mask", ADZ_ERR_ARGUMENT,
            "seq_len is %lld, but must be 0 or more", (long long)seq_len);
    }
    return adz_unsqueeze(adz_tril(adz_ones(ADZ_SHAPE(seq_len, seq_len), ADZ_BOOL), 0), 2);
}
