/* Compares the results and derivatives of a function in f32 with those in f64. Elements are
 * compared one by one, the derivatives by one backward per element of each output. */
#include "autograd/gradcheck.h"

#include <math.h>

#include "autograd/op.h"
#include "autograd/operators.h"

enum { MAX_OUTPUTS = 16 };

static const char op[] = "gradcheck";

/* One evaluation of the function. The lists have n elements each, of which `leaves` and `gradients`
 * use the first n_leaves. */
typedef struct {
    adz_tensor **inputs, **leaves, **gradients;
    adz_tensor *outputs[MAX_OUTPUTS];
    int count;
} run;

typedef struct {
    size_t n, n_leaves, elements, nonzero;
    size_t *positions; /* leaf i is input positions[i] */
    run single, wide;
    double tolerance, worst; /* `worst` is the largest error so far, divided by the allowed error */
    adz_gradcheck_report report;
} pair;

static double element(const adz_tensor *t, int64_t i)
{
    return t->dtype == ADZ_F32 ? (double)((const float *)(const void *)t->data)[i]
                               : ((const double *)(const void *)t->data)[i];
}

/* Keeps the worst number of both runs, which are `analytic` in f32 and `numeric` in f64. */
static void compare(pair *p, adz_gradcheck_report found)
{
    const double single = found.analytic, wide = found.numeric;
    bool same = single == wide || (isnan(single) && isnan(wide));
    double error = same ? 0 : fabs(single - wide);
    error = isnan(error) ? INFINITY : error;
    double ratio = same ? 0 : error / (p->tolerance * fmax(1, isfinite(wide) ? fabs(wide) : 1));
    if (ratio > p->worst) {
        p->worst = ratio;
        p->report = found;
        p->report.error = error;
    }
}

/* Makes the inputs of both runs. An f64 input is rounded to f32, and widened again for the f64 run.
 * A copy of an input that wants a gradient becomes a leaf. */
static bool round_inputs(pair *p, adz_tensor *const *inputs)
{
    for (size_t i = 0; i < p->n; ++i) {
        adz_tensor *t = inputs[i];
        p->single.inputs[i] = p->wide.inputs[i] = t;
        if (adzi_is_none(t) || t->dtype != ADZ_F64) {
            continue;
        }
        adz_tensor *single = adz_to(adz_detach(t), ADZ_F32), *wide = adz_to(single, ADZ_F64);
        if (wide == NULL) {
            return false;
        }
        p->single.inputs[i] = single;
        p->wide.inputs[i] = wide;
        if (adzi_requires_grad(t)) {
            p->single.leaves[p->n_leaves] = adz_requires_grad_(single, true);
            p->wide.leaves[p->n_leaves] = adz_requires_grad_(wide, true);
            p->positions[p->n_leaves++] = i;
        }
    }
    return true;
}

static bool call(const adz_gradcheck_function *function, run *r, size_t n)
{
    r->count = function->call(r->inputs, n, r->outputs, function->user);
    if (r->count > MAX_OUTPUTS) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "the function gave %d outputs; at most %d are checked",
            r->count, MAX_OUTPUTS);
        return false;
    }
    return r->count > 0 || adzi_status(NULL) == ADZ_OK;
}

/* Computes the gradients of element j of output k, made contiguous. The gradient of a leaf on which
 * the output does not depend is ADZ_NONE. */
static bool differentiate(run *r, int k, int64_t j, size_t n_leaves)
{
    adz_tensor *y = r->outputs[k], *upstream = adz_zeros_like(y);
    if (upstream == NULL) {
        return false;
    }
    if (y->dtype == ADZ_F32) {
        ((float *)(void *)upstream->data)[j] = 1;
    } else {
        ((double *)(void *)upstream->data)[j] = 1;
    }
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = o.allow_unused = true;
    if (adz_autograd_grad(&y, &upstream, 1, r->leaves, n_leaves, &o, r->gradients) != ADZ_OK) {
        return false;
    }
    for (size_t i = 0; i < n_leaves; ++i) {
        if (!adzi_is_none(r->gradients[i])) {
            r->gradients[i] = adz_contiguous(r->gradients[i]);
        }
        if (r->gradients[i] == NULL) {
            return false;
        }
    }
    return true;
}

static double gradient_element(const run *r, size_t i, int64_t e)
{
    return adzi_is_none(r->gradients[i]) ? 0 : element(r->gradients[i], e);
}

/* Compares the gradients of element j of output k between both runs. */
static bool compare_row(pair *p, int k, int64_t j)
{
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return false;
    }
    bool ok =
        differentiate(&p->single, k, j, p->n_leaves) && differentiate(&p->wide, k, j, p->n_leaves);
    for (size_t i = 0; ok && i < p->n_leaves; ++i) {
        for (int64_t e = 0; e < p->wide.leaves[i]->numel; ++e) {
            double single = gradient_element(&p->single, i, e);
            compare(p, (adz_gradcheck_report){ .input = p->positions[i],
                           .index = e,
                           .output = (size_t)k,
                           .output_index = j,
                           .analytic = single,
                           .numeric = gradient_element(&p->wide, i, e) });
            ++p->elements;
            p->nonzero += single != 0 ? 1 : 0;
        }
    }
    adz_scope_close(scope);
    return ok;
}

