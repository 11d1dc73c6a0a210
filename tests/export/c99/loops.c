/* Loops and branches in C files: they compute what the library computes, and the text of a loop
 * does not depend on the number of its steps. */
#include "network.h"

enum { WIDTH = 6, STEPS = 7 };

static adz_status status_of(const adz_tensor *last)
{
    return last != NULL ? ADZ_OK : adz_error_code();
}

/* A scan as a function of x[T, WIDTH]; the carries begin with rows of x. NULL for an error. */
static bool scan(adz_loop_body body, void *user, adz_tensor **carries, size_t n_carries,
    adz_tensor *x, size_t n_results, bool reverse, adz_tensor **results)
{
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.reverse = reverse;
    return adz_scan(body, user, carries, n_carries, &x, 1, n_results, &o, results) == ADZ_OK;
}

static adz_tensor *flat(adz_tensor *x)
{
    return adz_reshape(x, ADZ_SHAPE(-1));
}

static adz_tensor *joined(adz_tensor **parts, size_t n)
{
    adz_tensor *all[8];
    for (size_t i = 0; i < n; ++i) {
        all[i] = flat(parts[i]);
    }
    return adz_cat(all, n, 0);
}

/* ---- scans ------------------------------------------------------------------------------------
 */

/* A gated cell, whose layers are those of a module: z, n = layers([h, x]). */
static adz_status gated(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_tensor *both = adz_module_forward(user, adz_cat((adz_tensor *[]){ in[0], in[1] }, 2, 0));
    adz_tensor *z = adz_sigmoid(adz_narrow(both, 0, 0, WIDTH));
    adz_tensor *n = adz_tanh(adz_narrow(both, 0, WIDTH, WIDTH));
    results[0] = adz_add(n, adz_mul(z, adz_sub(in[0], n)));
    results[1] = results[0];
    return status_of(results[0]);
}

static adz_tensor *of_gated(adz_module *cell, adz_tensor **in)
{
    adz_tensor *h = adz_zeros(ADZ_SHAPE(WIDTH), adz_tensor_dtype(in[0])), *results[2];
    return scan(gated, cell, &h, 1, in[0], 1, false, results) ? joined(results, 2) : NULL;
}

/* Carries change places, one stays, one counts and one is read by nobody. */
static adz_status mixed(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_tensor *x = in[5], *outside = user;
    results[0] = in[1];
    results[1] = in[0];
    results[2] = in[2];
    results[3] = adz_add_number(in[3], 1);
    results[4] = adz_mul(in[4], x);
    results[5] = adz_mul(adz_sub(in[0], in[1]), x); /* computed among the results */
    results[6] = x;                                 /* an input as a result */
    results[7] = adz_add(outside, adz_to(in[3], adz_tensor_dtype(x))); /* from outside */
    results[8] = in[0];                                                /* the old carry */
    results[9] = adz_add_(adz_mul_number(x, 2), in[2]); /* in place on what it has made */
    results[10] = adz_transpose(adz_reshape(x, ADZ_SHAPE(2, 3)), 0, 1); /* strided */
    results[11] = adz_exp(x); /* dropped by the function */
    return status_of(results[11]);
}

static adz_tensor *of_mixed(adz_tensor *x, bool reverse, bool strided)
{
    const adz_dtype dtype = adz_tensor_dtype(x);
    adz_tensor *rows[] = { adz_select(x, 0, 0), adz_select(x, 0, 1), adz_select(x, 0, 2),
        adz_zeros(ADZ_SHAPE(1), ADZ_I64), adz_select(x, 0, 3) };
    adz_tensor *results[12];
    adz_tensor *outside = adz_sum(x, ADZ_DIMS(0), ADZ_DROPDIM);
    adz_tensor *all = strided ? adz_transpose(adz_contiguous(adz_transpose(x, 0, 1)), 0, 1) : x;
    if (!scan(mixed, outside, rows, 5, all, 7, reverse, results)) {
        return NULL;
    }
    results[3] = adz_to(results[3], dtype);
    adz_tensor *first = joined(results, 4), *second = joined(results + 5, 6);
    return adz_cat((adz_tensor *[]){ first, second }, 2, 0);
}

static adz_tensor *forwards(adz_module *none, adz_tensor **in)
{
    (void)none;
    return of_mixed(in[0], false, false);
}

static adz_tensor *backwards(adz_module *none, adz_tensor **in)
{
    (void)none;
    return of_mixed(in[0], true, false);
}

static adz_tensor *of_strided(adz_module *none, adz_tensor **in)
{
    (void)none;
    return of_mixed(in[0], false, true);
}

