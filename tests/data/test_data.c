/* Datasets, their parts, loaders and the standardiser. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "adze/autograd.h"
#include "adze/data.h"
#include "adze/nn.h"
#include "adze/ops.h"
#include "../errors.h"
#include "../temporary.h"
#include "tensor/tensor.h"

/* x[rows, 2] with x = 10 row + column, and y[rows] i64 with y = row. */
static adz_dataset *numbered(int64_t rows)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *both[] = { adz_empty(ADZ_SHAPE(rows, 2), ADZ_F32),
        adz_arange(0, (double)rows, 1, ADZ_I64) };
    for (int64_t i = 0; i < 2 * rows; ++i) {
        adz_tensor_data_f32(both[0])[i] = (float)(10 * (i / 2) + i % 2);
    }
    adz_dataset *dataset = adz_dataset_new(both, 2);
    adz_scope_close(scope);
    assert_non_null(dataset);
    return dataset;
}

/* The rows of a dataset or batch, from its y; and that x belongs to them. */
static int64_t rows_of(adz_tensor *x, adz_tensor *y, int64_t *rows)
{
    int64_t n = adz_tensor_size(y, 0);
    for (int64_t i = 0; i < n; ++i) {
        rows[i] = adz_tensor_data_i64(y)[i];
        assert_true(adz_tensor_data_f32(x)[2 * i] == (float)(10 * rows[i]));
        assert_true(adz_tensor_data_f32(x)[2 * i + 1] == (float)(10 * rows[i] + 1));
    }
    return n;
}

static int64_t rows_of_dataset(adz_dataset *dataset, int64_t *rows)
{
    adz_scope *scope = adz_scope_open();
    int64_t n = rows_of(adz_dataset_tensor(dataset, 0), adz_dataset_tensor(dataset, 1), rows);
    adz_scope_close(scope);
    return n;
}

/* ---- datasets ------------------------------------------------------------------------------- */

static void rows_and_parts(void **state)
{
    (void)state;
    int64_t rows[20];
    adz_dataset *all = numbered(10);
    assert_int_equal(adz_dataset_size(all), 10);
    assert_int_equal(adz_dataset_count(all), 2);
    assert_int_equal(rows_of_dataset(all, rows), 10);
    adz_dataset *some = adz_dataset_subset(all, (int64_t[]){ 7, 2, 2, 9 }, 4);
    assert_int_equal(rows_of_dataset(some, rows), 4);
    assert_memory_equal(rows, ((int64_t[]){ 7, 2, 2, 9 }), 4 * sizeof *rows);
    adz_dataset *fewer = adz_dataset_subset(some, (int64_t[]){ 3, 0 }, 2);
    adz_dataset_free(&some);
    assert_int_equal(rows_of_dataset(fewer, rows), 2);
    assert_memory_equal(rows, ((int64_t[]){ 9, 7 }), 2 * sizeof *rows);
    adz_dataset_free(&fewer);
    adz_dataset *none = adz_dataset_subset(all, NULL, 0);
    assert_int_equal(rows_of_dataset(none, rows), 0);
    adz_dataset_free(&none);
    adz_dataset *chosen, *others;
    assert_int_equal(
        adz_dataset_split_rows(all, (int64_t[]){ 8, 0, 3 }, 3, &chosen, &others), ADZ_OK);
    assert_int_equal(rows_of_dataset(chosen, rows), 3);
    assert_memory_equal(rows, ((int64_t[]){ 0, 3, 8 }), 3 * sizeof *rows);
    assert_int_equal(rows_of_dataset(others, rows), 7);
    assert_memory_equal(rows, ((int64_t[]){ 1, 2, 4, 5, 6, 7, 9 }), 7 * sizeof *rows);
    adz_dataset_free(&chosen);
    adz_dataset_free(&others);
    adz_dataset_free(&all);
}

