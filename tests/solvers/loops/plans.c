/* Scans in plans: the bits of ordinary calls, and launches whose number does not depend on the
 * number of steps. */
#include "solvers/loops/loops.h"

/* A function that scans, with or without a backward. */
typedef struct scanned {
    cell c;
    adz_tensor *h, *xs;
    bool trains, reverse;
    adz_tensor *last; /* the last carry of the call, kept */
} scanned;

static adz_tensor *run_scan(void *user)
{
    scanned *s = user;
    adz_tensor *found[2];
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.reverse = s->reverse;
    const bool before = adz_set_grad_enabled(s->trains);
    const adz_status status = adz_scan(cell_step, &s->c, &s->h, 1, &s->xs, 1, 1, &o, found);
    adz_set_grad_enabled(before);
    if (status != ADZ_OK || !s->trains) {
        return status == ADZ_OK ? found[1] : NULL;
    }
    adz_tensor *leaves[] = { s->c.w, s->c.u, s->c.b, s->h, s->xs };
    for (size_t i = 0; i < 5; ++i) {
        adz_tensor_set_grad(leaves[i], ADZ_NONE);
    }
    adz_tensor *loss = adz_add(adz_sum(adz_square(found[1]), ADZ_ALL_DIMS, ADZ_DROPDIM),
        adz_sum(found[0], ADZ_ALL_DIMS, ADZ_DROPDIM));
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

static scanned scanned_new(int64_t steps, int64_t batch, adz_dtype dtype, bool trains)
{
    scanned s = { .c = cell_new(11, dtype), .trains = trains };
    s.h = adz_randn(ADZ_SHAPE(batch, WIDTH), dtype);
    s.xs = adz_randn(ADZ_SHAPE(steps, batch, WIDTH), dtype);
    adz_requires_grad_(s.h, true);
    adz_requires_grad_(s.xs, true);
    return s;
}

/* Writes other contents into the inputs. */
static void draw(scanned *s, uint64_t seed)
{
    adz_manual_seed(seed);
    const bool before = adz_set_grad_enabled(false);
    adz_copy_(s->h, adz_randn_like(s->h));
    adz_copy_(s->xs, adz_randn_like(s->xs));
    adz_set_grad_enabled(before);
}

/* Whether the replay of a plan has the bits of an ordinary call, in the result and all gradients.
 * *info describes the plan. */
static bool replays(scanned *s, adz_plan_info *info)
{
    adz_tensor *leaves[] = { s->c.w, s->c.u, s->c.b, s->h, s->xs }, *wanted[6];
    adz_plan *plan = adz_plan_new(run_scan, s, NULL);
    bool same = plan != NULL && adz_plan_run(plan) == ADZ_OK;
    for (uint64_t seed = 1; seed < 4 && same; ++seed) {
        draw(s, seed);
        wanted[5] = run_scan(s);
        for (size_t i = 0; i < 5 && s->trains; ++i) {
            adz_tensor *grad = adz_tensor_grad(leaves[i]); /* none of a scan without steps */
            wanted[i] = grad != NULL ? adz_clone(grad) : NULL;
        }
        same = adz_plan_run(plan) == ADZ_OK && adz_plan_run(plan) == ADZ_OK &&
               adz_plan_run(plan) == ADZ_OK &&
               adz_plan_get_info(plan, info, sizeof *info) == ADZ_OK && info->captured &&
               same_bits(adz_plan_output(plan), wanted[5]);
        for (size_t i = 0; i < 5 && s->trains && same; ++i) {
            const adz_tensor *grad = adz_tensor_grad(leaves[i]);
            same = wanted[i] == NULL ? grad == NULL : same_bits(grad, wanted[i]);
        }
    }
    adz_plan_free(&plan);
    return same;
}

static void replays_have_the_bits_of_ordinary_calls(void **state)
{
    (void)state;
    const int64_t lengths[] = { 0, 1, 2, 7, 300 };
    for (int mode = 0; mode < 8; ++mode) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
            scanned s =
                scanned_new(lengths[i], mode & 1 ? 3 : 1, mode & 2 ? ADZ_F64 : ADZ_F32, mode & 4);
            s.reverse = mode & 1;
            adz_plan_info info;
            assert_true(replays(&s, &info));
        }
    }
}

