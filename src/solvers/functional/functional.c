/* Calling a function once, and differentiating its results in both directions. */
#include "solvers/functional/functional.h"

#include <string.h>

#include "adze/options.h"
#include "autograd/engine.h"
#include "base/capture.h"
#include "base/door.h"

static const char *const modes[] = { "auto", "reverse", "forward", NULL };

static const adz_field fields[] = { ADZ_FIELD_AS(
    adz_functional_options, mode, "mode", ADZ_FIELD_ENUM, .values = modes) };

ADZ_OPTIONS_TABLE(adz_functional_options, ADZ_FUNCTIONAL_OPTIONS, fields)

/* ---- checks ---------------------------------------------------------------------------------- */

static bool has_derivatives(const adz_tensor *t)
{
    return t->dtype == ADZ_F32 || t->dtype == ADZ_F64;
}

static bool check_arguments(const adzi_functional *f)
{
    if (f->function == NULL || f->function->call == NULL) {
        adzi_error_null(f->op, "function");
        return false;
    }
    if (f->n < 1 || f->n > ADZ_FUNCTION_INPUTS || f->n_results < 1 ||
        f->n_results > ADZ_FUNCTION_RESULTS) {
        adzi_error(f->op, ADZ_ERR_ARGUMENT,
            "%zu inputs and %zu results; 1 to %d inputs and 1 to %d results are possible", f->n,
            f->n_results, ADZ_FUNCTION_INPUTS, ADZ_FUNCTION_RESULTS);
        return false;
    }
    if (f->inputs == NULL) {
        adzi_error_null(f->op, "inputs");
        return false;
    }
    return true;
}

/* Whether a tensor can be differentiated, or by it. `what` and `k` name it. */
static bool check_float(const adzi_functional *f, const adz_tensor *t, const char *what, size_t k)
{
    if (!adzi_check_tensor(f->op, what, t)) {
        return false;
    }
    if (adzi_is_none(t) || !has_derivatives(t)) {
        adzi_error(f->op, ADZ_ERR_DTYPE, "%s %zu is %s, which has no derivatives; f32 and f64 have",
            what, k, adzi_is_none(t) ? "ADZ_NONE" : adzi_text_shape(t));
        return false;
    }
    return true;
}

static bool same_shape(const adz_tensor *a, const adz_tensor *b)
{
    return a->rank == b->rank &&
           memcmp(a->sizes, b->sizes, (size_t)a->rank * sizeof *a->sizes) == 0;
}

bool adzi_functional_fits(const adzi_functional *f, const adz_tensor *vector, const adz_tensor *t,
    const char *what, size_t k)
{
    if (!adzi_check_tensor(f->op, "a vector", vector)) {
        return false;
    }
    if (vector->dtype != t->dtype || !same_shape(vector, t)) {
        adzi_error(f->op, vector->dtype != t->dtype ? ADZ_ERR_DTYPE : ADZ_ERR_SHAPE,
            "the vector for %s %zu is %s%s, and the %s is %s%s", what, k,
            adz_dtype_name((adz_dtype)vector->dtype), adzi_text_shape(vector), what,
            adz_dtype_name((adz_dtype)t->dtype), adzi_text_shape(t));
        return false;
    }
    return true;
}

/* ---- the call ------------------------------------------------------------------------------- */

/* The tensor that stands for input i. In a graph it is a view that leads to the input, so that what
 * the function does with the input by other ways is a constant. */
static adz_tensor *stand_in(const adzi_functional *f, adz_tensor *t)
{
    if (f->options.create_graph && adzi_requires_grad(t)) {
        return adz_expand(t, adz_shape_of(t->rank, t->sizes));
    }
    adz_tensor *leaf = adz_detach(t);
    if (leaf != NULL) {
        leaf->requires_grad = true;
    }
    return leaf;
}

static bool take_inputs(adzi_functional *f)
{
    for (size_t i = 0; i < f->n; ++i) {
        if (!check_float(f, f->inputs[i], "input", i)) {
            return false;
        }
        f->x[i] = stand_in(f, f->inputs[i]);
        if (f->x[i] == NULL) {
            return false;
        }
    }
    return true;
}

static bool call_function(adzi_functional *f)
{
    const int count = f->function->call(f->x, f->n, f->values, f->function->user);
    if (count <= 0) {
        (void)adzi_status(NULL); /* an error if the function has recorded none */
        return false;
    }
    if ((size_t)count != f->n_results) {
        adzi_error(f->op, ADZ_ERR_ARGUMENT, "the function gave %d results, and %zu were asked for",
            count, f->n_results);
        return false;
    }
    for (size_t k = 0; k < f->n_results; ++k) {
        if (!check_float(f, f->values[k], "result", k)) {
            return false;
        }
    }
    return true;
}

