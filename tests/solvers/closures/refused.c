/* Steps that fail leave parameters and states as they were, and errors say what to do. */
#include "tests.h"

static adz_tensor *one_of(void *user)
{
    (void)user;
    return adz_ones(ADZ_SHAPE(1), ADZ_F64);
}

static adz_tensor *nothing(void *user)
{
    (void)user;
    return NULL;
}

static adz_tensor *several(void *user)
{
    problem *p = user;
    return adz_mul(p->x, p->x);
}

static adz_tensor *whole_numbers(void *user)
{
    (void)user;
    return adz_ones(ADZ_SHAPE(3), ADZ_I64);
}

static adz_tensor *no_numbers(void *user)
{
    (void)user;
    return adz_ones(ADZ_SHAPE(0), ADZ_F64);
}

static void expect_failure(
    problem *p, adz_optimizer_closure closure, adz_status code, const char *says)
{
    adz_tensor *before = adz_clone(p->x);
    double loss = 17;
    assert_int_equal(adz_optimizer_step_closure(p->optimizer, closure, p, &loss), code);
    expect_error(code, says);
    assert_true(adz_equal(p->x, before));
    assert_true(loss == 17);
}

static void closures_are_checked(void **state)
{
    (void)state;
    static const char op[] = "adz_optimizer_step_closure";
    problem p = begin(ADZ_F64);
    lbfgs_of(&p, NULL);
    expect_null(
        adz_optimizer_step_closure(NULL, loss_of, &p, NULL) == ADZ_ERR_NULL, op, "optimizer");
    expect_null(
        adz_optimizer_step_closure(p.optimizer, NULL, &p, NULL) == ADZ_ERR_NULL, op, "closure");
    expect_failure(&p, nothing, ADZ_ERR_STATE, "the closure returned NULL, but recorded no error");
    expect_failure(&p, several, ADZ_ERR_SHAPE, "the closure returned [5]; a loss has one element");
    expect_failure(&p, one_of, ADZ_ERR_GRAPH, "it has to call adz_backward on the loss");
    assert_int_equal(adz_optimizer_step(p.optimizer), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE,
        "LBFGS evaluates the loss several times in a step; call adz_optimizer_step_closure");
    adz_tensor *other = leaf((const double[]){ 1 }, 1, ADZ_F64);
    assert_int_equal(adz_optimizer_add_param_group(p.optimizer, adz_tensor_list_of(&other, 1)), -1);
    expect_error(ADZ_ERR_UNSUPPORTED, "LBFGS treats all parameters as one vector");
    adz_optimizer_release(&p.optimizer);

    lm_of(&p, NULL);
    expect_failure(&p, whole_numbers, ADZ_ERR_DTYPE, "the closure returned int64[3]");
    expect_failure(&p, no_numbers, ADZ_ERR_SHAPE, "needs one or more residuals");
    expect_failure(&p, one_of, ADZ_ERR_GRAPH, "the residuals have no graph");
    adz_requires_grad_(p.x, false);
    expect_failure(&p, one_of, ADZ_ERR_GRAPH, "no parameter wants a gradient");
    adz_optimizer_release(&p.optimizer);

    p.optimizer = adz_adam_new(adz_tensor_list_of(&p.x, 1), 0.1, NULL);
    expect_failure(&p, several, ADZ_ERR_SHAPE, "a loss has one element");
    adz_optimizer_release(&p.optimizer);
}

