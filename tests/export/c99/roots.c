/* Roots and fixed points in C files: the loops of every method, with their gradients. */
/* Most of the test's time goes to the compiler. */
#define C_LEVEL "-O0"
#include "network.h"

enum { ROWS = 3, WIDTH = 4 };

typedef struct {
    const char *name;
    adz_tensor *(*call)(adz_module *none, adz_tensor **in);
    adz_dtype dtype;
    double tolerance;
} root_function;

static adz_root_options options_of(adz_root_method method, const adz_tensor *x)
{
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.method = method;
    o.tolerance = adz_tensor_dtype(x) == ADZ_F64 ? 1e-12 : 1e-5;
    return o;
}

static adz_tensor *total(adz_tensor *x)
{
    return adz_sum(x, ADZ_DIMS(-1), ADZ_KEEPDIM);
}

/* x^3 + x + sum(x) / 4 = b: each element depends on all of its row. */
static adz_tensor *coupled(adz_tensor *x, void *b)
{
    adz_tensor *own = adz_add(adz_mul(adz_square(x), x), x);
    return adz_sub(adz_add(own, adz_mul_number(total(x), 0.25)), b);
}

static adz_tensor *newton_of_rows(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_root_options o = options_of(ADZ_ROOT_NEWTON, in[0]);
    o.rows = true;
    return adz_root(coupled, in[0], adz_zeros_like(in[0]), &o, NULL);
}

static adz_tensor *newton(adz_module *none, adz_tensor **in)
{
    (void)none;
    const adz_root_options o = options_of(ADZ_ROOT_NEWTON, in[0]);
    return adz_root(coupled, in[0], adz_ones_like(in[0]), &o, NULL);
}

static adz_tensor *fixed(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_root_options o = options_of(ADZ_ROOT_NEWTON, in[0]);
    o.fixed_iterations = 12;
    return adz_root(coupled, in[0], adz_ones_like(in[0]), &o, NULL);
}

/* Far from its root, whole steps make this function larger: 10^5 (x y - b), exp(-x) + exp(-y) - 1
 * in two columns, as in Powell's badly scaled problem. */
static adz_tensor *powell(adz_tensor *x, void *b)
{
    adz_tensor *first = adz_narrow(x, 1, 0, 1), *second = adz_narrow(x, 1, 1, 1);
    adz_tensor *product = adz_mul_number(adz_sub(adz_mul(first, second), b), 1000);
    adz_tensor *sum = adz_add(adz_exp(adz_neg(first)), adz_exp(adz_neg(second)));
    return adz_cat((adz_tensor *[]){ product, adz_sub_number(sum, 1.0625) }, 2, 1);
}

static adz_tensor *trust_region(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_root_options o = options_of(ADZ_ROOT_NEWTON, in[0]);
    o.rows = true;
    o.tolerance *= 100;
    adz_tensor *b = adz_mul_number(adz_sigmoid(adz_narrow(in[0], 1, 0, 1)), 0.25);
    adz_tensor *x0 = adz_cat((adz_tensor *[]){ adz_mul_number(b, 0), adz_add_number(b, 1) }, 2, 1);
    return adz_root(powell, b, x0, &o, NULL);
}

/* x = tanh(b - sum(x) / 4). */
static adz_tensor *contraction(adz_tensor *x, void *b)
{
    return adz_tanh(adz_sub(b, adz_mul_number(total(x), 0.25)));
}

static adz_tensor *anderson(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_root_options o = options_of(ADZ_ROOT_ANDERSON, in[0]);
    o.rows = true;
    o.history = 3;
    return adz_root(contraction, in[0], adz_zeros_like(in[0]), &o, NULL);
}

static int by_argument(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = coupled(in[0], in[1]);
    return out[0] != NULL;
}

