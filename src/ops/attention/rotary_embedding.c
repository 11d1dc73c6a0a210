#include "ops/op.h"

/* Rotary position embedding (Su et al., 2021).
 *
 *     y_a = a cos - b sin,   y_b = b cos + a sin
 *
 *     da   = dy_a cos + dy_b sin,   db   = dy_b cos - dy_a sin
 *     dcos = a dy_a + b dy_b,       dsin = a dy_b - b dy_a
 *
 * x[..., E]; cos and sin [..., R/2], whose leading dimensions broadcast to those of x. The pairs a
 * and b are the halves of the first R features, or neighbours (interleaved). The other features of
 * a row are copied. A unit is a row of x. dx is the rotation by the opposite angle. The gradients
 * of cos and sin come to the backward with the leading dimensions of x; the engine sums over those
 * that broadcast. */

static const char name[] = "rotary_embedding";

typedef struct {
    bool interleaved;
} rotary_attr;

static const adz_field fields[] = { ADZI_FIELD(rotary_attr, interleaved) };

/* ---- kernels -------------------------------------------------------------------------------- */

/* The first element of the row of the table that belongs to row `row` of x. Dimensions are aligned
 * at the last one, and those of size 1 broadcast. */
static int64_t row_of_table(const adz_const_array *table, const adz_const_array *x, int64_t row)
{
    int64_t offset = 0, stride = table->sizes[table->rank - 1];
    for (int i = 2; i <= table->rank && i <= x->rank; ++i) {
        const int64_t size = x->sizes[x->rank - i], own = table->sizes[table->rank - i];
        offset += own == 1 ? 0 : row % size * stride;
        row /= size;
        stride *= own;
    }
    return offset;
}

#define ROTARY_KERNEL(type, function)                                                          \
    static void function(const adz_kernel_call *call, int64_t begin, int64_t end)              \
    {                                                                                          \
        const adz_const_array *in = call->inputs;                                              \
        const bool interleaved = ((const rotary_attr *)call->attributes)->interleaved;         \
        const int64_t e = in[0].sizes[in[0].rank - 1], pairs = in[1].sizes[in[1].rank - 1];    \
        const int64_t step = interleaved ? 2 : 1, apart = interleaved ? 1 : pairs;             \
        for (int64_t row = begin; row < end; ++row) {                                          \
            const int64_t at = row_of_table(&in[1], &in[0], row);                              \
            const type *c = (const type *)in[1].data + at, *s = (const type *)in[2].data + at; \
            const type *a = (const type *)in[0].data + row * e, *b = a + apart;                \
            type *ya = (type *)call->results[0].data + row * e, *yb = ya + apart;              \
            for (int64_t i = 0; i < pairs; ++i) {                                              \
                const type first = a[i * step], second = b[i * step];                          \
                ya[i * step] = first * c[i] - second * s[i];                                   \
                yb[i * step] = second * c[i] + first * s[i];                                   \
            }                                                                                  \
            for (int64_t i = 2 * pairs; i < e; ++i) {                                          \
                ya[i] = a[i];                                                                  \
            }                                                                                  \
        }                                                                                      \
    }

ROTARY_KERNEL(float, rotary_f32)
ROTARY_KERNEL(double, rotary_f64)

/* ---- expressions ---------------------------------------------------------------------------- */

/* The features of a row: a, b and those behind the pairs, each [..., n]. */
typedef struct {
    adz_tensor *a, *b, *rest; /* rest is NULL without an error where there are none */
} parts;

/* Views of the features of a row. False with the error recorded. */
static bool split(adz_tensor *x, int64_t pairs, bool interleaved, parts *p)
{
    const int64_t e = adz_tensor_size(x, -1);
    adz_tensor *paired = adz_narrow(x, -1, 0, 2 * pairs);
    p->rest = e > 2 * pairs ? adz_narrow(x, -1, 2 * pairs, e - 2 * pairs) : NULL;
    if (interleaved) {
        p->a = adz_slice(paired, -1, 0, 2 * pairs, 2);
        p->b = adz_slice(paired, -1, 1, 2 * pairs, 2);
    } else {
        p->a = adz_narrow(paired, -1, 0, pairs);
        p->b = adz_narrow(paired, -1, pairs, pairs);
    }
    return p->a != NULL && p->b != NULL && (p->rest != NULL || e == 2 * pairs);
}

/* Puts the parts of a row together again. */
static adz_tensor *join(const parts *p, bool interleaved)
{
    adz_tensor *pair[] = { p->a, p->b };
    adz_tensor *all[] = {
        interleaved ? adz_flatten(adz_stack(pair, 2, -1), -2, -1) : adz_cat(pair, 2, -1), p->rest
    };
    return p->rest == NULL ? all[0] : adz_cat(all, 2, -1);
}

