/* Jacobians and Hessians, pass by pass. A pass has the vector that is 1 in one element, or in one
 * column if the rows of the function do not depend on each other, and 0 elsewhere. */
#include <math.h>

#include "solvers/functional/functional.h"
#include "base/capture.h"
#include "tensor/copy.h"

/* How many passes a tensor needs: one for each element, or for each column. */
static int64_t passes_of(const adzi_functional *f, const adz_tensor *t)
{
    return f->rows ? t->sizes[1] : t->numel;
}

static int64_t passes_of_all(const adzi_functional *f, adz_tensor *const *tensors, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; ++i) {
        sum += passes_of(f, tensors[i]);
    }
    return sum;
}

/* 2 n - 1 numbers, of which the middle one is 1 and the others 0. Each vector of n elements of
 * which one is 1 is a slice of it. The host writes them, so a plan has no launches for them. */
static adz_tensor *slices_for(const adzi_functional *f, const adz_tensor *t, int64_t n)
{
    const int64_t size = n > 0 ? 2 * n - 1 : 0;
    const size_t item = adzi_item_size(t);
    const adz_tensor *numbers = adzi_scratch(f->op, (adz_dtype)t->dtype, 1, &size);
    if (numbers == NULL) {
        return NULL;
    }
    for (int64_t i = 0; i < size; ++i) {
        adzi_encode((adz_dtype)t->dtype, i == n - 1, numbers->data + (size_t)i * item);
    }
    return adz_tensor_from(numbers->data, ADZ_SHAPE(size), (adz_dtype)t->dtype);
}

/* The vector of pass `e` of n for t. */
static adz_tensor *vector_of(
    const adzi_functional *f, const adz_tensor *t, adz_tensor *slices, int64_t n, int64_t e)
{
    adz_tensor *one = adz_narrow(slices, 0, n - 1 - e, n);
    const adz_shape shape = adz_shape_of(t->rank, t->sizes);
    if (!f->rows) {
        return adz_reshape(one, shape);
    }
    adz_tensor *rows = adz_expand(one, shape);
    if (rows != NULL) {
        rows->is_unit = true;
    }
    return rows;
}

/* ---- the passes ------------------------------------------------------------------------------ */

typedef bool (*pass)(adzi_functional *f, adz_tensor *const *vectors, adz_tensor **found);

/* Makes the passes of tensor k of those on one side: of the results in reverse, of the inputs
 * forward. list[j * count + e] receives what pass e gives for tensor j on the other side. */
static bool make_passes(adzi_functional *f, bool forward, size_t k, adz_tensor **list)
{
    const pass go = forward ? adzi_functional_jvp : adzi_functional_vjp;
    adz_tensor *const *from = forward ? f->x : f->y;
    const size_t n = forward ? f->n : f->n_y, m = forward ? f->n_y : f->n;
    adz_tensor *vectors[ADZ_FUNCTION_INPUTS], *found[ADZ_FUNCTION_INPUTS];
    const int64_t count = passes_of(f, from[k]);
    adz_tensor *slices = slices_for(f, from[k], count);
    for (size_t i = 0; i < n; ++i) {
        vectors[i] = ADZ_NONE;
    }
    for (int64_t e = 0; e < count; ++e) {
        vectors[k] = vector_of(f, from[k], slices, count, e);
        if (vectors[k] == NULL || !go(f, vectors, found)) {
            return false;
        }
        for (size_t j = 0; j < m; ++j) {
            list[(int64_t)j * count + e] = found[j];
        }
    }
    return true;
}

/* The Jacobian of result k by input i from its slices, which are stacked along `dim`. */
static bool join(adzi_functional *f, size_t k, size_t i, adzi_tensors slices, int dim)
{
    const adz_tensor *y = f->y[k], *x = f->x[i];
    adz_tensor **found = &f->found[k * f->n + i];
    int64_t sizes[2 * ADZ_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < y->rank; ++d) {
        sizes[rank++] = y->sizes[d];
    }
    for (int d = f->rows ? 1 : 0; d < x->rank; ++d) {
        sizes[rank++] = x->sizes[d];
    }
    if (rank > ADZ_MAX_RANK) {
        adzi_error(f->op, ADZ_ERR_SHAPE,
            "the derivative of %s by %s would have %d dimensions; at most %d are possible",
            adzi_text_shape(y), adzi_text_shape(x), rank, ADZ_MAX_RANK);
        return false;
    }
    const adz_shape shape = adz_shape_of(rank, sizes);
    if (slices.count == 0) {
        *found = adz_zeros(shape, (adz_dtype)y->dtype);
    } else {
        adz_tensor *joined = adz_stack(slices.items, slices.count, dim);
        *found = joined != NULL ? adz_reshape(joined, shape) : NULL;
    }
    return *found != NULL;
}