/* Compares output k and its derivatives. False with the error recorded, but not for a difference,
 * which check_agreement() reports. */
static bool compare_output(pair *p, int k)
{
    const adz_tensor *y = p->single.outputs[k], *wide = p->wide.outputs[k];
    if (y == NULL || wide == NULL || adzi_is_none(y) || adzi_is_none(wide) ||
        wide->dtype != ADZ_F64) {
        return true; /* the output was left out, or its dtype has no derivative */
    }
    if (y->dtype != ADZ_F32 || !adzi_same_sizes(y, wide)) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "output %d%s is %s for f32 inputs, but float64%s for f64 inputs: it has to be float32 of that shape",
            k, adzi_text_shape(y), adz_dtype_name((adz_dtype)y->dtype), adzi_text_shape(wide));
        return false;
    }
    adz_tensor *flat[] = { adz_contiguous(p->single.outputs[k]),
        adz_contiguous(p->wide.outputs[k]) };
    if (flat[0] == NULL || flat[1] == NULL) {
        return false;
    }
    for (int64_t j = 0; j < y->numel; ++j) {
        compare(p, (adz_gradcheck_report){ .index = -1,
                       .output = (size_t)k,
                       .output_index = j,
                       .analytic = element(flat[0], j),
                       .numeric = element(flat[1], j) });
    }
    if (!adzi_requires_grad(wide)) {
        return true;
    }
    if (!adzi_requires_grad(y)) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "output %d wants a gradient for f64 inputs, but not for f32 inputs", k);
        return false;
    }
    for (int64_t j = 0; j < y->numel; ++j) {
        if (!compare_row(p, k, j)) {
            return false;
        }
    }
    return true;
}

static adz_status check_agreement(const pair *p)
{
    const adz_gradcheck_report *r = &p->report;
    if (p->worst <= 1) {
        return ADZ_OK;
    }
    const char *single = adzi_text_number(r->analytic), *wide = adzi_text_number(r->numeric);
    if (r->index < 0) {
        return adzi_error(op, ADZ_ERR_NUMERIC,
            "in f32, output %zu, element %lld is %s, but %s in f64: difference %s", r->output,
            (long long)r->output_index, single, wide, adzi_text_number(r->error));
    }
    return adzi_error(op, ADZ_ERR_NUMERIC,
        "in f32, input %zu, element %lld, against output %zu, element %lld: derivative %s, but %s in f64: difference %s",
        r->input, (long long)r->index, r->output, (long long)r->output_index, single, wide,
        adzi_text_number(r->error));
}

static adz_status check(pair *p, const adz_gradcheck_function *function, adz_tensor *const *inputs)
{
    bool ok = round_inputs(p, inputs) && call(function, &p->single, p->n) &&
              call(function, &p->wide, p->n);
    if (ok && p->single.count != p->wide.count) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "the function gave %d outputs for f32 inputs, but %d for f64 inputs", p->single.count,
            p->wide.count);
    }
    for (int k = 0; ok && k < p->wide.count; ++k) {
        ok = compare_output(p, k);
    }
    return ok ? check_agreement(p) : adzi_status(NULL);
}

adz_status adzi_gradcheck_f32(const adz_gradcheck_function *function, adz_tensor *const *inputs,
    size_t n, double tolerance, adz_gradcheck_report *report)
{
    size_t bytes = n * (6 * sizeof(adz_tensor *) + sizeof(size_t));
    adz_tensor **lists = adzi_alloc(bytes);
    adz_scope *scope = lists != NULL ? adz_scope_open() : NULL;
    if (scope == NULL) {
        adzi_free(lists, bytes);
        if (lists == NULL) {
            adzi_fail_memory(op, bytes);
        }
        return adzi_status(NULL);
    }
    pair p = { .n = n,
        .positions = (size_t *)(void *)(lists + 6 * n),
        .single = { .inputs = lists, .leaves = lists + n, .gradients = lists + 2 * n },
        .wide = { .inputs = lists + 3 * n, .leaves = lists + 4 * n, .gradients = lists + 5 * n },
        .tolerance = tolerance };
    bool recording = adz_set_grad_enabled(true);
    adz_status status = check(&p, function, inputs);
    adz_set_grad_enabled(recording);
    adz_scope_close(scope);
    adzi_free(lists, bytes);
    p.elements += report->elements;
    p.nonzero += report->nonzero;
    *report = p.worst > 1 ? p.report : *report;
    report->elements = p.elements;
    report->nonzero = p.nonzero;
    return status;
}
