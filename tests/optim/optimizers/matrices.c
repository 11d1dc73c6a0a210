/* Optimizers that treat a matrix as one: Adafactor, whose variances are a row and a column, and
 * Muon. */
#include "cases.h"
#include "tests.h"

enum { BATCH = 2, ROWS_OF = 5, COLUMNS = 3, ALL = BATCH * ROWS_OF * COLUMNS };

static adz_tensor *leaf(adz_shape shape)
{
    double values[ALL];
    for (int i = 0; i < ALL; ++i) {
        values[i] = start_at(i);
    }
    return adz_requires_grad_(adz_tensor_from(values, shape, ADZ_F64), true);
}

static void step_with(adz_optimizer *o, adz_tensor *w, int t)
{
    double values[ALL];
    for (int i = 0; i < ALL; ++i) {
        values[i] = gradient_at(i, t);
    }
    adz_tensor_set_grad(
        w, adz_reshape(adz_tensor_from(values, ADZ_SHAPE(ALL), ADZ_F64), adz_tensor_shape(w)));
    assert_int_equal(adz_optimizer_step(o), ADZ_OK);
}

/* ---- Adafactor ------------------------------------------------------------------------------ */

static double square_at(int b, int r, int c, int t)
{
    const double g = gradient_at((b * ROWS_OF + r) * COLUMNS + c, t);
    return g * g;
}

/* The variances of matrix b in step t, 1 or more. */
static void adafactor_variances(
    double row[ROWS_OF], double column[COLUMNS], double fresh, int b, int t)
{
    for (int r = 0; r < ROWS_OF; ++r) {
        double mean = 0;
        for (int c = 0; c < COLUMNS; ++c) {
            mean += square_at(b, r, c, t) / COLUMNS;
        }
        row[r] += fresh * (mean - row[r]);
    }
    for (int c = 0; c < COLUMNS; ++c) {
        double mean = 0;
        for (int r = 0; r < ROWS_OF; ++r) {
            mean += square_at(b, r, c, t) / ROWS_OF;
        }
        column[c] += fresh * (mean - column[c]);
    }
}

static void adafactor_matrix_loop(
    double w[ALL], double row[BATCH][ROWS_OF], double column[BATCH][COLUMNS], int t)
{
    double u[ALL], size = 0, move = 0;
    for (int b = 0; b < BATCH; ++b) {
        double mean = 0;
        adafactor_variances(row[b], column[b], pow(t + 1, -0.8), b, t);
        for (int r = 0; r < ROWS_OF; ++r) {
            mean += row[b][r] / ROWS_OF;
        }
        for (int i = 0; i < ROWS_OF * COLUMNS; ++i) {
            const int at = b * ROWS_OF * COLUMNS + i;
            u[at] = gradient_at(at, t) / sqrt(row[b][i / COLUMNS] * column[b][i % COLUMNS] / mean);
            size += w[at] * w[at] / ALL;
            move += u[at] * u[at] / ALL;
        }
    }
    for (int i = 0; i < ALL; ++i) {
        w[i] -= fmin(0.05, 1 / sqrt(t + 1)) * sqrt(size) / fmax(1, sqrt(move)) * u[i];
    }
}