static void random_parts(void **state)
{
    (void)state;
    adz_dataset *all = numbered(11);
    adz_generator *generator = adz_generator_new(3);
    static const double shares[] = { 0.5, 0.3, 0.2 }; /* floors 5, 3, 2: one row is left over */
    static const int64_t sizes[] = { 6, 3, 2 };
    int64_t first[6], rows[20];
    for (int round = 0; round < 3; ++round) {
        adz_dataset *parts[3];
        int seen[11] = { 0 };
        if (round == 1) { /* again from the same state */
            adz_generator_set_state(generator, (adz_generator_state){ 3, 0 });
        }
        assert_int_equal(adz_dataset_split(all, shares, 3, generator, parts), ADZ_OK);
        for (int i = 0; i < 3; ++i) {
            assert_int_equal(rows_of_dataset(parts[i], rows), sizes[i]);
            for (int64_t k = 0; k < sizes[i]; ++k) {
                ++seen[rows[k]];
            }
            if (i == 0 && round == 0) {
                memcpy(first, rows, sizeof first);
            } else if (i == 0) {
                assert_true((memcmp(first, rows, sizeof first) == 0) == (round == 1));
            }
            adz_dataset_free(&parts[i]);
        }
        for (int i = 0; i < 11; ++i) {
            assert_int_equal(seen[i], 1);
        }
    }
    adz_generator_free(&generator);
    adz_dataset_free(&all);
}

static void wrong_datasets_are_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *two[] = { adz_zeros(ADZ_SHAPE(3, 2), ADZ_F32), adz_zeros(ADZ_SHAPE(4), ADZ_F32) };
    assert_null(adz_dataset_new(two, 2));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    expect_error(ADZ_ERR_SHAPE, "tensor 1 is [4], tensor 0 is [3, 2]");
    adz_tensor *scalar = adz_scalar(1, ADZ_F32);
    assert_null(adz_dataset_new(&scalar, 1));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_null(adz_dataset_new(two, 0));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    adz_requires_grad_(two[0], true);
    assert_null(adz_dataset_new(two, 1));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    adz_dataset *all = numbered(5), *parts[2] = { NULL, NULL };
    assert_null(adz_dataset_subset(all, (int64_t[]){ 5 }, 1));
    assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
    expect_error(ADZ_ERR_INDEX, "row 5 is outside the dataset's 5 rows");
    assert_int_equal(adz_dataset_split_rows(all, (int64_t[]){ 1, 1 }, 2, &parts[0], &parts[1]),
        ADZ_ERR_ARGUMENT);
    assert_non_null(strstr(adz_error_message(), "row 1 is listed twice"));
    adz_error_clear();
    static const double bad[][2] = { { 0.5, 0.4 }, { 1.5, -0.5 }, { 0.5, NAN } };
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(adz_dataset_split(all, bad[i], 2, NULL, parts), ADZ_ERR_ARGUMENT);
        adz_error_clear();
    }
    assert_null(parts[0]);
    assert_null(adz_dataset_tensor(all, 2));
    assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
    adz_error_clear();
    adz_dataset_free(&all);
    adz_scope_close(scope);
}

static void from_a_table(void **state)
{
    (void)state;
    adz_csv *csv = adz_csv_from_memory("a,y,b\n1,2,3\n4,5,6\n", 18, NULL);
    assert_non_null(csv);
    adz_dataset *dataset = adz_dataset_from_csv(csv, NULL, 0, "y");
    assert_non_null(dataset);
    const double *x = adz_tensor_data_f64(adz_dataset_tensor(dataset, 0));
    assert_true(x[0] == 1 && x[1] == 3 && x[2] == 4 && x[3] == 6);
    const double *y = adz_tensor_data_f64(adz_dataset_tensor(dataset, 1));
    assert_true(y[0] == 2 && y[1] == 5);
    adz_dataset_free(&dataset);
    static const char *const features[] = { "b", "a" };
    dataset = adz_dataset_from_csv(csv, features, 2, "y");
    x = adz_tensor_data_f64(adz_dataset_tensor(dataset, 0));
    assert_true(x[0] == 3 && x[1] == 1 && x[2] == 6 && x[3] == 4);
    adz_dataset_free(&dataset);
    assert_null(adz_dataset_from_csv(csv, features, 2, "a"));
    assert_non_null(strstr(adz_error_message(), "the target 'a' is among the features"));
    adz_error_clear();
    assert_null(adz_dataset_from_csv(csv, NULL, 0, "z"));
    assert_non_null(strstr(adz_error_message(), "no column 'z'; there are 'a', 'y', 'b'"));
    adz_error_clear();
    adz_csv_free(&csv);
}

