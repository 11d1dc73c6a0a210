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

/* What PyTorch has after a step of three iterations. */
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
        for (int step = 0; step < 2; ++step) {
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
        adz_optimizer_free(&l.optimizer);
    }
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
            adz_optimizer_free(&both[0].optimizer);
            adz_optimizer_free(&both[1].optimizer);
        }
    }
}

int lines_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(trials_are_those_of_pytorch),
        TEST(squares_of_slopes_do_not_overflow),
    };
    return cmocka_run_group_tests_name("closures: line search", tests, NULL, NULL);
}