/* The gradients of the function's number, which are what is differentiated. */
static bool differentiate_first(adzi_functional *f)
{
    adz_tensor *y = f->values[0];
    if (y->numel != 1) {
        adzi_error(f->op, ADZ_ERR_SHAPE,
            "the function's result is %s; a second derivative is that of one element",
            adzi_text_shape(y));
        return false;
    }
    adz_backward_options options = ADZ_BACKWARD_OPTIONS;
    options.create_graph = options.allow_unused = true;
    f->n_y = f->n;
    if (adzi_requires_grad(y) &&
        adz_autograd_grad(&y, NULL, 1, f->x, f->n, &options, f->y) != ADZ_OK) {
        return false;
    }
    for (size_t i = 0; i < f->n; ++i) {
        if (!adzi_requires_grad(y) || adzi_is_none(f->y[i])) {
            f->y[i] = adz_zeros_like(f->x[i]);
        }
        if (f->y[i] == NULL) {
            return false;
        }
    }
    return true;
}

static bool take_results(adzi_functional *f)
{
    if (f->second) {
        return differentiate_first(f);
    }
    f->n_y = f->n_results;
    memcpy(f->y, f->values, sizeof f->y);
    return true;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* In which way gradients are computed. */
typedef struct way {
    bool create_graph;
    int64_t directions; /* above 0: for a forward derivative, see adzi_autograd_grad_forward */
} way;

static adz_status differentiate(adzi_tensors outputs, adz_tensor *const *vectors,
    adzi_tensors inputs, adz_tensor **results, way w)
{
    if (w.directions > 0) {
        return adzi_autograd_grad_forward(outputs.items, vectors, outputs.count, inputs.items,
            inputs.count, w.directions, results);
    }
    adz_backward_options options = ADZ_BACKWARD_OPTIONS;
    options.create_graph = w.create_graph;
    options.retain_graph = options.allow_unused = true;
    return adz_autograd_grad(
        outputs.items, vectors, outputs.count, inputs.items, inputs.count, &options, results);
}

/* The gradients of outputs with respect to inputs, with zeros for those that do not exist. Outputs
 * without a graph and vectors that are ADZ_NONE are left out. */
static bool gradients(adzi_tensors outputs, adz_tensor *const *vectors, adzi_tensors inputs,
    adz_tensor **results, way w)
{
    adz_tensor *ys[ADZ_FUNCTION_RESULTS], *vs[ADZ_FUNCTION_RESULTS];
    size_t count = 0;
    for (size_t k = 0; k < outputs.count; ++k) {
        if (!adzi_is_none(outputs.items[k]) && !adzi_is_none(vectors[k]) &&
            adzi_requires_grad(outputs.items[k])) {
            ys[count] = outputs.items[k];
            vs[count++] = vectors[k];
        }
    }
    if (count > 0 && differentiate((adzi_tensors){ ys, count }, vs, inputs, results, w) != ADZ_OK) {
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < inputs.count && good; ++i) {
        if (count == 0 || adzi_is_none(results[i])) {
            results[i] = adz_zeros_like(inputs.items[i]);
        }
        good = results[i] != NULL;
    }
    return good;
}

bool adzi_functional_vjp(adzi_functional *f, adz_tensor *const *vectors, adz_tensor **dx)
{
    return gradients((adzi_tensors){ f->y, f->n_y }, vectors, (adzi_tensors){ f->x, f->n }, dx,
        (way){ f->options.create_graph, 0 });
}

bool adzi_functional_prepare_jvp(adzi_functional *f)
{
    for (size_t k = 0; k < f->n_y; ++k) {
        f->u[k] = adz_zeros_like(f->y[k]);
        if (f->u[k] == NULL) {
            return false;
        }
        f->u[k]->requires_grad = true;
        f->u[k]->is_zero = true;
    }
    const int64_t directions = f->directions > 0 ? f->directions : 1;
    return gradients((adzi_tensors){ f->y, f->n_y }, f->u, (adzi_tensors){ f->x, f->n }, f->dx,
        (way){ true, f->options.create_graph ? 0 : directions });
}

bool adzi_functional_jvp(adzi_functional *f, adz_tensor *const *vectors, adz_tensor **dy)
{
    return gradients((adzi_tensors){ f->dx, f->n }, vectors, (adzi_tensors){ f->u, f->n_y }, dy,
        (way){ f->options.create_graph, 0 });
}

/* Whether the elements of t at `data` and behind it along the dimensions from `dim` on are 0. */
static bool is_zero_from(const adz_tensor *t, int dim, const char *data)
{
    if (dim == t->rank) {
        return t->dtype == ADZ_F64 ? *(const double *)(const void *)data == 0
                                   : *(const float *)(const void *)data == 0;
    }
    const int64_t step = t->strides[dim] * (int64_t)adzi_item_size(t);
    bool zero = true;
    for (int64_t i = 0; i < t->sizes[dim] && zero; ++i) {
        zero = is_zero_from(t, dim + 1, data + i * step);
    }
    return zero;
}

bool adzi_functional_is_zero(const adz_tensor *dy)
{
    const adzi_thread *thread = adzi_self();
    return adzi_capture_of(thread) == NULL && thread->tracer == NULL &&
           is_zero_from(dy, 0, dy->data);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Takes references of what the caller gets, without its graph unless one is wanted. The last ones
 * are the values. False with nothing taken. */
static bool take_found(const adzi_functional *f, adz_tensor **kept, size_t n_kept)
{
    for (size_t k = 0; k < n_kept; ++k) {
        adz_tensor *t = k < f->n_found ? f->found[k] : f->values[k - f->n_found];
        kept[k] =
            t == NULL || f->options.create_graph || !adzi_requires_grad(t) ? t : adz_detach(t);
        if (kept[k] == NULL) {
            return false;
        }
    }
    for (size_t k = 0; k < n_kept; ++k) {
        adzi_retain(kept[k]);
    }
    return true;
}

/* Ends the wish for gradients of the leaves of this call. They stay in the graphs that it has made,
 * but are none of the program's leaves. */
static void retire_leaves(adzi_functional *f)
{
    for (size_t i = 0; i < f->n; ++i) {
        if (f->x[i] != NULL) {
            f->x[i]->requires_grad = false;
        }
    }
    for (size_t k = 0; k < f->n_y; ++k) {
        if (f->u[k] != NULL) {
            f->u[k]->requires_grad = false;
        }
    }
}

/* What is computed behind the door. */
typedef struct computation {
    adzi_functional *f;
    bool (*work)(adzi_functional *f);
    adz_tensor *kept[ADZI_FUNCTIONAL_FOUND + ADZ_FUNCTION_RESULTS];
    size_t n_kept;
} computation;

static bool compute(void *state)
{
    computation *c = state;
    adzi_functional *f = c->f;
    adzi_thread *thread = adzi_self();
    const size_t mark = thread->n_temporaries;
    bool good = take_inputs(f) && call_function(f) && take_results(f) && c->work(f);
    c->n_kept = f->n_found + (f->options.results != NULL ? f->n_results : 0);
    good = good && take_found(f, c->kept, c->n_kept);
    retire_leaves(f);
    adzi_scope_unwind(thread, mark);
    return good;
}

adz_status adzi_functional_run(adzi_functional *f, const adz_functional_options *options,
    bool (*work)(adzi_functional *f), adz_tensor **out)
{
    const adzi_door door = { .op = f->op, .mode = ADZI_DOOR_RECORDS };
    computation c = { .f = f, .work = work };
    if (!adz_options_take(f->op, &adz_functional_options_table, &f->options, options) ||
        !check_arguments(f)) {
        return adzi_status(NULL);
    }
    if (out == NULL) {
        return adzi_error_null(f->op, "the array for the derivatives");
    }
    adzi_thread *thread = adzi_self();
    adzi_settle(thread);
    if (!adzi_through_door(&door, compute, &c)) {
        return adzi_status(NULL);
    }
    if (!adzi_scope_reserve(thread, c.n_kept)) {
        for (size_t k = 0; k < c.n_kept; ++k) {
            adzi_drop(c.kept[k]);
        }
        adzi_fail_memory(f->op, c.n_kept * sizeof(adz_tensor *));
        return adzi_status(NULL);
    }
    for (size_t k = 0; k < c.n_kept; ++k) {
        adz_tensor **to = k < f->n_found ? &out[k] : &f->options.results[k - f->n_found];
        *to = adzi_borrow(thread, c.kept[k]);
    }
    return ADZ_OK;
}

int adzi_single_call(adz_tensor *const *inputs, size_t n, adz_tensor **results, void *single)
{
    const adzi_single *s = single;
    (void)n;
    results[0] = s->function(inputs[0], s->user);
    return results[0] != NULL;
}

bool adzi_single_check(const char *op, adz_tensor_map function)
{
    if (function == NULL) {
        adzi_error_null(op, "function");
    }
    return function != NULL;
}
