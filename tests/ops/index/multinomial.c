#include "ops/facts.h"

/* p[0] = n, p[1] = replacement, p[2] = seed */
static int call(const op_args *a, adz_tensor **out)
{
    adz_generator *generator = adz_generator_new((uint64_t)a->p[2]);
    if (generator == NULL) {
        return 0;
    }
    adz_tensor *y = adz_multinomial(a->in[0], (int64_t)a->p[0], a->p[1] != 0, generator);
    adz_generator_free(&generator);
    return case_one(y, out);
}

/* Fails unless the shares of the draws are within five deviations of the probabilities 0.1 .. 0.4.
 */
static void assert_shares(adz_tensor *y, int64_t n, int64_t stride)
{
    double count[5] = { 0 };
    for (int64_t i = 0; i < n; ++i) {
        count[adz_tensor_data_i64(y)[i * stride]] += 1;
    }
    assert_true(count[2] == 0);
    const double p[5] = { 0.1, 0.2, 0, 0.3, 0.4 };
    for (int c = 0; c < 5; ++c) {
        double n_c = (double)n * p[c];
        assert_true(fabs(count[c] - n_c) <= 5 * sqrt(n_c * (1 - p[c])));
    }
}

FACT(shares_are_the_weights)
{
    adz_manual_seed(11);
    adz_tensor *w = VALUES(ADZ_F32, 1, 2, 0, 3, 4);
    assert_shares(adz_multinomial(w, 20000, true, NULL), 20000, 1);
    adz_tensor *rows = adz_expand(w, ADZ_SHAPE(20000, 5));
    assert_shares(adz_multinomial(rows, 2, false, NULL), 20000, 2); /* the first of two draws */
}

FACT(without_replacement_no_class_comes_twice)
{
    adz_manual_seed(12);
    adz_tensor *w = adz_expand(VALUES(ADZ_F64, 1, 2, 0, 3, 4), ADZ_SHAPE(200, 5));
    const int64_t *y = adz_tensor_data_i64(adz_multinomial(w, 4, false, NULL));
    for (int64_t r = 0; r < 200; ++r) {
        unsigned seen = 0;
        for (int i = 0; i < 4; ++i) {
            seen |= 1u << y[r * 4 + i];
        }
        assert_int_equal(seen, 1 | 2 | 8 | 16);
    }
}

FACT(a_failed_call_draws_nothing)
{
    adz_generator *g = adz_generator_new(1);
    adz_tensor *w = VALUES(ADZ_F64, 1, 0, 2);
    ASSERT_REFUSED(
        adz_multinomial(w, 3, false, g), ADZ_ERR_ARGUMENT, "2 classes of weight above 0");
    ASSERT_REFUSED(
        adz_multinomial(VALUES(ADZ_F64, 1, -1), 1, true, g), ADZ_ERR_ARGUMENT, "class 1 in row 0");
    ASSERT_REFUSED(adz_multinomial(VALUES(ADZ_F64, 1, NAN), 1, true, g), ADZ_ERR_ARGUMENT, "NaN");
    ASSERT_REFUSED(adz_multinomial(VALUES(ADZ_F64, 0, 0), 1, true, g), ADZ_ERR_ARGUMENT, "sum 0");
    assert_int_equal(adz_generator_get_state(g).offset, 0);
    assert_non_null(adz_multinomial(w, 2, false, g));
    assert_true(adz_generator_get_state(g).offset > 0);
    adz_generator_free(&g);
}

FACT(every_row_has_weights_of_its_own)
{
    enum { ROWS = 7, CLASSES = 9 };
    adz_generator *g = adz_generator_new(4);
    adz_tensor *w = adz_zeros(ADZ_SHAPE(ROWS, CLASSES), ADZ_F64);
    double *weights = adz_tensor_data_f64(w);
    for (int r = 0; r < ROWS; ++r) {
        weights[r * CLASSES + (r * 4 + 1) % CLASSES] = 0.5;
    }
    const int64_t *y = adz_tensor_data_i64(adz_multinomial(w, 3, true, g));
    for (int i = 0; i < 3 * ROWS; ++i) {
        assert_int_equal(y[i], (i / 3 * 4 + 1) % CLASSES);
    }
    const double bad[] = { -1, NAN, INFINITY, 0 };
    for (int i = 0; i < 4 * ROWS; ++i) {
        double *one = weights + i / 4 * CLASSES + (i / 4 * 4 + 1) % CLASSES;
        char row[32];
        snprintf(row, sizeof row, "row %d", i / 4);
        double *other = weights + i / 4 * CLASSES + (i / 4 * 4 + 2) % CLASSES;
        *one = bad[i % 4];
        *other = i % 4 != 3 ? 2 : 0; /* keeps the sum above 0 */
        ASSERT_REFUSED(adz_multinomial(w, 3, true, g), ADZ_ERR_ARGUMENT, row);
        *one = 0.5;
        *other = 0;
    }
    adz_generator_free(&g);
}

FACT(a_class_is_found_among_any_number)
{
    for (int64_t n = 1; n < 70; ++n) {
        adz_tensor *w = adz_zeros(ADZ_SHAPE(n, n), ADZ_F32);
        for (int64_t i = 0; i < n; ++i) {
            adz_tensor_data_f32(w)[i * n + i] = 1;
        }
        const int64_t *y = adz_tensor_data_i64(adz_multinomial(w, 1, true, NULL));
        for (int64_t i = 0; i < n; ++i) {
            assert_int_equal(y[i], i);
        }
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(every_row_has_weights_of_its_own),
    cmocka_unit_test(a_class_is_found_among_any_number),
    cmocka_unit_test(shares_are_the_weights),
    cmocka_unit_test(without_replacement_no_class_comes_twice),
    cmocka_unit_test(a_failed_call_draws_nothing),
};

#define P(...)   IN_OF(FILL_POSITIVE, __VA_ARGS__)
#define P_T(...) IN_T_OF(FILL_POSITIVE, __VA_ARGS__)

const op_case multinomial_case = {
    .name = "multinomial",
    .call = call,
    .samples = {
        { .in = { P(7) }, .p = { 5, 1, 1 } },
        { .in = { P(3, 5) }, .p = { 4, 0, 2 } },
        { .in = { P_T(3, 5) }, .p = { 9, 1, 3 } },
        { .in = { P_T(4, 6) }, .p = { 6, 0, 4 } },
        { .in = { P(1, 1) }, .p = { 1, 0, 5 } },
        { .in = { P(0, 4) }, .p = { 2, 1, 6 } },
        { .in = { P(0, 4) }, .p = { 2, 0, 7 } },
    },
    .rejects = {
        { .in = { P(3, 4) }, .p = { 5, 0, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "without replacement" },
        { .in = { P(3, 4) }, .p = { 0, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "0 draws" },
        { .in = { P(2, 3, 4) }, .p = { 1, 1, 1 }, .status = ADZ_ERR_SHAPE },
        { .in = { P(3, 0) }, .p = { 1, 1, 1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 1, 1, 1 }, .status = ADZ_ERR_DTYPE },
    },
    .not_differentiable = true,
    FACTS(facts),
};
