/* Datasets and their parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "adze/autograd.h"
#include "adze/ops.h"
#include "numbered.h"
#include "data/dataset.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

static void rows_and_parts(void **state)
{
    (void)state;
    int64_t rows[20];
    adz_dataset *all = numbered(10);
    assert_int_equal(adz_dataset_row_count(all), 10);
    assert_int_equal(adz_dataset_count(all), 2);
    assert_int_equal(rows_of_dataset(all, rows), 10);
    adz_dataset *some = adz_dataset_subset(all, (int64_t[]){ 7, 2, 2, 9 }, 4);
    assert_int_equal(rows_of_dataset(some, rows), 4);
    assert_memory_equal(rows, ((int64_t[]){ 7, 2, 2, 9 }), 4 * sizeof *rows);
    adz_dataset *fewer = adz_dataset_subset(some, (int64_t[]){ 3, 0 }, 2);
    adz_dataset_release(&some);
    assert_int_equal(rows_of_dataset(fewer, rows), 2);
    assert_memory_equal(rows, ((int64_t[]){ 9, 7 }), 2 * sizeof *rows);
    adz_dataset_release(&fewer);
    adz_dataset *none = adz_dataset_subset(all, NULL, 0);
    assert_int_equal(rows_of_dataset(none, rows), 0);
    adz_dataset_release(&none);
    adz_dataset *chosen, *others;
    assert_int_equal(
        adz_dataset_split_rows(all, (int64_t[]){ 8, 0, 3 }, 3, &chosen, &others), ADZ_OK);
    assert_int_equal(rows_of_dataset(chosen, rows), 3);
    assert_memory_equal(rows, ((int64_t[]){ 0, 3, 8 }), 3 * sizeof *rows);
    assert_int_equal(rows_of_dataset(others, rows), 7);
    assert_memory_equal(rows, ((int64_t[]){ 1, 2, 4, 5, 6, 7, 9 }), 7 * sizeof *rows);
    adz_dataset_release(&chosen);
    adz_dataset_release(&others);
    adz_dataset_release(&all);
}

static void random_parts(void **state)
{
    (void)state;
    adz_dataset *all = numbered(11);
    adz_generator *generator = adz_generator_new(3);
    /* Of 11 rows the shares rounded down are 5, 3 and 2, so one row is left over. */
    static const double shares[] = { 0.5, 0.3, 0.2 };
    static const int64_t sizes[] = { 6, 3, 2 };
    int64_t first[6], rows[20];
    for (int round = 0; round < 3; ++round) {
        adz_dataset *parts[3];
        int seen[11] = { 0 };
        if (round == 1) { /* begins with the state of the first round */
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
            adz_dataset_release(&parts[i]);
        }
        for (int i = 0; i < 11; ++i) {
            assert_int_equal(seen[i], 1);
        }
    }
    adz_generator_free(&generator);
    adz_dataset_release(&all);
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
    assert_null(adz_dataset_at(all, 2));
    assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
    adz_error_clear();
    adz_dataset_release(&all);
    adz_scope_close(scope);
}

/* Every message names the argument that is NULL. */
static void what_is_null_is_named(void **state)
{
    (void)state;
    adz_dataset *all = numbered(5), *part = NULL;
    adz_csv *csv = adz_csv_from_memory("a,y\n1,2\n", 8, NULL);
    static const double whole = 1;
    expect_null(adz_dataset_row_count(NULL) == -1, "adz_dataset_row_count", "dataset");
    expect_null(adz_dataset_count(NULL) == 0, "adz_dataset_count", "dataset");
    expect_null(adz_dataset_from_csv(NULL, NULL, 0, "y") == NULL, "adz_dataset_from_csv", "csv");
    expect_null(adz_dataset_from_csv(csv, NULL, 0, NULL) == NULL, "adz_dataset_from_csv", "target");
    expect_null(
        adz_dataset_subset(NULL, (int64_t[]){ 0 }, 1) == NULL, "adz_dataset_subset", "dataset");
    expect_null(adz_dataset_subset(all, NULL, 1) == NULL, "adz_dataset_subset", "rows");
    expect_null(adz_dataset_split(NULL, &whole, 1, NULL, &part) == ADZ_ERR_NULL,
        "adz_dataset_split", "dataset");
    expect_null(adz_dataset_split(all, &whole, 1, NULL, NULL) == ADZ_ERR_NULL, "adz_dataset_split",
        "parts");
    expect_null(adz_dataset_split_rows(all, NULL, 0, NULL, &part) == ADZ_ERR_NULL,
        "adz_dataset_split_rows", "chosen");
    expect_null(adz_dataset_split_rows(all, NULL, 0, &part, NULL) == ADZ_ERR_NULL,
        "adz_dataset_split_rows", "others");
    assert_int_equal(adz_dataset_split(all, NULL, 1, NULL, &part), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "no shares are given");
    assert_int_equal(adz_dataset_split(all, &whole, 0, NULL, &part), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "no shares are given");
    adz_csv_free(&csv);
    adz_dataset_release(&all);
}