static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const bool interleaved = ((const rotary_attr *)attr)->interleaved;
    adz_tensor *c = in[1], *s = in[2];
    parts x, r;
    if (!split(in[0], adz_tensor_size(c, -1), interleaved, &x)) {
        return adzi_status(NULL);
    }
    r.a = adz_sub(adz_mul(x.a, c), adz_mul(x.b, s));
    r.b = adz_add(adz_mul(x.b, c), adz_mul(x.a, s));
    r.rest = x.rest;
    y[0] = join(&r, interleaved);
    return adzi_status(y[0]);
}

/* The pairs are rotated back, and each table gets the sums over its own pair. It is made of
 * operators, so it is differentiated again as they are. */
static adz_status backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const bool interleaved = ((const rotary_attr *)adz_node_attributes(node))->interleaved;
    if (adz_node_needs_input_grad(node, 0)) {
        adz_tensor *c = adz_node_input_at(node, 1), *s = adz_node_input_at(node, 2);
        dx[0] = adz_rotary_embedding(dy[0], c, adz_neg(s), interleaved);
    }
    const bool needs[] = { adz_node_needs_input_grad(node, 1), adz_node_needs_input_grad(node, 2) };
    if (needs[0] || needs[1]) {
        adz_tensor *table = adz_node_input_at(node, needs[0] ? 1 : 2);
        const int64_t pairs = table != NULL ? adz_tensor_size(table, -1) : 0;
        parts x, g;
        if (table == NULL || !split(adz_node_input_at(node, 0), pairs, interleaved, &x) ||
            !split(dy[0], pairs, interleaved, &g)) {
            return adzi_status(NULL);
        }
        dx[1] = needs[0] ? adz_add(adz_mul(x.a, g.a), adz_mul(x.b, g.b)) : NULL;
        dx[2] = needs[1] ? adz_sub(adz_mul(x.a, g.b), adz_mul(x.b, g.a)) : NULL;
    }
    for (int i = 0; i < 3; ++i) {
        if (adz_node_needs_input_grad(node, (size_t)i) && dx[i] == NULL) {
            return adzi_status(NULL);
        }
    }
    return ADZ_OK;
}

/* ---- the call ------------------------------------------------------------------------------- */

/* Whether the leading dimensions of the tables broadcast to those of x. A table may have fewer
 * pairs than a row of x has, so that the last features are copied, but not more. x keeps its shape:
 * a table does not broadcast it. */
static bool fits(const adz_tensor *x, const adz_tensor *c, const adz_tensor *s)
{
    bool good = x->rank >= 1 && c->rank >= 1 && c->rank <= x->rank && c->rank == s->rank;
    for (int i = 1; good && i <= c->rank; ++i) {
        const int64_t size = c->sizes[c->rank - i], of_x = x->sizes[x->rank - i];
        good = s->sizes[s->rank - i] == size &&
               (i == 1 ? 2 * size <= of_x : size == 1 || size == of_x);
    }
    return good;
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)y, (void)block;
    if (!fits(in[0], in[1], in[2])) {
        return adzi_error(name, ADZ_ERR_SHAPE,
            "cos%s and sin%s must have one shape, [..., R/2], that broadcasts to x%s but for the last size, with R of at most %lld",
            adzi_text_shape(in[1]), adzi_text_shape(in[2]), adzi_text_shape(in[0]),
            (long long)(in[0]->rank > 0 ? in[0]->sizes[in[0]->rank - 1] : 0));
    }
    return ADZ_OK;
}

/* dx reads the tables; dcos and dsin read x and, for the number of pairs, their own table. */
static const uint32_t saved_for[] = { 1u << 1 | 1u << 2, 1u << 0 | 1u << 1, 1u << 0 | 1u << 2 };

const adz_operator adzi_op_rotary_embedding = {
    .size = sizeof(adz_operator),
    .name = name,
    .fields = fields,
    .n_fields = 1,
    .attributes_size = sizeof(rotary_attr),
    .shape_rule = shape_rule,
    .n_inputs = 3,
    .dtypes = ADZ_DTYPES_FLOATS,
    .kernels = { [ADZ_F32] = rotary_f32, [ADZ_F64] = rotary_f64 },
    .units = ADZ_UNITS_ROWS,
    .backward = backward,
    .saved_for = saved_for,
    .expression = expression,
};

adz_tensor *adz_rotary_embedding(adz_tensor *x, adz_tensor *cos, adz_tensor *sin, bool interleaved)
{
    adz_tensor *in[] = { x, cos, sin };
    return adz_operator_call(&adzi_op_rotary_embedding, in, 3, &(rotary_attr){ interleaved }, NULL);
}
