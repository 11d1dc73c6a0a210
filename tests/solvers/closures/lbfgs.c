/* L-BFGS step by step, compared with torch.optim.LBFGS of PyTorch 2.15. The tests of convergence
 * are other ones and do not end any of these steps. */
#include "tests.h"

/* What PyTorch has after a step. */
typedef struct {
    int steps, calls;
    double loss, x[5];
} row;

typedef struct {
    const char *what;
    double lr;
    adz_lbfgs_options options;
    row rows[3];
    double state[2]; /* iterations and evaluations after all steps */
} table;

#define OPTIONS(...)                                   \
    {                                                  \
        .size = sizeof(adz_lbfgs_options), __VA_ARGS__ \
    }

static const table tables[] = {
    { "a line search", 1,
        OPTIONS(.max_iter = 5, .tolerance_grad = 1e-7, .tolerance_change = 1e-9, .history_size = 3,
            .strong_wolfe = true),
        {
            { 1, 7, 325.29999999999995,
                { 0.0096121544782910625, -0.099660208634608449, -0.13114135411495137,
                    0.086012640652100833, -0.21137120761327974 } },
            { 3, 19, 3.8398473994429239,
                { 0.44213228681651712, 0.23569444715062815, 0.062523907698329537,
                    0.036772473839803824, -0.0066525572338304081 } },
            { 8, 49, 0.13130795578086354,
                { 0.98748328809119212, 0.96871862430775568, 0.93860925410875451,
                    0.87731785136039608, 0.77257228484978324 } },
        },
        { 34, 49 } },
    { "a short first move", 0.5,
        OPTIONS(.max_iter = 5, .tolerance_grad = 1e-7, .tolerance_change = 1e-9, .history_size = 3,
            .strong_wolfe = true),
        {
            { 1, 6, 325.29999999999995,
                { -0.57238477334949212, 0.24169225710967182, -0.23438441506544896,
                    0.56179973096306823, 0.56881781557691347 } },
            { 3, 19, 4.3812601522150185,
                { -0.020891555958243595, -0.0036221350621076071, -0.017691753103428975,
                    0.035919629684964663, 0.011500738926609549 } },
            { 8, 49, 0.37471956720822253,
                { 0.96714697516007953, 0.93639487692955481, 0.86938205190761364, 0.7553911203829653,
                    0.5572219526766421 } },
        },
        { 39, 49 } },
    { "moves of one length", 0.001,
        OPTIONS(.max_iter = 5, .tolerance_grad = 1e-7, .tolerance_change = 1e-9, .history_size = 3),
        {
            { 1, 5, 325.29999999999995,
                { -1.1985804771526862, 0.99803283222371031, -0.49916886237791974,
                    0.80029766747418696, 1.2988334496318987 } },
            { 3, 15, 321.70757065198228,
                { -1.1943005596322926, 0.9935455862898227, -0.49371896349355626,
                    0.79476497997980955, 1.2861761654125501 } },
            { 8, 40, 171.49513723019166,
                { -1.09049984215929, 0.93818042838696847, -0.1713334034567246, 0.35231920152344709,
                    0.58206560003467012 } },
        },
        { 40, 40 } },
    { "few evaluations", 1,
        OPTIONS(.max_iter = 20, .max_eval = 7, .tolerance_grad = 1e-7, .tolerance_change = 1e-9,
            .history_size = 100, .strong_wolfe = true),
        {
            { 1, 7, 325.29999999999995,
                { -0.15894084776993012, 0.031451934963232037, 0.0015544786136624383,
                    0.051613209041303947, 0.16969456559270904 } },
            { 3, 21, 4.039914985213664,
                { 0.25358766246069459, 0.04260140410172665, 0.028916152090387857,
                    0.011459666651548015, -0.011335264023731948 } },
            { 8, 57, 0.048131518590594821,
                { 0.9990282191757649, 0.99805362948753107, 0.99602100724055243, 0.99187139234878041,
                    0.98205289917332994 } },
        },
        { 39, 57 } },
    { "ascent", 1,
        OPTIONS(.max_iter = 5, .tolerance_grad = 1e-7, .tolerance_change = 1e-9,
            .history_size = 100, .strong_wolfe = true, .maximize = true),
        {
            { 1, 6, -325.29999999999995,
                { -0.0059540317990163794, -0.16881035665320054, -0.047553513142981868,
                    -0.0057954764449401619, -0.20149934848816572 } },
            { 3, 18, -4.1416922879306517,
                { 0.21978674472867599, 0.039201932775265409, 0.028881631506785035,
                    0.010611404045512276, -0.011920143705498711 } },
            { 8, 50, -0.37156344348781928,
                { 0.97466606620224072, 0.94517488885401058, 0.89031831836710906,
                    0.79619186000968445, 0.62085095330184847 } },
        },
        { 33, 50 } },
};

/* A number of the optimizer's state, from a checkpoint. */
static double number_of(adz_optimizer *o, const char *name)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = o;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("numbers")), ADZ_OK);
    adz_safetensors *file = adz_safetensors_load(temporary_path("numbers"), NULL);
    const double value = adz_item(adz_safetensors_get(file, name));
    adz_safetensors_free(&file);
    return value;
}

