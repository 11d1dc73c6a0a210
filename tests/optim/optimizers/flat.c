/* Every optimizer over flat buffers: the bits of ordinary tensors. */
#include "cases.h"
#include "tests.h"

enum { PARAMETERS = 3 };

/* One optimizer over two groups, with or without a layout. The last parameter has no gradient in
 * every other step. */
typedef struct {
    adz_tensor *w[PARAMETERS];
    adz_flat_parameters *flat;
    adz_optimizer *optimizer;
} run;

static run run_new(const optimizer_case *which, adz_dtype dtype, bool flat)
{
    run r = { .flat = NULL };
    for (int i = 0; i < PARAMETERS; ++i) {
        r.w[i] = start(dtype);
    }
    if (flat) {
        r.flat = adz_flat_parameters_new(adz_tensor_list_of(r.w, PARAMETERS));
        assert_non_null(r.flat);
    }
    r.optimizer = which->make(adz_tensor_list_of(r.w, 2));
    assert_int_equal(adz_optimizer_add_param_group(r.optimizer, one(&r.w[2])), 1);
    assert_int_equal(adz_optimizer_set(r.optimizer, 1, "lr", 0.03), ADZ_OK);
    return r;
}

static void run_end(run *r)
{
    adz_flat_parameters_free(&r->flat);
    adz_optimizer_release(&r->optimizer);
}

/* Gradients are computed by backward, so that they reach their slices as in training. */
static void steps(run *r, int from, int to)
{
    for (int t = from; t < to; ++t) {
        adz_scope *scope = adz_scope_open();
        adz_optimizer_zero_grad(r->optimizer);
        for (int i = 0; i < PARAMETERS - t % 2; ++i) {
            double values[N];
            for (int k = 0; k < N; ++k) {
                values[k] = gradient_at(k + i, t);
            }
            adz_tensor *g =
                adz_to(adz_tensor_from(values, ADZ_SHAPE(N), ADZ_F64), adz_tensor_dtype(r->w[i]));
            adz_tensor *loss = adz_sum(adz_mul(adz_square(r->w[i]), g), ADZ_ALL_DIMS, ADZ_DROPDIM);
            assert_int_equal(adz_backward(loss), ADZ_OK);
        }
        assert_int_equal(adz_optimizer_step(r->optimizer), ADZ_OK);
        adz_scope_close(scope);
    }
}

static void expect_equal(const char *name, const run *a, const run *b)
{
    for (int i = 0; i < PARAMETERS; ++i) {
        if (!adz_equal(a->w[i], b->w[i])) {
            fail_msg("%s: parameter %d has other bits with flat buffers", name, i);
        }
    }
}

/* The state passes from one layout to the other in the middle of the run, in both directions. */
static void steps_have_the_bits_of_ordinary_tensors(void **state)
{
    (void)state;
    for (int k = 0; k < n_cases; ++k) {
        for (int dtype = 0; dtype < 4; ++dtype) {
            const adz_dtype of = dtype % 2 == 0 ? ADZ_F32 : ADZ_F64;
            const bool flat = dtype >= 2;
            run plain = run_new(&cases[k], of, flat), other = run_new(&cases[k], of, !flat);
            adz_tensor *before = adz_clone(adz_detach(plain.w[0]));
            steps(&plain, 0, 5);
            steps(&other, 0, 5);
            expect_equal(cases[k].name, &plain, &other);
            assert_int_equal(save(plain.optimizer, "flat"), ADZ_OK);
            steps(&other, 7, 9); /* The load replaces the state that these steps make. */
            assert_int_equal(load(other.optimizer, "flat"), ADZ_OK);
            ADZ_NO_GRAD
            {
                for (int i = 0; i < PARAMETERS; ++i) {
                    adz_copy_(other.w[i], plain.w[i]);
                }
            }
            assert_int_equal(save(other.optimizer, "flat again"), ADZ_OK);
            assert_true(files_equal(temporary_path("flat"), temporary_path("flat again")));
            steps(&plain, 5, 12);
            steps(&other, 5, 12);
            expect_equal(cases[k].name, &plain, &other);
            assert_false(adz_equal(before, plain.w[0])); /* some wait for several steps */
            run_end(&plain);
            run_end(&other);
        }
    }
}

int flat_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(steps_have_the_bits_of_ordinary_tensors),
    };
    return cmocka_run_group_tests_name(
        "optimizers: flat buffers", tests, temporary_begin, temporary_end);
}
