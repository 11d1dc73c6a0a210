#include "ops/facts.h"

/* p[0] = n, p[1] = seed */
static int call(const op_args *a, adz_tensor **out)
{
    adz_generator *generator = adz_generator_new((uint64_t)a->p[1]);
    if (generator == NULL) {
        return 0;
    }
    adz_tensor *y = adz_categorical_sample(a->in[0], (int64_t)a->p[0], generator);
    adz_generator_free(&generator);
    return case_one(y, out);
}

/* The shares of the draws are within five deviations of the probabilities. */
FACT(shares_are_the_probabilities)
{
    enum { DRAWS = 20000, CLASSES = 3 };
    const double p[2][CLASSES] = { { 0.2, 0.3, 0.5 }, { 0, 0.9, 0.1 } };
    adz_manual_seed(5);
    adz_tensor *logits = adz_log(adz_tensor_from(p, ADZ_SHAPE(2, CLASSES), ADZ_F64));
    adz_tensor *y = adz_categorical_sample(logits, DRAWS, NULL);
    assert_int_equal(adz_tensor_size(y, 0), DRAWS);
    assert_int_equal(adz_tensor_size(y, 1), 2);
    double count[2][CLASSES] = { { 0 } };
    for (int i = 0; i < 2 * DRAWS; ++i) {
        ++count[i % 2][adz_tensor_data_i64(y)[i]];
    }
    for (int row = 0; row < 2; ++row) {
        for (int c = 0; c < CLASSES; ++c) {
            const double n = DRAWS * p[row][c];
            assert_true(fabs(count[row][c] - n) <= 5 * sqrt(n * (1 - p[row][c])));
        }
    }
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(shares_are_the_probabilities) };

const op_case categorical_sample_case = {
    .name = "categorical_sample",
    .call = call,
    .samples = {
        { .in = { IN(7) }, .p = { 5, 1 } },
        { .in = { IN(3, 5) }, .p = { 4, 2 } },
        { .in = { IN_T(3, 2, 5) }, .p = { 9, 3 } },
        { .in = { IN(0, 4) }, .p = { 2, 6 } },
        { .in = { IN(1, 1) }, .p = { 1, 7 } },
        { .in = { IN_T(4, 3) }, .p = { 3, 8 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 0, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "draws 0" },
        { .in = { IN_0 }, .p = { 1, 1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 0) }, .p = { 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "no classes" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 1, 1 }, .status = ADZ_ERR_DTYPE },
    },
    .not_differentiable = true,
    FACTS(facts),
};
