/* The line search of L-BFGS, compared with PyTorch 2.15: with short first trials, which it extends,
 * and with long ones, which it cuts. PyTorch's tolerances were 0. */
#include "tests.h"

/* sum (x - 3)^4 + 0.1 x^2 */
static adz_tensor *quartic(adz_tensor *x)
{
    adz_tensor *square = adz_square(adz_add_number(x, -3));
    return adz_add_scaled(adz_square(square), adz_square(x), 0.1);
}

/* sum 0.05 x^2 + sin(3 x) */
static adz_tensor *wave(adz_tensor *x)
{
    return adz_add_scaled(adz_sin(adz_mul_number(x, 3)), adz_square(x), 0.05);
}

/* sum x - 2 log(x), plus 0.5 (x0 - x1)^2; NaN where a trial leaves the positive numbers */
static adz_tensor *barrier(adz_tensor *x)
{
    adz_tensor *apart = adz_sub(adz_narrow(x, 0, 0, 1), adz_narrow(x, 0, 1, 1));
    adz_tensor *terms = adz_add_scaled(x, adz_log(x), -2);
    /* the last term is added to each of three elements */
    return adz_add_scaled(terms, adz_square(apart), 0.5 / 3);
}

/* sum exp(2 x) - 3 x */
static adz_tensor *steep(adz_tensor *x)
{
    return adz_add_scaled(adz_exp(adz_mul_number(x, 2)), x, -3);
}

/* Rosenbrock's function of two elements, plus log(1 + x2^2) */
static adz_tensor *valley(adz_tensor *x)
{
    adz_tensor *a = adz_narrow(x, 0, 0, 1), *b = adz_narrow(x, 0, 1, 1);
    adz_tensor *sum = adz_log1p(adz_square(adz_narrow(x, 0, 2, 1)));
    sum = adz_add_scaled(sum, adz_square(adz_sub(b, adz_square(a))), 100);
    return adz_add(sum, adz_square(adz_add_number(a, -1)));
}

/* sum sqrt(0.001 + (x - 1)^2) + 0.3 cos(9 x) */
static adz_tensor *kinks(adz_tensor *x)
{
    adz_tensor *square = adz_square(adz_add_number(x, -1));
    return adz_add_scaled(
        adz_sqrt(adz_add_number(square, 1e-3)), adz_cos(adz_mul_number(x, 9)), 0.3);
}

/* What PyTorch has after each step of three iterations. Some rows have one step. */
typedef struct {
    int calls;
    double loss, x[3];
} row;