/* Any layout and any dtype goes in, and comes out in row order. */
static void layouts(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *t =
        adz_transpose(adz_reshape(adz_arange(0, 6, 1, ADZ_U8), ADZ_SHAPE(2, 3)), 0, 1); /* [3, 2] */
    adz_tensor *none = adz_zeros(ADZ_SHAPE(3, 0), ADZ_F64);
    adz_dataset *dataset = adz_dataset_new((adz_tensor *[]){ t, none }, 2);
    adz_dataset *part = adz_dataset_subset(dataset, (int64_t[]){ 2, 0 }, 2);
    adz_tensor *rows = adz_dataset_tensor(part, 0);
    assert_memory_equal(adz_tensor_data(rows), "\2\5\0\3", 4);
    assert_int_equal(adz_tensor_numel(adz_dataset_tensor(part, 1)), 0);
    adz_dataset_free(&part);
    adz_dataset_free(&dataset);
    adz_scope_close(scope);
}

/* ---- loaders -------------------------------------------------------------------------------- */

/* Draws an epoch and appends its rows; returns the number of batches. */
static int epoch(adz_loader *loader, int64_t *rows, int64_t *n)
{
    adz_tensor *batch[2];
    int batches = 0;
    for (;;) {
        adz_scope *scope = adz_scope_open();
        bool more = adz_loader_next(loader, batch);
        if (more) {
            *n += rows_of(batch[0], batch[1], rows + *n);
            ++batches;
        }
        adz_scope_close(scope);
        if (!more) {
            assert_int_equal(adz_error_code(), ADZ_OK);
            return batches;
        }
    }
}

static void in_order(void **state)
{
    (void)state;
    adz_dataset *all = numbered(10);
    for (int drop = 0; drop < 2; ++drop) {
        adz_loader_options o;
        adz_loader_options_init(&o, sizeof o);
        assert_true(o.batch_size == 32 && !o.shuffle && !o.drop_last);
        o.batch_size = 4;
        o.drop_last = drop != 0;
        adz_loader *loader = adz_loader_new(all, &o);
        assert_int_equal(adz_loader_batches(loader), drop ? 2 : 3);
        for (int round = 0; round < 2; ++round) {
            int64_t rows[10], n = 0;
            assert_int_equal(epoch(loader, rows, &n), drop ? 2 : 3);
            assert_int_equal(n, drop ? 8 : 10);
            for (int64_t i = 0; i < n; ++i) {
                assert_int_equal(rows[i], i);
            }
        }
        adz_loader_position position;
        assert_int_equal(adz_loader_get_position(loader, &position), ADZ_OK);
        assert_int_equal(position.epoch, 2);
        adz_loader_free(&loader);
        assert_null(loader);
    }
    adz_dataset_free(&all);
}

static void shuffled(void **state)
{
    (void)state;
    enum { ROWS = 50 };
    adz_dataset *all = numbered(ROWS);
    adz_generator *generator = adz_generator_new(1);
    adz_loader_options o = ADZ_LOADER_OPTIONS;
    o.batch_size = 7;
    o.shuffle = true;
    o.generator = generator;
    adz_loader *loader = adz_loader_new(all, &o);
    int64_t rows[2][ROWS];
    for (int e = 0; e < 2; ++e) {
        int64_t n = 0;
        bool seen[ROWS] = { false };
        int moved = 0;
        assert_int_equal(epoch(loader, rows[e], &n), 8);
        assert_int_equal(n, ROWS);
        for (int i = 0; i < ROWS; ++i) {
            assert_false(seen[rows[e][i]]);
            seen[rows[e][i]] = true;
            moved += rows[e][i] != i;
        }
        assert_true(moved >= ROWS / 2 && moved <= ROWS);
    }
    assert_memory_not_equal(rows[0], rows[1], sizeof rows[0]);
    adz_loader_free(&loader);
    adz_generator_free(&generator);
    adz_dataset_free(&all);
}

