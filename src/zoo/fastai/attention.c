/* fastai's MultiHeadAttention and MultiHeadRelativeAttention.
 *
 *     y = LayerNorm(x + dropout(out(softmax(scores / sqrt(d_head)) v)))
 *     scores[i, j] = q_i . k_j                                    MultiHeadAttention
 *     scores[i, j] = (q_i + u) . k_j + (q_i + v) . r(M + i - j)   relative
 *
 * x and y are [B, T, d_model]. The relative form also attends to a memory mem[B, M, d_model], whose
 * steps come before x. r(d) is the projected encoding of the distance d between query and key. */
#include "adze/zoo/fastai_attention.h"

#include <math.h>
#include <string.h>

#include "adze/nn/layer_norm.h"
#include "adze/nn/linear.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/attention.h"
#include "adze/ops/compare.h"
#include "adze/ops/linalg.h"
#include "adze/ops/shape.h"
#include "fastai/text.h"
#include "heads.h"
#include "zoo.h"

enum { ATTENTION, OUT, DROP_ATT, DROP_RES, LN, R_ATTN }; /* children; R_ATTN only if relative */

typedef struct {
    int64_t n_heads, d_model, d_head;
    bool scale;
} attention_state;

/* ---- arguments ------------------------------------------------------------------------------ */

typedef struct {
    adz_tensor *x, *mask, *r, *u, *v, *mem; /* an argument that is left out is ADZ_NONE */
    bool causal;
} arguments;

static bool is_present(const adz_tensor *t)
{
    return !zoo_is_none(t);
}

/* True if an optional argument is left out or is a valid tensor; false with the error recorded. */
static bool check_optional(const char *op, const char *name, const adz_tensor *t)
{
    return t != NULL && !is_present(t) ? true : adz_check_tensor(op, name, t);
}

adz_tensor *adzi_fastai_call(
    adz_module *module, adz_tensor *x, adz_tensor *mask, const adz_values *rest)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_status status = adz_values_add(in, "x", x);
    if (status == ADZ_OK && is_present(mask)) {
        status = adz_values_add(in, "mask", mask);
    }
    for (size_t i = 0; i < adz_values_count(rest) && status == ADZ_OK; ++i) {
        const char *name = adz_values_name_at(rest, i);
        adz_tensor *t = adz_values_at(rest, i);
        if (name[0] != '\0' && strcmp(name, "x") != 0 && strcmp(name, "mask") != 0 &&
            is_present(t)) {
            status = adz_values_add(in, name, t);
        }
    }
    status = status == ADZ_OK ? adz_module_call(module, in, out) : status;
    adz_tensor *y = status == ADZ_OK ? adz_values_at(out, 0) : NULL;
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
}

/* True if every argument has one of the n names, or no name and the position of x or mask. An
 * unknown argument is an error, because it would be ignored without notice. */
static bool check_names(adz_module *self, const adz_values *in, const char *const *names, size_t n)
{
    for (size_t i = 0; i < adz_values_count(in); ++i) {
        const char *name = adz_values_name_at(in, i);
        bool known = name[0] == '\0' ? i < 2 : false;
        for (size_t k = 0; k < n && !known; ++k) {
            known = strcmp(names[k], name) == 0;
        }
        if (!known && is_present(adz_values_at(in, i))) {
            adz_error_format(adz_module_name(self), ADZ_ERR_ARGUMENT, "takes no argument %zu%s%s",
                i, name[0] != '\0' ? " called " : "", name);
            return false;
        }
    }
    return true;
}

/* Reads the arguments into `a` and checks x. False with the error recorded. */
static bool read_arguments(adz_module *self, const adz_values *in, arguments *a)
{
    const attention_state *state = zoo_state(self);
    const char *op = adz_module_name(self);
    *a = (arguments){ adz_values_argument(in, 0, "x"), adz_values_argument(in, 1, "mask"),
        adz_values_get(in, "r"), adz_values_get(in, "u"), adz_values_get(in, "v"),
        adz_values_get(in, "mem"), false };
    adz_tensor *causal = adz_values_get(in, "is_causal");
    if (!adz_check_tensor(op, "x", a->x) || !check_optional(op, "mask", a->mask) ||
        !check_optional(op, "is_causal", causal)) {
        return false;
    }
    if (is_present(causal) && adz_tensor_numel(causal) != 1) {
        adz_error_format(
            op, ADZ_ERR_SHAPE, "is_causal%s must be one number", adz_text_shape(causal));
        return false;
    }
    a->causal = is_present(causal) && adz_item(causal) != 0;
    if (adz_tensor_rank(a->x) != 3 || adz_tensor_size(a->x, 2) != state->d_model) {
        adz_error_format(op, ADZ_ERR_SHAPE, "x%s must be [B, T, %lld]", adz_text_shape(a->x),
            (long long)state->d_model);
        return false;
    }
    return true;
}

