#include "ops/facts.h"

/* p[0] = interleaved */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_rotary_embedding(a->in[0], a->in[1], a->in[2], a->p[0] != 0), out);
}

/* A quarter turn takes (a, b) to (-b, a); the third and the sixth feature are no pair. */
FACT(pairs_are_halves_or_neighbours)
{
    adz_tensor *x = VALUES(ADZ_F64, 1, 2, 3, 4, 5);
    adz_tensor *c = VALUES(ADZ_F64, 0, 1), *s = VALUES(ADZ_F64, 1, 0);
    ASSERT_VALUES(adz_rotary_embedding(x, c, s, false), ADZ_F64, -3, 2, 1, 4, 5);
    ASSERT_VALUES(adz_rotary_embedding(x, c, s, true), ADZ_F64, -2, 1, 3, 4, 5);
    adz_tensor *none = adz_zeros(ADZ_SHAPE(0), ADZ_F64);
    ASSERT_VALUES(adz_rotary_embedding(x, none, none, true), ADZ_F64, 1, 2, 3, 4, 5);
}

/* Scores of rotated queries and keys depend on the difference of their positions alone. */
FACT(scores_depend_on_distances)
{
    adz_tensor *x = VALUES(ADZ_F64, 0.5, -1, 2, 0.25), *y = VALUES(ADZ_F64, 1, 0.75, -2, 3);
    double scores[3];
    for (int i = 0; i < 3; ++i) {
        const double p = 4 * i, q = p + 3;
        adz_tensor *c[2], *s[2];
        for (int k = 0; k < 2; ++k) {
            adz_tensor *angles = adz_mul_number(VALUES(ADZ_F64, 1, 0.01), k == 0 ? p : q);
            c[k] = adz_cos(angles);
            s[k] = adz_sin(angles);
        }
        adz_tensor *product = adz_mul(
            adz_rotary_embedding(x, c[0], s[0], false), adz_rotary_embedding(y, c[1], s[1], false));
        scores[i] = adz_item(adz_sum(product, ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(fabs(scores[i] - scores[0]) < 1e-12);
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(pairs_are_halves_or_neighbours),
    cmocka_unit_test(scores_depend_on_distances),
};

const op_case rotary_embedding_case = {
    .name = "rotary_embedding",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 2, 6), IN(3, 1, 3), IN(3, 1, 3) }, .p = { 0 } },
        { .in = { IN(2, 3, 2, 6), IN(2, 3, 1, 3), IN(2, 3, 1, 3) }, .p = { 1 } },
        { .in = { IN(2, 3, 2, 7), IN(3, 2, 2), IN(3, 2, 2) }, .p = { 1 } },
        { .in = { IN_T(3, 2, 9), IN(2, 2), IN(2, 2) }, .p = { 0 } },
        { .in = { IN(2, 1, 4), IN(2, 1, 2), IN(2, 1, 2) }, .p = { 0 } },
        { .in = { IN(4), IN(2), IN(2) }, .p = { 1 } },
        { .in = { IN(3, 4), IN(3, 0), IN(3, 0) }, .p = { 1 } },
        { .in = { IN(0, 4), IN(2), IN(2) }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 3), IN(3, 3) }, .status = ADZ_ERR_SHAPE, .says = "of at most 4" },
        { .in = { IN(3, 4), IN(3, 2), IN(1, 2) }, .status = ADZ_ERR_SHAPE, .says = "one shape" },
        { .in = { IN(3, 4), IN(2, 2), IN(2, 2) }, .status = ADZ_ERR_SHAPE, .says = "broadcasts" },
        { .in = { IN(4), IN(1, 2), IN(1, 2) }, .status = ADZ_ERR_SHAPE, .says = "broadcasts" },
        { .in = { IN_TYPED(ADZ_I64, 4), IN(2), IN(2) }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(4), IN_TYPED(ADZ_I64, 2), IN(2) }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x", "cos", "sin" },
    FACTS(facts),
};