/* From every place in two epochs, a loader taken there goes on with the same rows. */
static void positions_restore(void **state)
{
    (void)state;
    enum { ROWS = 23, BATCHES = 6 };
    adz_dataset *all = numbered(ROWS);
    for (int stop = 0; stop <= 2 * (BATCHES + 1); ++stop) {
        adz_generator *generators[2] = { adz_generator_new(5), adz_generator_new(99) };
        adz_loader *loaders[2];
        for (int i = 0; i < 2; ++i) {
            adz_loader_options o = ADZ_LOADER_OPTIONS;
            o.batch_size = 4;
            o.shuffle = true;
            o.generator = generators[i];
            loaders[i] = adz_loader_new(all, &o);
        }
        adz_tensor *batch[2];
        for (int i = 0; i < stop; ++i) {
            adz_scope *scope = adz_scope_open();
            (void)adz_loader_next(loaders[0], batch);
            adz_scope_close(scope);
        }
        adz_loader_position position, reached;
        assert_int_equal(adz_loader_get_position(loaders[0], &position), ADZ_OK);
        assert_int_equal(adz_loader_set_position(loaders[1], &position), ADZ_OK);
        assert_int_equal(adz_loader_get_position(loaders[1], &reached), ADZ_OK);
        assert_memory_equal(&position, &reached, sizeof position);
        int64_t rows[2][3 * ROWS], n[2] = { 0, 0 };
        for (int i = 0; i < 2; ++i) {
            for (int e = 0; e < 3; ++e) {
                epoch(loaders[i], rows[i], &n[i]);
            }
            adz_loader_free(&loaders[i]);
            adz_generator_free(&generators[i]);
        }
        assert_int_equal(n[0], n[1]);
        assert_memory_equal(rows[0], rows[1], (size_t)n[0] * sizeof *rows[0]);
    }
    adz_dataset_free(&all);
}

typedef struct counting {
    int calls;
    int cancel_at;
} counting;

static bool count_batches(int64_t batch, int64_t batches, void *user)
{
    counting *c = user;
    assert_int_equal(batches, 3);
    assert_true(batch >= 1 && batch <= 3);
    return ++c->calls != c->cancel_at;
}

/* Cancelling leaves the loader where it was, generator included. */
static void progress_and_cancel(void **state)
{
    (void)state;
    adz_dataset *all = numbered(9);
    adz_generator *generator = adz_generator_new(5);
    counting c = { 0, 0 };
    adz_loader_options o = ADZ_LOADER_OPTIONS;
    o.batch_size = 3;
    o.shuffle = true;
    o.generator = generator;
    o.progress = count_batches;
    o.user = &c;
    adz_loader *loader = adz_loader_new(all, &o);
    int64_t rows[2][9], n = 0;
    epoch(loader, rows[0], &n);
    assert_int_equal(c.calls, 3);
    adz_generator_set_state(generator, (adz_generator_state){ 5, 0 });
    n = 0;
    for (int at = 1; at <= 3; ++at) {
        adz_tensor *batch[2] = { NULL, NULL };
        adz_loader_position before, after;
        adz_scope *scope = adz_scope_open();
        adz_loader_get_position(loader, &before);
        c = (counting){ 0, 1 };
        assert_false(adz_loader_next(loader, batch));
        assert_int_equal(adz_error_code(), ADZ_ERR_CANCELLED);
        assert_null(batch[0]);
        adz_error_clear();
        adz_loader_get_position(loader, &after);
        assert_memory_equal(&before, &after, sizeof before);
        assert_true(adz_loader_next(loader, batch));
        n += rows_of(batch[0], batch[1], rows[1] + n);
        adz_scope_close(scope);
    }
    assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
    adz_loader_free(&loader);
    adz_generator_free(&generator);
    adz_dataset_free(&all);
}

static void a_warm_epoch_grows_nothing(void **state)
{
    (void)state;
    adz_dataset *all = numbered(1000);
    adz_loader_options o = ADZ_LOADER_OPTIONS;
    o.shuffle = true;
    adz_loader *loader = adz_loader_new(all, &o);
    int64_t rows[3000], n = 0;
    epoch(loader, rows, &n);
    adz_memory_info before, after;
    adz_memory_info_get(&before, sizeof before);
    n = 0;
    epoch(loader, rows, &n);
    epoch(loader, rows, &n);
    adz_memory_info_get(&after, sizeof after);
    assert_int_equal(
        after.live_bytes + after.cached_bytes, before.live_bytes + before.cached_bytes);
    assert_int_equal(after.live_tensors, before.live_tensors);
    assert_true(after.requests > before.requests);
    adz_loader_free(&loader);
    adz_dataset_free(&all);
}

