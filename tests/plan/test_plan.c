/* Plans: what is captured, what is refused, and when a plan captures again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "base/threads/parallel.h"
#include "errors.h"

enum { ROWS = 4, FEATURES = 3 };

typedef struct network {
    adz_module *model;
    adz_optimizer *optimizer;
    adz_tensor *x, *y;
    int calls; /* of the captured function */
} network;

static network begin(void)
{
    network n = { .calls = 0 };
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(3);
    n.model = ADZ_SEQUENTIAL(adz_linear_new(FEATURES, 8, NULL), adz_relu_new(),
        adz_dropout_new(0.5, NULL), adz_linear_new(8, 1, NULL));
    n.optimizer = adz_adam_new(adz_module_parameters(n.model), 0.1, NULL);
    n.x = adz_keep(adz_ones(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32));
    n.y = adz_keep(adz_zeros(ADZ_SHAPE(ROWS, 1), ADZ_F32));
    assert_non_null(n.y);
    adz_scope_close(scope);
    return n;
}

static void end(network *n)
{
    adz_release(&n->x);
    adz_release(&n->y);
    adz_optimizer_release(&n->optimizer);
    adz_module_release(&n->model);
}

static adz_tensor *forward(void *user)
{
    network *n = user;
    ++n->calls;
    return adz_module_forward(n->model, n->x);
}

static adz_tensor *step(void *user)
{
    network *n = user;
    adz_optimizer_zero_grad(n->optimizer);
    adz_tensor *loss = adz_mse_loss(forward(n), n->y, ADZ_REDUCE_MEAN);
    return adz_backward(loss) == ADZ_OK && adz_optimizer_step(n->optimizer) == ADZ_OK ? loss : NULL;
}

static adz_plan_info info_of(const adz_plan *plan)
{
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    return info;
}

static void run(adz_plan *plan, int times)
{
    for (int i = 0; i < times; ++i) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
}

/* ---- what is captured ------------------------------------------------------------------------ */

static void a_third_run_calls_the_function_no_more(void **state)
{
    (void)state;
    network n = begin();
    adz_plan *plan = adz_plan_new(step, &n, NULL);
    const size_t memory = info_of(plan).memory_bytes;
    assert_int_equal(n.calls, 1);
    assert_true(!info_of(plan).captured && memory > 0);
    run(plan, 1);
    assert_int_equal(n.calls, 2);
    assert_true(info_of(plan).captured && info_of(plan).memory_bytes == memory);
    const uint64_t requests = adzi_alloc_requests();
    run(plan, 10);
    assert_true(adzi_alloc_requests() == requests); /* a replay makes no allocation */
    assert_int_equal(n.calls, 2);
    adz_plan_free(&plan);
    assert_null(plan);
    end(&n);
}

static void other_contents_give_other_results(void **state)
{
    (void)state;
    network n = begin();
    adz_module_eval(n.model);
    adz_plan *plan = adz_plan_new(forward, &n, NULL);
    run(plan, 1);
    for (int k = 0; k < 3; ++k) {
        adz_scope *scope = adz_scope_open();
        for (int i = 0; i < ROWS * FEATURES; ++i) {
            adz_tensor_data_f32(n.x)[i] = (float)(i * k) / 7;
        }
        run(plan, 1);
        adz_tensor *expected = adz_module_forward(n.model, n.x);
        assert_true(adz_equal(adz_plan_output(plan), adz_detach(expected)));
        assert_false(adz_tensor_requires_grad(adz_plan_output(plan)));
        adz_scope_close(scope);
    }
    assert_int_equal(n.calls, 2);
    adz_plan_free(&plan);
    end(&n);
}

