/* Loops and branches in C files: they compute what the library computes, and the text of a loop
 * does not depend on the number of its steps. */
/* Most of the test's time goes to the compiler. Of -O2, the assumption that types share no memory
 * is kept, because the memory of a loop holds numbers, counts and conditions. */
#define C_LEVEL "-O1 -fstrict-aliasing"
#include "network.h"

#include "../loop_functions.h"

/* ---- what they compute ----------------------------------------------------------------------- */

typedef adz_tensor *(*function)(adz_module *module, adz_tensor **in);

enum { MOST_FUNCTIONS = 4 };

/* Exports functions to a file of floats and to one of doubles, and compares them on three inputs.
 * Both tolerances are some 40 units of rounding. The second derivative of a loop in a loop needs 15
 * of them, because its terms cancel. Files of floats call libm's elementary functions. */
static void check_all(const char *name, adz_module *module, const function *calls, size_t n_calls)
{
    for (int wide = 0; wide <= 1; ++wide) {
        const adz_dtype dtype = wide ? ADZ_F64 : ADZ_F32;
        static const char *const names[MOST_FUNCTIONS] = { "run", "second", "third", "fourth" };
        c_network n = { .module = module,
            .in = { adz_randn(ADZ_SHAPE(LOOP_STEPS, LOOP_WIDTH), dtype) },
            .n_in = 1 };
        c_network each[MOST_FUNCTIONS];
        adzi_export what[MOST_FUNCTIONS];
        adz_c_options o = ADZ_C_OPTIONS;
        o.libm = !wide;
        o.precision = dtype;
        if (module != NULL) {
            adz_module_to(module, dtype);
        }
        for (size_t i = 0; i < n_calls; ++i) {
            each[i] = n;
            each[i].call = calls[i];
            what[i] = (adzi_export){ .function = call_network,
                .user = &each[i],
                .inputs = { n.in, 1 },
                .module = module,
                .name = names[i] };
        }
        if (adzi_write_c("adz_plan_write_c", temporary_path("net.c"), what, n_calls, &o) !=
            ADZ_OK) {
            fail_msg("%s: %s", name, adz_error_message());
        }
        compiled c = compile("net", o.libm);
        for (size_t i = 0; i < 3 * n_calls; ++i) {
            char symbol[24];
            snprintf(symbol, sizeof symbol, "net_%s", names[i % n_calls]);
            *(void **)(void *)&c.run = dlsym(c.library, symbol);
            assert_non_null(*(void **)(void *)&c.run);
            const double d = difference(&c, &each[i % n_calls], 1);
            if (!(d <= (wide ? 1e-14 : 4e-6))) {
                fail_msg("%s, function %zu: the C function differs by %g", name, i % n_calls, d);
            }
            if (i % n_calls == n_calls - 1) {
                refill(&n);
            }
        }
        dlclose(c.library);
    }
}

static void check_both(const char *name, adz_module *module, function call)
{
    check_all(name, module, &call, 1);
}

static void loops_compute_what_the_library_computes(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(3);
    for (size_t i = 0; i < n_loop_functions; ++i) {
        adz_module *cell = loop_module(&loop_functions[i]);
        check_both(loop_functions[i].name, cell, loop_functions[i].call);
        adz_module_release(&cell);
    }
    adz_scope_close(scope);
}

static adz_tensor *decays(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)t;
    (void)user;
    return adz_neg(y);
}

static adz_tensor *decay(adz_module *none, adz_tensor **in)
{
    (void)none;
    return adz_odeint(decays, NULL, in[0], in[1], NULL, NULL);
}

/* A file gets its times from the program. A state at a time before the last step, which an ordinary
 * call refuses, is NaN. */
