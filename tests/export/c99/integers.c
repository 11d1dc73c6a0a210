/* Integers and bools in compiled functions: the least and the largest, and those that no float
 * holds. */
#include "batch.h"
#include "tests.h"

static const int32_t integers[] = { 0, 1, -1, 2, -7, 127, 255, 256, 16777217, -16777217, INT32_MAX,
    INT32_MIN, INT32_MIN + 1 };
enum { INTEGERS = sizeof integers / sizeof *integers };
static const unsigned char bytes[] = { 0, 1, 2, 3, 127, 128, 254, 255 };
static const unsigned char bools[] = { 0, 1, 1, 0 };

CASE(threshold, adz_threshold(x, 2, 77))
CASE(infinite_of, adz_isinf(x))
CASE(sign_of, adz_signbit(x))
CASE(step_of, adz_heaviside(x, z))
CASE(bits_and, adz_bitwise_and(x, z))
CASE(bits_or, adz_bitwise_or(x, z))
CASE(bits_xor, adz_bitwise_xor(x, z))
CASE(bits_not, adz_bitwise_not(x))
CASE(bits_left, adz_bitwise_left_shift(x, z))
CASE(bits_right, adz_bitwise_right_shift(x, z))
CASE(divisor, adz_gcd(x, z))
CASE(floor_quotient, adz_floor_divide(x, adz_where(adz_eq_number(z, 0), x, z)))
CASE(floor_number, adz_floor_divide_number(x, 7))
CASE(multiple, adz_lcm(x, z))

/* The pairs of all elements: [n, n] for x, and for z the other one of each pair. */
static void pair_up(adz_tensor *elements, adz_tensor **x, adz_tensor **z)
{
    const int64_t n = adz_tensor_numel(elements);
    *z = adz_contiguous(adz_expand(elements, ADZ_SHAPE(n, n)));
    *x = adz_contiguous(adz_transpose(*z, 0, 1));
}

/* ---- elementwise ----------------------------------------------------------------------------- */

CASE(add, adz_add(x, z))
CASE(add_scaled, adz_add_scaled(x, z, 3))
CASE(sub, adz_sub(x, z))
CASE(sub_number, adz_sub_number(x, 5))
CASE(number_sub, adz_number_sub(100, x))
CASE(mul, adz_mul(x, z))
CASE(mul_number, adz_mul_number(x, 3))
CASE(divide, adz_div(x, z))
CASE(divide_number, adz_div_number(x, 3))
CASE(addcmul, adz_addcmul(x, x, z, 7))
CASE(negative, adz_neg(x))
CASE(magnitude, adz_abs(x))
CASE(square, adz_square(x))
CASE(reciprocal, adz_reciprocal(x))
CASE(power, adz_pow(x, z))
CASE(power_2, adz_pow_number(x, 2))
CASE(power_3, adz_pow_number(x, 3))
CASE(power_9, adz_pow_number(x, 9))
CASE(maximum, adz_maximum(x, z))
CASE(minimum, adz_minimum(x, z))
CASE(clamp, adz_clamp(x, 1, 200))
CASE(clamp_crossed, adz_clamp(x, 9, 3))
CASE(clamp_up, adz_clamp(x, 2, INFINITY))
CASE(clamp_down, adz_clamp(x, -INFINITY, 100))
CASE(clamp_open, adz_clamp(x, -INFINITY, INFINITY))
CASE(clamp_wide, adz_clamp(x, -5e9, 5e9))
CASE(clamp_fraction, adz_clamp(x, 0.5, 100.5))
CASE(relu, adz_relu(x))
CASE(nan_of, adz_isnan(x))
CASE(finite_of, adz_isfinite(x))
CASE(not_of, adz_logical_not(x))
CASE(and_of, adz_logical_and(x, z))
CASE(or_of, adz_logical_or(x, z))
CASE(xor_of, adz_logical_xor(x, z))
CASE(eq, adz_eq(x, z))
CASE(ne, adz_ne(x, z))
CASE(lt, adz_lt(x, z))
CASE(ge_number, adz_ge_number(x, 1))
CASE(to_bool, adz_to(x, ADZ_BOOL))
CASE(to_u8, adz_to(x, ADZ_U8))
CASE(to_f32, adz_to(x, ADZ_F32))
CASE(to_i64, adz_to(x, ADZ_I64))
CASE(where, adz_where(adz_to(x, ADZ_BOOL), x, z))
CASE(masked_fill, adz_masked_fill(x, adz_to(z, ADZ_BOOL), 101))
CASE(filled, adz_add(adz_fill_(adz_zeros_like(x), 99), x))
CASE(pad, adz_pad(x, (int64_t[]){ 1, 2 }, 2, 103))
CASE(wide, adz_mul_number(adz_to(x, ADZ_F32), 0.5))