/* A scan in a scan: row i is filtered over its elements, from the last state of the row before. */
static adz_status inner(adz_tensor **results, adz_tensor *const *in, void *user)
{
    results[0] = adz_add(adz_mul_number(in[0], 0.5), adz_mul(in[1], (adz_tensor *)user));
    results[1] = adz_sin(results[0]);
    return status_of(results[1]);
}

static adz_status outer(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_tensor *carry = in[0], *factor = adz_mean(in[1], ADZ_ALL_DIMS, ADZ_DROPDIM), *found[2];
    (void)user;
    if (!scan(inner, factor, &carry, 1, in[1], 1, false, found)) {
        return adz_error_code();
    }
    results[0] = found[0];
    results[1] = adz_mul(found[1], in[1]);
    return status_of(results[1]);
}

static adz_tensor *nested(adz_module *none, adz_tensor **in)
{
    adz_tensor *zero = adz_zeros(ADZ_SHAPE_SCALAR, adz_tensor_dtype(in[0])), *results[2];
    (void)none;
    return scan(outer, NULL, &zero, 1, in[0], 1, false, results) ? joined(results, 2) : NULL;
}

/* No carry; and a scan whose results are read by a second one. */
static adz_status row_softmax(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_softmax(in[0], 0);
    return status_of(results[0]);
}

static adz_status add_up(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_add(in[0], in[1]);
    return status_of(results[0]);
}

static adz_tensor *two_scans(adz_module *none, adz_tensor **in)
{
    adz_tensor *first, *second, *zero = adz_zeros(ADZ_SHAPE(WIDTH), adz_tensor_dtype(in[0]));
    (void)none;
    return scan(row_softmax, NULL, NULL, 0, in[0], 1, false, &first) &&
                   scan(add_up, NULL, &zero, 1, first, 0, true, &second)
               ? adz_mul(second, adz_select(first, 0, 1))
               : NULL;
}

/* ---- while loops and branches -----------------------------------------------------------------
 */

/* Kepler's equation E - e sin(E) = M by Newton's method. The carries are E and the last step. */
static adz_tensor *moves(adz_tensor *const *in, void *user)
{
    (void)user;
    return adz_gt_number(adz_amax(adz_abs(in[1]), ADZ_ALL_DIMS, ADZ_DROPDIM), 1e-6);
}

static adz_status newton(adz_tensor **results, adz_tensor *const *in, void *mean_anomaly)
{
    adz_tensor *f = adz_sub(adz_sub(in[0], adz_mul_number(adz_sin(in[0]), 0.3)), mean_anomaly);
    adz_tensor *slope = adz_add_number(adz_mul_number(adz_cos(in[0]), -0.3), 1);
    results[1] = adz_div(f, slope);
    results[0] = adz_sub(in[0], results[1]);
    return status_of(results[0]);
}

static adz_tensor *kepler(adz_tensor *x, int64_t most)
{
    adz_tensor *m = adz_abs(x), *results[3], *parts[4];
    adz_tensor *carries[] = { m, adz_ones_like(m) };
    if (adz_while(moves, newton, m, carries, 2, most, results, &parts[1], &parts[2]) != ADZ_OK) {
        return NULL;
    }
    parts[0] = results[0];
    parts[1] = adz_to(parts[1], adz_tensor_dtype(x));
    parts[2] = adz_to(parts[2], adz_tensor_dtype(x));
    return joined(parts, 3);
}

static adz_tensor *until_it_converges(adz_module *none, adz_tensor **in)
{
    (void)none;
    return kepler(in[0], 50);
}

static adz_tensor *until_its_bound(adz_module *none, adz_tensor **in)
{
    (void)none;
    return kepler(in[0], 2);
}

static adz_tensor *without_a_step(adz_module *none, adz_tensor **in)
{
    (void)none;
    return kepler(in[0], 0);
}

static adz_status doubled(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_mul_number(in[0], 2);
    results[1] = in[0];
    return status_of(results[0]);
}

static adz_status rooted(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_sqrt(adz_abs(in[0]));
    results[1] = adz_neg(results[0]);
    return status_of(results[1]);
}

/* Each row takes one of two ways. */
static adz_status either(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_tensor *row = in[0], *found[2];
    (void)user;
    if (adz_branch(adz_gt_number(adz_sum(row, ADZ_ALL_DIMS, ADZ_DROPDIM), 0), doubled, rooted, NULL,
            &row, 1, 2, found) != ADZ_OK) {
        return adz_error_code();
    }
    results[0] = adz_add(found[0], found[1]);
    return status_of(results[0]);
}

static adz_tensor *branches(adz_module *none, adz_tensor **in)
{
    adz_tensor *rows;
    (void)none;
    return scan(either, NULL, NULL, 0, in[0], 1, false, &rows) ? flat(rows) : NULL;
}

/* ---- what they compute ------------------------------------------------------------------------
 */