/* Checks that the mask is bool and broadcasts to [B, H, T, keys]. */
static bool check_mask(adz_module *self, const arguments *a, int64_t keys)
{
    const attention_state *state = zoo_state(self);
    if (!is_present(a->mask)) {
        return true;
    }
    int64_t full[] = { adz_tensor_size(a->x, 0), state->n_heads, adz_tensor_size(a->x, 1), keys };
    const adz_tensor *mask = a->mask;
    bool good = adz_tensor_rank(mask) <= 4;
    for (int i = 0; i < adz_tensor_rank(mask) && good; ++i) {
        int64_t size = adz_tensor_size(mask, adz_tensor_rank(mask) - 1 - i);
        good = size == 1 || size == full[3 - i];
    }
    if (!good) {
        adz_error_format(adz_module_name(self), ADZ_ERR_SHAPE,
            "mask%s must broadcast to [%lld, %lld, %lld, %lld]", adz_text_shape(mask),
            (long long)full[0], (long long)full[1], (long long)full[2], (long long)full[3]);
    } else if (adz_tensor_dtype(mask) != ADZ_BOOL) {
        good = false;
        adz_error_format(adz_module_name(self), ADZ_ERR_DTYPE,
            "mask is %s, but must be bool, true where a key is hidden",
            adz_dtype_name(adz_tensor_dtype(mask)));
    }
    return good;
}

/* ---- attention ------------------------------------------------------------------------------ */

/* softmax((q k^T + position) * scale) v per head, with the heads merged to [B, T, H d_head]. qkv
 * has q, k and v as [B, H, steps, d_head]. `position` is [B, H, T, M + T] or ADZ_NONE. */
static adz_tensor *attend(
    adz_module *self, const arguments *a, adz_tensor *const *qkv, adz_tensor *position)
{
    const attention_state *state = zoo_state(self);
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.scale = state->scale ? 1 / sqrt((double)state->d_head) : 1;
    o.is_causal = a->causal;
    if (is_present(position)) {
        position = adz_mul_number(position, o.scale);
        o.attn_mask =
            is_present(a->mask) ? adz_masked_fill(position, a->mask, -INFINITY) : position;
    } else {
        o.attn_mask = is_present(a->mask) ? adz_logical_not(a->mask) : ADZ_NONE;
    }
    if (o.attn_mask == NULL || !adzi_zoo_attention_dropout(zoo_child(self, DROP_ATT), &o)) {
        return NULL;
    }
    return adzi_zoo_merge_heads(adz_scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], &o));
}

/* Computes q, k and v of context[B, M + T, d_model] by one linear layer and splits them into heads.
 * q has only the last `queries` steps. False with the error recorded. */