/* Memory for `count` pointers, which ends with the call. */
static adz_tensor **pointers(const adzi_functional *f, int64_t count)
{
    const int64_t size = count > 0 ? count * (int64_t)sizeof(adz_tensor *) : 1;
    adz_tensor *memory = adzi_scratch(f->op, ADZ_U8, 1, &size);
    return memory != NULL ? (adz_tensor **)(void *)memory->data : NULL;
}

static bool reverse(adzi_functional *f)
{
    for (size_t k = 0; k < f->n_y; ++k) {
        const int64_t count = passes_of(f, f->y[k]);
        adz_tensor **list = pointers(f, count * (int64_t)f->n);
        if (list == NULL || !make_passes(f, false, k, list)) {
            return false;
        }
        for (size_t i = 0; i < f->n; ++i) {
            const adzi_tensors slices = { list + (int64_t)i * count, (size_t)count };
            if (!join(f, k, i, slices, f->rows ? 1 : 0)) {
                return false;
            }
        }
    }
    return true;
}

static bool forward(adzi_functional *f)
{
    f->directions = passes_of_all(f, f->x, f->n);
    bool good = adzi_functional_prepare_jvp(f);
    for (size_t i = 0; i < f->n && good; ++i) {
        const int64_t count = passes_of(f, f->x[i]);
        adz_tensor **list = pointers(f, count * (int64_t)f->n_y);
        good = list != NULL && make_passes(f, true, i, list);
        for (size_t k = 0; k < f->n_y && good; ++k) {
            const adzi_tensors slices = { list + (int64_t)k * count, (size_t)count };
            good = join(f, k, i, slices, f->y[k]->rank);
        }
    }
    return good;
}