static void wrong_loaders_are_refused(void **state)
{
    (void)state;
    adz_dataset *all = numbered(9);
    adz_loader_options o = ADZ_LOADER_OPTIONS;
    o.batch_size = 0;
    assert_null(adz_loader_new(all, &o));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    o.batch_size = 4;
    adz_loader *loader = adz_loader_new(all, &o);
    adz_loader_position position = { .batch = 4 };
    assert_int_equal(adz_loader_set_position(loader, &position), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "batch 4 of an epoch that has 3");
    adz_tensor *batch[2];
    assert_false(adz_loader_next(NULL, batch));
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
    adz_loader_free(&loader);
    adz_dataset_free(&all);
}

/* ---- the standardiser ----------------------------------------------------------------------- */

static void standardizes_and_returns(void **state)
{
    (void)state;
    static const adz_dtype dtypes[] = { ADZ_F64, ADZ_F32 };
    for (int i = 0; i < 2; ++i) {
        adz_scope *scope = adz_scope_open();
        /* A plain column, a constant one whose mean rounds, and one far from 0. */
        static const double values[] = { 1, 0.1, 1e9 + 1, 2, 0.1, 1e9 + 2, 6, 0.1, 1e9 + 6 };
        adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(3, 3), ADZ_F64);
        adz_module *standardizer = adz_standardizer_new(3, dtypes[i]);
        assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_OK);
        adz_tensor *mean = adz_module_buffer(standardizer, "mean");
        adz_tensor *std = adz_module_buffer(standardizer, "std");
        assert_int_equal(adz_tensor_dtype(mean), dtypes[i]);
        double tolerance = i == 0 ? 1e-12 : 1e-6, deviation = sqrt(14.0 / 3);
        assert_true(fabs(adz_tensor_at(mean, (int64_t[]){ 0 }) - 3) < tolerance);
        assert_true(fabs(adz_tensor_at(mean, (int64_t[]){ 1 }) - 0.1) < tolerance);
        assert_true(fabs(adz_tensor_at(std, (int64_t[]){ 0 }) - deviation) < tolerance);
        assert_true(adz_tensor_at(std, (int64_t[]){ 1 }) == 1);
        assert_true(fabs(adz_tensor_at(std, (int64_t[]){ 2 }) - deviation) < tolerance);
        adz_tensor *y = adz_module_forward(standardizer, x);
        assert_non_null(y);
        assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 2, 0 }) - 3 / deviation) < tolerance);
        assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 2, 1 })) < 1e-8);
        adz_tensor *back = adz_standardizer_inverse(standardizer, y);
        assert_true(adz_allclose(back, x, 1e-12, 1e-7, false));
        assert_int_equal(
            adz_standardizer_fit(standardizer, y), ADZ_OK); /* now mean 0, deviation 1 */
        assert_true(fabs(adz_tensor_at(mean, (int64_t[]){ 0 })) < tolerance);
        assert_true(fabs(adz_tensor_at(std, (int64_t[]){ 0 }) - 1) < tolerance);
        adz_state *saved = adz_module_state_dict(standardizer);
        assert_int_equal(adz_state_count(saved), 2);
        assert_string_equal(adz_state_name(saved, 0), "mean");
        assert_string_equal(adz_state_name(saved, 1), "std");
        adz_state_free(&saved);
        char text[64];
        adz_module_to_string(standardizer, text, sizeof text);
        assert_string_equal(text, "Standardizer(3)");
        adz_module_free(&standardizer);
        adz_scope_close(scope);
    }
}

/* The digits 1, 2, 6 and the constant 3, times a scale: the results are those of the digits, also
 * where squares overflow or vanish. */