/* Gradients that the function does not set to none are added up, also by replays. */
static adz_tensor *accumulate(void *user)
{
    network *n = user;
    adz_tensor *loss = adz_mse_loss(forward(n), n->y, ADZ_REDUCE_MEAN);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

static void gradients_are_accumulated(void **state)
{
    (void)state;
    network planned = begin(), ordinary = begin();
    adz_module_eval(planned.model);
    adz_module_eval(ordinary.model);
    adz_plan *plan = adz_plan_new(accumulate, &planned, NULL);
    run(plan, 5);
    for (int k = 0; k < 6; ++k) {
        adz_scope *scope = adz_scope_open();
        accumulate(&ordinary);
        adz_scope_close(scope);
    }
    assert_true(planned.calls < 6);
    for (size_t i = 0; i < 4; ++i) {
        assert_true(adz_equal(adz_tensor_grad(adz_module_parameters(planned.model).items[i]),
            adz_tensor_grad(adz_module_parameters(ordinary.model).items[i])));
    }
    adz_plan_free(&plan);
    end(&planned);
    end(&ordinary);
}

enum { WIDE = 64 };

static adz_tensor *sum_of_a_product(void *user)
{
    adz_tensor *w = user;
    adz_tensor_set_grad(w, ADZ_NONE);
    adz_tensor *loss = adz_sum(adz_mul_number(w, 3), ADZ_ALL_DIMS, false);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

/* The product is as large as the gradient, and no longer used once that is computed. A compiler
 * that cannot clear padding leaves addresses in doubt, and a block in doubt does not move. */
static void memory_of_gradients_serves_other_tensors(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(WIDE, WIDE), ADZ_F32), true);
    adz_plan *plan = adz_plan_new(sum_of_a_product, w, NULL);
#ifdef ADZI_CLEARS_PADDING
    assert_true(info_of(plan).memory_bytes < WIDE * WIDE * sizeof(float));
#endif
    run(plan, 3);
    assert_true(info_of(plan).captured);
    assert_true(adz_item(adz_plan_output(plan)) == 3.0 * WIDE * WIDE);
    adz_fill_(adz_detach(w), 2);
    run(plan, 1);
    assert_true(adz_item(adz_plan_output(plan)) == 6.0 * WIDE * WIDE);
    assert_true(adz_equal(adz_tensor_grad(w), adz_full(ADZ_SHAPE(WIDE, WIDE), 3, ADZ_F32)));
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

static adz_tensor *with_a_constant(void *user)
{
    network *n = user;
    const float numbers[] = { 1, 2, 3 };
    return adz_add(n->x, adz_tensor_from(numbers, ADZ_SHAPE(FEATURES), ADZ_F32));
}

static void numbers_of_the_program_are_constants(void **state)
{
    (void)state;
    network n = begin();
    adz_plan *plan = adz_plan_new(with_a_constant, &n, NULL);
    run(plan, 3);
    for (int i = 0; i < ROWS * FEATURES; ++i) {
        assert_true(adz_tensor_data_f32(adz_plan_output(plan))[i] == (float)(2 + i % FEATURES));
    }
    adz_plan_free(&plan);
    end(&n);
}

/* ---- errors that a replay finds -------------------------------------------------------------- */

static adz_tensor *look_up(void *user)
{
    adz_tensor **t = user;
    return adz_embedding(t[0], t[1], NULL);
}

static void indices_are_checked_in_replays(void **state)
{
    (void)state;
    adz_tensor *t[] = { adz_keep(adz_zeros(ADZ_SHAPE(3), ADZ_I64)),
        adz_keep(adz_ones(ADZ_SHAPE(5, 2), ADZ_F32)) };
    adz_plan *plan = adz_plan_new(look_up, t, NULL);
    run(plan, 2);
    adz_tensor_data_i64(t[0])[1] = 5;
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_INDEX);
    expect_error(ADZ_ERR_INDEX, "index 5 at position [1] is none of the 5 rows of weight[5, 2]");
    adz_tensor_data_i64(t[0])[1] = 4;
    run(plan, 1);
    assert_true(info_of(plan).captures == 1);
    adz_plan_free(&plan);
    adz_release(&t[0]);
    adz_release(&t[1]);
}

/* ---- when a plan captures again -------------------------------------------------------------- */
static void assert_made_anew(network *n, adz_plan *plan, const char *why)
{
    const int before = n->calls;
    run(plan, 1);
    if (n->calls != before + 1) {
        fail_msg("after %s the plan was replayed", why);
    }
    run(plan, 2);
    assert_true(info_of(plan).captured && n->calls == before + 2);
}

