/* Products that launches of a plan add to a matrix, instead of writing them for a sum: the bits are
 * those of ordinary calls, and a product that something else reads is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "plan/replay.h"
#include "tensor/gemm/loops.h"
#include "tensor/tensor.h"

enum { STEPS = 6, IN = 5, RUNS = 3 };

typedef struct {
    adz_tensor *w, *x;
    bool shown; /* a product is read besides the sum of products */
    bool seen;  /* the sum is read between a product and its addition */
    bool keeps; /* a product outlives the call */
    adz_tensor *kept;
    adz_tensor *sums; /* one for each step */
    int64_t row;      /* of the next step */
    bool scans;
    int64_t batch;
} operands;

static adz_status step(adz_tensor **results, adz_tensor *const *in, void *user)
{
    const operands *o = user;
    results[0] = results[1] = adz_tanh(adz_add(adz_matmul(in[0], o->w), in[1]));
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

/* The gradient of a recurrence by its weight. */
static adz_tensor *gradient_of_recurrence(void *user)
{
    operands *o = user;
    const adz_dtype dtype = adz_tensor_dtype(o->w);
    adz_tensor *h = adz_zeros(ADZ_SHAPE(o->batch, IN), dtype), *found[2], *grad;
    if (o->scans) {
        assert_int_equal(adz_scan(step, o, &h, 1, &o->x, 1, 1, NULL, found), ADZ_OK);
        h = found[0];
    }
    for (int64_t t = 0; t < STEPS && !o->scans; ++t) {
        h = adz_tanh(adz_add(adz_matmul(h, o->w), adz_select(o->x, 0, t)));
    }
    adz_tensor *loss = adz_sum(adz_square(h), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_autograd_grad(&loss, NULL, 1, &o->w, 1, NULL, &grad) == ADZ_OK ? grad : NULL;
}

/* A sum of two products. */
static adz_tensor *sum_of_products(void *user)
{
    operands *o = user;
    adz_tensor *a = adz_select(o->x, 0, 0), *b = adz_select(o->x, 0, 1);
    adz_tensor *sum = adz_matmul(adz_transpose(a, 0, 1), b);
    adz_tensor *product = adz_matmul(adz_transpose(b, 0, 1), adz_neg(a));
    adz_tensor *before = o->seen ? adz_tanh(sum) : NULL;
    if (o->keeps) {
        adz_release(&o->kept);
        o->kept = adz_keep(product);
    }
    adz_add_(sum, product);
    if (o->seen) {
        return adz_mul(sum, before);
    }
    return o->shown ? adz_mul(sum, product) : adz_square(sum);
}

static adz_status add_to_row(adz_tensor **results, adz_tensor *const *in, void *user)
{
    operands *o = user;
    adz_tensor *product = adz_matmul(adz_transpose(in[1], 0, 1), in[0]);
    results[0] = results[1] = adz_tanh(adz_add(in[0], in[1]));
    return adz_add_(adz_select(o->sums, 0, o->row++), product) != NULL ? ADZ_OK : adz_error_code();
}

/* Each step of a scan adds a product to a row of its own, so the address moves. */
static adz_tensor *rows_of_sums(void *user)
{
    operands *o = user;
    adz_tensor *h = adz_select(o->x, 0, 0), *found[2];
    o->sums = adz_zeros(ADZ_SHAPE(STEPS, IN, IN), adz_tensor_dtype(o->x));
    o->row = 0;
    assert_int_equal(adz_scan(add_to_row, o, &h, 1, &o->x, 1, 1, NULL, found), ADZ_OK);
    return adz_square(o->sums);
}

/* How many launches are products that add to a matrix. */
static int n_joined(const adz_plan *plan)
{
    const adzi_captured_call *c = plan->last;
    int joined = 0;
    for (size_t i = 0; i < c->n_launches; ++i) {
        joined += adzi_gemm_is_added(c->launches[i].kernel);
    }
    return joined;
}

/* Compares runs with ordinary calls. Returns the number of products that add. */
static int compare(adz_tensor *(*function)(void *), operands *o, adz_dtype dtype)
{
    adz_scope *scope = adz_scope_open();
    o->w = adz_mul_number(adz_randn(ADZ_SHAPE(IN, IN), dtype), 0.3);
    o->x = adz_randn(ADZ_SHAPE(STEPS, o->batch, IN), dtype);
    adz_requires_grad_(o->w, true);
    adz_plan *plan = adz_plan_new(function, o, NULL);
    assert_non_null(plan);
    for (int run = 0; run < RUNS; ++run) {
        adz_copy_(o->x, adz_randn(ADZ_SHAPE(STEPS, o->batch, IN), dtype));
        adz_tensor *wanted = adz_clone(function(o));
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_true(adz_equal(adz_plan_output(plan), wanted));
    }
    assert_true(plan->captured);
    const int joined = n_joined(plan);
    adz_plan_free(&plan);
    adz_scope_close(scope);
    return joined;
}

static void gradients_are_added(void **state)
{
    (void)state;
    for (int scans = 0; scans < 2; ++scans) {
        for (int64_t batch = 1; batch <= 4; batch += 3) {
            operands o = { .scans = scans == 1, .batch = batch };
            assert_true(compare(gradient_of_recurrence, &o, ADZ_F32) > 0);
            assert_true(compare(gradient_of_recurrence, &o, ADZ_F64) > 0);
        }
    }
}

static void what_is_read_again_is_written(void **state)
{
    (void)state;
    operands o = { .batch = 1 };
    assert_int_equal(compare(sum_of_products, &o, ADZ_F32), 1);
    o.shown = true;
    assert_int_equal(compare(sum_of_products, &o, ADZ_F32), 0);
    o = (operands){ .batch = 1, .keeps = true };
    assert_int_equal(compare(sum_of_products, &o, ADZ_F32), 0);
    adz_release(&o.kept);
}

static void a_sum_that_is_read_before_changes_no_earlier(void **state)
{
    (void)state;
    operands o = { .batch = 1, .seen = true };
    assert_int_equal(compare(sum_of_products, &o, ADZ_F32), 0);
}

static void a_sum_that_moves_in_a_loop_stays_a_launch(void **state)
{
    (void)state;
    operands o = { .batch = 1 };
    assert_true(compare(rows_of_sums, &o, ADZ_F32) < STEPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_added),
        cmocka_unit_test(what_is_read_again_is_written),
        cmocka_unit_test(a_sum_that_is_read_before_changes_no_earlier),
        cmocka_unit_test(a_sum_that_moves_in_a_loop_stays_a_launch),
    };
    return cmocka_run_group_tests_name("sums", tests, NULL, NULL);
}
