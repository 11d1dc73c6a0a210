/* The normal equations of ridge regression, solved by conjugate gradients. */
#include "ridge.h"

#include <math.h>

/* Solves (gram + penalty I) w = right for a symmetric matrix gram[D, D]: after at most D steps the
 * solution is exact but for rounding. Returns w[D, 1], borrowed from the scope. */
static adz_tensor *solve(adz_tensor *gram, adz_tensor *right, double penalty)
{
    const int64_t n = adz_tensor_size(gram, 0);
    adz_tensor *w = adz_zeros(ADZ_SHAPE(n, 1), ADZ_F64);
    adz_tensor *residual = right, *direction = right;
    double square = adz_item(adz_sum(adz_square(residual), ADZ_ALL_DIMS, ADZ_DROPDIM));
    const double small = 1e-24 * square;
    for (int64_t i = 0; i < 2 * n && square > small; ++i) {
        adz_tensor *image =
            adz_add(adz_matmul(gram, direction), adz_mul_number(direction, penalty));
        const double curvature =
            adz_item(adz_sum(adz_mul(direction, image), ADZ_ALL_DIMS, ADZ_DROPDIM));
        const double step = square / curvature;
        w = adz_add(w, adz_mul_number(direction, step));
        residual = adz_sub(residual, adz_mul_number(image, step));
        const double before = square;
        square = adz_item(adz_sum(adz_square(residual), ADZ_ALL_DIMS, ADZ_DROPDIM));
        direction = adz_add(residual, adz_mul_number(direction, square / before));
    }
    return w;
}

/* Tensor `which` of a dataset in f64: 0 is x, 1 is y. */
static adz_tensor *exact(adz_dataset *rows, size_t which)
{
    return adz_to(adz_dataset_at(rows, which), ADZ_F64);
}

static double rmse_with(const ridge *r, adz_tensor *weight, adz_dataset *rows)
{
    if (rows == NULL || adz_dataset_row_count(rows) == 0) {
        return NAN;
    }
    adz_tensor *z = adz_module_forward(r->inputs, exact(rows, 0));
    adz_tensor *y = adz_add_number(adz_matmul(z, weight), r->intercept);
    return sqrt(adz_item(adz_mse_loss(y, exact(rows, 1), ADZ_REDUCE_MEAN)));
}

ridge fit_ridge(adz_dataset *train, adz_dataset *validation)
{
    static const double penalties[] = { 1, 0.001, 0.01, 0.1, 10, 100, 1000 };
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = exact(train, 0), *y = exact(train, 1);
    ridge r = { .inputs = adz_standardizer_new(adz_tensor_size(x, 1), ADZ_F64) };
    adz_standardizer_fit(r.inputs, x);
    r.intercept = adz_item(adz_mean(y, ADZ_ALL_DIMS, ADZ_DROPDIM));
    ADZ_NO_GRAD
    {
        adz_tensor *z = adz_module_forward(r.inputs, x), *columns = adz_transpose(z, 0, 1);
        adz_tensor *gram = adz_matmul(columns, z);
        adz_tensor *right = adz_matmul(columns, adz_add_number(y, -r.intercept));
        double best = INFINITY;
        for (size_t i = 0; i < sizeof penalties / sizeof *penalties; ++i) {
            adz_tensor *w = solve(gram, right, penalties[i]);
            const double error = rmse_with(&r, w, validation);
            if (r.weight == NULL || error < best) {
                adz_release(&r.weight);
                r.weight = adz_keep(w);
                r.penalty = penalties[i];
                best = error;
            }
        }
    }
    adz_scope_close(scope);
    return r;
}

double ridge_rmse(const ridge *r, adz_dataset *rows)
{
    double error = NAN;
    adz_scope *scope = adz_scope_open();
    ADZ_NO_GRAD
    {
        error = rmse_with(r, r->weight, rows);
    }
    adz_scope_close(scope);
    return error;
}

void free_ridge(ridge *r)
{
    adz_release(&r->weight);
    adz_module_release(&r->inputs);
}