static void what_changes_makes_a_plan_anew(void **state)
{
    (void)state;
    network n = begin();
    adz_plan *plan = adz_plan_new(step, &n, NULL);
    run(plan, 1);
    adz_module_eval(n.model);
    assert_made_anew(&n, plan, "another mode");
    adz_set_num_threads(adz_get_num_threads() + 1);
    assert_made_anew(&n, plan, "another number of threads");
    adz_set_matmul_precision(ADZ_MATMUL_MEDIUM);
    assert_made_anew(&n, plan, "another precision");
    if (adz_set_gemm_backend(ADZ_GEMM_BLAS) == ADZ_OK) { /* not in a build without a BLAS */
        assert_made_anew(&n, plan, "products of the BLAS");
    }
    adz_error_clear();
    adz_set_deterministic(!adz_is_deterministic());
    assert_made_anew(&n, plan, "other rules for products");
    adz_set_deterministic(!adz_is_deterministic());
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
    adz_set_gemm_backend(ADZ_GEMM_OWN);
    adz_set_num_threads(0);
    run(plan, 2);
    adz_optimizer_set(n.optimizer, -1, "weight_decay", 0.5);
    assert_made_anew(&n, plan, "another option of the optimizer");
    adz_requires_grad_(adz_module_parameters(n.model).items[0], false);
    assert_made_anew(&n, plan, "a frozen parameter");
    adz_module_set_parameter(adz_module_child_at(n.model, 0), "bias", ADZ_NONE);
    assert_made_anew(&n, plan, "a replaced parameter");
    adz_optimizer_zero_grad(n.optimizer);
    assert_made_anew(&n, plan, "gradients that were freed");
    adz_release(&n.x);
    adz_scope *scope = adz_scope_open();
    n.x = adz_keep(adz_ones(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32));
    adz_scope_close(scope);
    assert_made_anew(&n, plan, "an input that has died");
    const int calls = n.calls;
    adz_optimizer_set(n.optimizer, -1, "lr", 0.5);
    run(plan, 2);
    assert_int_equal(n.calls, calls); /* a rate is read when the kernel runs */
    adz_plan_free(&plan);
    end(&n);
}

/* ---- what cannot be captured ----------------------------------------------------------------- */

static adz_tensor *reads_an_element(void *user)
{
    adz_tensor *y = forward(user);
    return adz_item(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)) > 0 ? y : adz_neg(y);
}

static adz_tensor *takes_a_pointer(void *user)
{
    network *n = user;
    return adz_tensor_data(n->x) != NULL ? forward(n) : NULL;
}

static adz_tensor *hook(adz_tensor *gradient, void *user)
{
    (void)user;
    return gradient;
}

static adz_tensor *has_a_hook(void *user)
{
    network *n = user;
    adz_tensor *y = forward(n);
    adz_register_hook(y, hook, NULL);
    return adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)) == ADZ_OK ? y : NULL;
}

static adz_tensor *runs_a_plan(void *user)
{
    network *n = user;
    adz_plan *inner = adz_plan_new(forward, n, NULL);
    assert_null(inner);
    return NULL;
}

static adz_group *group;
static adz_data_parallel *parallel;

static adz_tensor *sums_over_ranks(void *user)
{
    adz_tensor *y = forward(user);
    return adz_group_all_reduce(group, adz_detach(y), ADZ_GROUP_SUM) == ADZ_OK ? y : NULL;
}

static adz_tensor *begins_a_parallel_step(void *user)
{
    return adz_data_parallel_begin(parallel, 0, ROWS) == ADZ_OK ? forward(user) : NULL;
}

static adz_tensor *takes_a_micro_batch(void *user)
{
    adz_micro_batch m;
    return adz_data_parallel_next(parallel, &m) ? forward(user) : NULL;
}

static adz_tensor *returns_nothing(void *user)
{
    (void)user;
    return NULL;
}

static adz_tensor *alternates(void *user)
{
    adz_tensor *y = forward(user);
    return ((network *)user)->calls % 2 == 0 ? adz_exp(y) : adz_neg(y);
}