static void constructors_refuse(void **state)
{
    (void)state;
    adz_tensor *x = leaf((const double[]){ 1 }, 1, ADZ_F64);
    adz_tensor *y = leaf((const double[]){ 1 }, 1, ADZ_F32);
    adz_tensor *both[] = { x, y },
               *empty = adz_requires_grad_(adz_zeros(ADZ_SHAPE(0), ADZ_F32), true);
    const adz_tensor_list list = adz_tensor_list_of(&x, 1);
    assert_null(adz_lbfgs_new(adz_tensor_list_of(both, 2), 1, NULL));
    expect_error(ADZ_ERR_DTYPE, "parameter 1[1] is float32 and parameter 0[1] float64");
    assert_null(adz_levenberg_marquardt_new(adz_tensor_list_of(&empty, 1), 1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "the parameters have no elements");
    assert_null(adz_lbfgs_new(list, -1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "lr is -1");
    adz_lbfgs_options o = ADZ_LBFGS_OPTIONS;
    o.history_size = 0;
    assert_null(adz_lbfgs_new(list, 1, &o));
    expect_error(ADZ_ERR_ARGUMENT, "history_size is 0, but must be in [1, 1000000000]");
    o = (adz_lbfgs_options)ADZ_LBFGS_OPTIONS;
    o.max_iter = -3;
    assert_null(adz_lbfgs_new(list, 1, &o));
    expect_error(ADZ_ERR_ARGUMENT, "max_iter is -3");
    o = (adz_lbfgs_options)ADZ_LBFGS_OPTIONS;
    o.max_iter = INT64_MAX;
    assert_null(adz_lbfgs_new(list, 1, &o));
    expect_error(ADZ_ERR_ARGUMENT, "max_iter is 9223372036854775807");
    o = (adz_lbfgs_options)ADZ_LBFGS_OPTIONS;
    o.max_eval = -1;
    assert_null(adz_lbfgs_new(list, 1, &o));
    expect_error(ADZ_ERR_ARGUMENT, "max_eval is -1");
    o.size = 0;
    assert_null(adz_lbfgs_new(list, 1, &o));
    expect_error(ADZ_ERR_ARGUMENT, "ADZ_LBFGS_OPTIONS");
    adz_levenberg_marquardt_options m = ADZ_LEVENBERG_MARQUARDT_OPTIONS;
    m.damping = 0;
    assert_null(adz_levenberg_marquardt_new(list, 1, &m));
    expect_error(ADZ_ERR_ARGUMENT, "damping is 0, but must be finite and above 0");
    m.damping = 1;
    m.max_iter = 0;
    assert_null(adz_levenberg_marquardt_new(list, 1, &m));
    expect_error(ADZ_ERR_ARGUMENT, "max_iter is 0");
}

static void settings_and_types_are_checked(void **state)
{
    (void)state;
    adz_tensor *x = leaf((const double[]){ 1 }, 1, ADZ_F64);
    const adz_tensor_list list = adz_tensor_list_of(&x, 1);
    adz_optimizer *good = adz_lbfgs_new(list, 1, NULL);
    assert_int_equal(adz_optimizer_set(good, 0, "max_iter", 2.5), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "max_iter is 2.5, but must be a whole number");
    assert_null(adz_optimizer_new(NULL, list, NULL, 0));
    expect_error(ADZ_ERR_NULL, "type");
    adz_optimizer *bare = adz_optimizer_new(adz_optimizer_type_of(good), list, NULL, 0);
    adz_tensor_set_grad(x, adz_ones_like(x));
    assert_int_equal(adz_optimizer_step(bare), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "make the optimizer with its constructor");
    adz_optimizer_release(&bare);
    adz_optimizer_release(&good);
}

static adz_optimizer *lbfgs_with_search(problem *p)
{
    adz_lbfgs_options options = ADZ_LBFGS_OPTIONS;
    options.strong_wolfe = true;
    return lbfgs_of(p, &options);
}

/* Whichever call of the closure fails, the next step is that of an optimizer that has seen none of
 * it. */
static void a_failure_leaves_nothing_behind(void **state)
{
    (void)state;
    for (int lm = 0; lm < 2; ++lm) {
        for (int call = 1; call < 9; ++call) {
            problem p = begin(ADZ_F64), q = begin(ADZ_F64);
            problem *const all[] = { &p, &q };
            adz_optimizer_closure closure = lm ? residuals : loss_of;
            for (int i = 0; i < 2; ++i) {
                all[i]->optimizer = lm ? lm_of(all[i], NULL) : lbfgs_with_search(all[i]);
                adz_optimizer_set(all[i]->optimizer, 0, "max_iter", 8);
                assert_int_equal(
                    adz_optimizer_step_closure(all[i]->optimizer, closure, all[i], NULL), ADZ_OK);
            }
            p.fails = p.calls + call;
            expect_failure(&p, closure, ADZ_ERR_SHAPE, "matmul: inner sizes");
            p.fails = 0;
            for (int i = 0; i < 2; ++i) {
                assert_int_equal(
                    adz_optimizer_step_closure(all[i]->optimizer, closure, all[i], NULL), ADZ_OK);
            }
            assert_true(adz_equal(p.x, q.x));
            adz_optimizer_release(&p.optimizer);
            adz_optimizer_release(&q.optimizer);
        }
    }
}

/* At 0 the loss is 0, and its gradient infinite. */
static adz_tensor *cusp(void *user)
{
    problem *p = user;
    adz_optimizer_zero_grad(p->optimizer);
    adz_tensor *loss = adz_sum(adz_sqrt(p->x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

static void numbers_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    p.undefined = 1;
    lbfgs_with_search(&p);
    expect_failure(&p, loss_of, ADZ_ERR_NUMERIC, "after 0 iterations of L-BFGS the loss is nan");
    adz_optimizer_release(&p.optimizer);
    lbfgs_of(&p, NULL); /* moves of one length, which leave the finite numbers */
    p.undefined = 0;
    adz_optimizer_set(p.optimizer, 0, "lr", 1e200);
    expect_failure(&p, loss_of, ADZ_ERR_NUMERIC, "set strong_wolfe");
    adz_optimizer_release(&p.optimizer);
    problem zero = { .x = leaf((const double[]){ 0, 0 }, 2, ADZ_F64) };
    lbfgs_with_search(&zero);
    expect_failure(&zero, cusp, ADZ_ERR_NUMERIC, "the loss is 0, and the largest gradient inf");
    adz_optimizer_release(&zero.optimizer);
    p.calls = 0;
    p.undefined = 1;
    lm_of(&p, NULL);
    expect_failure(
        &p, residuals, ADZ_ERR_NUMERIC, "a residual is not finite where the step begins");
    adz_optimizer_release(&p.optimizer);
}

/* ---- closures that use the optimizer --------------------------------------------------------- */

static adz_tensor *stepping(void *user)
{
    problem *p = user;
    if (++p->calls == 3) {
        adz_optimizer_step_closure(p->optimizer, loss_of, p, NULL);
    }
    return loss_of(p);
}

static adz_tensor *saving(void *user)
{
    problem *p = user;
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = p->optimizer;
    adz_tensor *loss = loss_of(p);
    return p->calls == 4 && adz_checkpoint_save(&c, temporary_path("inside")) != ADZ_OK ? NULL
                                                                                        : loss;
}

static void a_closure_does_not_end_its_step(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    lbfgs_with_search(&p);
    assert_int_equal(adz_optimizer_step_closure(p.optimizer, stepping, &p, NULL), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "the closure has ended the step of LBFGS that called it");
    adz_optimizer_release(&p.optimizer);
    p = begin(ADZ_F64);
    lbfgs_with_search(&p);
    expect_failure(&p, saving, ADZ_ERR_STATE, "and may not step, save or load the optimizer");
    assert_int_equal(adz_optimizer_step_closure(p.optimizer, loss_of, &p, NULL), ADZ_OK);
    adz_optimizer_release(&p.optimizer);
}

typedef struct {
    problem *p;
    adz_optimizer_closure closure;
    int last; /* the call that jumps */
    jmp_buf out;
} jump;

static adz_tensor *jumping(void *user)
{
    jump *j = user;
    adz_tensor *result = j->closure(j->p);
    if (j->p->calls >= j->last) {
        longjmp(j->out, 1);
    }
    return result;
}

static void leave(problem *p, adz_optimizer_closure closure)
{
    static jump j;
    j = (jump){ .p = p, .closure = closure, .last = p->calls + 4 };
    adz_scope *scope = adz_scope_open();
    if (setjmp(j.out) == 0) {
        adz_optimizer_step_closure(p->optimizer, jumping, &j, NULL);
        fail_msg("no jump");
    }
    adz_scope_close(scope);
}

/* The next step begins where the step began that a jump has left. */
static void a_jump_is_taken_back(void **state)
{
    (void)state;
    for (int lm = 0; lm < 2; ++lm) {
        problem p = begin(ADZ_F64), q = begin(ADZ_F64);
        adz_optimizer_closure closure = lm ? residuals : loss_of;
        p.optimizer = lm ? lm_of(&p, NULL) : lbfgs_with_search(&p);
        q.optimizer = lm ? lm_of(&q, NULL) : lbfgs_with_search(&q);
        leave(&p, closure);
        assert_int_equal(adz_optimizer_step_closure(p.optimizer, closure, &p, NULL), ADZ_OK);
        assert_int_equal(adz_optimizer_step_closure(q.optimizer, closure, &q, NULL), ADZ_OK);
        assert_true(adz_equal(p.x, q.x));
        leave(&p, closure);
        adz_optimizer_release(&p.optimizer);
        adz_optimizer_release(&q.optimizer);
    }
}

static adz_tensor *in_a_plan(void *user)
{
    problem *p = user;
    adz_optimizer_step_closure(p->optimizer, loss_of, p, NULL);
    return p->x;
}

static void plans_and_other_dtypes_are_refused(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    lbfgs_of(&p, NULL);
    assert_null(adz_plan_new(in_a_plan, &p, NULL));
    expect_error(ADZ_ERR_STATE, "adz_optimizer_step_closure");
    adz_optimizer_release(&p.optimizer);

    adz_module *m = adz_linear_new(2, 1, NULL);
    p.x = adz_module_get_parameter(m, "weight");
    p.optimizer = adz_lbfgs_new(adz_module_parameters(m), 1, NULL);
    adz_tensor_set_grad(p.x, adz_ones_like(p.x));
    assert_int_equal(adz_optimizer_step_closure(p.optimizer, one_of, &p, NULL), ADZ_OK);
    adz_module_to(m, ADZ_F64);
    assert_int_equal(adz_optimizer_step_closure(p.optimizer, one_of, &p, NULL), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "the parameters are float64, the history of L-BFGS float32");
    adz_optimizer_release(&p.optimizer);
    adz_module_release(&m);
}

static void ranks_do_not_divide_it(void **state)
{
    (void)state;
    adz_module *m = adz_linear_new(2, 1, NULL);
    adz_group *group = adz_group_single();
    adz_data_parallel *parallel = adz_data_parallel_new(group, m, NULL);
    assert_non_null(parallel);
    adz_optimizer *o = adz_lbfgs_new(adz_module_parameters(m), 1, NULL);
    assert_int_equal(adz_data_parallel_shard(parallel, o), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "LBFGS treats all parameters as one vector, so ranks cannot");
    assert_int_equal(adz_data_parallel_step(parallel, o), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "call adz_optimizer_step_closure");
    adz_optimizer_release(&o);
    adz_data_parallel_free(&parallel);
    adz_group_free(&group);
    adz_module_release(&m);
}

/* ---- refused memory -------------------------------------------------------------------------- */

typedef struct {
    problem p;
    adz_optimizer_closure closure;
    adz_tensor *before;
} attempt;

static adz_status try_step(void *user)
{
    attempt *a = user;
    return adz_optimizer_step_closure(a->p.optimizer, a->closure, &a->p, NULL);
}

static bool is_as_before(void *user)
{
    attempt *a = user;
    adz_optimizer_zero_grad(a->p.optimizer);
    return adz_equal(a->p.x, a->before);
}

static void refused_memory_changes_nothing(void **state)
{
    (void)state;
    for (int lm = 0; lm < 2; ++lm) {
        attempt a = { .p = begin(ADZ_F64), .closure = lm ? residuals : loss_of };
        a.before = adz_clone(a.p.x);
        a.p.optimizer = lm ? lm_of(&a.p, NULL) : lbfgs_with_search(&a.p);
        adz_optimizer_set(a.p.optimizer, 0, "max_iter", 2);
        assert_true(refuse_each(try_step, is_as_before, &a) > 10);
        adz_optimizer_release(&a.p.optimizer);
    }
}

int refused_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(closures_are_checked),
        TEST(constructors_refuse),
        TEST(settings_and_types_are_checked),
        TEST(a_failure_leaves_nothing_behind),
        TEST(numbers_that_are_not_finite_are_refused),
        TEST(a_closure_does_not_end_its_step),
        TEST(a_jump_is_taken_back),
        TEST(plans_and_other_dtypes_are_refused),
        TEST(ranks_do_not_divide_it),
        TEST(refused_memory_changes_nothing),
    };
    return cmocka_run_group_tests_name("closures: refused", tests, temporary_begin, temporary_end);
}
