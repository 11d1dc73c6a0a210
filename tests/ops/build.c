/* Makes tensors from samples: draws numbers, chooses layouts, and runs forward and backward. */
#include <math.h>
#include <stdlib.h>

#include "ops/sweep.h"
#include "tensor/kernel/real.h"

double case_units[CASE_INPUTS];

void reset_case_units(void)
{
    for (int i = 0; i < CASE_INPUTS; ++i) {
        case_units[i] = 1;
    }
}

size_t n_samples(const op_case *c)
{
    size_t n = 0;
    while (n < sizeof c->samples / sizeof *c->samples && c->samples[n].in[0].given) {
        ++n;
    }
    return n;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t random_state;

static double uniform(void)
{
    random_state += 0x9e3779b97f4a7c15u;
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double normal(void)
{
    double u = uniform(), v = uniform();
    return sqrt(-2 * adzi_real_log(u > 0 ? u : 1e-300)) * adzi_real_cos(2 * ADZI_PI * v);
}

static double draw(const case_input *spec, int64_t i, int64_t n)
{
    double x;
    switch (spec->fill) {
    case FILL_AWAY:
        x = normal();
        return x < 0 ? x - 0.1 : x + 0.1;
    case FILL_POSITIVE:
        return 0.3 + 2.2 * uniform();
    case FILL_UNIT:
        return 0.05 + 0.9 * uniform();
    case FILL_DISTINCT:
        /* i is permuted by a stride that is coprime to n, so all values differ; they lie around 0
         */
        return 0.15 * (double)(i - n / 2) + 0.04 * uniform();
    case FILL_INDEX:
        return floor(uniform() * spec->range);
    case FILL_MASK:
        return uniform() < 0.5 ? 0 : 1;
    default:
        return normal();
    }
}

static bool is_float(adz_dtype dtype)
{
    return dtype == ADZ_F32 || dtype == ADZ_F64 || dtype == ADZ_F16 || dtype == ADZ_BF16;
}

static void fill(adz_tensor *t, const case_input *spec)
{
    int64_t n = adz_tensor_numel(t);
    double *values = malloc((size_t)(n > 0 ? n : 1) * sizeof *values);
    for (int64_t i = 0; i < n; ++i) {
        values[i] = draw(spec, i, n);
    }
    if (spec->fill == FILL_DISTINCT) {
        for (int64_t i = n - 1; i > 0; --i) {
            int64_t j = (int64_t)(uniform() * (double)(i + 1));
            double swap = values[i];
            values[i] = values[j];
            values[j] = swap;
        }
    }
    if (spec->typed && spec->fill != FILL_INDEX && !is_float(spec->dtype)) {
        for (int64_t i = 0; i < n; ++i) {
            values[i] = spec->dtype == ADZ_BOOL ? values[i] > 0
                        : spec->dtype == ADZ_U8 ? floor(fabs(values[i]) * 3)
                                                : floor(values[i] * 3);
        }
    }
    adz_tensor *from = adz_tensor_from(values, adz_tensor_shape(t), ADZ_F64);
    adz_copy_(t, from);
    free(values);
}

/* ---- layouts --------------------------------------------------------------------------------- */

static case_layout layout_for(const case_input *spec, case_layout wanted)
{
    bool plain_float = !spec->none && spec->fill != FILL_INDEX && spec->fill != FILL_MASK &&
                       !spec->typed && spec->layout == LAYOUT_PLAIN;
    case_layout layout = plain_float ? wanted : spec->layout;
    bool possible = spec->rank >= (layout == LAYOUT_TRANSPOSED ? 2 : 1);
    possible = possible && !(layout == LAYOUT_EXPANDED && spec->sizes[0] == 0);
    return possible ? layout : LAYOUT_PLAIN;
}

static adz_shape leaf_shape(const case_input *spec, case_layout layout)
{
    adz_shape shape = adz_shape_of(spec->rank, spec->sizes);
    if (layout == LAYOUT_TRANSPOSED) {
        for (int i = 0; i < spec->rank; ++i) {
            shape.sizes[i] = spec->sizes[spec->rank - 1 - i];
        }
    } else if (layout == LAYOUT_SLICED) {
        shape.sizes[spec->rank - 1] *= 2;
    } else if (layout == LAYOUT_EXPANDED) {
        shape.sizes[0] = 1;
    } else if (layout == LAYOUT_OFFSET) {
        shape.sizes[0] += 1;
    }
    return shape;
}

adz_tensor *built_argument(const built *b, int i)
{
    const case_input *spec = &b->specs[i];
    const case_layout layout = b->layouts[i];
    adz_tensor *leaf = b->leaves[i];
    if (spec->none) {
        return ADZ_NONE;
    }
    if (layout == LAYOUT_TRANSPOSED) {
        int dims[ADZ_MAX_RANK];
        for (int d = 0; d < spec->rank; ++d) {
            dims[d] = spec->rank - 1 - d;
        }
        return adz_permute(leaf, adz_dims_of(spec->rank, dims));
    }
    if (layout == LAYOUT_SLICED) {
        return adz_slice(leaf, -1, 1, INT64_MAX, 2);
    }
    if (layout == LAYOUT_EXPANDED) {
        return adz_expand(leaf, adz_shape_of(spec->rank, spec->sizes));
    }
    return layout == LAYOUT_OFFSET ? adz_slice(leaf, 0, 1, INT64_MAX, 1) : leaf;
}

void fill_drawn(adz_tensor *t, const case_input *spec, uint64_t seed)
{
    random_state = seed;
    fill(t, spec);
}

void build_inputs(built *b, const case_input *specs, const double *p, const char *text,
    case_layout layout, adz_dtype dtype, uint64_t seed)
{
    memset(b, 0, sizeof *b);
    random_state = seed;
    b->specs = specs;
    memcpy(b->args.p, p, sizeof b->args.p);
    b->args.text = text;
    reset_case_units();
    for (int i = 0; i < CASE_INPUTS && specs[i].given; ++i) {
        const case_input *spec = &specs[i];
        b->args.n = i + 1;
        if (spec->none) {
            b->leaves[i] = ADZ_NONE;
            continue;
        }
        bool index = spec->fill == FILL_INDEX, mask = spec->fill == FILL_MASK;
        b->layouts[i] = layout_for(spec, layout);
        adz_dtype type = spec->typed ? spec->dtype : index ? ADZ_I64 : mask ? ADZ_BOOL : dtype;
        b->leaves[i] = adz_empty(leaf_shape(spec, b->layouts[i]), type);
        assert_non_null(b->leaves[i]);
        fill(b->leaves[i], spec);
        if (!spec->constant && !index && !mask && !spec->typed) {
            assert_non_null(adz_requires_grad_(b->leaves[i], true));
        }
    }
}

int call_built(const op_case *c, built *b, adz_tensor **out)
{
    for (int i = 0; i < b->args.n; ++i) {
        b->args.in[i] = built_argument(b, i);
    }
    return c->call(&b->args, out);
}

/* ---- forward and backward -------------------------------------------------------------------- */

/* A gradient of normal numbers times 2^exponent for y; NULL on failure. It is a constant of a plan.
 */
static adz_tensor *draw_upstream(adz_tensor *y, int exponent)
{
    int64_t n = adz_tensor_numel(y);
    double *values = malloc((size_t)(n + 1) * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < n; ++i) {
        values[i] = ldexp(normal(), exponent);
    }
    adz_tensor *g = adz_tensor_from(values, adz_tensor_shape(y), ADZ_F64);
    free(values);
    return g != NULL ? adz_to(g, adz_tensor_dtype(y)) : NULL;
}

static bool wants_gradient(const built *b, int i)
{
    return !b->specs[i].none && adz_tensor_requires_grad(b->leaves[i]);
}

bool run_built(const op_case *c, built *b, bool expression, outcome *o)
{
    return run_scaled(c, b, expression, (const int[CASE_RESULTS]){ 0 }, o);
}

bool run_scaled(const op_case *c, built *b, bool expression, const int *exponents, outcome *o)
{
    memset(o, 0, sizeof *o);
    o->n_results = call_built(c, b, o->results);
    if (o->n_results <= 0 || c->not_differentiable) {
        return o->n_results > 0;
    }
    adz_tensor *ys[CASE_RESULTS], *upstream[CASE_RESULTS], *xs[CASE_INPUTS], *found[CASE_INPUTS];
    size_t n_y = 0, n_x = 0;
    random_state = 99;
    for (int k = 0; k < o->n_results; ++k) {
        if (adz_tensor_requires_grad(o->results[k])) {
            ys[n_y] = o->results[k];
            upstream[n_y] = draw_upstream(ys[n_y], exponents[k]);
            if (upstream[n_y++] == NULL) {
                return false;
            }
        }
    }
    for (int i = 0; i < b->args.n; ++i) {
        if (wants_gradient(b, i)) {
            xs[n_x++] = b->leaves[i];
        }
    }
    if (n_y == 0 || n_x == 0) {
        return true;
    }
    adz_backward_options options = ADZ_BACKWARD_OPTIONS;
    options.allow_unused = true;
    options.create_graph = expression;
    if (adz_autograd_grad(ys, upstream, n_y, xs, n_x, &options, found) != ADZ_OK) {
        return false;
    }
    for (int i = 0, j = 0; i < b->args.n; ++i) {
        if (wants_gradient(b, i)) {
            o->gradients[i] = found[j] == ADZ_NONE ? adz_zeros_like(b->leaves[i]) : found[j];
            if (o->gradients[i] == NULL) {
                return false;
            }
            ++j;
        }
    }
    return true;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool same_shape(adz_tensor *a, adz_tensor *b)
{
    adz_shape sa = adz_tensor_shape(a), sb = adz_tensor_shape(b);
    return sa.rank == sb.rank &&
           memcmp(sa.sizes, sb.sizes, (size_t)sa.rank * sizeof *sa.sizes) == 0;
}

double difference(adz_tensor *a, adz_tensor *b, double tiny)
{
    if (a == NULL || b == NULL || !same_shape(a, b)) {
        return INFINITY;
    }
    adz_scope *scope = adz_scope_open();
    bool recording = adz_set_grad_enabled(false);
    const double *va = adz_tensor_data_f64(adz_contiguous(adz_to(a, ADZ_F64)));
    const double *vb = adz_tensor_data_f64(adz_contiguous(adz_to(b, ADZ_F64)));
    adz_set_grad_enabled(recording);
    double worst = 0, largest = 0;
    for (int64_t i = 0, n = adz_tensor_numel(a); i < n; ++i) {
        if (va[i] == vb[i] || (isnan(va[i]) && isnan(vb[i]))) {
            largest = fmax(largest, isfinite(vb[i]) ? fabs(vb[i]) : 0);
            continue;
        }
        double d = fabs(va[i] - vb[i]);
        worst = isfinite(d) ? fmax(worst, d) : INFINITY;
        largest = fmax(largest, isfinite(vb[i]) ? fabs(vb[i]) : 0);
    }
    adz_scope_close(scope);
    return worst / (largest + tiny);
}

bool same_bits(adz_tensor *a, adz_tensor *b)
{
    if (a == NULL || b == NULL || !same_shape(a, b) || adz_tensor_dtype(a) != adz_tensor_dtype(b)) {
        return false;
    }
    adz_scope *scope = adz_scope_open();
    bool recording = adz_set_grad_enabled(false);
    adz_tensor *ca = adz_contiguous(a), *cb = adz_contiguous(b);
    size_t bytes = (size_t)adz_tensor_numel(a) * adz_dtype_size(adz_tensor_dtype(a));
    bool same = memcmp(adz_tensor_data(ca), adz_tensor_data(cb), bytes) == 0;
    adz_set_grad_enabled(recording);
    adz_scope_close(scope);
    return same;
}