static adz_tensor *gradient(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_root_options o = options_of(ADZ_ROOT_NEWTON, in[0]);
    const adz_tensor_function f = { by_argument, NULL };
    adz_tensor *b = adz_requires_grad_(adz_clone(in[0]), true), *g;
    o.rows = true;
    adz_tensor *x = adz_root_many(&f, adz_zeros_like(b), &b, 1, &o, NULL);
    adz_tensor *loss = x != NULL ? adz_sum(adz_square(x), ADZ_ALL_DIMS, ADZ_DROPDIM) : NULL;
    return loss != NULL && adz_autograd_grad(&loss, NULL, 1, &b, 1, NULL, &g) == ADZ_OK ? g : NULL;
}

static adz_tensor *energy(adz_tensor *b, void *none)
{
    adz_root_options o = options_of(ADZ_ROOT_NEWTON, b);
    const adz_tensor_function f = { by_argument, NULL };
    (void)none;
    o.rows = true;
    adz_tensor *x = adz_root_many(&f, adz_zeros_like(b), &b, 1, &o, NULL);
    return adz_sum(adz_square(x), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static adz_tensor *second_derivative(adz_module *none, adz_tensor **in)
{
    (void)none;
    return adz_hvp(energy, NULL, in[0], adz_cos(in[0]), NULL);
}

static const root_function functions[] = {
    { "newton_of_rows", newton_of_rows, ADZ_F32, 1e-5 },
    { "newton", newton, ADZ_F64, 1e-12 },
    { "fixed", fixed, ADZ_F32, 1e-5 },
    { "trust_region", trust_region, ADZ_F64, 1e-9 },
    { "anderson", anderson, ADZ_F32, 1e-4 },
    { "gradient", gradient, ADZ_F64, 1e-11 },
    { "second_derivative", second_derivative, ADZ_F64, 1e-11 },
};

static void files_find_the_roots_of_the_library(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(5);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
        const root_function *f = &functions[i];
        c_network n = {
            .in = { adz_randn(ADZ_SHAPE(ROWS, WIDTH), f->dtype) }, .n_in = 1, .call = f->call
        };
        adz_c_options o = ADZ_C_OPTIONS;
        o.precision = f->dtype;
        if (write_network(&n, "net.c", &o) != ADZ_OK) {
            fail_msg("%s: %s", f->name, adz_error_message());
        }
        const compiled c = compile("net", false);
        for (int k = 0; k < 3; ++k) {
            const double d = difference(&c, &n, 1);
            if (!(d <= f->tolerance)) {
                fail_msg("%s: the C function differs by %g", f->name, d);
            }
            refill(&n);
        }
        dlclose(c.library);
    }
    adz_scope_close(scope);
}

static adz_tensor *gradient_of_many(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_root_options o = options_of(ADZ_ROOT_AUTO, in[0]);
    o.fixed_iterations = 1;
    adz_tensor *x = adz_root(coupled, in[0], adz_zeros_like(in[0]), &o, NULL), *g;
    adz_tensor *sum = x != NULL ? adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM) : NULL;
    return sum != NULL && adz_autograd_grad(&sum, NULL, 1, in, 1, NULL, &g) == ADZ_OK ? g : NULL;
}

/* The gradient by ADZ_ROOT_AUTO for so many unknowns is computed on the host. */
static void gradients_of_many_unknowns_are_refused_by_name(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    c_network n = { .in = { adz_requires_grad_(adz_randn(ADZ_SHAPE(2049), ADZ_F64), true) },
        .n_in = 1,
        .call = gradient_of_many };
    adz_c_options o = ADZ_C_OPTIONS;
    o.precision = ADZ_F64;
    assert_int_equal(write_network(&n, "many.c", &o), ADZ_ERR_UNSUPPORTED);
    assert_non_null(strstr(adz_error_message(), "use ADZ_ROOT_NEWTON, or rows"));
    adz_error_clear();
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_find_the_roots_of_the_library),
        cmocka_unit_test(gradients_of_many_unknowns_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
