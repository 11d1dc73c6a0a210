/* Values with their derivatives as C functions: Jacobians, and products with Jacobians and
 * Hessians, of every operator whose gradient a C file can have. */
#include "batch.h"
#include "trained.h"

enum { JVP, HVP, VJP, ROWS, KINDS, FUNCTIONS = KINDS * N_TRAINED };

static const char *const kinds[KINDS] = { "jvp", "hvp", "vjp", "rows" };

/* A function of x[4, 6] and of a direction z, which a file computes. */
typedef struct {
    int kind, which;
    adz_tensor *in[2];
    adz_plan *plan;
    char name[40];
} derived;

static adz_tensor *value(adz_tensor *x, void *user)
{
    return all_trained[((derived *)user)->which].function(x);
}

/* A number whose second derivatives depend on x even if those of the function are 0. */
static adz_tensor *energy(adz_tensor *x, void *user)
{
    return adz_mean(adz_square(value(x, user)), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

/* A function of one row, whose Jacobian is not constant. */
static adz_tensor *of_row(adz_tensor *x, void *user)
{
    adz_tensor *steps = adz_mul_number(adz_arange(0, 4, 1, ADZ_F64), 0.5);
    adz_tensor *rows = adz_sub(x, adz_to(adz_unsqueeze(steps, 1), adz_tensor_dtype(x)));
    return adz_reshape(value(adz_tanh(rows), user), ADZ_SHAPE(1, -1));
}

static adz_status value_and_derivative(adz_tensor **results, void *user)
{
    derived *d = user;
    adz_tensor *x = d->in[0], *z = d->in[1];
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = results;
    switch (d->kind) {
    case JVP:
        results[1] = adz_jvp(value, d, x, z, &o);
        break;
    case HVP:
        results[1] = adz_hvp(energy, d, x, z, &o);
        break;
    case VJP:
        results[1] = adz_vjp(energy, d, x, ADZ_NONE, &o);
        break;
    default:
        o.mode = d->which % 2 == 0 ? ADZ_JACOBIAN_FORWARD : ADZ_JACOBIAN_AUTO;
        results[1] = adz_jacobian_rows(of_row, d, adz_slice(x, 0, 1, 2, 1), &o);
    }
    return adz_error_code();
}

/* Makes the plans of all functions; in f32 only those of one kind, which has all orders. Returns
 * how many. */
static size_t make_plans(derived all[FUNCTIONS], adz_tensor *x, adz_tensor *z)
{
    size_t n = 0;
    for (int i = 0; i < FUNCTIONS; ++i) {
        derived *d = &all[n];
        if (adz_tensor_dtype(x) == ADZ_F32 && i % KINDS != HVP) {
            continue;
        }
        ++n;
        *d = (derived){ .kind = i % KINDS, .which = i / KINDS, .in = { x, z } };
        snprintf(d->name, sizeof d->name, "%s_%s", kinds[d->kind], all_trained[d->which].name);
        adz_plan_options o = ADZ_PLAN_OPTIONS;
        o.inputs = adz_tensor_list_of(d->in, 2);
        d->plan = adz_plan_new_many(value_and_derivative, d, 2, &o);
        if (d->plan == NULL) {
            fail_msg("%s: %s", d->name, adz_error_message());
        }
    }
    return n;
}

static int compare(const derived *d, void *library, double tolerance)
{
    char symbol[60];
    snprintf(symbol, sizeof symbol, "all_%s", d->name);
    void (*run)(const void *x, const void *z, void *y, void *dy);
    *(void **)(void *)&run = dlsym(library, symbol);
    assert_non_null(*(void **)(void *)&run);
    int wrong = 0;
    adz_scope *scope = adz_scope_open();
    adz_tensor *results[2] = { NULL, NULL }, *ours[2];
    assert_int_equal(value_and_derivative(results, (void *)(uintptr_t)d), ADZ_OK);
    for (int k = 0; k < 2; ++k) {
        ours[k] = adz_full_like(results[k], 7);
    }
    run(adz_tensor_data(d->in[0]), adz_tensor_data(d->in[1]), adz_tensor_data(ours[0]),
        adz_tensor_data(ours[1]));
    for (int k = 0; k < 2; ++k) {
        adz_tensor *difference =
            adz_amax(adz_abs(adz_sub(ours[k], results[k])), ADZ_ALL_DIMS, ADZ_DROPDIM);
        adz_tensor *most = adz_amax(adz_abs(results[k]), ADZ_ALL_DIMS, ADZ_DROPDIM);
        const double apart = adz_item(difference), size = adz_item(most);
        if (!(apart <=
                tolerance * (size + 0.1))) { /* some derivatives are differences that cancel */
            printf("%s: result %d is off by %g of %g\n", d->name, k, apart, size);
            ++wrong;
        }
    }
    adz_scope_close(scope);
    return wrong;
}

/* All functions are one file, which compiles faster than many. */
static void check_derivatives(adz_dtype precision, double tolerance)
{
    static derived all[FUNCTIONS];
    adz_plan *plans[FUNCTIONS];
    const char *names[FUNCTIONS];
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(12);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 6), precision), *z = adz_randn_like(x);
    adz_c_options o = ADZ_C_OPTIONS;
    o.precision = precision;
    const size_t n = make_plans(all, x, z);
    for (size_t i = 0; i < n; ++i) {
        plans[i] = all[i].plan;
        names[i] = all[i].name;
    }
    if (adz_plan_write_c_many(plans, names, n, temporary_path("all.c"), &o) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    void *library = compile_batch();
    int wrong = 0;
    for (size_t i = 0; i < n; ++i) {
        wrong += compare(&all[i], library, tolerance);
        adz_plan_free(&all[i].plan);
    }
    dlclose(library);
    temporary_files(true);
    adz_scope_close(scope);
    assert_int_equal(wrong, 0);
}

static void derivatives_of_every_operator(void **state)
{
    (void)state;
    check_derivatives(ADZ_F32, 2e-6);
}

static void derivatives_in_f64(void **state)
{
    (void)state;
    check_derivatives(ADZ_F64, 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_of_every_operator),
        cmocka_unit_test(derivatives_in_f64),
    };
    return cmocka_run_group_tests_name("c99: derivatives", tests, temporary_begin, temporary_end);
}
