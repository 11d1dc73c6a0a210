/* Searches on the test set of root_systems.h. A root is certified by its residual, which the test
 * computes again, and by its known values. Chebyquad has no root for 8 unknowns, so that 59 of the
 * 62 runs have one. With exact Jacobians, SciPy's hybr solves 41. */
#include "solvers/equations/root_systems.h"

typedef struct tally {
    int runs, solved, wrong, known;
} tally;

/* A system in other units: f(x / 2^unknowns) 2^values. */
typedef struct units {
    adz_tensor_map function;
    int values, unknowns;
} units;

static adz_tensor *in_units(adz_tensor *x, void *user)
{
    const units *u = user;
    adz_tensor *y = u->function(adz_mul_number(x, ldexp(1, -u->unknowns)), NULL);
    return adz_mul_number(y, ldexp(1, u->values));
}

static adz_tensor *start_of(const root_system *s, int times, int exponent)
{
    double x[MOST_UNKNOWNS], size = 0;
    s->start(x, s->n);
    for (int i = 0; i < s->n; ++i) {
        x[i] = ldexp(x[i] * times, exponent);
        size = fmax(size, fabs(x[i]));
    }
    return times == 1 || size > 0 ? adz_tensor_from(x, ADZ_SHAPE(s->n), ADZ_F64) : NULL;
}

static void judge(
    tally *t, const root_system *s, adz_tensor *x, const adz_root_report *r, double tolerance)
{
    ++t->runs;
    if (x == NULL) {
        assert_true(r->reason != ADZ_ROOT_CONVERGED && r->rows_left == 1);
        assert_int_equal(adz_error_code(), ADZ_ERR_NUMERIC);
        adz_error_clear();
        return;
    }
    const double residual = adz_item(adz_max(adz_abs(s->function(x, NULL))));
    const bool good = residual <= tolerance && residual == r->residual;
    assert_int_equal(r->reason, ADZ_ROOT_CONVERGED);
    if (!good) {
        print_error("%s of %d: a root with the residual %g\n", s->name, s->n, residual);
    }
    t->solved += good;
    t->wrong += !good;
    for (int i = 0; i < s->known; ++i) {
        assert_true(fabs(adz_tensor_data_f64(x)[i] - s->root[i]) < 1e-8);
        ++t->known;
    }
}

static tally run_all(const adz_root_options *o)
{
    tally t = { 0 };
    for (int i = 0; i < N_SYSTEMS; ++i) {
        for (int times = 1; times <= 100; times *= 10) {
            adz_scope *scope = adz_scope_open();
            adz_tensor *x0 = start_of(&root_systems[i], times, 0);
            if (x0 != NULL) {
                adz_root_report r;
                adz_tensor *x = adz_root(root_systems[i].function, NULL, x0, o, &r);
                judge(&t, &root_systems[i], x, &r, o->tolerance);
            }
            adz_scope_close(scope);
        }
    }
    return t;
}

static void newton_solves_the_set(void **state)
{
    (void)state;
    const adz_root_options o = ADZ_ROOT_OPTIONS;
    const tally t = run_all(&o);
    assert_int_equal(t.runs, 62);
    assert_int_equal(t.wrong, 0);
    assert_true(t.solved >= 50);
    assert_true(t.known >= 20);
}

static void no_method_claims_what_is_no_root(void **state)
{
    (void)state;
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.method = ADZ_ROOT_KRYLOV;
    for (o.history = 0; o.history <= 2; o.history += 2) {
        const tally t = run_all(&o);
        assert_int_equal(t.runs, 62);
        assert_int_equal(t.wrong, 0);
        assert_true(t.solved >= 35);
    }
}

/* The search is the same, step by step, in units that differ by powers of two. */
static void units_change_nothing(void **state)
{
    (void)state;
    const int exponents[][2] = { { 300, 0 }, { -300, 0 }, { 0, 60 }, { 0, -60 }, { -200, 40 } };
    for (int i = 0; i < N_SYSTEMS; ++i) {
        const root_system *s = &root_systems[i];
        for (size_t k = 0; k < sizeof exponents / sizeof *exponents; ++k) {
            adz_scope *scope = adz_scope_open();
            units u = { s->function, exponents[k][0], exponents[k][1] };
            adz_root_options o = ADZ_ROOT_OPTIONS;
            adz_root_report plain, other;
            o.accept_unconverged = true;
            adz_tensor *x = adz_root(s->function, NULL, start_of(s, 1, 0), &o, &plain);
            o.tolerance = ldexp(o.tolerance, u.values);
            adz_tensor *y = adz_root(in_units, &u, start_of(s, 1, u.unknowns), &o, &other);
            assert_true(x != NULL && y != NULL);
            assert_true(adz_equal(adz_mul_number(x, ldexp(1, u.unknowns)), y));
            assert_int_equal(plain.reason, other.reason);
            assert_int_equal(plain.iterations, other.iterations);
            assert_true(ldexp(plain.residual, u.values) == other.residual);
            adz_scope_close(scope);
        }
    }
}

static adz_tensor *rows_of_rosenbrock(adz_tensor *x, void *user)
{
    (void)user;
    adz_tensor *a = adz_narrow(x, 1, 0, 1), *b = adz_narrow(x, 1, 1, 1);
    adz_tensor *f[] = { adz_number_sub(1, a), adz_mul_number(adz_sub(b, adz_square(a)), 10) };
    return adz_cat(f, 2, 1);
}

/* A row for which the line search fails goes on alone, with the bits that it has without the
 * others. */
static void rows_go_on_by_themselves(void **state)
{
    (void)state;
    const double starts[] = { 1, 1, -1.2, 1, -12, 10, 0, 0, -2, 50 };
    adz_tensor *x0 = adz_tensor_from(starts, ADZ_SHAPE(5, 2), ADZ_F64);
    adz_root_options o = ADZ_ROOT_OPTIONS;
    adz_root_report all, one;
    o.rows = true;
    adz_tensor *x = adz_root(rows_of_rosenbrock, NULL, x0, &o, &all);
    assert_true(x != NULL && all.rows_left == 0 && all.residual <= 1e-10);
    assert_true(apart(x, adz_ones_like(x)) < 1e-9);
    int most = 0;
    for (int i = 0; i < 5; ++i) {
        adz_tensor *alone = adz_root(rows_of_rosenbrock, NULL, adz_narrow(x0, 0, i, 1), &o, &one);
        assert_true(adz_equal(alone, adz_narrow(x, 0, i, 1)));
        most = one.iterations > most ? one.iterations : most;
    }
    assert_true(all.iterations >= most && all.iterations <= 2 * most);
}

const struct CMUnitTest root_set[N_ROOT_SET] = {
    cmocka_unit_test_setup_teardown(newton_solves_the_set, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(no_method_claims_what_is_no_root, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(units_change_nothing, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(rows_go_on_by_themselves, solvers_open, solvers_close),
};