static void values_of_any_size_are_standardized(void **state)
{
    (void)state;
    static const double scales[] = { 1, 1e160, 2e307, 1e-160, 1e-308, 5e-324 };
    const double deviation = sqrt(14.0 / 3);
    for (int i = 0; i < 6; ++i) {
        adz_scope *scope = adz_scope_open();
        const double values[] = { 1, 3, 2, 3, 6, 3 };
        adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(3, 2), ADZ_F64);
        x = adz_mul_number(x, scales[i]);
        adz_module *standardizer = adz_standardizer_new(2, ADZ_F64);
        assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_OK);
        adz_tensor *y = adz_module_forward(standardizer, x);
        /* The deviation of the smallest numbers that there are is a whole number of them. */
        double wanted = scales[i] == 5e-324 ? 3.0 / 2 : 3 / deviation;
        assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 2, 0 }) - wanted) < 1e-12);
        assert_true(adz_tensor_at(y, (int64_t[]){ 2, 1 }) == 0);
        assert_true(adz_allclose(adz_standardizer_inverse(standardizer, y), x, 1e-12, 0, false));
        adz_module_free(&standardizer);
        adz_scope_close(scope);
    }
}

/* Nothing becomes a column of zeros without a word. */
static void columns_beyond_the_dtype_are_refused(void **state)
{
    (void)state;
    static const struct {
        double low, high;
        adz_dtype dtype;
        const char *says;
    } cases[] = {
        { 1e160, 2e160, ADZ_F32, "column 1 lies between 1e+160 and 2e+160" },
        { 1e160, 1e160, ADZ_F32, "does not fit float32" },
        { -3e38, 3e39, ADZ_F32, "ADZ_F64" },
        { 0, 1e-50, ADZ_F32, "its deviation 5e-51" },
        { -1.7e308, 1.7e308, ADZ_F32, "multiply the column" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        adz_scope *scope = adz_scope_open();
        const double values[] = { 1, cases[i].low, 2, cases[i].high };
        adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(2, 2), ADZ_F64);
        adz_module *standardizer = adz_standardizer_new(2, cases[i].dtype);
        assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_ERR_NUMERIC);
        if (strstr(adz_error_message(), cases[i].says) == NULL) {
            fail_msg("%s", adz_error_message());
        }
        adz_error_clear();
        adz_tensor *std = adz_module_buffer(standardizer, "std");
        assert_true(adz_tensor_at(std, (int64_t[]){ 0 }) == 1);
        adz_module_free(&standardizer);
        adz_scope_close(scope);
    }
}

/* Few of many rows differ, by the least that f64 knows: the deviation rounds up, not to 0. */
static void the_smallest_deviation_is_kept(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_zeros(ADZ_SHAPE(100, 1), ADZ_F64);
    adz_tensor_data_f64(x)[7] = 5e-324;
    adz_module *standardizer = adz_standardizer_new(1, ADZ_F64);
    assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_OK);
    adz_tensor *y = adz_module_forward(standardizer, x);
    assert_true(adz_tensor_at(y, (int64_t[]){ 7, 0 }) == 1);
    adz_module_free(&standardizer);
    adz_scope_close(scope);
}

/* Gradients pass through, so it can stand in front of what is trained by its input. */
static void gradients_pass(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *standardizer = adz_standardizer_new(1, ADZ_F64);
    adz_tensor *rows = adz_tensor_from((double[]){ 0, 8 }, ADZ_SHAPE(2, 1), ADZ_F64);
    assert_int_equal(adz_standardizer_fit(standardizer, rows), ADZ_OK); /* mean 4, deviation 4 */
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(5, 1), ADZ_F64), true);
    assert_int_equal(
        adz_backward(adz_sum(adz_module_forward(standardizer, x), ADZ_ALL_DIMS, false)), ADZ_OK);
    assert_true(adz_tensor_data_f64(adz_tensor_grad(x))[4] == 0.25);
    adz_module_free(&standardizer);
    adz_scope_close(scope);
}

static void wrong_columns_are_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    assert_null(adz_standardizer_new(0, ADZ_F64));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_null(adz_standardizer_new(2, ADZ_I64));
    assert_int_equal(adz_error_code(), ADZ_ERR_DTYPE);
    adz_error_clear();
    adz_module *standardizer = adz_standardizer_new(2, ADZ_F64), *other = adz_relu_new(NULL);
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, 3), ADZ_F64);
    assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_ERR_SHAPE);
    expect_error(ADZ_ERR_SHAPE, "x[4, 3] must have 2 columns");
    assert_null(adz_module_forward(standardizer, x));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_null(adz_standardizer_inverse(standardizer, x));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_int_equal(adz_standardizer_fit(other, x), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "the module is a ReLU, not a Standardizer");
    static const double odd[] = { 1, 2, NAN, 4 };
    x = adz_tensor_from(odd, ADZ_SHAPE(2, 2), ADZ_F64);
    assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "row 1 of column 0 is");
    assert_true(adz_tensor_at(adz_module_buffer(standardizer, "mean"), (int64_t[]){ 1 }) == 0);
    assert_int_equal(
        adz_standardizer_fit(standardizer, adz_ones(ADZ_SHAPE(0, 2), ADZ_F64)), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_int_equal(adz_standardizer_fit(NULL, x), ADZ_ERR_NULL);
    adz_error_clear();
    adz_module_free(&standardizer);
    adz_module_free(&other);
    adz_scope_close(scope);
}