static void states_at_times_that_turn_are_nan(void **state)
{
    (void)state;
    const double y0 = 1, good[] = { 0, 1, 2, 4 }, turned[] = { 0, 2, 0.125, 4 };
    double y[4];
    adz_scope *scope = adz_scope_open();
    c_network n = { .in = { adz_ones(ADZ_SHAPE(1), ADZ_F64),
                        adz_tensor_from(good, ADZ_SHAPE(4), ADZ_F64) },
        .n_in = 2,
        .call = decay };
    adz_c_options o = ADZ_C_OPTIONS;
    o.precision = ADZ_F64;
    if (write_network(&n, "net.c", &o) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    const compiled c = compile("net", false);
    void (*const run)(const double *, const double *, double *) =
        (void (*)(const double *, const double *, double *))c.run;
    run(&y0, good, y);
    assert_true(fabs(y[1] - exp(-1)) < 1e-5 && fabs(y[3] - exp(-4)) < 1e-5);
    run(&y0, turned, y);
    assert_true(fabs(y[1] - exp(-2)) < 1e-5 && isnan(y[2]) && fabs(y[3] - exp(-4)) < 1e-5);
    dlclose(c.library);
    adz_scope_close(scope);
}

/* ---- gradients ------------------------------------------------------------------------------- */

static const loop_function *differentiated;
static adz_module *cell_of;

static adz_tensor *value(adz_tensor *x, void *user)
{
    (void)user;
    return differentiated->call(cell_of, &x);
}

static adz_tensor *flat(adz_tensor *x)
{
    return adz_reshape(x, ADZ_SHAPE(-1));
}

static adz_tensor *energy(adz_tensor *x, void *user)
{
    return adz_mean(adz_square(value(x, user)), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static adz_tensor *vjp(adz_module *cell, adz_tensor **in)
{
    (void)cell;
    return adz_vjp(energy, NULL, in[0], ADZ_NONE, NULL);
}

static adz_tensor *jvp(adz_module *cell, adz_tensor **in)
{
    (void)cell;
    return adz_jvp(value, NULL, in[0], adz_cos(in[0]), NULL);
}

static adz_tensor *hvp(adz_module *cell, adz_tensor **in)
{
    (void)cell;
    return adz_hvp(energy, NULL, in[0], adz_cos(in[0]), NULL);
}

static adz_tensor *of_weights(adz_module *cell, adz_tensor **in)
{
    adz_tensor *const *weights = adz_module_parameters(cell).items;
    adz_tensor *loss = energy(in[0], NULL), *found[2];
    if (loss == NULL || adz_autograd_grad(&loss, NULL, 1, weights, 2, NULL, found) != ADZ_OK) {
        return NULL;
    }
    return adz_cat((adz_tensor *[]){ flat(found[0]), flat(found[1]) }, 2, 0);
}

/* ---- loops in loops, and what they capture --------------------------------------------------- */

/* Two tensors of which one is computed from the other, and the number of steps. */
typedef struct {
    adz_tensor *first, *second, *most;
} captured;

static adz_status bends(adz_tensor **results, adz_tensor *const *in, void *user)
{
    const captured *c = user;
    results[0] = adz_add(adz_mul(in[0], c->first), adz_mul(in[1], c->second));
    results[1] = in[1];
    return loop_status(results[0]);
}

static adz_status damps(adz_tensor **results, adz_tensor *const *in, void *user)
{
    const captured *c = user;
    results[0] = adz_mul(adz_tanh(in[0]), c->first);
    results[1] = c->second; /* as it is */
    return loop_status(results[0]);
}

static adz_tensor *is_positive(adz_tensor *x)
{
    return adz_gt_number(adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM), 0);
}

static adz_tensor *goes_on(adz_tensor *const *in, void *user)
{
    return adz_lt(in[2], ((const captured *)user)->most);
}

/* A step takes one of two ways. */
static adz_status turns(adz_tensor **results, adz_tensor *const *in, void *user)
{
    results[2] = adz_add_number(in[2], 1);
    return adz_branch(is_positive(in[0]), bends, damps, user, in, 2, 2, results) == ADZ_OK
               ? loop_status(results[2])
               : adz_error_code();
}

/* As many steps as the row has elements that are not negative, of three that the bound allows. */
static adz_status walks(adz_tensor **results, adz_tensor *const *in, void *user)
{
    captured c = *(const captured *)user;
    c.most = adz_sum(
        adz_to(adz_ge_number(in[1], 0), adz_tensor_dtype(in[1])), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *carries[] = { in[0], in[1], adz_mul_number(c.most, 0) }, *found[3];
    if (adz_while(goes_on, turns, &c, carries, 3, 3, found, NULL, NULL) != ADZ_OK) {
        return adz_error_code();
    }
    results[0] = adz_sin(found[0]);
    results[1] = found[1];
    return loop_status(results[0]);
}

static adz_tensor *in_each_other(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_tensor *first = adz_tanh(adz_select(in[0], 0, 0)), *results[2];
    captured c = { first, adz_sin(first), NULL };
    adz_tensor *carry = adz_select(in[0], 0, 1);
    return loop_scan(walks, &c, &carry, 1, in[0], 1, false, results) ? flat(results[1]) : NULL;
}

static void derivatives(void **state)
{
    (void)state;
    static const char *const names[] = { "of_gated", "forwards", "backwards", "of_strided",
        "nested", "two_scans", "batched", "handed_on", "of_turned", "padded", "in_pieces",
        "runge_kutta", "dormand_prince", "until_it_converges", "until_its_bound", "without_a_step",
        "as_it_is", "branches" };
    static const loop_function own = { "in_each_other", in_each_other, NULL };
    const function calls[] = { vjp, jvp, hvp, of_weights };
    const size_t n = sizeof names / sizeof *names;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(7);
    for (size_t i = 0; i <= n; ++i) {
        differentiated = i < n ? loop_functions : &own;
        while (i < n && strcmp(differentiated->name, names[i]) != 0) {
            ++differentiated;
        }
        cell_of = loop_module(differentiated);
        const bool weights = i == 0 || differentiated->module != NULL;
        check_all(differentiated->name, cell_of, calls, weights ? 4 : 3);
        adz_module_release(&cell_of);
    }
    adz_scope_close(scope);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* The characters of a file that are no digits. */
static size_t text_of(const char *path)
{
    size_t bytes, n = 0;
    unsigned char *text = read_file(path, &bytes);
    for (size_t i = 0; i < bytes; ++i) {
        n += text[i] < '0' || text[i] > '9';
    }
    free(text);
    return n;
}

/* The sum of all states, of which a file keeps one at a time. */
static adz_tensor *last_of_gated(adz_module *cell, adz_tensor **in)
{
    adz_tensor *h = adz_zeros(ADZ_SHAPE(LOOP_WIDTH), ADZ_F32), *results[2];
    return loop_scan(loop_gated, cell, &h, 1, in[0], 1, false, results) ? results[0] : NULL;
}

static void the_text_does_not_depend_on_the_steps(void **state)
{
    (void)state;
    const int64_t steps[] = { 10, 10000, 10, 1000 };
    size_t text[4], header[4];
    adz_scope *scope = adz_scope_open();
    adz_module *cell = loop_cell();
    differentiated = loop_functions; /* of_gated */
    cell_of = cell;
    for (int i = 0; i < 4; ++i) {
        c_network n = { .module = cell,
            .in = { adz_randn(ADZ_SHAPE(steps[i], LOOP_WIDTH), ADZ_F32) },
            .n_in = 1,
            .call = i < 2 ? last_of_gated : vjp };
        assert_int_equal(write_network(&n, "net.c", NULL), ADZ_OK);
        text[i] = text_of(temporary_path("net.c"));
        header[i] = text_of(temporary_path("net.h"));
        const compiled c = compile("net", false);
        assert_true(difference(&c, &n, 1) <= 1e-6);
        dlclose(c.library);
    }
    assert_int_equal(text[0], text[1]);
    assert_int_equal(header[0], header[1]);
    assert_int_equal(text[2], text[3]); /* the gradient is a second loop */
    assert_int_equal(header[2], header[3]);
    adz_module_release(&cell);
    adz_scope_close(scope);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static adz_tensor *taken; /* a tensor that a body hands out by another way than its results */

static adz_status changes_outside(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_add_(user, in[1]);
    results[0] = adz_add(in[0], user);
    return loop_status(results[0]);
}

static adz_status changes_its_carry(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_add_(in[0], in[1]);
    return loop_status(results[0]);
}

static adz_status hands_out(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    taken = adz_exp(in[1]);
    results[0] = adz_add(in[0], taken);
    return loop_status(results[0]);
}

static adz_status reads_elements(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_mul_number(in[0], adz_item(adz_select(in[1], 0, 0)));
    return loop_status(results[0]);
}

static adz_status draws(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_add(in[0], adz_randn_like(in[1]));
    return loop_status(results[0]);
}

static adz_tensor *refused_scan(adz_loop_body body, adz_tensor *x)
{
    adz_tensor *carry = adz_zeros(ADZ_SHAPE(LOOP_WIDTH), ADZ_F32), *last;
    adz_tensor *outside = adz_mul_number(adz_select(x, 0, 0), 2);
    taken = ADZ_NONE;
    const bool before = adz_set_grad_enabled(false);
    const bool good = loop_scan(body, outside, &carry, 1, x, 0, false, &last);
    adz_set_grad_enabled(before);
    if (!good) {
        return NULL;
    }
    return taken != ADZ_NONE ? adz_mul(last, taken) : last;
}

#define REFUSED(body)                                                      \
    static adz_tensor *scan_that_##body(adz_module *none, adz_tensor **in) \
    {                                                                      \
        (void)none;                                                        \
        return refused_scan(body, in[0]);                                  \
    }

REFUSED(changes_outside)
REFUSED(changes_its_carry)
REFUSED(hands_out)
REFUSED(reads_elements)
REFUSED(draws)

static adz_tensor *vjp_of(const char *name, adz_tensor **in)
{
    differentiated = loop_functions;
    while (strcmp(differentiated->name, name) != 0) {
        ++differentiated;
    }
    return vjp(NULL, in);
}

static adz_tensor *vjp_of_error_control(adz_module *none, adz_tensor **in)
{
    (void)none;
    return vjp_of("error_control", in);
}

static adz_tensor *shrinks(adz_tensor *const *in, void *user)
{
    (void)user;
    return adz_gt_number(adz_sum(in[0], ADZ_ALL_DIMS, ADZ_DROPDIM), 1);
}

static adz_status halves(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_mul_number(in[0], 0.5);
    return loop_status(results[0]);
}

static adz_tensor *halved(adz_tensor *x, void *most)
{
    adz_tensor *last;
    return adz_while(shrinks, halves, NULL, &x, 1, *(const int64_t *)most, &last, NULL, NULL) ==
                   ADZ_OK
               ? adz_mean(last, ADZ_ALL_DIMS, ADZ_DROPDIM)
               : NULL;
}

static adz_tensor *vjp_of_many_steps(adz_module *none, adz_tensor **in)
{
    int64_t most = 65536;
    (void)none;
    return adz_vjp(halved, &most, in[0], ADZ_NONE, NULL);
}

static adz_status replaces(adz_tensor **results, adz_tensor *const *in, void *kept)
{
    (void)in;
    results[0] = kept;
    return ADZ_OK;
}

static adz_tensor *replaced(adz_tensor *x, void *none)
{
    adz_tensor *y = adz_sin(x), *carry = adz_ones_like(x), *last;
    (void)none;
    return adz_while(shrinks, replaces, y, &carry, 1, 65536, &last, NULL, NULL) == ADZ_OK
               ? adz_mean(adz_add(last, x), ADZ_ALL_DIMS, ADZ_DROPDIM)
               : NULL;
}

static adz_tensor *vjp_of_captured(adz_module *none, adz_tensor **in)
{
    (void)none;
    return adz_vjp(replaced, NULL, in[0], ADZ_NONE, NULL);
}

static adz_tensor *vjp_of_large_carries(adz_module *none, adz_tensor **in)
{
    int64_t most = 65535;
    (void)none;
    return adz_vjp(halved, &most,
        adz_expand(adz_unsqueeze(in[0], 0), ADZ_SHAPE(4096, LOOP_STEPS, LOOP_WIDTH)), ADZ_NONE,
        NULL);
}

static void what_differs_from_step_to_step_is_refused(void **state)
{
    (void)state;
    const struct {
        adz_tensor *(*call)(adz_module *, adz_tensor **);
        const char *says;
    } rows[] = { { scan_that_changes_outside, "in place that the body of a loop" },
        { scan_that_changes_its_carry, "in place that the body of a loop" },
        { scan_that_hands_out, "is used outside of it" },
        { scan_that_reads_elements, "by the program itself" },
        { scan_that_draws, "draws random numbers" },
        { vjp_of_error_control, "has no gradient in an exported function; set steps" },
        { vjp_of_many_steps, "needs the carries of all steps" },
        { vjp_of_captured, "needs the carries of all steps" },
        { vjp_of_large_carries, "needs the carries of all steps" } };
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        c_network n = { .in = { adz_randn(ADZ_SHAPE(LOOP_STEPS, LOOP_WIDTH), ADZ_F32) },
            .n_in = 1,
            .call = rows[i].call };
        assert_int_equal(write_network(&n, "net.c", NULL), ADZ_ERR_UNSUPPORTED);
        assert_non_null(strstr(adz_error_message(), rows[i].says));
        adz_error_clear();
    }
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_compute_what_the_library_computes),
        cmocka_unit_test(states_at_times_that_turn_are_nan),
        cmocka_unit_test(derivatives),
        cmocka_unit_test(the_text_does_not_depend_on_the_steps),
        cmocka_unit_test(what_differs_from_step_to_step_is_refused),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