static void variances_of_matrices_are_factored(void **state)
{
    (void)state;
    adz_tensor *w = leaf(ADZ_SHAPE(BATCH, ROWS_OF, COLUMNS));
    adz_optimizer *o = adz_adafactor_new(one(&w), 0.05, NULL);
    double expected[ALL], row[BATCH][ROWS_OF] = { 0 }, column[BATCH][COLUMNS] = { 0 };
    for (int i = 0; i < ALL; ++i) {
        expected[i] = start_at(i);
    }
    for (int t = 0; t < STEPS; ++t) {
        step_with(o, w, t);
        adafactor_matrix_loop(expected, row, column, t);
        assert_true(holds(w, expected, 1e-13));
    }
    adz_state_dict *kept = adz_state_dict_new();
    assert_int_equal(adzi_optimizer_collect(o, kept), ADZ_OK);
    assert_int_equal(adz_state_dict_count(kept), 3);
    assert_true(holds(adz_state_dict_get(kept, "state.0.row_var"), &row[0][0], 1e-13));
    assert_true(holds(adz_state_dict_get(kept, "state.0.col_var"), &column[0][0], 1e-13));
    assert_int_equal(adz_tensor_size(adz_state_dict_get(kept, "state.0.row_var"), 2), 1);
    assert_int_equal(adz_tensor_size(adz_state_dict_get(kept, "state.0.col_var"), 1), 1);
    adz_state_dict_free(&kept);
    adz_optimizer_release(&o);
}

/* ---- Muon ----------------------------------------------------------------------------------- */

/* One iteration of X [n, d]. */
static void iterate(double x[ALL], int n, int d)
{
    double gram[ALL], factor[ALL], y[ALL] = { 0 };
    for (int i = 0; i < n * n; ++i) {
        gram[i] = 0;
        for (int k = 0; k < d; ++k) {
            gram[i] += x[i / n * d + k] * x[i % n * d + k];
        }
    }
    for (int i = 0; i < n * n; ++i) {
        factor[i] = -4.775 * gram[i];
        for (int k = 0; k < n; ++k) {
            factor[i] += 2.0315 * gram[i / n * n + k] * gram[k * n + i % n];
        }
    }
    for (int i = 0; i < n * d; ++i) {
        y[i] = 3.4445 * x[i];
        for (int k = 0; k < n; ++k) {
            y[i] += factor[i / d * n + k] * x[k * d + i % d];
        }
    }
    memcpy(x, y, sizeof y);
}

/* A step of Muon with the defaults but the rate, for w [n, d] with n <= d, or its transpose. */
static void muon_loop(double w[ALL], double m[ALL], int n, int d, bool transposed, int t)
{
    double x[ALL] = { 0 }, norm = 0;
    for (int i = 0; i < n * d; ++i) {
        const int at = transposed ? i % d * n + i / d : i;
        const double g = gradient_at(at, t);
        m[at] += 0.05 * (g - m[at]);
        x[i] = 0.95 * m[at] + 0.05 * g;
        norm += x[i] * x[i];
    }
    for (int i = 0; i < n * d; ++i) {
        x[i] /= sqrt(norm);
    }
    for (int k = 0; k < 5; ++k) {
        iterate(x, n, d);
    }
    const double factor = transposed ? sqrt((double)d / n) : 1;
    for (int i = 0; i < n * d; ++i) {
        const int at = transposed ? i % d * n + i / d : i;
        w[at] = (1 - 0.02 * 0.1) * w[at] - 0.02 * factor * x[i];
    }
}

static void muon_makes_orthogonal_steps(void **state)
{
    (void)state;
    for (int tall = 0; tall < 2; ++tall) {
        adz_tensor *w = leaf(tall ? ADZ_SHAPE(10, 3) : ADZ_SHAPE(3, 10));
        adz_optimizer *o = adz_muon_new(one(&w), 0.02, NULL);
        double expected[ALL], m[ALL] = { 0 };
        for (int i = 0; i < ALL; ++i) {
            expected[i] = start_at(i);
        }
        for (int t = 0; t < STEPS; ++t) {
            step_with(o, w, t);
            muon_loop(expected, m, 3, 10, tall, t);
            assert_true(holds(w, expected, 1e-12));
        }
        adz_optimizer_release(&o);
    }
}

