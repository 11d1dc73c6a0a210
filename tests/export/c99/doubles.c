/* Files with the precision f64: their elementary functions over the whole domain, modules of f32,
 * and what is refused. tests/export/c99/sweep.c compares every operator in f64. */
#include "batch.h"

/* FUNCTION(name, expression of x and z) */
#define FUNCTIONS(FUNCTION)                        \
    FUNCTION(exp, adz_exp(x))                      \
    FUNCTION(expm1, adz_expm1(x))                  \
    FUNCTION(exp2, adz_exp2(x))                    \
    FUNCTION(log, adz_log(x))                      \
    FUNCTION(log1p, adz_log1p(x))                  \
    FUNCTION(log2, adz_log2(x))                    \
    FUNCTION(log10, adz_log10(x))                  \
    FUNCTION(sqrt, adz_sqrt(x))                    \
    FUNCTION(rsqrt, adz_rsqrt(x))                  \
    FUNCTION(tanh, adz_tanh(x))                    \
    FUNCTION(sigmoid, adz_sigmoid(x))              \
    FUNCTION(logsigmoid, adz_logsigmoid(x))        \
    FUNCTION(softplus, adz_softplus(x, 1, 20))     \
    FUNCTION(mish, adz_mish(x))                    \
    FUNCTION(erf, adz_erf(x))                      \
    FUNCTION(erfc, adz_erfc(x))                    \
    FUNCTION(erfinv, adz_erfinv(x))                \
    FUNCTION(logit, adz_logit(x, 0.01))            \
    FUNCTION(lgamma, adz_lgamma(x))                \
    FUNCTION(digamma, adz_digamma(x))              \
    FUNCTION(trigamma, adz_polygamma(1, x))        \
    FUNCTION(softsign, adz_softsign(x))            \
    FUNCTION(sin, adz_sin(x))                      \
    FUNCTION(cos, adz_cos(x))                      \
    FUNCTION(tan, adz_tan(x))                      \
    FUNCTION(asin, adz_asin(x))                    \
    FUNCTION(acos, adz_acos(x))                    \
    FUNCTION(atan, adz_atan(x))                    \
    FUNCTION(sinh, adz_sinh(x))                    \
    FUNCTION(cosh, adz_cosh(x))                    \
    FUNCTION(asinh, adz_asinh(x))                  \
    FUNCTION(acosh, adz_acosh(x))                  \
    FUNCTION(atanh, adz_atanh(x))                  \
    FUNCTION(round, adz_round(x))                  \
    FUNCTION(floor, adz_floor(x))                  \
    FUNCTION(ceil, adz_ceil(x))                    \
    FUNCTION(trunc, adz_trunc(x))                  \
    FUNCTION(selu, adz_selu(x))                    \
    FUNCTION(pow_number, adz_pow_number(x, 2.7))   \
    FUNCTION(pow, adz_pow(x, z))                   \
    FUNCTION(atan2, adz_atan2(x, z))               \
    FUNCTION(hypot, adz_hypot(x, z))               \
    FUNCTION(copysign, adz_copysign(x, z))         \
    FUNCTION(fmod, adz_fmod(x, z))                 \
    FUNCTION(remainder, adz_remainder(x, z))       \
    FUNCTION(floor_divide, adz_floor_divide(x, z)) \
    FUNCTION(xlogy, adz_xlogy(x, z))               \
    FUNCTION(logaddexp, adz_logaddexp(x, z))

enum { SPECIAL = 30, DRAWN = 4000, NUMBERS = SPECIAL * SPECIAL + DRAWN };

typedef struct {
    adz_tensor *x, *z;
} numbers;

#define DEFINE(name, expression)                    \
    static adz_tensor *call_##name(void *user)      \
    {                                               \
        adz_tensor *x = ((const numbers *)user)->x; \
        adz_tensor *z = ((const numbers *)user)->z; \
        (void)z;                                    \
        return expression;                          \
    }