/* One part may take everything, and another nothing. */
static void shares_of_one_and_nothing(void **state)
{
    (void)state;
    static const double whole = 1, shares[] = { 0, 1 };
    adz_dataset *all = numbered(5), *parts[2];
    assert_int_equal(adz_dataset_split(all, &whole, 1, NULL, parts), ADZ_OK);
    assert_int_equal(adz_dataset_row_count(parts[0]), 5);
    adz_dataset_release(&parts[0]);
    assert_int_equal(adz_dataset_split(all, shares, 2, NULL, parts), ADZ_OK);
    assert_int_equal(adz_dataset_row_count(parts[0]), 0);
    assert_int_equal(adz_dataset_row_count(parts[1]), 5);
    adz_dataset_release(&parts[0]);
    adz_dataset_release(&parts[1]);
    adz_dataset_release(&all);
}

/* A dataset holds up to 16 tensors. It shares the contiguous ones with the caller. */
static void tensors_are_shared(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *many[ADZI_DATASET_TENSORS + 1];
    for (int i = 0; i <= ADZI_DATASET_TENSORS; ++i) {
        many[i] = adz_full(ADZ_SHAPE(3), i, ADZ_F32);
    }
    adz_dataset *dataset = adz_dataset_new(many, ADZI_DATASET_TENSORS);
    assert_int_equal(adz_dataset_count(dataset), ADZI_DATASET_TENSORS);
    for (int i = 0; i < ADZI_DATASET_TENSORS; ++i) {
        assert_ptr_equal(adz_dataset_at(dataset, (size_t)i), many[i]);
    }
    assert_null(adz_dataset_new(many, ADZI_DATASET_TENSORS + 1));
    expect_error(ADZ_ERR_ARGUMENT, "n is 17; a dataset has 1 to 16 tensors");
    adz_dataset_release(&dataset);
    adz_scope_close(scope);
}

static adz_status take_table(void *csv)
{
    adz_dataset *dataset = adz_dataset_from_csv(csv, NULL, 0, "y");
    adz_status status = adzi_status(dataset);
    adz_dataset_release(&dataset);
    return status;
}

static adz_status take_part(void *user)
{
    adz_dataset *all = user, *parts[2] = { NULL, NULL };
    static const double shares[] = { 0.5, 0.5 };
    adz_status status = adz_dataset_split(all, shares, 2, NULL, parts);
    adz_dataset_release(&parts[0]);
    adz_dataset_release(&parts[1]);
    return status;
}

static adz_status take_rows(void *user)
{
    adz_dataset *all = user, *parts[2] = { NULL, NULL };
    adz_status status = adz_dataset_split_rows(all, (int64_t[]){ 1, 3 }, 2, &parts[0], &parts[1]);
    adz_dataset_release(&parts[0]);
    adz_dataset_release(&parts[1]);
    return status;
}

static adz_generator_state untouched;

/* A split that fails has drawn no number. */
static bool nothing_is_drawn(void *user)
{
    (void)user;
    adz_generator_state now = adz_generator_get_state(NULL);
    return memcmp(&now, &untouched, sizeof now) == 0;
}

static void refused_memory_harms_no_dataset(void **state)
{
    (void)state;
    adz_dataset *all = numbered(8);
    adz_csv *csv = adz_csv_from_memory("a,y\n1,2\n", 8, NULL);
    assert_true(refuse_each(take_table, NULL, csv) >= 3);
    assert_true(refuse_scope(take_table, csv));
    untouched = adz_generator_get_state(NULL);
    assert_true(refuse_each(take_part, nothing_is_drawn, all) >= 5);
    assert_true(refuse_scope(take_part, all));
    assert_true(refuse_each(take_rows, NULL, all) >= 5);
    /* The list of a thread's temporaries is full, so that one more needs memory. */
    adz_dataset *part = adz_dataset_subset(all, (int64_t[]){ 4 }, 1);
    adz_scope *scope = adz_scope_open();
    while (adzi_self()->n_temporaries < adzi_self()->temporaries_capacity) {
        adz_zeros(ADZ_SHAPE(1), ADZ_F32);
    }
    adzi_alloc_fail_at(1);
    assert_null(adz_dataset_at(part, 0));
    adzi_alloc_fail_at(0);
    expect_error(ADZ_ERR_MEMORY, "adz_dataset_at: memory was refused");
    assert_non_null(adz_dataset_at(part, 0));
    assert_true(adzi_self()->n_temporaries <= adzi_self()->temporaries_capacity);
    adz_scope_close(scope);
    adz_dataset_release(&part);
    adz_csv_free(&csv);
    adz_dataset_release(&all);
}