static adz_status make_and_fit(void *user)
{
    adz_module *standardizer = adz_standardizer_new(2, ADZ_F32);
    adz_status status =
        standardizer != NULL ? adz_standardizer_fit(standardizer, user) : adz_error_code();
    adz_module_free(&standardizer);
    return status;
}

/* ---- refused memory ------------------------------------------------------------------------- */

static adz_status build_and_draw(void *user)
{
    adz_generator *generator = user;
    adz_generator_state before = adz_generator_get_state(generator);
    adz_scope *scope = adz_scope_open();
    adz_dataset *parts[2] = { NULL, NULL }, *all = NULL;
    adz_loader *loader = NULL;
    adz_status status = ADZ_ERR_MEMORY;
    if (scope != NULL) {
        adz_tensor *t = adz_transpose(adz_zeros(ADZ_SHAPE(2, 9), ADZ_F32), 0, 1);
        all = t != NULL ? adz_dataset_new(&t, 1) : NULL;
        status = all != NULL ? adz_dataset_split(all, (double[]){ 0.5, 0.5 }, 2, generator, parts)
                             : ADZ_ERR_MEMORY;
    }
    if (status == ADZ_OK) {
        adz_loader_options o = ADZ_LOADER_OPTIONS;
        o.shuffle = true;
        o.generator = generator;
        o.batch_size = 2;
        loader = adz_loader_new(parts[0], &o);
        adz_tensor *batch;
        status = loader != NULL && adz_loader_next(loader, &batch) ? ADZ_OK : ADZ_ERR_MEMORY;
        if (status != ADZ_OK && loader != NULL) {
            adz_loader_position position;
            adz_loader_get_position(loader, &position);
            assert_int_equal(position.batch, 0);
        }
    }
    adz_loader_free(&loader);
    adz_dataset_free(&parts[0]);
    adz_dataset_free(&parts[1]);
    adz_dataset_free(&all);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    adz_generator_set_state(generator, before);
    return status;
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    adz_generator *generator = adz_generator_new(5);
    assert_int_equal(build_and_draw(generator), ADZ_OK); /* the thread keeps scopes from here on */
    int points = refuse_each(build_and_draw, NULL, generator);
    assert_true(points >= 12);
    print_message("refused: %d building and drawing\n", points);
    adz_generator_free(&generator);
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_arange(0, 6, 1, ADZ_F32);
    x = adz_transpose(adz_reshape(x, ADZ_SHAPE(2, 3)), 0, 1);
    assert_int_equal(make_and_fit(x), ADZ_OK);
    points = refuse_each(make_and_fit, NULL, x);
    assert_true(points >= 6);
    print_message("refused: %d standardising\n", points);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_parts),
        cmocka_unit_test(random_parts),
        cmocka_unit_test(wrong_datasets_are_refused),
        cmocka_unit_test(from_a_table),
        cmocka_unit_test(layouts),
        cmocka_unit_test(in_order),
        cmocka_unit_test(shuffled),
        cmocka_unit_test(positions_restore),
        cmocka_unit_test(progress_and_cancel),
        cmocka_unit_test(a_warm_epoch_grows_nothing),
        cmocka_unit_test(wrong_loaders_are_refused),
        cmocka_unit_test(standardizes_and_returns),
        cmocka_unit_test(values_of_any_size_are_standardized),
        cmocka_unit_test(columns_beyond_the_dtype_are_refused),
        cmocka_unit_test(the_smallest_deviation_is_kept),
        cmocka_unit_test(gradients_pass),
        cmocka_unit_test(wrong_columns_are_refused),
        cmocka_unit_test(refused_memory_harms_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