static const struct {
    adz_tensor *(*terms)(adz_tensor *x);
    double lr, start[3];
    row rows[2];
} table[] = {
    { quartic, 0.0001, { 0.0, 10.0, -5.0 },
        { { 20, 6590.5, { 0.41095808641483805, 7.357613684597953, -1.7240770148615534 } },
            { 19, 909.2782407843617,
                { 1.162473715644769, 5.723683004527366, 0.04070517551657008 } } } },
    { quartic, 1.0, { 0.0, 10.0, -5.0 },
        { { 4, 6590.5, { 0.5822668220304168, 6.55533240263551, -0.9760614290421521 } },
            { 4, 448.30144795089456,
                { 1.7705979772868072, 4.478843776264866, 1.3223594250929809 } } } },
    { quartic, 50.0, { 0.0, 10.0, -5.0 },
        { { 12, 6590.5, { 1.2773274806190504, 1.5843121928377761, 4.590248642261578 } },
            { 11, 21.739846367085327,
                { 2.406078662740528, 2.4886027092861416, 2.5600867218199 } } } },
    { wave, 0.0001, { 4.0, -2.0, 7.5 },
        { { 14, 3.0681680677379815, { 3.604995769412836, -2.4249712994928734, 7.758899681334427 } },
            { 13, 1.1735461031653553,
                { 3.61038014479199, -2.4739141955916053, 7.761064877876735 } } } },
    { wave, 1.0, { 4.0, -2.0, 7.5 },
        { { 5, 3.0681680677379815, { 3.621121026144695, -2.5893631643675925, 7.768629596018923 } },
            { 4, 1.053463528991514,
                { 3.624816919260296, -2.589189221116767, 7.766690850271367 } } } },
    { wave, 50.0, { 4.0, -2.0, 7.5 },
        { { 12, 3.0681680677379815, { 3.6190561310895832, -2.592261866630509, 7.769545182638022 } },
            { 7, 1.0536136402757272,
                { 3.6248170348807975, -2.589189270613811, 7.766690791356921 } } } },
    { barrier, 0.0001, { 0.1, 9.0, 0.5 },
        { { 18, 50.80201539243555, { 0.48702146769468685, 8.607648236385883, 0.6125169984748176 } },
            { 18, 40.79342530444058,
                { 2.9955956419850738, 2.870386549693367, 1.4981559174516068 } } } },
    { barrier, 1.0, { 0.1, 9.0, 0.5 },
        { { 4, 50.80201539243555, { 3.4540575318585125, 4.841505234311852, 0.9249295683318373 } },
            { 4, 4.70552265669304,
                { 3.1883250689927323, 2.9204651680074316, 2.2637120714886176 } } } },
    { steep, 0.0001, { 1.5, -2.0, 1.0 },
        { { 18, 25.99290866100705,
              { 1.0237352974526537, -1.8927063877507702, 0.7192407538991084 } },
            { 19, 12.434459852999947,
                { 0.4806970618204815, -1.3409923323381043, 0.318251555061406 } } } },
    { steep, 1.0, { 1.5, -2.0, 1.0 },
        { { 4, 25.99290866100705,
              { 0.32200412887286095, -1.5232346854261136, 0.3303576351804039 } },
            { 5, 6.500419638299644,
                { -0.06436512304980817, 0.21669534417332686, 0.038044777809652756 } } } },
    { steep, 50.0, { 1.5, -2.0, 1.0 },
        { { 20, 25.99290866100705,
              { 0.14022790996890586, 0.4287466669739185, 0.5592583704013366 } },
            { 14, 3.356590273730241,
                { 0.19826200347988748, 0.21364993750974626, 0.1985223420981268 } } } },
    { valley, 0.0001, { -1.2, 1.0, 20.0 },
        { { 15, 30.193961427306565,
              { -1.0330050160677529, 1.0709370700470235, 19.99975549416123 } },
            { 16, 10.128519232273163,
                { -1.015626194300063, 1.0507908022624959, 19.998293765802 } } } },
    { valley, 1.0, { -1.2, 1.0, 20.0 },
        { { 5, 30.193961427306565,
              { -1.0288809267384815, 1.0655013342616508, 19.999716063129796 } },
            { 4, 10.11505933653713,
                { -0.9970005586873977, 0.9754694764525433, 19.99436436485498 } } } },
    { valley, 50.0, { -1.2, 1.0, 20.0 },
        { { 12, 30.193961427306565, { 1.4309142678591453, 2.04923101179004, 19.99868311355713 } },
            { 12, 6.179811418368589,
                { 1.2166444916473433, 1.4637052412165632, 19.979528786823977 } } } },
    { kinks, 1.0, { 2.5, -1.0, 0.3 },
        { { 7, 3.394745089137095, { 1.7025505924102033, -1.0038657848603125, 1.0181864789136907 } },
            { 4, 1.8985116602799632,
                { 1.7032214403102726, -1.0050479379778234, 1.0228792008171181 } } } },
    { kinks, 50.0, { 2.5, -1.0, 0.3 },
        { { 15, 3.394745089137095,
              { 1.0328656992622784, -1.0168222918347951, 1.7174149633279787 } },
            { 14, 1.9038409591862457,
                { 0.5340604154035898, -0.27346317657574976, 1.0327855138178352 } } } },
    { quartic, 0.01, { 0.15, 12.04, -5.47 },
        { { 11, 11908.642145619995,
            { 0.3118512624666512, 9.721132011771067, -3.3776171159677983 } } } },
    { quartic, 0.3, { -0.02, 12.75, -6.43 },
        { { 5, 17048.08922242, { 0.13816479389949246, 10.3513970559539, -4.151209127394592 } } } },
    { quartic, 4.0, { -0.15, 10.31, -3.71 },
        { { 4, 4993.050640270001,
            { 2.0180464170851593, 3.3624752818257972, 2.8781740371005746 } } } },
    { quartic, 17.0, { 0.25, 11.39, -6.11 },
        { { 5, 11916.64048107, { 2.5745191787159696, 2.9175166086274222, 2.60764060572164 } } } },
    { quartic, 200.0, { -0.22, 7.23, -4.3 },
        { { 16, 3274.56481897, { 1.9298155772921297, 4.049788627278785, 3.50942427963708 } } } },
    { wave, 0.01, { 5.38, -1.47, 7.78 },
        { { 9, 4.142120346833874,
            { 6.065153694365264, -0.7350816509089478, 7.747063907579931 } } } },
    { wave, 0.3, { 3.56, -1.95, 9.15 },
        { { 5, 5.213171339968082,
            { 3.6683199717462838, -2.696014300567109, 9.751539708063815 } } } },
    { wave, 4.0, { 3.47, -1.84, 6.67 },
        { { 8, 3.7705823008629173,
            { 3.6902467434708583, -2.6073394912556456, 5.699806249424088 } } } },
    { wave, 17.0, { 2.91, -1.92, 8.92 },
        { { 12, 6.72430818842146,
            { 3.963793678433833, -2.900431403931511, 7.977631795665923 } } } },
    { wave, 200.0, { 3.55, -2.51, 9.35 },
        { { 13, 3.649855501608598,
            { 3.6293678064999257, -2.5941109817626735, 9.837758074955119 } } } },
    { barrier, 0.01, { 0.11, 10.86, 0.36 },
        { { 9, 70.79892969243183,
            { 0.34202632798280025, 10.60476377354806, 0.4475146064576302 } } } },
    { barrier, 0.3, { 0.12, 8.28, 0.52 },
        { { 5, 43.533494070419174,
            { 1.193467014859804, 7.141092488458641, 0.806083833371938 } } } },
    { steep, 0.01, { 1.38, -2.57, 1.33 },
        { { 10, 29.68198973665133,
            { 0.9983166858896577, -2.4714631640369835, 0.9654564841900599 } } } },
    { steep, 0.3, { 1.55, -2.78, 0.97 },
        { { 4, 29.940551028476516,
            { 1.090381477659647, -2.6986241172780163, 0.7635393039918182 } } } },
    { steep, 4.0, { 1.78, -2.48, 0.78 },
        { { 9, 39.689031318077056,
            { 0.20412990124870659, -0.15910246456514524, -0.28627135795445957 } } } },
    { steep, 17.0, { 0.96, -1.47, 1.09 },
        { { 14, 13.980130456749983,
            { 0.23378708691860664, 0.2854944688875158, 0.2381097503324337 } } } },
    { steep, 200.0, { 1.39, -2.1, 0.9 },
        { { 25, 21.613663989260967,
            { 0.4085885636826602, 0.3706356080448851, 0.13957659302940106 } } } },
    { valley, 0.01, { -1.46, 0.69, 24.71 },
        { { 9, 220.28870847633297,
            { -1.0098137705587575, 0.8903107074783974, 24.7098650587377 } } } },
    { valley, 0.3, { -0.99, 0.92, 25.48 },
        { { 7, 10.798627761621493,
            { -0.8938767822301783, 0.7835374342140772, 25.47285631886247 } } } },
    { valley, 4.0, { -1.64, 0.75, 24.01 },
        { { 6, 389.5330899829276,
            { 1.3095133830701446, 1.715798614359104, 24.009701719461717 } } } },
    { valley, 17.0, { -0.87, 1.5, 19.44 },
        { { 8, 64.65396921075596,
            { -1.005496384830111, 0.9866012079708621, 19.417042882111897 } } } },
    { valley, 200.0, { -1.38, 0.82, 15.68 },
        { { 16, 128.76556709637813,
            { -0.4669057797064634, 0.20021858153178732, 15.616452796841342 } } } },
    { kinks, 0.01, { 3.51, -1.08, 0.02 },
        { { 10, 5.8745477063543765,
            { 3.0655034242183965, 0.017141883436163123, 1.0534978080845931 } } } },
    { kinks, 0.3, { 2.33, -1.3, 0.52 },
        { { 5, 4.139481644014666,
            { 2.4100545306028107, -1.0210742847360572, 0.39119387902203706 } } } },
    { kinks, 4.0, { 2.89, -1.24, 0.21 },
        { { 6, 5.067861425783665,
            { 2.199433560534535, -0.5640806802168207, 1.0050881654985448 } } } },
    { kinks, 17.0, { 2.64, -1.24, 0.47 },
        { { 10, 4.380436141906784,
            { 1.0356619863721532, 0.40497996108964796, -0.31377313983878147 } } } },
};