bool adzi_functional_jacobian(adzi_functional *f)
{
    const bool fewer = passes_of_all(f, f->x, f->n) < passes_of_all(f, f->y, f->n_y);
    f->n_found = f->n_y * f->n;
    return f->options.mode == ADZ_JACOBIAN_FORWARD ||
                   (f->options.mode == ADZ_JACOBIAN_AUTO && fewer)
               ? forward(f)
               : reverse(f);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool check_rows_of(
    const adzi_functional *f, adz_tensor *const *tensors, size_t n, const char *what)
{
    const adz_tensor *first = f->inputs[0];
    for (size_t i = 0; i < n; ++i) {
        if (tensors[i]->rank != 2 || tensors[i]->sizes[0] != first->sizes[0]) {
            adzi_error(f->op, ADZ_ERR_SHAPE,
                "%s %zu is %s, but it must be a matrix with a row for each row of input 0, %s",
                what, i, adzi_text_shape(tensors[i]), adzi_text_shape(first));
            return false;
        }
    }
    return true;
}

/* Numbers that differ from row to row, and from column to column. */
static adz_tensor *weights(const adz_tensor *y, int dim)
{
    int64_t sizes[] = { dim == 0 ? y->sizes[0] : 1, dim == 0 ? 1 : y->sizes[1] };
    const int64_t n = y->sizes[dim];
    adz_tensor *w = adz_cos(adz_arange(1, (double)n + 1, 1, ADZ_F64));
    return adz_reshape(adz_to(w, (adz_dtype)y->dtype), adz_shape_of(2, sizes));
}

/* How much the gradient of input i by weighted rows differs from the weighted Jacobians, as a part
 * of their largest element. */
static double mixing(adzi_functional *f, size_t i, adz_tensor *dx)
{
    adz_tensor *wanted = adz_zeros_like(dx);
    for (size_t k = 0; k < f->n_y; ++k) {
        const adz_tensor *y = f->y[k];
        adz_tensor *w = adz_mul(weights(y, 0), weights(y, 1)); /* [N, M] */
        adz_tensor *j = adz_mul(f->found[k * f->n + i], adz_unsqueeze(w, -1));
        wanted = adz_add(wanted, adz_sum(j, ADZ_DIMS(1), ADZ_DROPDIM));
    }
    adz_tensor *difference = adz_amax(adz_abs(adz_sub(dx, wanted)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *size = adz_amax(adz_abs(wanted), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return difference != NULL && size != NULL ? adz_item(difference) / fmax(adz_item(size), 1e-30)
                                              : NAN;
}

/* The gradient of rows with different weights must be the weighted Jacobian, which is a sum over
 * rows if they depend on each other. */
static bool check_independent(adzi_functional *f)
{
    adz_tensor *vectors[ADZ_FUNCTION_RESULTS], *dx[ADZ_FUNCTION_INPUTS];
    if (adzi_is_captured(f->op, "check_rows reads elements on the host")) {
        return false;
    }
    for (size_t k = 0; k < f->n_y; ++k) {
        vectors[k] = adz_mul(weights(f->y[k], 0), weights(f->y[k], 1));
        if (vectors[k] == NULL) {
            return false;
        }
    }
    if (!adzi_functional_vjp(f, vectors, dx)) {
        return false;
    }
    for (size_t i = 0; i < f->n; ++i) {
        const double part = f->x[i]->numel > 0 ? mixing(f, i, dx[i]) : 0;
        const double allowed = f->x[i]->dtype == ADZ_F64 ? 1e-9 : 1e-4;
        if (isnan(part) || part > allowed) {
            adzi_error(f->op, ADZ_ERR_ARGUMENT,
                "the rows of the function depend on each other: with weights for the rows, the gradient of input %zu differs by %g of its size; use adz_jacobian",
                i, part);
            return false;
        }
    }
    return true;
}

static bool jacobian_by_rows(adzi_functional *f)
{
    return check_rows_of(f, f->inputs, f->n, "input") && check_rows_of(f, f->y, f->n_y, "result") &&
           adzi_functional_jacobian(f) &&
           (!f->options.check_rows || f->x[0]->sizes[0] < 2 || check_independent(f));
}

/* ---- the public functions -------------------------------------------------------------------- */

adz_status adz_jacobian_many(const adz_tensor_function *function, adz_tensor *const *inputs,
    size_t n, size_t n_results, const adz_functional_options *options, adz_tensor **jacobians)
{
    adzi_functional f = { .op = "adz_jacobian_many",
        .function = function,
        .inputs = inputs,
        .n = n,
        .n_results = n_results };
    return adzi_functional_run(&f, options, adzi_functional_jacobian, jacobians);
}

adz_status adz_jacobian_rows_many(const adz_tensor_function *function, adz_tensor *const *inputs,
    size_t n, size_t n_results, const adz_functional_options *options, adz_tensor **jacobians)
{
    adzi_functional f = { .op = "adz_jacobian_rows_many",
        .function = function,
        .inputs = inputs,
        .n = n,
        .n_results = n_results,
        .rows = true };
    return adzi_functional_run(&f, options, jacobian_by_rows, jacobians);
}

adz_status adz_hessian_many(const adz_tensor_function *function, adz_tensor *const *inputs,
    size_t n, const adz_functional_options *options, adz_tensor **hessians)
{
    adzi_functional f = { .op = "adz_hessian_many",
        .function = function,
        .inputs = inputs,
        .n = n,
        .n_results = 1,
        .second = true };
    return adzi_functional_run(&f, options, adzi_functional_jacobian, hessians);
}

/* One of the three for a function of one tensor. */
static adz_tensor *run_single(adzi_functional *f, adz_tensor_map map, adz_tensor *x, void *user,
    const adz_functional_options *options)
{
    adzi_single single = { map, user };
    const adz_tensor_function function = { adzi_single_call, &single };
    adz_tensor *found = NULL;
    f->function = &function;
    f->inputs = &x;
    f->n = f->n_results = 1;
    return adzi_single_check(f->op, map) &&
                   adzi_functional_run(f, options,
                       f->rows ? jacobian_by_rows : adzi_functional_jacobian, &found) == ADZ_OK
               ? found
               : NULL;
}

adz_tensor *adz_jacobian(
    adz_tensor_map function, void *user, adz_tensor *x, const adz_functional_options *options)
{
    adzi_functional f = { .op = "adz_jacobian" };
    return run_single(&f, function, x, user, options);
}

adz_tensor *adz_jacobian_rows(
    adz_tensor_map function, void *user, adz_tensor *x, const adz_functional_options *options)
{
    adzi_functional f = { .op = "adz_jacobian_rows", .rows = true };
    return run_single(&f, function, x, user, options);
}

adz_tensor *adz_hessian(
    adz_tensor_map function, void *user, adz_tensor *x, const adz_functional_options *options)
{
    adzi_functional f = { .op = "adz_hessian", .second = true };
    return run_single(&f, function, x, user, options);
}
