#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/matrix_exp.kernel.h"
#include "ops/linalg/decomposition/scale.h"

/* Exponentials of matrices, torch.linalg.matrix_exp.
 *
 *     y = I + a + a^2 / 2 + a^3 / 6 + ...
 *     da = the upper right block of exp [a^T dy]
 *                                       [0  a^T]
 *
 * The gradient is the same operator of a larger matrix, so it can be differentiated again. dy is
 * scaled to a norm of about 1: the norm of the larger matrix decides how often it is halved, and
 * each halving too many costs digits. The node saves a. */

KERNEL_TABLE_FLOAT(matrix_exp);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *a = adzi_saved_input(node, 0), *t = a != NULL ? adzi_mt(a) : NULL;
    adz_tensor *zeros = t != NULL ? adz_zeros(adz_tensor_shape(t), (adz_dtype)t->dtype) : NULL;
    adz_tensor *size = zeros != NULL ? adzi_exponent(dy[0]) : NULL;
    if (size == NULL) {
        return adzi_status(NULL);
    }
    const int64_t n = adzi_columns(a);
    int digits = 1;
    for (int64_t left = n; left > 1; left = (left + 1) / 2) {
        ++digits; /* a row has the sum of n elements */
    }
    size = adz_add_number(size, digits);
    adz_tensor *upper[] = { t, adzi_unscale(dy[0], size) }, *lower[] = { zeros, t };
    if (upper[1] == NULL) {
        return adzi_status(NULL);
    }
    adz_tensor *rows[] = { adz_cat(upper, 2, -1), adz_cat(lower, 2, -1) };
    adz_tensor *block = rows[0] != NULL && rows[1] != NULL ? adz_cat(rows, 2, -2) : NULL;
    adz_tensor *y = block != NULL ? adz_matrix_exp(block) : NULL;
    dx[0] = y != NULL ? adzi_ldexp(adz_narrow(adz_narrow(y, -2, 0, n), -1, n, n), size) : NULL;
    return adzi_status(dx[0]);
}

/* Takes memory for the workers. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    adzi_matrix_exp_args *args = block;
    const adz_tensor *a = in[0];
    const int64_t n = adzi_columns(a), size = (int64_t)adz_dtype_size((adz_dtype)a->dtype);
    (void)call;
    *args = (adzi_matrix_exp_args){ .a = a->data, .y = y[0]->data, .n = n };
    const adzi_work work = { .batch = n > 0 ? adzi_batch_count(a) : 0,
        .bytes = (ADZI_EXP_MATRICES * n * n + 16) * size + n * (int64_t)sizeof(int64_t),
        .multiplies = 10 * (double)n * (double)n * (double)n,
        .together = 1 };
    return adzi_workers_begin("matrix_exp", &args->workers, work);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const adzi_matrix_exp_args *args = block;
    (void)y;
    adzi_launch(
        KERNEL_FOR(matrix_exp, in[0]->dtype), adzi_matrix_exp_args, args, args->workers.count, 1);
}

static void release(void *block)
{
    adzi_workers_end(&((adzi_matrix_exp_args *)block)->workers);
}

const adzi_op adzi_op_matrix_exp = {
    .name = "matrix_exp", .backward = backward, .saved_inputs = 1u << 0
};

adz_tensor *adz_matrix_exp(adz_tensor *a)
{
    static const adzi_steps steps = {
        .check = adzi_check_square, .prepare = prepare, .launch = launch, .release = release
    };
    return ADZI_RUN_STEPS(&adzi_op_matrix_exp, steps, &(adzi_matrix_exp_args){ .n = 0 }, a);
}