static void what_cannot_be_captured_is_an_error(void **state)
{
    (void)state;
    const struct {
        adz_plan_function function;
        const char *message;
    } cases[] = {
        { reads_an_element,
            "item: cannot be captured, because it reads or writes elements on the host" },
        { takes_a_pointer, "adz_tensor_data: cannot be captured, because the program could read" },
        { has_a_hook, "cannot be captured, because a tensor has a hook" },
        { runs_a_plan, "adz_plan_new: cannot be captured, because a plan makes no other plan" },
        { sums_over_ranks, "adz_group_all_reduce: cannot be captured" },
        { begins_a_parallel_step, "adz_data_parallel_begin: cannot be captured" },
        { takes_a_micro_batch, "adz_data_parallel_next: cannot be captured" },
        { returns_nothing, "the function returned NULL without an error" },
    };
    network n = begin();
    group = adz_group_single();
    parallel = adz_data_parallel_new(group, n.model, NULL);
    assert_non_null(parallel);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_null(adz_plan_new(cases[i].function, &n, NULL));
        expect_error(ADZ_ERR_STATE, cases[i].message);
    }
    adz_data_parallel_free(&parallel);
    adz_group_free(&group);
    adz_plan *plan = adz_plan_new(alternates, &n, NULL);
    run(plan, 3);
    const int calls = n.calls;
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_STATE); /* before the function is called */
    assert_int_equal(n.calls, calls);
    expect_error(ADZ_ERR_STATE, "calls of the function differ from one another");
    adz_plan_free(&plan);
    end(&n);
}

/* A function that carries a tensor from call to call, and makes a new one each time. */
static adz_tensor *carries(void *user)
{
    network *n = user;
    adz_tensor *next = adz_keep(adz_add(n->y, n->y));
    adz_release(&n->y);
    return n->y = next;
}

static void values_that_move_are_an_error(void **state)
{
    (void)state;
    network n = begin();
    adz_plan *plan = adz_plan_new(carries, &n, NULL);
    run(plan, 3);
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "an argument of add is another tensor each time");
    adz_plan_free(&plan);
    end(&n);
}

static jmp_buf position;

static adz_tensor *jumps(void *user)
{
    forward(user);
    longjmp(position, 1);
}

static void a_function_may_be_left_by_a_jump(void **state)
{
    (void)state;
    static network n;
    n = begin();
    if (setjmp(position) == 0) {
        adz_plan_new(jumps, &n, NULL);
    }
    adz_scope *scope = adz_scope_open(); /* this thread captures no more */
    assert_true(adz_item(adz_ones(ADZ_SHAPE(1), ADZ_F32)) == 1);
    adz_scope_close(scope);
    end(&n);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void bad_arguments(void **state)
{
    (void)state;
    network n = begin();
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    assert_null(adz_plan_new(NULL, NULL, NULL));
    expect_error(ADZ_ERR_NULL, "function");
    o.inputs.count = 1;
    assert_null(adz_plan_new(forward, &n, &o));
    expect_error(ADZ_ERR_NULL, "the list of inputs");
    o.size = 0;
    assert_null(adz_plan_new(forward, &n, &o));
    expect_error(ADZ_ERR_ARGUMENT, "ADZ_PLAN_OPTIONS");
    assert_int_equal(adz_plan_run(NULL), ADZ_ERR_NULL);
    adz_error_clear();
    assert_null(adz_plan_output(NULL));
    adz_error_clear();
    assert_true(isnan(adz_plan_grad_norm(NULL)));
    adz_error_clear();
    adz_plan_free(NULL);
    end(&n);
}

/* Every request for memory of the first runs is refused once. */
static void refused_memory(void **state)
{
    (void)state;
    network n = begin();
    const int64_t live = adzi_live_bytes();
    for (int64_t k = 1;; ++k) {
        adzi_alloc_fail_at(k);
        adz_plan *plan = adz_plan_new(forward, &n, NULL);
        adz_status status = plan != NULL ? adz_plan_run(plan) : adz_error_code();
        const bool failed = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        assert_true(status == (plan != NULL ? ADZ_OK : ADZ_ERR_MEMORY) || status == ADZ_ERR_MEMORY);
        adz_error_clear();
        adz_plan_free(&plan);
        assert_int_equal(adzi_live_bytes(), live);
        if (!failed) {
            assert_true(k > 20);
            break;
        }
    }
    end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_third_run_calls_the_function_no_more),
        cmocka_unit_test(other_contents_give_other_results),
        cmocka_unit_test(gradients_are_accumulated),
        cmocka_unit_test(memory_of_gradients_serves_other_tensors),
        cmocka_unit_test(numbers_of_the_program_are_constants),
        cmocka_unit_test(indices_are_checked_in_replays),
        cmocka_unit_test(what_changes_makes_a_plan_anew),
        cmocka_unit_test(what_cannot_be_captured_is_an_error),
        cmocka_unit_test(values_that_move_are_an_error),
        cmocka_unit_test(a_function_may_be_left_by_a_jump),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
