/* What samples and networks reach in part only: products of all shapes and layouts, reductions of
 * many lengths, functions of special numbers, conversions between all dtypes, and random numbers.
 */
#include "bits.h"

#include <math.h>

/* ---- products -------------------------------------------------------------------------------- */

static void product(hash *h, adz_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    for (int layout = 0; layout < 4; ++layout) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *a = adz_randn(layout & 1 ? ADZ_SHAPE(k, m) : ADZ_SHAPE(m, k), dtype);
        adz_tensor *b = adz_randn(layout & 2 ? ADZ_SHAPE(n, k) : ADZ_SHAPE(k, n), dtype);
        a = layout & 1 ? adz_transpose(a, 0, 1) : a;
        b = layout & 2 ? adz_transpose(b, 0, 1) : b;
        hash_tensor(h, adz_matmul(a, b));
        adz_scope_close(scope);
    }
}

static void products(hash *h, adz_dtype dtype)
{
    static const int64_t sizes[][3] = { { 1, 1, 1 }, { 1, 300, 77 }, { 300, 1, 77 }, { 1, 1, 5000 },
        { 2, 3, 1 }, { 3, 130, 65 }, { 5, 5, 5 }, { 7, 19, 33 }, { 8, 64, 200 }, { 16, 16, 16 },
        { 31, 33, 29 }, { 40, 96, 130 }, { 1, 1000, 300 }, { 1000, 1, 300 }, { 100, 3, 100 },
        { 3, 100, 100 }, { 64, 64, 64 }, { 65, 129, 257 }, { 130, 70, 300 }, { 97, 101, 13 },
        { 16, 48, 700 }, { 200, 200, 1 }, { 260, 140, 90 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        product(h, dtype, sizes[i][0], sizes[i][1], sizes[i][2]);
    }
    hash_tensor(h,
        adz_matmul(adz_randn(ADZ_SHAPE(5, 13, 21), dtype), adz_randn(ADZ_SHAPE(5, 21, 17), dtype)));
}

static void products_of_halves(hash *h, adz_dtype dtype)
{
    for (int half = ADZ_F16; half <= ADZ_BF16; ++half) {
        adz_tensor *x = adz_to(adz_randn(ADZ_SHAPE(45, 70), dtype), (adz_dtype)half);
        adz_tensor *w = adz_to(adz_randn(ADZ_SHAPE(70, 33), dtype), (adz_dtype)half);
        hash_tensor(h, x);
        hash_tensor(h, adz_matmul(adz_to(x, dtype), adz_to(w, dtype)));
    }
}

/* ---- reductions ------------------------------------------------------------------------------ */

static void reduce(hash *h, adz_tensor *x, adz_dims dims)
{
    hash_tensor(h, adz_sum(x, dims, ADZ_DROPDIM));
    hash_tensor(h, adz_mean(x, dims, ADZ_DROPDIM));
    hash_tensor(h, adz_var(x, dims, 1, ADZ_DROPDIM));
    hash_tensor(h, adz_logsumexp(x, dims, ADZ_DROPDIM));
    hash_tensor(h, adz_prod(x, dims, ADZ_DROPDIM));
    hash_tensor(h, adz_amax(x, dims, ADZ_DROPDIM));
    hash_tensor(h, adz_amin(x, dims, ADZ_DROPDIM));
    for (int p = 0; p < 4; ++p) {
        hash_tensor(h, adz_norm(x, p == 3 ? 2.5 : p, dims, ADZ_DROPDIM));
    }
}

static void reductions(hash *h, adz_dtype dtype)
{
    static const int64_t lengths[] = { 1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 23, 31, 33, 47, 63, 65,
        100, 127, 129, 511, 513, 2000 };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *x = adz_randn(ADZ_SHAPE(3, lengths[i]), dtype);
        reduce(h, x, ADZ_DIMS(1));
        reduce(h, adz_randn(ADZ_SHAPE(lengths[i], 3), dtype), ADZ_DIMS(0));
        reduce(h, x, ADZ_ALL_DIMS);
        hash_tensor(h, adz_cumsum(x, 1));
        hash_tensor(h, adz_softmax(x, 1));
        hash_tensor(h, adz_log_softmax(adz_transpose(x, 0, 1), 0));
        hash_tensor(h, adz_sum(adz_mul_number(adz_zeros_like(x), -1), ADZ_DIMS(1), ADZ_DROPDIM));
        adz_scope_close(scope);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Numbers of all sizes and both signs, zeros, infinities, NaN and denormals. Their number is no
 * multiple of a register's lanes. */
static adz_tensor *special_numbers(adz_dtype dtype)
{
    enum { N = 1021 };
    double values[N];
    static const double first[] = { 0.0, INFINITY, NAN, 1e-45, 1e-310, 1e-39, 1.0, 0.5, 88.7, 89,
        103.9, 104, 709.7, 710, 745.2, 1e5, 1e7, 1e22, 1e30, 1e300, 20, 19, 2.0 / 3, 4.0 / 3 };
    enum { FIRST = sizeof first / sizeof *first };
    for (int i = 0; i < N; ++i) {
        const double x = i < 2 * FIRST ? first[i / 2] : ldexp(1 + i / 1024.0, i % 53 - 26);
        values[i] = i % 2 ? -x : x;
    }
    return adz_to(adz_tensor_from(values, ADZ_SHAPE(N), ADZ_F64), dtype);
}

static void functions(hash *h, adz_dtype dtype)
{
    static adz_tensor *(*const all[])(adz_tensor *) = { adz_abs, adz_cos, adz_erf, adz_exp,
        adz_expm1, adz_log, adz_log1p, adz_logsigmoid, adz_reciprocal, adz_rsqrt, adz_sigmoid,
        adz_silu, adz_sin, adz_sqrt, adz_square, adz_tanh, adz_relu };
    adz_tensor *x = special_numbers(dtype);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        hash_tensor(h, all[i](x));
        for (int64_t cut = 1; cut < 20; cut += 3) { /* other tails */
            hash_tensor(h, all[i](adz_slice(x, 0, cut, 5 * cut, 1)));
        }
    }
    hash_tensor(h, adz_gelu(x, ADZ_GELU_NONE));
    hash_tensor(h, adz_gelu(x, ADZ_GELU_TANH));
    adz_tensor *y = adz_flip(x, ADZ_DIMS(0));
    hash_tensor(h, adz_pow(x, y));
    hash_tensor(h, adz_pow(y, adz_to(adz_to(x, ADZ_I32), dtype)));
    hash_tensor(h, adz_add(x, y));
    hash_tensor(h, adz_mul(x, y));
    hash_tensor(h, adz_div(x, y));
    hash_tensor(h, adz_maximum(x, y));
    hash_tensor(h, adz_minimum(x, y));
}

static void conversions(hash *h, adz_dtype dtype)
{
    adz_tensor *x = special_numbers(dtype);
    for (int from = ADZ_F32; from <= ADZ_BF16; ++from) {
        for (int to = ADZ_F32; to <= ADZ_BF16; ++to) {
            hash_tensor(h, adz_to(adz_to(x, (adz_dtype)from), (adz_dtype)to));
        }
    }
}

/* ---- random numbers -------------------------------------------------------------------------- */

static void random_numbers(hash *h, adz_dtype dtype)
{
    static const int64_t sizes[] = { 1, 3, 5, 16, 1000, 2049 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const adz_shape shape = ADZ_SHAPE(sizes[i]);
        hash_tensor(h, adz_rand(shape, dtype));
        hash_tensor(h, adz_randn(shape, dtype));
        hash_tensor(h, adz_randint(-3, 1000, shape, ADZ_I64));
        hash_tensor(h, adz_randperm(sizes[i]));
        hash_tensor(h, adz_bernoulli(0.3, shape, dtype));
        hash_tensor(h, adz_dropout(adz_randn(shape, dtype), 0.4, true, NULL));
    }
    adz_tensor *w = adz_zeros(ADZ_SHAPE(33, 21), dtype);
    hash_tensor(h, adz_init_uniform_(w, -1, 2, NULL));
    hash_tensor(h, adz_init_normal_(w, 1, 2, NULL));
    hash_tensor(h, adz_init_trunc_normal_(w, 0, 1, -2, 1.5, NULL));
    hash_tensor(h, adz_init_trunc_normal_(w, 0, 0.02, 0.1, 2, NULL)); /* far in a tail */
    hash_tensor(h, adz_init_xavier_uniform_(w, 1, NULL));
    hash_tensor(h, adz_init_xavier_normal_(w, 1, NULL));
    hash_tensor(
        h, adz_init_kaiming_uniform_(w, 0.1, ADZ_FAN_IN, ADZ_NONLINEARITY_LEAKY_RELU, NULL));
    hash_tensor(h, adz_init_kaiming_normal_(w, 0, ADZ_FAN_OUT, ADZ_NONLINEARITY_RELU, NULL));
    hash_tensor(h, adz_init_orthogonal_(w, 1, NULL));
}

typedef void (*arithmetic)(hash *h, adz_dtype dtype);

static void run(hash *h, adz_dtype dtype, const void *user)
{
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(31);
    (*(const arithmetic *)user)(h, dtype);
    adz_scope_close(scope);
}

void arithmetic_rows(void)
{
    static const struct {
        const char *name;
        arithmetic compute;
    } rows[] = { { "products", products }, { "halves", products_of_halves },
        { "reductions", reductions }, { "functions", functions }, { "conversions", conversions },
        { "random", random_numbers } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        row("arithmetic", rows[i].name, run, &rows[i].compute);
    }
}