static void steps_are_those_of_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i) {
        const table *t = &tables[i];
        problem p = begin(ADZ_F64);
        p.sign = t->options.maximize ? -1 : 1;
        p.optimizer = adz_lbfgs_new(adz_tensor_list_of(&p.x, 1), t->lr, &t->options);
        int r = 0;
        for (int step = 1; step <= 8; ++step) {
            double loss = NAN;
            assert_int_equal(adz_optimizer_step_closure(p.optimizer, loss_of, &p, &loss), ADZ_OK);
            if (step == t->rows[r].steps) {
                const row *want = &t->rows[r++];
                if (p.calls != want->calls || !holds(p.x, want->x, 1e-6) ||
                    !(fabs(loss - want->loss) <= 1e-6 * fabs(want->loss))) {
                    fail_msg(
                        "%s: after step %d %d calls, loss %.17g", t->what, step, p.calls, loss);
                }
            }
        }
        assert_true(number_of(p.optimizer, "state.0.n_iter") == t->state[0]);
        assert_true(number_of(p.optimizer, "state.0.func_evals") == t->state[1]);
        adz_optimizer_release(&p.optimizer);
    }
}

/* With the defaults and a line search, the minimum is found in both dtypes. */
static void the_minimum_is_found(void **state)
{
    (void)state;
    for (int f32 = 0; f32 < 2; ++f32) {
        problem p = begin(f32 ? ADZ_F32 : ADZ_F64);
        adz_lbfgs_options options = ADZ_LBFGS_OPTIONS;
        options.strong_wolfe = true;
        options.max_iter = 200;
        lbfgs_of(&p, &options);
        assert_true(adz_optimizer_get(p.optimizer, 0, "max_eval") == 250);
        assert_int_equal(adz_optimizer_step_closure(p.optimizer, loss_of, &p, NULL), ADZ_OK);
        assert_true(HOLDS(p.x, f32 ? 1e-2 : 1e-5, 1, 1, 1, 1, 1));
        const int before = p.calls;
        assert_int_equal(adz_optimizer_step_closure(p.optimizer, loss_of, &p, NULL), ADZ_OK);
        assert_true(p.calls <= before + (f32 ? 30 : 3));
        adz_optimizer_release(&p.optimizer);
    }
}

/* A trial point without a defined loss is too far, and the search comes back. */
static void undefined_points_are_left(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    adz_lbfgs_options options = ADZ_LBFGS_OPTIONS;
    options.strong_wolfe = true;
    options.max_iter = 200;
    lbfgs_of(&p, &options);
    p.undefined = 3;
    assert_int_equal(adz_optimizer_step_closure(p.optimizer, loss_of, &p, NULL), ADZ_OK);
    assert_true(HOLDS(p.x, 1e-5, 1, 1, 1, 1, 1));
    adz_optimizer_release(&p.optimizer);
}

static adz_tensor *parts[3];
static adz_optimizer *of_parts;

/* (a - 3)^2 + sum (b - 2)^2, where c takes no part and is not changed. */
static adz_tensor *loss_of_parts(void *user)
{
    (void)user;
    adz_optimizer_zero_grad(of_parts);
    adz_tensor *a = adz_add_number(parts[0], -3), *b = adz_add_number(parts[1], -2);
    adz_tensor *loss = adz_add(adz_sum(adz_mul(a, a), ADZ_ALL_DIMS, ADZ_DROPDIM),
        adz_sum(adz_mul(b, b), ADZ_ALL_DIMS, ADZ_DROPDIM));
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

static void parameters_without_a_gradient_stay(void **state)
{
    (void)state;
    parts[0] = leaf((const double[]){ 1 }, 1, ADZ_F64);
    parts[1] = adz_requires_grad_(adz_zeros(ADZ_SHAPE(2, 3), ADZ_F64), true);
    parts[2] = leaf((const double[]){ 7, 8 }, 2, ADZ_F64);
    of_parts = adz_lbfgs_new(adz_tensor_list_of(parts, 3), 1, NULL);
    assert_int_equal(adz_optimizer_step_closure(of_parts, loss_of_parts, NULL, NULL), ADZ_OK);
    assert_true(HOLDS(parts[0], 1e-6, 3));
    assert_true(HOLDS(parts[1], 1e-6, 2, 2, 2, 2, 2, 2));
    assert_true(HOLDS(parts[2], 0, 7, 8));
    adz_optimizer_release(&of_parts);
}

/* Other optimizers call the closure once. */
static void any_optimizer_takes_a_closure(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64), q = begin(ADZ_F64);
    double loss = NAN;
    p.optimizer = adz_adam_new(adz_tensor_list_of(&p.x, 1), 0.1, NULL);
    q.optimizer = adz_adam_new(adz_tensor_list_of(&q.x, 1), 0.1, NULL);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(adz_optimizer_step_closure(p.optimizer, loss_of, &p, &loss), ADZ_OK);
        assert_true(adz_item(loss_of(&q)) == loss);
        assert_int_equal(adz_optimizer_step(q.optimizer), ADZ_OK);
    }
    assert_true(adz_equal(p.x, q.x));
    assert_int_equal(p.calls, 3);
    adz_optimizer_release(&p.optimizer);
    adz_optimizer_release(&q.optimizer);
}

/* Gradients are computed although the caller has switched them off, as in PyTorch. */
static void the_closure_has_gradients(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    lbfgs_of(&p, NULL);
    ADZ_NO_GRAD
    {
        assert_int_equal(adz_optimizer_step_closure(p.optimizer, loss_of, &p, NULL), ADZ_OK);
        assert_false(adz_is_grad_enabled());
    }
    adz_optimizer_release(&p.optimizer);
}

int lbfgs_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(steps_are_those_of_pytorch),
        TEST(the_minimum_is_found),
        TEST(undefined_points_are_left),
        TEST(parameters_without_a_gradient_stay),
        TEST(any_optimizer_takes_a_closure),
        TEST(the_closure_has_gradients),
    };
    return cmocka_run_group_tests_name("closures: L-BFGS", tests, temporary_begin, temporary_end);
}