typedef struct {
    adz_tensor *(*terms)(adz_tensor *x);
    adz_tensor *x;
    adz_optimizer *optimizer;
    int calls;
    double factor;
} line;

static adz_tensor *loss_of_line(void *user)
{
    line *l = user;
    ++l->calls;
    adz_optimizer_zero_grad(l->optimizer);
    adz_tensor *loss = adz_sum(l->terms(l->x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    loss = adz_mul_number(loss, l->factor);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

static line line_of(size_t i, double factor)
{
    adz_lbfgs_options options = ADZ_LBFGS_OPTIONS;
    options.strong_wolfe = true;
    options.max_iter = 3;
    options.max_eval = 60;
    options.tolerance_grad = options.tolerance_change = 0;
    line l = { .terms = table[i].terms, .x = leaf(table[i].start, 3, ADZ_F64), .factor = factor };
    l.optimizer = adz_lbfgs_new(adz_tensor_list_of(&l.x, 1), table[i].lr, &options);
    return l;
}

static void trials_are_those_of_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
        line l = line_of(i, 1);
        for (int step = 0; step < 2 && table[i].rows[step].calls > 0; ++step) {
            const row *want = &table[i].rows[step];
            double loss = NAN;
            l.calls = 0;
            assert_int_equal(
                adz_optimizer_step_closure(l.optimizer, loss_of_line, &l, &loss), ADZ_OK);
            if (l.calls != want->calls || !holds(l.x, want->x, 1e-5) ||
                !(fabs(loss - want->loss) <= 1e-9 * fabs(want->loss))) {
                fail_msg("row %d, step %d: %d calls, loss %.17g", (int)i, step, l.calls, loss);
            }
        }
        adz_optimizer_release(&l.optimizer);
    }
}

/* A first trial that is much too short or much too long takes no more than max_eval evaluations. */
static void searches_keep_to_their_evaluations(void **state)
{
    (void)state;
    for (int far = 0; far < 2; ++far) {
        line l = line_of(0, 1);
        adz_closure_report r;
        adz_optimizer_set(l.optimizer, 0, "lr", far ? 1e30 : 1e-30);
        adz_optimizer_set(l.optimizer, 0, "max_eval", 6);
        assert_int_equal(adz_optimizer_step_closure(l.optimizer, loss_of_line, &l, NULL), ADZ_OK);
        assert_int_equal(adz_optimizer_get_report(l.optimizer, &r), ADZ_OK);
        assert_true(r.evaluations == l.calls && l.calls >= 6 && l.calls <= 8);
        assert_int_equal(r.iterations, 1);
        assert_int_equal(r.reason, ADZ_CLOSURE_LIMIT);
        adz_optimizer_release(&l.optimizer);
    }
}

/* |x - 1/3| of the first element, whose slope is 1 or -1, also at the kink: no point is good, and
 * the search ends at the rounding error. */
static adz_tensor *kink(adz_tensor *x)
{
    adz_tensor *z = adz_add_number(adz_narrow(x, 0, 0, 1), -1.0 / 3);
    return adz_sub(adz_mul_number(adz_relu(z), 2), z);
}

static void a_kink_ends_a_search(void **state)
{
    (void)state;
    line l = line_of(0, 1);
    l.terms = kink;
    adz_closure_report r;
    adz_optimizer_set(l.optimizer, 0, "max_eval", 5000);
    assert_int_equal(adz_optimizer_step_closure(l.optimizer, loss_of_line, &l, NULL), ADZ_OK);
    assert_int_equal(adz_optimizer_get_report(l.optimizer, &r), ADZ_OK);
    assert_true(r.evaluations < 500 && r.loss < 1e-12);
    adz_optimizer_release(&l.optimizer);
    l = line_of(0, 1);
    l.terms = kink;
    adz_optimizer_set(l.optimizer, 0, "max_eval", 14);
    assert_int_equal(adz_optimizer_step_closure(l.optimizer, loss_of_line, &l, NULL), ADZ_OK);
    assert_int_equal(adz_optimizer_get_report(l.optimizer, &r), ADZ_OK);
    assert_int_equal(r.reason, ADZ_CLOSURE_LIMIT);
    assert_true(r.evaluations >= 14 && r.evaluations <= 15 && l.calls == r.evaluations);
    adz_optimizer_release(&l.optimizer);
}

/* f(x) = -x + 2.00015 x^2 - 1.0001 x^3 of the first element: f(1) is 5e-5 above f(0), with slope 0.
 */
static adz_tensor *rise(adz_tensor *x)
{
    adz_tensor *first = adz_narrow(x, 0, 0, 1), *square = adz_square(first);
    adz_tensor *sum = adz_add_scaled(adz_mul_number(square, 2.00015), first, -1);
    return adz_add_scaled(sum, adz_mul(square, first), -1.0001);
}

static void a_small_rise_is_too_high(void **state)
{
    (void)state;
    line l = line_of(0, 1);
    l.terms = rise;
    adz_optimizer_set(l.optimizer, 0, "lr", 1);
    adz_optimizer_set(l.optimizer, 0, "max_iter", 1);
    adz_closure_report r;
    assert_int_equal(adz_optimizer_step_closure(l.optimizer, loss_of_line, &l, NULL), ADZ_OK);
    assert_int_equal(adz_optimizer_get_report(l.optimizer, &r), ADZ_OK);
    assert_true(r.loss < -0.1 && r.evaluations > 2);
    adz_optimizer_release(&l.optimizer);
}

/* A loss whose squared slopes overflow or underflow has the same trials. The unit of the loss is a
 * power of two, so that no bit differs, and the scale makes the first move independent of it. */
static void squares_of_slopes_do_not_overflow(void **state)
{
    (void)state;
    static const int exponents[] = { 90, -90, 600, -600, 700, -900 };
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
        for (size_t k = 0; k < sizeof exponents / sizeof *exponents; ++k) {
            line both[] = { line_of(i, 1), line_of(i, ldexp(1, exponents[k])) };
            adz_tensor *one = adz_ones(ADZ_SHAPE(1), ADZ_F64);
            for (int j = 0; j < 2; ++j) {
                adz_lbfgs_set_scale(both[j].optimizer, adz_tensor_list_of(&one, 1));
                assert_int_equal(
                    adz_optimizer_step_closure(both[j].optimizer, loss_of_line, &both[j], NULL),
                    ADZ_OK);
            }
            if (both[0].calls != both[1].calls || !adz_equal(both[0].x, both[1].x)) {
                fail_msg("row %d in units of 2^%d: %d and %d calls", (int)i, exponents[k],
                    both[0].calls, both[1].calls);
            }
            adz_optimizer_release(&both[0].optimizer);
            adz_optimizer_release(&both[1].optimizer);
        }
    }
}

int lines_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(trials_are_those_of_pytorch),
        TEST(searches_keep_to_their_evaluations),
        TEST(a_kink_ends_a_search),
        TEST(a_small_rise_is_too_high),
        TEST(squares_of_slopes_do_not_overflow),
    };
    return cmocka_run_group_tests_name("closures: line search", tests, NULL, NULL);
}