FUNCTIONS(DEFINE)
#define LISTED(name, expression) { "of_" #name, call_##name },
static const struct {
    const char *name;
    adz_plan_function call;
} functions[] = { FUNCTIONS(LISTED) };
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* All pairs of special numbers, then numbers of every exponent, and of the usual ones. */
static void fill_numbers(double x[NUMBERS], double z[NUMBERS])
{
    static const double special[SPECIAL] = { 0, -0.0, 1, -1, 0.5, -0.5, 2, -3, 65, 1e-310, -1e-310,
        2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, (double)INFINITY,
        -(double)INFINITY, (double)NAN, 1e10, -1e10, 9007199254740992, 709.5, -745, 1048576.5,
        3.141592653589793, 1.5707963267948966, -4503599627370495.5, 1e22, 0.85, 1e300, -1e-20 };
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < NUMBERS; ++i) {
        double *const to[] = { &x[i], &z[i] };
        for (int k = 0; k < 2; ++k) {
            const int chosen = k == 0 ? i / SPECIAL : i % SPECIAL;
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            const double unit = (double)(state >> 11) / 9007199254740992.0;
            const double wide = ldexp(unit + 0.5, (int)(state % 2098) - 1049);
            const double usual = (unit - 0.5) * 12;
            const double drawn = i % 2 == 0 ? usual : state % 3 == 0 ? -wide : wide;
            *to[k] = i < SPECIAL * SPECIAL ? special[chosen] : drawn;
        }
    }
}

/* `least` is the error of functions that cancel near their zeros. */
static bool agrees(double ours, double theirs, double least)
{
    if (isnan(theirs) || isinf(theirs) || theirs == 0) {
        return isnan(theirs) ? isnan(ours)
                             : ours == theirs && (signbit(ours) != 0) == (signbit(theirs) != 0);
    }
    return fabs(ours - theirs) <= 2e-15 * fabs(theirs) + least;
}

static void check_functions(const numbers *n, bool libm)
{
    adz_plan *plans[N_FUNCTIONS];
    const char *names[N_FUNCTIONS];
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of((adz_tensor *[]){ n->x, n->z }, 2);
    for (int i = 0; i < N_FUNCTIONS; ++i) {
        plans[i] = adz_plan_new(functions[i].call, (void *)(uintptr_t)n, &o);
        names[i] = functions[i].name;
    }
    adz_c_options c = ADZ_C_OPTIONS;
    c.precision = ADZ_F64;
    c.libm = libm;
    if (adz_plan_write_c_many(plans, names, N_FUNCTIONS, temporary_path("all.c"), &c) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    void *library = compile_batch();
    int wrong = 0;
    for (int i = 0; i < N_FUNCTIONS; ++i) {
        static double ours[NUMBERS];
        char symbol[40];
        snprintf(symbol, sizeof symbol, "all_%s", names[i]);
        void (*run)(const double *x, const double *z, double *y);
        *(void **)(void *)&run = dlsym(library, symbol);
        const double *x = adz_tensor_data_f64(n->x), *z = adz_tensor_data_f64(n->z);
        run(x, z, ours);
        const double *theirs = adz_tensor_data_f64(functions[i].call((void *)(uintptr_t)n));
        for (int k = 0; k < NUMBERS; ++k) {
            if (!agrees(ours[k], theirs[k], strstr(names[i], "gamma") != NULL ? 1e-14 : 1e-322) &&
                wrong++ < 40) {
                printf("%s(%.17g, %.17g) is %.17g, and in the library %.17g\n", names[i], x[k],
                    z[k], ours[k], theirs[k]);
            }
        }
        adz_plan_free(&plans[i]);
    }
    dlclose(library);
    temporary_files(true);
    assert_int_equal(wrong, 0);
}

static void functions_over_the_whole_domain(void **state)
{
    (void)state;
    static double x[NUMBERS], z[NUMBERS];
    adz_scope *scope = adz_scope_open();
    fill_numbers(x, z);
    const numbers n = { adz_tensor_from(x, ADZ_SHAPE(NUMBERS), ADZ_F64),
        adz_tensor_from(z, ADZ_SHAPE(NUMBERS), ADZ_F64) };
    check_functions(&n, false);
    adz_scope_close(scope);
}

static adz_module *law(void)
{
    adz_manual_seed(4);
    return ADZ_SEQUENTIAL(adz_linear_new(6, 16, NULL), adz_tanh_new(), adz_linear_new(16, 6, NULL));
}

/* A module of f32 computes as if it had been converted, also with weights of a separate file. */
static void modules_of_f32(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = law();
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 6), ADZ_F32), *wide = adz_to(x, ADZ_F64);
    char path[512];
    snprintf(path, sizeof path, "%s", temporary_path("apart.bin"));
    for (int separate = 0; separate < 2; ++separate) {
        c_network n = of(net, x);
        adz_c_options o = ADZ_C_OPTIONS;
        o.precision = ADZ_F64;
        o.weights = separate ? path : NULL;
        assert_int_equal(write_network(&n, "net.c", &o), ADZ_OK);
        const compiled c = compile("net", false);
        double weights[300], y[12];
        void (*load)(const double *weights);
        *(void **)(void *)&load = dlsym(c.library, "net_load");
        if (separate) {
            FILE *file = fopen(path, "rb");
            assert_int_equal(fread(weights, sizeof *weights, 300, file), 6 * 16 * 2 + 16 + 6);
            fclose(file);
            load(weights);
        }
        ((void (*)(const double *, double *))c.run)(adz_tensor_data_f64(wide), y);
        adz_module *copy = law();
        assert_int_equal(adz_module_to(copy, ADZ_F64), ADZ_OK);
        const double *right = adz_tensor_data_f64(adz_module_forward(copy, wide));
        for (int i = 0; i < 12; ++i) {
            assert_true(fabs(y[i] - right[i]) <= 1e-14);
        }
        adz_module_release(&copy);
        dlclose(c.library);
    }
    adz_module_release(&net);
    adz_scope_close(scope);
}