/* Cases that bools cannot have. */
#define NUMBERS                                                                          \
    ROW(sub), ROW(sub_number), ROW(number_sub), ROW(addcmul), ROW(negative), ROW(power), \
        ROW(magnitude), ROW(relu), ROW(add_scaled), ROW(bits_left), ROW(bits_right),     \
        ROW(floor_number), ROW(threshold)

#define ELEMENTS                                                                               \
    ROW(add), ROW(mul), ROW(mul_number), ROW(divide), ROW(divide_number), ROW(square),         \
        ROW(reciprocal), ROW(power_2), ROW(power_3), ROW(power_9), ROW(maximum), ROW(minimum), \
        ROW(clamp), ROW(clamp_crossed), ROW(clamp_up), ROW(clamp_down), ROW(clamp_open),       \
        ROW(clamp_wide), ROW(clamp_fraction), ROW(nan_of), ROW(finite_of), ROW(not_of),        \
        ROW(and_of), ROW(or_of), ROW(xor_of), ROW(eq), ROW(ne), ROW(lt), ROW(ge_number),       \
        ROW(to_bool), ROW(to_u8), ROW(to_f32), ROW(to_i64), ROW(where), ROW(masked_fill),      \
        ROW(filled), ROW(pad), ROW(wide), ROW(infinite_of), ROW(sign_of), ROW(step_of),        \
        ROW(bits_and), ROW(bits_or), ROW(bits_xor), ROW(bits_not)

static void elements_of_integers(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { NUMBERS, ELEMENTS };
    adz_tensor *x, *z;
    pair_up(adz_tensor_from(integers, ADZ_SHAPE(INTEGERS), ADZ_I32), &x, &z);
    CHECK_BATCH(cases, x, z, 1e-6);
    adz_scope_close(scope);
}

static void elements_of_bytes(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { NUMBERS, ELEMENTS };
    adz_tensor *x, *z;
    pair_up(adz_tensor_from(bytes, ADZ_SHAPE(sizeof bytes), ADZ_U8), &x, &z);
    CHECK_BATCH(cases, x, z, 1e-6);
    adz_scope_close(scope);
}

static void elements_of_bools(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { ELEMENTS };
    adz_tensor *x, *z;
    pair_up(adz_tensor_from(bools, ADZ_SHAPE(sizeof bools), ADZ_BOOL), &x, &z);
    CHECK_BATCH(cases, x, z, 1e-6);
    adz_scope_close(scope);
}

/* Without zeros, which are no divisors, and without pairs whose common multiple is too large. */
static void divisions_of_integers(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { ROW(floor_quotient), ROW(divisor) };
    static const batch_case small[] = { ROW(multiple) };
    static const int32_t others[] = { 1, -1, 2, -7, 12, 18, -30, 255, 16777217, INT32_MAX,
        INT32_MIN, INT32_MIN + 1 };
    static const unsigned char these[] = { 1, 2, 3, 12, 18, 127, 128, 255 };
    adz_tensor *x, *z;
    pair_up(adz_tensor_from(others, ADZ_SHAPE(12), ADZ_I32), &x, &z);
    CHECK_BATCH(cases, x, z, 1e-6);
    pair_up(adz_tensor_from(others, ADZ_SHAPE(8), ADZ_I32), &x, &z);
    CHECK_BATCH(small, x, z, 1e-6);
    pair_up(adz_tensor_from(these, ADZ_SHAPE(8), ADZ_U8), &x, &z);
    CHECK_BATCH(cases, x, z, 1e-6);
    adz_scope_close(scope);
}

/* ---- reductions, products and moves ---------------------------------------------------------- */

CASE(sum, adz_sum(x, ADZ_DIMS(1), false))
CASE(prod, adz_prod(x, ADZ_DIMS(1), false))
CASE(cumsum, adz_cumsum(x, 0))
CASE(amax, adz_amax(x, ADZ_DIMS(1), false))
CASE(amin, adz_amin(x, ADZ_DIMS(0, 1), false))
CASE(largest, adz_max(x))
CASE(least, adz_min_dim(x, 0, false, NULL))
CASE(argmax, adz_argmax(x, ADZ_DIMS(1), false))
CASE(argmin, adz_argmin(x, ADZ_DIMS(1), false))
CASE(any, adz_any(x, ADZ_DIMS(1), false))
CASE(all, adz_all(x, ADZ_DIMS(1), false))
CASE(sorted, adz_sort(x, 1, false, NULL))
CASE(sorted_down, adz_sort(x, 1, true, NULL))
CASE(argsort, adz_argsort(x, 0, true))
CASE(top, adz_topk(x, 3, 1, true, NULL))
CASE(bottom, adz_topk(x, 3, 1, false, NULL))
CASE(lower, adz_tril(x, 0))
CASE(upper_all, adz_triu(x, -INT64_MAX))
CASE(lower_none, adz_tril(x, INT64_MIN))
CASE(flipped, adz_flip(x, ADZ_DIMS(0)))
CASE(joined, adz_cat((adz_tensor *[]){ x, z }, 2, 1))
CASE(repeated, adz_repeat(x, ADZ_SHAPE(2, 1)))
CASE(selected,
    adz_index_select(x, 0, adz_tensor_from((const int64_t[]){ 2, 0, 1 }, ADZ_SHAPE(3), ADZ_I64)))
