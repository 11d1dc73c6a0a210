/* Functions with scans, while loops and branches, which exports write. */
#include "loop_functions.h"

#include "export/onnx.h"

adz_status loop_status(const adz_tensor *last)
{
    return last != NULL ? ADZ_OK : adz_error_code();
}

bool loop_scan(adz_loop_body body, void *user, adz_tensor **carries, size_t n_carries,
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

/* ---- scans ----------------------------------------------------------------------------------- */

/* A gated cell, whose layers are those of a module: z, n = layers([h, x]). */
adz_status loop_gated(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_tensor *both = adz_module_forward(user, adz_cat((adz_tensor *[]){ in[0], in[1] }, 2, 0));
    adz_tensor *z = adz_sigmoid(adz_narrow(both, 0, 0, LOOP_WIDTH));
    adz_tensor *n = adz_tanh(adz_narrow(both, 0, LOOP_WIDTH, LOOP_WIDTH));
    results[0] = adz_add(n, adz_mul(z, adz_sub(in[0], n)));
    results[1] = results[0];
    return loop_status(results[0]);
}

static adz_tensor *of_gated(adz_module *cell, adz_tensor **in)
{
    adz_tensor *h = adz_zeros(ADZ_SHAPE(LOOP_WIDTH), adz_tensor_dtype(in[0])), *results[2];
    return loop_scan(loop_gated, cell, &h, 1, in[0], 1, false, results) ? joined(results, 2) : NULL;
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
    return loop_status(results[11]);
}

static adz_tensor *of_mixed(adz_tensor *x, bool reverse, bool strided)
{
    const adz_dtype dtype = adz_tensor_dtype(x);
    adz_tensor *rows[] = { adz_select(x, 0, 0), adz_select(x, 0, 1), adz_select(x, 0, 2),
        adz_zeros(ADZ_SHAPE(1), ADZ_I64), adz_select(x, 0, 3) };
    adz_tensor *results[12];
    adz_tensor *outside = adz_sum(x, ADZ_DIMS(0), ADZ_DROPDIM);
    adz_tensor *all = strided ? adz_transpose(adz_contiguous(adz_transpose(x, 0, 1)), 0, 1) : x;
    if (!loop_scan(mixed, outside, rows, 5, all, 7, reverse, results)) {
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
    return loop_status(results[1]);
}

static adz_status outer(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_tensor *carry = in[0], *factor = adz_mean(in[1], ADZ_ALL_DIMS, ADZ_DROPDIM), *found[2];
    (void)user;
    if (!loop_scan(inner, factor, &carry, 1, in[1], 1, false, found)) {
        return adz_error_code();
    }
    results[0] = found[0];
    results[1] = adz_mul(found[1], in[1]);
    return loop_status(results[1]);
}

static adz_tensor *nested(adz_module *none, adz_tensor **in)
{
    adz_tensor *zero = adz_zeros(ADZ_SHAPE_SCALAR, adz_tensor_dtype(in[0])), *results[2];
    (void)none;
    return loop_scan(outer, NULL, &zero, 1, in[0], 1, false, results) ? joined(results, 2) : NULL;
}

/* A step hands over its input, and what the body of the outer scan has made. */
static adz_status hands_on(adz_tensor **results, adz_tensor *const *in, void *user)
{
    results[0] = adz_add(adz_mul(in[0], user), in[1]);
    results[1] = in[1];
    results[2] = user;
    return loop_status(results[0]);
}

/* The results of a step are those of an inner scan, and one that its steps hand over, too. */
static adz_status outermost(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_tensor *carry = in[0], *mean = adz_mean(in[1], ADZ_ALL_DIMS, ADZ_DROPDIM);
    (void)user;
    results[3] = adz_sin(mean);
    return loop_scan(hands_on, results[3], &carry, 1, in[1], 2, true, results)
               ? loop_status(results[3])
               : adz_error_code();
}

static adz_tensor *handed_on(adz_module *none, adz_tensor **in)
{
    adz_tensor *zero = adz_zeros(ADZ_SHAPE_SCALAR, adz_tensor_dtype(in[0])), *results[4];
    (void)none;
    return loop_scan(outermost, NULL, &zero, 1, in[0], 3, false, results) ? joined(results, 4)
                                                                          : NULL;
}

/* The new carries are views of the old ones: one of itself, one of the other. */
static adz_status turned(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_transpose(in[0], 0, 1);
    results[1] = adz_select(in[0], 1, 2);
    results[2] = adz_mul(adz_select(in[0], 0, 1), adz_add(in[1], in[2]));
    results[3] = adz_transpose(in[0], 0, 1);
    return loop_status(results[2]);
}

static adz_tensor *of_turned(adz_module *none, adz_tensor **in)
{
    adz_tensor *carries[] = { adz_narrow(in[0], 0, 0, LOOP_WIDTH), adz_select(in[0], 0, 0) };
    adz_tensor *results[4];
    (void)none;
    return loop_scan(turned, NULL, carries, 2, in[0], 2, false, results) ? joined(results, 4)
                                                                         : NULL;
}

/* No carry; and a scan whose results are read by a second one. */
static adz_status row_softmax(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_softmax(in[0], 0);
    return loop_status(results[0]);
}

static adz_status add_up(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_add(in[0], in[1]);
    return loop_status(results[0]);
}

static adz_tensor *two_scans(adz_module *none, adz_tensor **in)
{
    adz_tensor *first, *second, *zero = adz_zeros(ADZ_SHAPE(LOOP_WIDTH), adz_tensor_dtype(in[0]));
    (void)none;
    return loop_scan(row_softmax, NULL, NULL, 0, in[0], 1, false, &first) &&
                   loop_scan(add_up, NULL, &zero, 1, first, 0, true, &second)
               ? adz_mul(second, adz_select(first, 0, 1))
               : NULL;
}

/* Rows are filtered along their elements, all at once: any number of rows. */
static adz_status filtered(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_add(adz_mul_number(in[0], 0.5), in[1]);
    results[1] = adz_tanh(results[0]);
    return loop_status(results[1]);
}

static adz_tensor *batched(adz_module *none, adz_tensor **in)
{
    adz_tensor *first = adz_select(in[0], 1, 0), *results[2];
    (void)none;
    return loop_scan(filtered, NULL, &first, 1, adz_transpose(in[0], 0, 1), 1, true, results)
               ? adz_mul(adz_transpose(results[1], 0, 1), adz_unsqueeze(results[0], 1))
               : NULL;
}

/* ---- while loops and branches ---------------------------------------------------------------- */

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
    return loop_status(results[0]);
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

static adz_tensor *is_below_two(adz_tensor *const *in, void *user)
{
    (void)user;
    return adz_lt_number(in[1], 2);
}

static adz_status hands_over(adz_tensor **results, adz_tensor *const *in, void *captured)
{
    results[0] = captured;
    results[1] = adz_add_number(in[1], 1);
    return loop_status(results[1]);
}

/* No call of the body has the tensor that it captures. */
static adz_tensor *as_it_is(adz_module *none, adz_tensor **in)
{
    adz_tensor *y = adz_sin(in[0]), *found[2];
    adz_tensor *carries[] = { adz_zeros_like(in[0]), adz_scalar(0, adz_tensor_dtype(in[0])) };
    (void)none;
    if (adz_while(is_below_two, hands_over, y, carries, 2, 3, found, NULL, NULL) != ADZ_OK) {
        return NULL;
    }
    return flat(adz_add(found[0], adz_square(in[0])));
}

static adz_status doubled(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_mul_number(in[0], 2);
    results[1] = in[0];
    return loop_status(results[0]);
}

static adz_status rooted(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_sqrt(adz_add_number(adz_square(in[0]), 1));
    results[1] = adz_neg(results[0]);
    return loop_status(results[1]);
}

/* Both ways of a branch use a tensor of equal rows that the function makes. */
static adz_status with_rows(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] =
        adz_matmul(in[0], adz_full(ADZ_SHAPE(40, LOOP_WIDTH), 0.0625, adz_tensor_dtype(in[0])));
    return loop_status(results[0]);
}

static adz_status with_rows_again(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)user;
    results[0] = adz_neg(adz_matmul(
        adz_sin(in[0]), adz_full(ADZ_SHAPE(40, LOOP_WIDTH), 0.0625, adz_tensor_dtype(in[0]))));
    return loop_status(results[0]);
}