static void launches_do_not_depend_on_the_number_of_steps(void **state)
{
    (void)state;
    for (int trains = 0; trains < 2; ++trains) {
        adz_plan_info few, many;
        scanned a = scanned_new(10, 2, ADZ_F32, trains),
                b = scanned_new(FOLDS ? 1000 : 20, 2, ADZ_F32, trains);
        assert_true(replays(&a, &few) && replays(&b, &many));
        assert_true(!FOLDS || few.launches == many.launches);
        if (!trains && FOLDS) {
            assert_int_equal(few.memory_bytes, many.memory_bytes);
        }
    }
}

/* A short body, for very many steps. */
static adz_status short_step(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const scanned *s = user;
    results[0] = adz_tanh(adz_add(adz_mul(inputs[0], s->c.b), inputs[1]));
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *run_short(void *user)
{
    scanned *s = user;
    adz_tensor *last, *gradients[2], *leaves[] = { s->c.b, s->xs };
    if (adz_scan(short_step, s, &s->h, 1, &s->xs, 1, 0, NULL, &last) != ADZ_OK) {
        return NULL;
    }
    adz_tensor *loss = adz_sum(last, ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_autograd_grad(&loss, NULL, 1, leaves, 2, NULL, gradients) == ADZ_OK
               ? adz_cat((adz_tensor *[]){ adz_flatten(gradients[0], 0, -1),
                             adz_flatten(gradients[1], 0, -1) },
                     2, 0)
               : NULL;
}

static void ten_thousand_steps_have_the_launches_of_ten(void **state)
{
    (void)state;
    adz_plan_info infos[2];
    for (int i = 0; i < 2; ++i) {
        const int64_t steps = i && FOLDS ? 10000 : 10;
        scanned s = scanned_new(steps, 1, ADZ_F32, true);
        adz_plan *plan = adz_plan_new(run_short, &s, NULL);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        draw(&s, 5);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_true(same_bits(adz_plan_output(plan), run_short(&s)));
        adz_plan_get_info(plan, &infos[i], sizeof infos[i]);
        adz_plan_free(&plan);
    }
    assert_true(!FOLDS || infos[0].launches == infos[1].launches);
    /* The states of a step and its gradients, in blocks of 64 bytes. */
    assert_true(!FOLDS || (infos[1].memory_bytes - infos[0].memory_bytes) / 9990 <= 4 * 64);
}

/* ---- bodies of other kinds ------------------------------------------------------------------- */

enum { STEPS = 30 };

/* A function over a body, and what the body uses. */
typedef struct program {
    adz_loop_body body;
    size_t n_carries, n_results;
    adz_tensor *start[3], *xs, *weights[STEPS], *table;
    adz_module *model, *after; /* `after` maps the sum, and `model` is a part of a step */
    adz_optimizer *optimizer;
    bool trains;
    int64_t step;
} program;

/* The sum of the last carries and of all results. */
static adz_tensor *run_program(void *user)
{
    program *p = user;
    adz_tensor *found[6], *sum = NULL;
    p->step = 0;
    if (adz_scan(p->body, p, p->start, p->n_carries, &p->xs, 1, p->n_results, NULL, found) !=
        ADZ_OK) {
        return NULL;
    }
    for (size_t k = 0; k < p->n_carries + p->n_results; ++k) {
        adz_tensor *one = adz_sum(found[k], ADZ_ALL_DIMS, ADZ_DROPDIM);
        sum = sum != NULL ? adz_add(sum, one) : one;
    }
    if (p->after != NULL) {
        sum = adz_sum(adz_module_forward(p->after, adz_reshape(sum, ADZ_SHAPE(1, 1))), ADZ_ALL_DIMS,
            ADZ_DROPDIM);
    }
    if (!p->trains) {
        return sum;
    }
    if (adz_backward(sum) != ADZ_OK ||
        (p->optimizer != NULL && adz_optimizer_step(p->optimizer) != ADZ_OK)) {
        return NULL;
    }
    if (p->optimizer != NULL) {
        adz_optimizer_zero_grad(p->optimizer);
    } else {
        for (size_t i = 0; i < STEPS && p->weights[i] != NULL; ++i) {
            adz_tensor *grad = adz_tensor_grad(p->weights[i]);
            sum = grad != NULL ? adz_add(sum, adz_sum(adz_square(grad), ADZ_ALL_DIMS, ADZ_DROPDIM))
                               : sum;
            adz_tensor_set_grad(p->weights[i], ADZ_NONE);
        }
    }
    return sum;
}

static program program_new(adz_loop_body body, size_t n_carries, size_t n_results)
{
    adz_manual_seed(21);
    program p = { .body = body, .n_carries = n_carries, .n_results = n_results };
    for (size_t k = 0; k < n_carries; ++k) {
        p.start[k] = adz_randn(ADZ_SHAPE(4), ADZ_F64);
    }
    p.xs = adz_randn(ADZ_SHAPE(STEPS, 4), ADZ_F64);
    return p;
}

/* Runs a plan of the program six times, and the program itself, with the inputs and random numbers
 * of each run. Returns the launches of the plan; 0 if a result differs. `reset` makes both sides
 * begin alike. */
static size_t launches_of(program *p, void (*reset)(program *p))
{
    double found[6], wanted[6];
    adz_plan_info info = { 0 };
    reset(p);
    adz_plan *plan = adz_plan_new(run_program, p, NULL);
    for (int i = 0; i < 6 && plan != NULL; ++i) {
        adz_plan_run(plan);
        adz_plan_get_info(plan, &info, sizeof info);
        found[i] = adz_item(adz_plan_output(plan));
    }
    adz_plan_free(&plan);
    reset(p);
    run_program(p);
    for (int i = 0; i < 6; ++i) {
        wanted[i] = adz_item(run_program(p));
    }
    assert_true(info.captured);
    assert_int_equal(adz_error_code(), ADZ_OK);
    return memcmp(found, wanted, sizeof found) == 0 ? info.launches : 0;
}

static void reset_seed(program *p)
{
    (void)p;
    adz_manual_seed(4);
}

/* Numbers of three steps are alive at one time. */
static adz_status three_back(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = inputs[1];
    results[1] = inputs[2];
    results[2] = adz_tanh(adz_add(adz_mul_number(inputs[0], 0.5), inputs[3]));
    return results[2] != NULL ? ADZ_OK : adz_error_code();
}

static void carries_may_wait_for_several_steps(void **state)
{
    (void)state;
    program p = program_new(three_back, 3, 0);
    const size_t launches = launches_of(&p, reset_seed);
    assert_true(launches > 0 && (!FOLDS || launches <= 30));
}

static adz_status drops(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = adz_dropout(adz_add(inputs[0], inputs[1]), 0.5, true, NULL);
    results[1] = results[0];
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static void bodies_may_draw_random_numbers(void **state)
{
    (void)state;
    program p = program_new(drops, 1, 1);
    const size_t launches = launches_of(&p, reset_seed);
    assert_true(launches > 0 && (!FOLDS || launches <= 40));
}

/* Adds each state to a tensor from outside, in place. */
static adz_status collects(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const program *p = user;
    results[0] = adz_sin(adz_add(inputs[0], inputs[1]));
    adz_add_(p->table, results[0]);
    results[1] = adz_mul_number(p->table, 2);
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

static void reset_table(program *p)
{
    adz_zero_(p->table);
}

static void bodies_may_write_in_place(void **state)
{
    (void)state;
    program p = program_new(collects, 1, 1);
    p.table = adz_zeros(ADZ_SHAPE(4), ADZ_F64);
    const size_t launches = launches_of(&p, reset_table);
    assert_true(launches > 0 && (!FOLDS || launches <= 40));
}

/* Other weights in each step, some of them twice. */
static adz_status wanders(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    program *p = user;
    adz_tensor *w = p->weights[p->step * p->step % STEPS];
    ++p->step;
    results[0] = adz_tanh(adz_add(adz_mul(inputs[0], w), inputs[1]));
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static void weights_that_change_from_step_to_step_are_right(void **state)
{
    (void)state;
    program p = program_new(wanders, 1, 0);
    for (size_t i = 0; i < STEPS; ++i) {
        p.weights[i] = adz_randn(ADZ_SHAPE(4), ADZ_F64);
        adz_requires_grad_(p.weights[i], true);
    }
    assert_true(launches_of(&p, reset_seed) > 0);
    p.trains = true;
    assert_true(launches_of(&p, reset_seed) > 0);
}

/* One step computes something else. */
static adz_status stumbles(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    program *p = user;
    results[0] = p->step++ == 17 ? adz_cos(inputs[0]) : adz_sin(adz_add(inputs[0], inputs[1]));
    results[1] = inputs[0];
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static void steps_that_compute_something_else_are_right(void **state)
{
    (void)state;
    program p = program_new(stumbles, 1, 1);
    assert_true(launches_of(&p, reset_seed) > 0);
}

static adz_status of_model(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const program *p = user;
    adz_tensor *row = adz_reshape(adz_add(inputs[0], inputs[1]), ADZ_SHAPE(1, 4));
    results[0] = adz_reshape(adz_module_forward(p->model, row), ADZ_SHAPE(4));
    results[1] = adz_square(results[0]);
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

static void reset_model(program *p)
{
    adz_manual_seed(9);
    adz_optimizer_release(&p->optimizer);
    adz_module_reset_parameters(p->model);
    adz_module_reset_parameters(p->after);
    p->optimizer = adz_adam_new(adz_module_parameters(p->model), 1e-2, NULL);
    adz_optimizer_add_param_group(p->optimizer, adz_module_parameters(p->after));
}

static void training_steps_are_replayed(void **state)
{
    (void)state;
    program p = program_new(of_model, 1, 1);
    p.model =
        ADZ_SEQUENTIAL(adz_linear_new(4, 6, NULL), adz_tanh_new(), adz_linear_new(6, 4, NULL));
    p.after =
        adz_linear_new(1, 3, NULL); /* its update could come before the loop of the backward */
    assert_int_equal(adz_module_to(p.model, ADZ_F64), ADZ_OK);
    assert_int_equal(adz_module_to(p.after, ADZ_F64), ADZ_OK);
    p.trains = true;
    const size_t launches = launches_of(&p, reset_model);
    assert_true(launches > 0 && (!FOLDS || launches <= 400));
    adz_optimizer_release(&p.optimizer);
    adz_module_release(&p.model);
    adz_module_release(&p.after);
}

/* A scan in each step of a scan. */
static adz_status scans_itself(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    program *p = user;
    adz_tensor *found[2];
    adz_tensor *start = adz_add(inputs[0], inputs[1]);
    if (adz_scan(drops, user, &start, 1, &p->table, 1, 1, NULL, found) != ADZ_OK) {
        return adz_error_code();
    }
    results[0] = adz_tanh(found[0]);
    results[1] = adz_sum(found[1], ADZ_ALL_DIMS, ADZ_DROPDIM);
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

static void scans_may_be_nested(void **state)
{
    (void)state;
    program p = program_new(scans_itself, 1, 1);
    p.table = adz_randn(ADZ_SHAPE(7, 4), ADZ_F64);
    assert_true(launches_of(&p, reset_seed) > 0);
}

/* The index of step t is an element of the input. */
static adz_status looks_up(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const program *p = user;
    adz_tensor *row = adz_index_select(p->table, 0, adz_reshape(inputs[1], ADZ_SHAPE(1)));
    results[0] = adz_add(inputs[0], adz_reshape(row, ADZ_SHAPE(4)));
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static void a_step_of_a_replay_may_fail(void **state)
{
    (void)state;
    int64_t ids[STEPS] = { 0 };
    program p = program_new(looks_up, 1, 0);
    p.table = adz_randn(ADZ_SHAPE(5, 4), ADZ_F64);
    p.xs = adz_tensor_from(ids, ADZ_SHAPE(STEPS), ADZ_I64);
    adz_plan *plan = adz_plan_new(run_program, &p, NULL);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    const double before = adz_item(adz_plan_output(plan));
    const struct {
        int step;
        const char *text;
    } wrong[] = { { 0, "step 0 of adz_scan: " }, { 20, "step 20 of adz_scan: " },
        { STEPS - 1, "step 29 of adz_scan: " } };
    for (int i = 0; i < 3; ++i) {
        ids[wrong[i].step] = 5;
        adz_tensor_write(p.xs, ids, sizeof ids);
        assert_int_equal(adz_plan_run(plan), ADZ_ERR_INDEX);
        expect_error(ADZ_ERR_INDEX, wrong[i].text);
        ids[wrong[i].step] = 0;
    }
    adz_tensor_write(p.xs, ids, sizeof ids);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_true(adz_item(adz_plan_output(plan)) == before);
    adz_plan_free(&plan);
}

const struct CMUnitTest loops_plans[N_LOOPS_PLANS] = {
    TEST(replays_have_the_bits_of_ordinary_calls),
    TEST(launches_do_not_depend_on_the_number_of_steps),
    TEST(ten_thousand_steps_have_the_launches_of_ten),
    TEST(carries_may_wait_for_several_steps),
    TEST(bodies_may_draw_random_numbers),
    TEST(bodies_may_write_in_place),
    TEST(weights_that_change_from_step_to_step_are_right),
    TEST(steps_that_compute_something_else_are_right),
    TEST(training_steps_are_replayed),
    TEST(scans_may_be_nested),
    TEST(a_step_of_a_replay_may_fail),
};