CASE(copied, adz_reshape(adz_transpose(x, 0, 1), ADZ_SHAPE(-1)))

#define SLICES                                                                                    \
    ROW(sum), ROW(prod), ROW(cumsum), ROW(amax), ROW(amin), ROW(largest), ROW(least), ROW(any),   \
        ROW(all), ROW(sorted), ROW(sorted_down), ROW(argsort), ROW(top), ROW(bottom), ROW(lower), \
        ROW(upper_all), ROW(lower_none), ROW(flipped), ROW(joined), ROW(repeated), ROW(selected), \
        ROW(copied)

CASE(matmul, adz_matmul(x, adz_transpose(x, 0, 1)))
CASE(matmul_rows, adz_matmul(x, z))
CASE(matmul_columns, adz_matmul(adz_transpose(x, 0, 1), z))
CASE(addmm, adz_addmm(x, x, z, 1, 1))
CASE(bmm, adz_bmm(adz_unsqueeze(x, 0), adz_unsqueeze(z, 0)))
CASE(einsum, adz_einsum("ij,jk->ik", x, z))
CASE(inner, adz_matmul(adz_select(x, 0, 1), adz_select(z, 0, 2)))
CASE(outer, adz_outer(adz_select(x, 0, 1), adz_select(z, 0, 2)))
CASE(scattered, adz_scatter_add(x, 0, adz_zeros(adz_tensor_shape(x), ADZ_I64), z))

#define PRODUCTS                                                                              \
    ROW(argmax), ROW(argmin), ROW(matmul), ROW(matmul_rows), ROW(matmul_columns), ROW(addmm), \
        ROW(bmm), ROW(einsum), ROW(inner), ROW(outer), ROW(scattered)

static void slices_of_integers(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { SLICES, PRODUCTS };
    static const int32_t m[] = { 1, 2, INT32_MAX, -4, 5, INT32_MAX, 16777217, -3, INT32_MIN, 70000,
        -70001, 9 };
    adz_tensor *x = adz_reshape(adz_tensor_from(m, ADZ_SHAPE(12), ADZ_I32), ADZ_SHAPE(3, 4));
    adz_tensor *square = adz_contiguous(adz_slice(x, 1, 0, 3, 1));
    CHECK_BATCH(cases, square, adz_contiguous(adz_flip(square, ADZ_DIMS(1))), 1e-6);
    adz_scope_close(scope);
}

static void slices_of_bytes(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { SLICES, PRODUCTS };
    static const unsigned char m[] = { 1, 250, 3, 200, 0, 5, 17, 3, 255 };
    adz_tensor *x = adz_reshape(adz_tensor_from(m, ADZ_SHAPE(9), ADZ_U8), ADZ_SHAPE(3, 3));
    CHECK_BATCH(cases, x, adz_contiguous(adz_flip(x, ADZ_DIMS(1))), 1e-6);
    adz_scope_close(scope);
}

static void slices_of_bools(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { SLICES };
    static const unsigned char m[] = { 1, 0, 1, 0, 0, 0, 1, 1, 1 };
    adz_tensor *x = adz_reshape(adz_tensor_from(m, ADZ_SHAPE(9), ADZ_BOOL), ADZ_SHAPE(3, 3));
    CHECK_BATCH(cases, x, adz_contiguous(adz_flip(x, ADZ_DIMS(1))), 1e-6);
    adz_scope_close(scope);
}

int integer_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_of_integers),
        cmocka_unit_test(elements_of_bytes),
        cmocka_unit_test(divisions_of_integers),
        cmocka_unit_test(elements_of_bools),
        cmocka_unit_test(slices_of_integers),
        cmocka_unit_test(slices_of_bytes),
        cmocka_unit_test(slices_of_bools),
    };
    return cmocka_run_group_tests_name("c99: integers", tests, temporary_begin, temporary_end);
}