static bool project(adz_module *self, adz_tensor *context, int64_t queries, adz_tensor **qkv)
{
    const attention_state *state = zoo_state(self);
    int64_t width = state->n_heads * state->d_head;
    adz_tensor *all = adz_module_forward(zoo_child(self, ATTENTION), context);
    if (adz_split(all, width, 2, qkv, 3, NULL) != ADZ_OK) {
        return false;
    }
    qkv[0] = adz_narrow(qkv[0], 1, adz_tensor_size(qkv[0], 1) - queries, queries);
    for (int i = 0; i < 3; ++i) {
        qkv[i] = adzi_zoo_split_heads(qkv[i], state->n_heads);
        if (qkv[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* Appends LayerNorm(x + dropout(out(h))) to the results. */
static adz_status add_and_norm(adz_module *self, adz_tensor *x, adz_tensor *h, adz_values *out)
{
    h = adz_module_forward(zoo_child(self, OUT), h);
    h = adz_add(x, adz_module_forward(zoo_child(self, DROP_RES), h));
    return adz_values_add(out, "", adz_module_forward(zoo_child(self, LN), h));
}

static adz_status attention_call(adz_module *self, const adz_values *in, adz_values *out)
{
    static const char *const names[] = { "x", "mask", "is_causal" };
    arguments a;
    adz_tensor *qkv[3];
    if (!check_names(self, in, names, 3) || !read_arguments(self, in, &a) ||
        !check_mask(self, &a, adz_tensor_size(a.x, 1)) ||
        !project(self, a.x, adz_tensor_size(a.x, 1), qkv)) {
        return adz_error_code();
    }
    return add_and_norm(self, a.x, attend(self, &a, qkv, ADZ_NONE), out);
}

/* ---- relative attention --------------------------------------------------------------------- */

/* Shifts row i of x[B, H, n, p] to the left by n-1-i:
 *
 *     y[b, h, i, j] = x[b, h, i, j + n-1-i]   for j <= i + p - n
 *
 * Elements further right have values of the next row; `mask` sets them to 0. The shift is made by a
 * reshape: a column of zeros is put in front, and n elements are cut off. */
adz_tensor *adz_fastai_line_shift(adz_tensor *x, bool mask)
{
    static const char op[] = "adz_fastai_line_shift";
    if (!adz_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (adz_tensor_rank(x) != 4) {
        return zoo_fail(op, ADZ_ERR_SHAPE, "x%s must be [B, H, n, p]", adz_text_shape(x));
    }
    int64_t b = adz_tensor_size(x, 0), h = adz_tensor_size(x, 1), n = adz_tensor_size(x, 2),
            p = adz_tensor_size(x, 3);
    adz_tensor *padded[] = { adz_zeros(ADZ_SHAPE(b, h, n, 1), adz_tensor_dtype(x)), x };
    adz_tensor *rows = adz_reshape(adz_cat(padded, 2, 3), ADZ_SHAPE(b, h, p + 1, n));
    adz_tensor *y = adz_reshape(adz_narrow(rows, 2, 1, p), ADZ_SHAPE(b, h, n, p));
    return mask ? adz_tril(y, p - n) : y;
}

/* True if an argument is given and has these sizes, where -1 stands for any size; false with the
 * error recorded. */
static bool check_argument(
    adz_module *self, const char *name, const adz_tensor *t, int rank, const int64_t *sizes)
{
    const char *op = adz_module_name(self);
    if (!check_optional(op, name, t)) {
        return false;
    }
    if (!is_present(t)) {
        adz_error_format(
            op, ADZ_ERR_ARGUMENT, "%s is left out: a TransformerXL gives it to its layers", name);
        return false;
    }
    bool good = adz_tensor_rank(t) == rank;
    for (int i = 0; i < rank && good; ++i) {
        good = sizes[i] < 0 || adz_tensor_size(t, i) == sizes[i];
    }
    if (!good) {
        char wanted[96] = "";
        size_t n = 0;
        for (int i = 0; i < rank; ++i) {
            const char *comma = i > 0 ? ", " : "";
            n += (size_t)(sizes[i] < 0 ? snprintf(wanted + n, sizeof wanted - n, "%sM", comma)
                                       : snprintf(wanted + n, sizeof wanted - n, "%s%lld", comma,
                                             (long long)sizes[i]));
        }
        adz_error_format(op, ADZ_ERR_SHAPE, "%s%s must be [%s]", name, adz_text_shape(t), wanted);
    }
    return good;
}

/* Checks the arguments that only the relative form has. */
static bool check_relative(adz_module *self, const arguments *a)
{
    const attention_state *state = zoo_state(self);
    int64_t batch = adz_tensor_size(a->x, 0), d = state->d_model;
    if (is_present(a->mem) &&
        !check_argument(self, "mem", a->mem, 3, (int64_t[]){ batch, -1, d })) {
        return false;
    }
    int64_t keys = adz_tensor_size(a->x, 1) + (is_present(a->mem) ? adz_tensor_size(a->mem, 1) : 0);
    int64_t per_head[] = { state->n_heads, 1, state->d_head };
    return check_argument(self, "r", a->r, 2, (int64_t[]){ keys, d }) &&
           check_argument(self, "u", a->u, 3, per_head) &&
           check_argument(self, "v", a->v, 3, per_head) && check_mask(self, a, keys);
}

/* The part of the scores that depends on the distance of query and key, [B, H, T, M + T], before
 * the factor `scale`: (q + v) r_attn(r)^T, whose columns are distances, shifted to columns of keys.
 */
static adz_tensor *position_scores(adz_module *self, const arguments *a, adz_tensor *q)
{
    const attention_state *state = zoo_state(self);
    adz_tensor *r = adz_module_forward(zoo_child(self, R_ATTN), a->r);
    r = adz_reshape(r, ADZ_SHAPE(adz_tensor_size(a->r, 0), state->n_heads, state->d_head));
    r = adz_permute(r, ADZ_DIMS(1, 2, 0));
    return adz_fastai_line_shift(adz_matmul(adz_add(q, a->v), r), false);
}

static adz_status relative_call(adz_module *self, const adz_values *in, adz_values *out)
{
    static const char *const names[] = { "x", "mask", "r", "u", "v", "mem", "is_causal" };
    arguments a;
    adz_tensor *qkv[3];
    if (!check_names(self, in, names, 7) || !read_arguments(self, in, &a) ||
        !check_relative(self, &a)) {
        return adz_error_code();
    }
    adz_tensor *both[] = { a.mem, a.x };
    adz_tensor *context = is_present(a.mem) ? adz_cat(both, 2, 1) : a.x;
    if (context == NULL || !project(self, context, adz_tensor_size(a.x, 1), qkv)) {
        return adz_error_code();
    }
    adz_tensor *position = position_scores(self, &a, qkv[0]);
    qkv[0] = adz_add(qkv[0], a.u);
    return add_and_norm(self, a.x, attend(self, &a, qkv, position), out);
}

/* ---- constructors --------------------------------------------------------------------------- */

static const adz_field attention_fields[] = {
    ADZ_FIELD(attention_state, n_heads, .value = 0),
    ADZ_FIELD(attention_state, d_head, .value = 0),
    ADZ_FIELD(attention_state, scale, .value = 0),
};

static const adz_module_type attention_type = {
    .size = sizeof(adz_module_type),
    .name = "MultiHeadAttention",
    .call = attention_call,
    .fields = attention_fields,
    .n_fields = sizeof attention_fields / sizeof *attention_fields,
};

static const adz_module_type relative_type = {
    .size = sizeof(adz_module_type),
    .name = "MultiHeadRelativeAttention",
    .call = relative_call,
    .fields = attention_fields,
    .n_fields = sizeof attention_fields / sizeof *attention_fields,
};

static const adz_field options_fields[] = {
    ADZ_FIELD(adz_fastai_attention_options, d_head, ADZ_SIZE_FROM(0)),
    ADZ_FIELD(adz_fastai_attention_options, resid_p, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_attention_options, attn_p, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_attention_options, bias, .value = true),
    ADZ_FIELD(adz_fastai_attention_options, scale, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_fastai_attention_options),
};

ADZ_OPTIONS_TABLE(adz_fastai_attention_options, ADZ_FASTAI_ATTENTION_OPTIONS, options_fields)

/* Adds the children in fastai's order; false with the error recorded. */
static bool add_children(
    adz_module *self, const attention_state *s, const adz_fastai_attention_options *o)
{
    adz_linear_options linear = ADZ_LINEAR_OPTIONS;
    adz_layer_norm_options norm = ADZ_LAYER_NORM_OPTIONS;
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    linear.bias = o->bias;
    linear.dtype = norm.dtype = o->dtype;
    dropout.generator = o->generator;
    int64_t width = s->n_heads * s->d_head;
    return adz_module_add_child(
               self, "attention", adz_linear_new(s->d_model, 3 * width, &linear)) != NULL &&
           adz_module_add_child(self, "out", adz_linear_new(width, s->d_model, &linear)) != NULL &&
           adz_module_add_child(self, "drop_att", adz_dropout_new(o->attn_p, &dropout)) != NULL &&
           adz_module_add_child(self, "drop_res", adz_dropout_new(o->resid_p, &dropout)) != NULL &&
           adz_module_add_child(self, "ln", adz_layer_norm_new(ADZ_SHAPE(s->d_model), &norm)) !=
               NULL &&
           (adz_module_type_of(self) != &relative_type ||
               adz_module_add_child(self, "r_attn", adz_linear_new(s->d_model, width, &linear)) !=
                   NULL);
}

static adz_module *attention_new(const char *op, const adz_module_type *type, int64_t n_heads,
    int64_t d_model, const adz_fastai_attention_options *options)
{
    adz_fastai_attention_options o;
    if (!adz_options_take(op, &adz_fastai_attention_options_table, &o, options)) {
        return NULL;
    }
    if (!adz_check_size(op, "n_heads", n_heads, 1) || !adz_check_size(op, "d_model", d_model, 1)) {
        return NULL;
    }
    if (o.d_head == 0 && d_model < n_heads) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT,
            "%lld heads leave nothing of d_model %lld for a head: say d_head", (long long)n_heads,
            (long long)d_model);
    }
    int64_t d_head = o.d_head > 0 ? o.d_head : d_model / n_heads;
    if (n_heads > INT64_MAX / 3 / d_head) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT, "%lld heads of %lld features are too many",
            (long long)n_heads, (long long)d_head);
    }
    adz_module *self = adz_module_new(type, sizeof(attention_state));
    if (self != NULL) {
        attention_state *state = zoo_state(self);
        *state = (attention_state){ n_heads, d_model, d_head, o.scale };
        if (!add_children(self, state, &o)) {
            adz_module_release(&self);
        }
    }
    return self;
}

adz_module *adz_fastai_attention_new(
    int64_t n_heads, int64_t d_model, const adz_fastai_attention_options *options)
{
    return attention_new("adz_fastai_attention_new", &attention_type, n_heads, d_model, options);
}

adz_module *adz_fastai_relative_attention_new(
    int64_t n_heads, int64_t d_model, const adz_fastai_attention_options *options)
{
    return attention_new(
        "adz_fastai_relative_attention_new", &relative_type, n_heads, d_model, options);
}