static adz_status over_columns(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_tensor *row = adz_reshape(
                   adz_expand(adz_unsqueeze(adz_narrow(in[0], 0, 0, 4), 0), ADZ_SHAPE(10, 4)),
                   ADZ_SHAPE(1, 40)),
               *found;
    (void)user;
    if (adz_branch(adz_gt_number(adz_sum(row, ADZ_ALL_DIMS, ADZ_DROPDIM), 0), with_rows,
            with_rows_again, NULL, &row, 1, 1, &found) != ADZ_OK) {
        return adz_error_code();
    }
    results[0] = found;
    return loop_status(results[0]);
}

static adz_tensor *branches_with_rows(adz_module *none, adz_tensor **in)
{
    adz_tensor *rows;
    (void)none;
    return loop_scan(over_columns, NULL, NULL, 0, in[0], 1, false, &rows) ? flat(rows) : NULL;
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
    results[0] = adz_sub(found[0], found[1]); /* a sum would be 0 for `rooted` */
    return loop_status(results[0]);
}

static adz_tensor *branches(adz_module *none, adz_tensor **in)
{
    adz_tensor *rows;
    (void)none;
    return loop_scan(either, NULL, NULL, 0, in[0], 1, false, &rows) ? flat(rows) : NULL;
}

/* ---- layers of cells ------------------------------------------------------------------------- */