static void from_a_table(void **state)
{
    (void)state;
    adz_csv *csv = adz_csv_from_memory("a,y,b\n1,2,3\n4,5,6\n", 18, NULL);
    assert_non_null(csv);
    adz_dataset *dataset = adz_dataset_from_csv(csv, NULL, 0, "y");
    assert_non_null(dataset);
    assert_int_equal(adz_tensor_size(adz_dataset_at(dataset, 0), 1), 2);
    const double *x = adz_tensor_data_f64(adz_dataset_at(dataset, 0));
    assert_true(x[0] == 1 && x[1] == 3 && x[2] == 4 && x[3] == 6);
    const double *y = adz_tensor_data_f64(adz_dataset_at(dataset, 1));
    assert_true(y[0] == 2 && y[1] == 5);
    adz_dataset_release(&dataset);
    static const char *const features[] = { "b", "a" };
    dataset = adz_dataset_from_csv(csv, features, 2, "y");
    x = adz_tensor_data_f64(adz_dataset_at(dataset, 0));
    assert_true(x[0] == 3 && x[1] == 1 && x[2] == 6 && x[3] == 4);
    adz_dataset_release(&dataset);
    assert_null(adz_dataset_from_csv(csv, features, 2, "a"));
    assert_non_null(strstr(adz_error_message(), "the target 'a' is among the features"));
    adz_error_clear();
    assert_null(adz_dataset_from_csv(csv, NULL, 0, "z"));
    assert_non_null(strstr(adz_error_message(), "no column 'z'; there are 'a', 'y', 'b'"));
    adz_error_clear();
    adz_csv_free(&csv);
    csv = adz_csv_from_memory("a,y\n1,2\n", 8, NULL);
    dataset = adz_dataset_from_csv(csv, NULL, 0, "y");
    assert_non_null(dataset);
    assert_true(adz_item(adz_dataset_at(dataset, 0)) == 1);
    adz_dataset_release(&dataset);
    adz_csv_free(&csv);
    csv = adz_csv_from_memory("y\n1\n", 4, NULL);
    assert_null(adz_dataset_from_csv(csv, NULL, 0, "y"));
    expect_error(ADZ_ERR_ARGUMENT, "'y' is the only column; there is no feature");
    adz_csv_free(&csv);
}

/* A dataset takes tensors of any layout and any dtype. */
static void layouts(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    /* [3, 2] */
    adz_tensor *t = adz_transpose(adz_reshape(adz_arange(0, 6, 1, ADZ_U8), ADZ_SHAPE(2, 3)), 0, 1);
    adz_tensor *none = adz_zeros(ADZ_SHAPE(3, 0), ADZ_F64);
    adz_dataset *dataset = adz_dataset_new((adz_tensor *[]){ t, none }, 2);
    adz_dataset *part = adz_dataset_subset(dataset, (int64_t[]){ 2, 0 }, 2);
    adz_tensor *rows = adz_dataset_at(part, 0);
    assert_memory_equal(adz_tensor_data(rows), "\2\5\0\3", 4);
    assert_int_equal(adz_tensor_numel(adz_dataset_at(part, 1)), 0);
    adz_dataset_release(&part);
    adz_dataset_release(&dataset);
    adz_scope_close(scope);
}

int datasets_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_parts),
        cmocka_unit_test(random_parts),
        cmocka_unit_test(wrong_datasets_are_refused),
        cmocka_unit_test(from_a_table),
        cmocka_unit_test(layouts),
        cmocka_unit_test(what_is_null_is_named),
        cmocka_unit_test(shares_of_one_and_nothing),
        cmocka_unit_test(tensors_are_shared),
        cmocka_unit_test(refused_memory_harms_no_dataset),
    };
    return cmocka_run_group_tests_name("data: datasets", tests, NULL, NULL);
}