static adz_tensor *(*const functions[])(adz_module *, adz_tensor **) = { forwards, backwards,
    of_strided, nested, two_scans, until_it_converges, until_its_bound, without_a_step, branches };

/* Exports a function for floats and for doubles, and compares it on three inputs. */
static void check_both(adz_module *module, adz_tensor *(*call)(adz_module *, adz_tensor **))
{
    for (int wide = 0; wide <= 1; ++wide) {
        const adz_dtype dtype = wide ? ADZ_F64 : ADZ_F32;
        c_network n = { .module = module,
            .in = { adz_randn(ADZ_SHAPE(STEPS, WIDTH), dtype) },
            .n_in = 1,
            .call = call };
        adz_c_options o = ADZ_C_OPTIONS;
        o.libm = !wide;
        o.precision = dtype;
        if (module != NULL) {
            adz_module_to(module, dtype);
        }
        if (write_network(&n, "net.c", &o) != ADZ_OK) {
            fail_msg("%s", adz_error_message());
        }
        const compiled c = compile("net", o.libm);
        for (int i = 0; i < 3; ++i) {
            const double d = difference(&c, &n, 1);
            if (!(d <= (wide ? 1e-14 : 1e-6))) {
                fail_msg("the C function differs by %g", d);
            }
            refill(&n);
        }
        dlclose(c.library);
    }
}

static void loops_compute_what_the_library_computes(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(3);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
        check_both(NULL, functions[i]);
    }
    adz_scope_close(scope);
}

static void a_cell_of_a_module(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(4);
    adz_module *cell = adz_linear_new(2 * WIDTH, 2 * WIDTH, NULL);
    check_both(cell, of_gated);
    adz_module_release(&cell);
    adz_scope_close(scope);
}

/* ---- sizes ------------------------------------------------------------------------------------
 */

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
    adz_tensor *h = adz_zeros(ADZ_SHAPE(WIDTH), ADZ_F32), *results[2];
    return scan(gated, cell, &h, 1, in[0], 1, false, results) ? results[0] : NULL;
}

static void the_text_does_not_depend_on_the_steps(void **state)
{
    (void)state;
    const int64_t steps[] = { 10, 10000 };
    size_t text[2], header[2];
    adz_scope *scope = adz_scope_open();
    adz_module *cell = adz_linear_new(2 * WIDTH, 2 * WIDTH, NULL);
    for (int i = 0; i < 2; ++i) {
        c_network n = { .module = cell,
            .in = { adz_randn(ADZ_SHAPE(steps[i], WIDTH), ADZ_F32) },
            .n_in = 1,
            .call = last_of_gated };
        assert_int_equal(write_network(&n, "net.c", NULL), ADZ_OK);
        text[i] = text_of(temporary_path("net.c"));
        header[i] = text_of(temporary_path("net.h"));
        const compiled c = compile("net", false);
        assert_true(difference(&c, &n, 1) <= 1e-6);
        dlclose(c.library);
    }
    assert_int_equal(text[0], text[1]);
    assert_int_equal(header[0], header[1]);
    adz_module_release(&cell);
    adz_scope_close(scope);
}

/* ---- what is refused --------------------------------------------------------------------------
 */

static adz_tensor *taken; /* a tensor that a body hands out by another way than its results */

static adz_status changes_outside(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_add_(user, in[1]);
    results[0] = adz_add(in[0], user);
    return status_of(results[0]);
}

static adz_status changes_its_carry(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_add_(in[0], in[1]);
    return status_of(results[0]);
}

static adz_status hands_out(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    taken = adz_exp(in[1]);
    results[0] = adz_add(in[0], taken);
    return status_of(results[0]);
}

static adz_status reads_elements(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_mul_number(in[0], adz_item(adz_select(in[1], 0, 0)));
    return status_of(results[0]);
}

static adz_status draws(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_add(in[0], adz_randn_like(in[1]));
    return status_of(results[0]);
}

static adz_tensor *refused_scan(adz_loop_body body, adz_tensor *x)
{
    adz_tensor *carry = adz_zeros(ADZ_SHAPE(WIDTH), ADZ_F32), *last;
    adz_tensor *outside = adz_mul_number(adz_select(x, 0, 0), 2);
    taken = ADZ_NONE;
    if (!scan(body, outside, &carry, 1, x, 0, false, &last)) {
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
        { scan_that_draws, "draws random numbers" } };
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        c_network n = {
            .in = { adz_randn(ADZ_SHAPE(STEPS, WIDTH), ADZ_F32) }, .n_in = 1, .call = rows[i].call
        };
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
        cmocka_unit_test(a_cell_of_a_module),
        cmocka_unit_test(the_text_does_not_depend_on_the_steps),
        cmocka_unit_test(what_differs_from_step_to_step_is_refused),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