/* A batch of two sequences of unequal lengths, from their end. */
static adz_module *padded_module(void)
{
    adz_recurrent_options o = ADZ_RECURRENT_OPTIONS;
    o.reverse = true;
    return adz_recurrent_new(adz_gru_cell_new(LOOP_WIDTH / 2, 4, NULL), &o);
}

static adz_tensor *padded(adz_module *layer, adz_tensor **in)
{
    const int64_t steps = adz_tensor_size(in[0], 0), lengths[2] = { steps - 2, steps };
    adz_values *results = adz_values_new();
    adz_tensor *x = adz_reshape(in[0], ADZ_SHAPE(steps, 2, LOOP_WIDTH / 2));
    adz_tensor *y = ADZ_CALL_RESULTS(layer, results, { NULL, x },
        { "lengths", adz_tensor_from(lengths, ADZ_SHAPE(2), ADZ_I64) });
    adz_tensor *both[2] = { y, adz_values_get(results, "h") };
    adz_values_free(&results);
    return y != NULL ? joined(both, 2) : NULL;
}

static adz_module *in_pieces_module(void)
{
    adz_recurrent_options o = ADZ_RECURRENT_OPTIONS;
    o.truncated_bptt_steps = 3;
    return adz_recurrent_new(adz_lstm_cell_new(LOOP_WIDTH, 4, NULL), &o);
}

static adz_tensor *in_pieces(adz_module *layer, adz_tensor **in)
{
    return flat(adz_module_forward(layer, adz_unsqueeze(in[0], 1)));
}

/* ---- all of them ----------------------------------------------------------------------------- */

adz_module *loop_cell(void)
{
    return adz_linear_new(2 * LOOP_WIDTH, 2 * LOOP_WIDTH, NULL);
}

#define ROW(name)         \
    {                     \
#name, name, NULL \
    }

#define EQUATION(name)           \
    {                            \
#name, loop_##name, NULL \
    }

const loop_function loop_functions[] = { ROW(of_gated), ROW(forwards), ROW(backwards),
    ROW(of_strided), ROW(nested), ROW(two_scans), ROW(batched), ROW(until_it_converges),
    ROW(until_its_bound), ROW(without_a_step), ROW(as_it_is), ROW(branches), ROW(handed_on),
    ROW(of_turned), ROW(branches_with_rows), EQUATION(runge_kutta), EQUATION(dormand_prince),
    EQUATION(error_control), EQUATION(error_control_between),
    EQUATION(error_control_of_short_times), EQUATION(error_control_at_zero), EQUATION(root_of_rows),
    { "padded", padded, padded_module }, { "in_pieces", in_pieces, in_pieces_module } };

adz_module *loop_module(const loop_function *f)
{
    return f->module != NULL ? f->module() : loop_cell();
}

const size_t n_loop_functions = sizeof loop_functions / sizeof *loop_functions;

/* ---- ONNX ------------------------------------------------------------------------------------ */

typedef struct {
    const loop_function *f;
    adz_module *cell;
    adz_tensor *x;
} traced;

static adz_tensor *call(void *user)
{
    traced *t = user;
    return t->f->call(t->cell, &t->x);
}

adz_status loop_write_onnx(
    const loop_function *f, adz_module *cell, adz_tensor *x, const char *path)
{
    traced t = { f, cell, x };
    const adzi_export what = { .function = call,
        .user = &t,
        .inputs = { &t.x, 1 },
        .input_names = (const char *const[]){ "x" },
        .module = cell };
    return adzi_write_onnx("adz_plan_write_onnx", &what, path, NULL);
}