/* The rates of the first steps, which are the factors of each choice. */
static void muon_adapts_its_rate(void **state)
{
    (void)state;
    const double factors[] = { sqrt(10.0 / 3), 0.2 * sqrt(10), sqrt(10.0 / 3), 1, 0.2 * sqrt(10),
        sqrt(0.3) };
    for (int k = 0; k < 6; ++k) {
        adz_tensor *w = leaf(k < 3 ? ADZ_SHAPE(10, 3) : ADZ_SHAPE(3, 10));
        adz_tensor *before = adz_clone(adz_detach(w));
        adz_muon_options options = ADZ_MUON_OPTIONS;
        options.adjust_lr_fn = (adz_adjust_lr)(k % 3);
        options.weight_decay = 0;
        options.ns_steps = 0; /* the step has the norm 1 then */
        adz_optimizer *o = adz_muon_new(one(&w), 0.5, &options);
        step_with(o, w, 0);
        const double norm =
            adz_item(adz_norm(adz_sub(adz_detach(w), before), 2, ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(fabs(norm - 0.5 * factors[k]) < 1e-14);
        adz_optimizer_release(&o);
    }
}

/* ---- both ----------------------------------------------------------------------------------- */

static adz_optimizer *make(int which, adz_tensor **w)
{
    return which == 0 ? adz_adafactor_new(one(w), 0.05, NULL) : adz_muon_new(one(w), 0.05, NULL);
}

static void matrices_continue_after_loading(void **state)
{
    (void)state;
    for (int which = 0; which < 2; ++which) {
        adz_tensor *w = leaf(ADZ_SHAPE(6, 5)), *v = leaf(ADZ_SHAPE(6, 5));
        adz_optimizer *a = make(which, &w), *b = make(which, &v);
        step_with(a, w, 0);
        step_with(a, w, 1);
        assert_int_equal(save(a, "matrix"), ADZ_OK);
        step_with(b, v, 7);
        assert_int_equal(load(b, "matrix"), ADZ_OK);
        ADZ_NO_GRAD
        {
            adz_copy_(v, w);
        }
        step_with(a, w, 2);
        step_with(b, v, 2);
        assert_true(adz_equal(w, v));
        adz_optimizer_release(&a);
        adz_optimizer_release(&b);
    }
}

static void states_of_another_shape_are_refused(void **state)
{
    (void)state;
    adz_tensor *w = leaf(ADZ_SHAPE(6, 5)), *v = leaf(ADZ_SHAPE(5, 6)), *flat = leaf(ADZ_SHAPE(30));
    adz_optimizer *a = make(0, &w), *b = make(0, &v), *c = make(0, &flat);
    step_with(a, w, 0);
    assert_int_equal(save(a, "matrix"), ADZ_OK);
    assert_int_equal(load(b, "matrix"), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "that a state of the parameter[5, 6] has, [");
    assert_int_equal(load(c, "matrix"), ADZ_ERR_STATE);
    expect_error(
        ADZ_ERR_STATE, "_var is a state that the parameter[30] does not have in Adafactor");
    adz_optimizer_release(&a);
    adz_optimizer_release(&b);
    adz_optimizer_release(&c);
}

/* A matrix without elements changes nothing, and neither does one without a row. */
static void empty_matrices_are_left_alone(void **state)
{
    (void)state;
    for (int which = 0; which < 2; ++which) {
        adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(0, 4), ADZ_F32), true);
        adz_optimizer *o = make(which, &w);
        adz_tensor_set_grad(w, adz_zeros(ADZ_SHAPE(0, 4), ADZ_F32));
        assert_int_equal(adz_optimizer_step(o), ADZ_OK);
        assert_int_equal(adz_optimizer_step(o), ADZ_OK);
        adz_optimizer_release(&o);
    }
}

int matrices_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(variances_of_matrices_are_factored),
        TEST(muon_makes_orthogonal_steps),
        TEST(muon_adapts_its_rate),
        TEST(matrices_continue_after_loading),
        TEST(states_of_another_shape_are_refused),
        TEST(empty_matrices_are_left_alone),
    };
    return cmocka_run_group_tests_name(
        "optimizers: matrices", tests, temporary_begin, temporary_end);
}
