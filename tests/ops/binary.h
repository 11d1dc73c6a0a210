/* The samples of elementwise operators with two inputs. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_BINARY_H
#define ADZE_TESTS_OPS_BINARY_H

#include "ops/facts.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *);

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested(a->in[0], a->in[1]), out);
}

/** Fails unless the function of two f64 vectors has the values `ys` and the gradients `das` and
 * `dbs`, within 1e-14; NaN equals NaN. The fused backward and the expression must give them. */
static inline void assert_two(int n, const double *as, const double *bs, const double *ys,
    const double *das, const double *dbs)
{
    adz_tensor *a = adz_requires_grad_(adz_tensor_from(as, ADZ_SHAPE(n), ADZ_F64), true);
    adz_tensor *b = adz_requires_grad_(adz_tensor_from(bs, ADZ_SHAPE(n), ADZ_F64), true);
    adz_tensor *y = tested(a, b);
    adz_tensor *found[] = { y, gradient_of(y, a), gradient_of(y, b), gradient_by_expression(y, a),
        gradient_by_expression(y, b) };
    const double *wanted[] = { ys, das, dbs, das, dbs };
    for (int k = 0; k < 5; ++k) {
        for (int64_t i = 0; i < n; ++i) {
            const double got = adz_tensor_at(found[k], &i), want = wanted[k][i];
            if (!(got == want || fabs(got - want) <= 1e-14 || (isnan(got) && isnan(want)))) {
                fail_msg("%d of (%g, %g): %.17g instead of %.17g", k, as[i], bs[i], got, want);
            }
        }
    }
}

/* The case of an operator. `first` and `second` are how its inputs are drawn. */
/* clang-format off */
#define BINARY_CASE(op, first, second) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN_OF(first, 3, 4), IN_OF(second, 3, 4) } }, \
        { .in = { IN_T_OF(first, 3, 4), IN_OF(second, 4) } }, \
        { .in = { IN_OF(first, 2, 1, 3), IN_OF(second, 4, 1) } }, \
        { .in = { IN_0_OF(first), IN_OF(second, 2, 2) } }, \
        { .in = { IN_OF(first, 3, 0), IN_OF(second, 1, 1) } }, \
        { .in = { IN_OF(first, 1), IN_OF(second, 1) } }, \
        { .in = { IN_OF(first, 37), IN_CONST_OF(second, 37) } }, \
    }, \
    .rejects = { \
        { .in = { IN_OF(first, 3, 4), IN_OF(second, 3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" }, \
        { .in = { IN_TYPED(ADZ_F16, 3), IN_OF(second, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" }, \
    }, \
    .broadcasts = true, \
    .inputs = { "a", "b" }, \
    FACTS(facts)

/* The case of an operator on integers. `one` and `other` are inputs of a further sample. */
#define IN_INDEX_T(n, ...) \
    { \
        CASE_SIZES_(__VA_ARGS__), .fill = FILL_INDEX, .range = n, .layout = LAYOUT_TRANSPOSED \
    }
#define INTEGERS_CASE(op, one, other) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN_INDEX(9, 3, 4), IN_INDEX(5, 3, 4) } }, \
        { .in = { IN_INDEX_T(200, 3, 4), IN_INDEX(9, 4) } }, \
        { .in = { IN_INDEX(64, 2, 1, 3), IN_INDEX(3, 4, 1) } }, \
        { .in = { IN_TYPED(ADZ_I32, 2, 5), IN_TYPED(ADZ_U8, 5) } }, \
        { .in = { IN_INDEX_0(9), IN_INDEX(4, 2, 2) } }, \
        { .in = { IN_INDEX(9, 3, 0), IN_INDEX(4, 1, 1) } }, \
        { .in = { one, other } }, \
    }, \
    .rejects = { \
        { .in = { IN_INDEX(9, 3, 4), IN_INDEX(9, 3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" }, \
        { .in = { IN(3), IN_INDEX(9, 3) }, .status = ADZ_ERR_DTYPE, .says = "must be integers" }, \
        { .in = { IN_INDEX(9, 3), IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, \
            .says = "adz_to" }, \
    }, \
    .not_differentiable = true, \
    .broadcasts = true, \
    FACTS(facts)
/* clang-format on */

#endif