typedef struct {
    adz_module *net;
    adz_tensor *x;
    adz_optimizer *optimizer;
} learner;

static adz_tensor *step(void *user)
{
    learner *l = user;
    if (l->optimizer != NULL) {
        adz_optimizer_zero_grad(l->optimizer);
    }
    adz_tensor *y = adz_mean(adz_module_forward(l->net, l->x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (l->optimizer != NULL) {
        adz_backward(y);
        adz_optimizer_step(l->optimizer);
    }
    return y;
}

static adz_tensor *digamma(void *user)
{
    return adz_digamma(((learner *)user)->x);
}

/* Floats have no digits near the zero of digamma. */
static void digamma_is_of_doubles(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    learner l = { .x = adz_ones(ADZ_SHAPE(2), ADZ_F32) };
    const adzi_export what = { .function = digamma, .user = &l, .inputs = { &l.x, 1 } };
    temporary_files(true);
    assert_int_equal(
        adzi_write_c("test", temporary_path("no.c"), &what, 1, NULL), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "set options.precision to ADZ_F64");
    assert_int_equal(temporary_files(false), 0);
    adz_scope_close(scope);
}

static void expect_refused(learner *l, adz_dtype precision, adz_status code, const char *part)
{
    const adzi_export what = {
        .function = step, .user = l, .inputs = { &l->x, 1 }, .module = l->net
    };
    adz_c_options o = ADZ_C_OPTIONS;
    o.precision = precision;
    temporary_files(true);
    assert_int_equal(adzi_write_c("test", temporary_path("no.c"), &what, 1, &o), code);
    expect_error(code, part);
    assert_int_equal(temporary_files(false), 0);
}

static void refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    learner l = { .net = law(), .x = adz_randn(ADZ_SHAPE(2, 6), ADZ_F32) };
    expect_refused(&l, ADZ_BF16, ADZ_ERR_ARGUMENT, "take ADZ_F32 or ADZ_F64");
    l.optimizer = adz_sgd_new(adz_module_parameters(l.net), 0.1, NULL);
    expect_refused(&l, ADZ_F64, ADZ_ERR_DTYPE, "convert the module by adz_module_to first");
    adz_optimizer_release(&l.optimizer);
    adz_module_release(&l.net);
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.momentum = 0.1;
    l.net = adz_batch_norm1d_new(6, &o);
    l.optimizer = adz_sgd_new(adz_module_parameters(l.net), 0.1, NULL);
    expect_refused(&l, ADZ_F64, ADZ_ERR_DTYPE, "convert the module by adz_module_to first");
    adz_optimizer_release(&l.optimizer);
    adz_module_to(l.net, ADZ_F64);
    l.optimizer = adz_sgd_new(adz_module_parameters(l.net), 0.1, NULL);
    l.x = adz_to(l.x, ADZ_F64);
    expect_refused(&l, ADZ_F32, ADZ_ERR_DTYPE, "set options.precision to ADZ_F64");
    adz_optimizer_release(&l.optimizer);
    adz_module_release(&l.net);
    adz_scope_close(scope);
}

/* Whether the compiler takes the file temporary_path(name) with -ffast-math. Its messages go to a
 * file. */
static bool compiles_with_fast_math(const char *name, char *messages, size_t size)
{
    char command[1500], said[600];
    snprintf(said, sizeof said, "%s", temporary_path("said.txt"));
    snprintf(command, sizeof command, "%s -std=c99 -O1 -ffast-math -c -o %s.o %s 2> %s", C_COMPILER,
        said, temporary_path(name), said);
    const int status = system(command);
    FILE *file = fopen(said, "r");
    assert_non_null(file);
    messages[fread(messages, 1, size - 1, file)] = '\0';
    fclose(file);
    return status == 0;
}

static adz_tensor *sine(void *user)
{
    return adz_sin(((learner *)user)->x);
}

static adz_tensor *twice(void *user)
{
    return adz_mul_number(((learner *)user)->x, 2);
}

/* -ffast-math takes rounding errors for 0. Functions of doubles add them up, so their file says
 * that it cannot be compiled so. Files without such functions and files of floats can. */
static void fast_math_is_an_error(void **state)
{
    (void)state;
    static const struct {
        adz_plan_function call;
        adz_dtype precision;
        bool libm, compiles;
    } files[] = { { sine, ADZ_F64, false, false }, { sine, ADZ_F64, true, true },
        { twice, ADZ_F64, false, true }, { step, ADZ_F64, false, false },
        { step, ADZ_F32, false, true } };
    if (system(C_COMPILER " --version > /dev/null 2>&1") != 0) {
        skip();
    }
    adz_scope *scope = adz_scope_open();
    learner l = { .net = law(), .x = adz_randn(ADZ_SHAPE(2, 6), ADZ_F32) };
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        const adzi_export what = {
            .function = files[i].call, .user = &l, .inputs = { &l.x, 1 }, .module = l.net
        };
        adz_c_options o = ADZ_C_OPTIONS;
        o.precision = files[i].precision;
        o.libm = files[i].libm;
        assert_int_equal(adzi_write_c("test", temporary_path("fast.c"), &what, 1, &o), ADZ_OK);
        char messages[8000];
        const bool compiles = compiles_with_fast_math("fast.c", messages, sizeof messages);
        if (compiles != files[i].compiles ||
            (!compiles && strstr(messages, "-ffast-math breaks the functions") == NULL)) {
            fail_msg("file %d: %s", (int)i, messages);
        }
    }
    temporary_files(true);
    adz_module_release(&l.net);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_over_the_whole_domain),
        cmocka_unit_test(modules_of_f32),
        cmocka_unit_test(digamma_is_of_doubles),
        cmocka_unit_test(refused),
        cmocka_unit_test(fast_math_is_an_error),
    };
    return cmocka_run_group_tests_name("c99: f64", tests, temporary_begin, temporary_end);
}
