/* Loaders: the order of the rows, positions, progress, errors and refused memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "adze/nn.h"
#include "adze/ops.h"
#include "numbered.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

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

/* The tensors of an earlier batch do not stay in the array: at the end of an epoch and after a
 * failure it has NULL, which later calls notice. */
static void no_batch_leaves_no_tensors(void **state)
{
    (void)state;
    adz_dataset *all = numbered(3);
    adz_loader *loader = adz_loader_new(all, NULL);
    adz_tensor *batch[3] = { NULL, NULL, ADZ_NONE };
    assert_true(adz_loader_next(loader, batch));
    assert_true(batch[0] != NULL && batch[1] != NULL);
    assert_false(adz_loader_next(loader, batch));
    assert_true(batch[0] == NULL && batch[1] == NULL);
    assert_true(adz_loader_next(loader, batch));
    adz_loader_free(&loader);
    loader = adz_loader_new(all, NULL);
    adzi_alloc_fail_at(1);
    assert_false(adz_loader_next(loader, batch));
    adzi_alloc_fail_at(0);
    expect_error(ADZ_ERR_MEMORY, "");
    assert_true(batch[0] == NULL && batch[1] == NULL);
    batch[0] = batch[1] = ADZ_NONE;
    assert_int_equal(adz_loader_get_rows(loader, 2, 2, batch), ADZ_ERR_INDEX);
    adz_error_clear();
    assert_true(batch[0] == NULL && batch[1] == NULL);
    assert_ptr_equal(batch[2], ADZ_NONE);
    adz_loader_free(&loader);
    adz_dataset_release(&all);
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
        assert_int_equal(adz_loader_batch_count(loader), drop ? 2 : 3);
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
    adz_dataset_release(&all);
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
    adz_dataset_release(&all);
}

/* The order is that of adz_shuffle_index under the loader's seed. The seed comes from the generator
 * when the loader is made; later draws and seeds change nothing. */
static void the_order_depends_on_seed_and_epoch_alone(void **state)
{
    (void)state;
    enum { ROWS = 300, EPOCHS = 3 };
    adz_dataset *all = numbered(ROWS);
    static const int64_t sizes[] = { 1, 7, 32, 300, 1000 };
    uint64_t seed = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        adz_loader_options o = ADZ_LOADER_OPTIONS;
        o.batch_size = sizes[s];
        o.shuffle = true;
        adz_manual_seed(4);
        adz_loader *loader = adz_loader_new(all, &o);
        adz_manual_seed(5);
        adz_loader_position position;
        adz_loader_get_position(loader, &position);
        assert_true(s == 0 || position.seed == seed);
        seed = position.seed;
        for (uint64_t e = 0; e < EPOCHS; ++e) {
            int64_t rows[ROWS], n = 0;
            epoch(loader, rows, &n);
            assert_int_equal(n, ROWS);
            for (int64_t i = 0; i < ROWS; ++i) {
                assert_int_equal(rows[i], adz_shuffle_index(seed, e, ROWS, i));
            }
        }
        adz_loader_free(&loader);
    }
    adz_manual_seed(5);
    adz_loader_options o = ADZ_LOADER_OPTIONS;
    o.shuffle = true;
    adz_loader_position first, second;
    for (int i = 0; i < 2; ++i) {
        adz_loader *loader = adz_loader_new(all, &o);
        adz_loader_get_position(loader, i == 0 ? &first : &second);
        adz_loader_free(&loader);
    }
    assert_true(first.seed != seed && first.seed != second.seed);
    adz_dataset_release(&all);
}

/* A loader that takes over the state of another draws the rows that the other draws next. */
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
    adz_dataset_release(&all);
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

/* A cancelled batch leaves the loader unchanged. */
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
    adz_loader_position start;
    adz_loader_get_position(loader, &start);
    start.epoch = 0;
    adz_loader_set_position(loader, &start);
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
    adz_dataset_release(&all);
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
    adz_get_memory_info(&before, sizeof before);
    n = 0;
    epoch(loader, rows, &n);
    epoch(loader, rows, &n);
    adz_get_memory_info(&after, sizeof after);
    assert_int_equal(
        after.live_bytes + after.cached_bytes, before.live_bytes + before.cached_bytes);
    assert_int_equal(after.live_tensors, before.live_tensors);
    assert_true(after.requests > before.requests);
    adz_loader_free(&loader);
    adz_dataset_release(&all);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Shuffling 12 million rows takes no memory beyond the batch, where a stored order takes 96 MB. */
static void an_order_takes_no_memory(void **state)
{
    (void)state;
    enum { ROWS = 12000000, BATCH = 64 };
    adz_tensor *x = adz_zeros(ADZ_SHAPE(ROWS), ADZ_U8);
    adz_dataset *all = adz_dataset_new(&x, 1);
    adz_memory_info before, after;
    adz_reset_peak_memory();
    adz_get_memory_info(&before, sizeof before);
    adz_loader_options o = ADZ_LOADER_OPTIONS;
    o.shuffle = true;
    o.batch_size = BATCH;
    adz_loader *loader = adz_loader_new(all, &o);
    adz_loader_position position;
    adz_loader_get_position(loader, &position);
    position.consumed = ROWS - 2 * BATCH;
    assert_int_equal(adz_loader_set_position(loader, &position), ADZ_OK);
    for (int i = 0; i < 6; ++i) { /* into the next epoch */
        adz_scope *scope = adz_scope_open();
        adz_tensor *batch;
        assert_true(adz_loader_next(loader, &batch) == (i != 2));
        adz_scope_close(scope);
    }
    adz_get_memory_info(&after, sizeof after);
    print_message("12 million rows: %zu bytes at the peak\n", after.peak_bytes - before.live_bytes);
    assert_true(after.peak_bytes - before.live_bytes < 8192);
    adz_loader_free(&loader);
    adz_dataset_release(&all);
}

/* ---- errors --------------------------------------------------------------------------------- */

static void wrong_loaders_are_refused(void **state)
{
    (void)state;
    adz_dataset *all = numbered(9);
    adz_loader_options o = ADZ_LOADER_OPTIONS;
    o.batch_size = 0;
    assert_null(adz_loader_new(all, &o));
    expect_error(ADZ_ERR_ARGUMENT, "batch_size is 0, but must be 1 or more");
    o.batch_size = 4;
    adz_loader *loader = adz_loader_new(all, &o);
    adz_loader_position position = { .consumed = 10, .rows = 9 };
    assert_int_equal(adz_loader_set_position(loader, &position), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "10 rows consumed of an epoch that has 9");
    position = (adz_loader_position){ .consumed = -1, .rows = 9 };
    assert_int_equal(adz_loader_set_position(loader, &position), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    position = (adz_loader_position){ .consumed = 4, .rows = 10 };
    assert_int_equal(adz_loader_set_position(loader, &position), ADZ_ERR_ARGUMENT);
    expect_error(
        ADZ_ERR_ARGUMENT, "a loader over 10 rows, this one has 9; was it another dataset?");
    adz_loader_free(&loader);
    adz_dataset_release(&all);
}

static void null_arguments_are_named(void **state)
{
    (void)state;
    adz_dataset *all = numbered(9);
    adz_loader *loader = adz_loader_new(all, NULL);
    adz_loader_position p;
    adz_tensor *batch[2];
    expect_null(adz_loader_batch_count(NULL) == -1, "adz_loader_batch_count", "loader");
    expect_null(!adz_loader_next(NULL, batch), "adz_loader_next", "loader");
    expect_null(!adz_loader_next(loader, NULL), "adz_loader_next", "batch");
    expect_null(
        adz_loader_get_rows(NULL, 0, 1, batch) == ADZ_ERR_NULL, "adz_loader_get_rows", "loader");
    expect_null(
        adz_loader_get_rows(loader, 0, 1, NULL) == ADZ_ERR_NULL, "adz_loader_get_rows", "batch");
    const char *get = "adz_loader_get_position", *set = "adz_loader_set_position";
    expect_null(adz_loader_get_position(NULL, &p) == ADZ_ERR_NULL, get, "loader");
    expect_null(adz_loader_get_position(loader, NULL) == ADZ_ERR_NULL, get, "position");
    expect_null(adz_loader_set_position(NULL, &p) == ADZ_ERR_NULL, set, "loader");
    expect_null(adz_loader_set_position(loader, NULL) == ADZ_ERR_NULL, set, "position");
    adz_loader_free(&loader);
    adz_dataset_release(&all);
}

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
            assert_int_equal(position.consumed, 0);
        }
    }
    adz_loader_free(&loader);
    adz_dataset_release(&parts[0]);
    adz_dataset_release(&parts[1]);
    adz_dataset_release(&all);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    adz_generator_set_state(generator, before);
    return status;
}

static void refused_memory_harms_no_loader(void **state)
{
    (void)state;
    adz_generator *generator = adz_generator_new(5);
    /* The first call makes what the thread keeps for later calls. */
    assert_int_equal(build_and_draw(generator), ADZ_OK);
    int points = refuse_each(build_and_draw, NULL, generator);
    assert_true(points >= 12);
    print_message("refused: %d building and drawing\n", points);
    adz_generator_free(&generator);
}

int loaders_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_batch_leaves_no_tensors),
        cmocka_unit_test(in_order),
        cmocka_unit_test(shuffled),
        cmocka_unit_test(the_order_depends_on_seed_and_epoch_alone),
        cmocka_unit_test(positions_restore),
        cmocka_unit_test(progress_and_cancel),
        cmocka_unit_test(a_warm_epoch_grows_nothing),
        cmocka_unit_test(an_order_takes_no_memory),
        cmocka_unit_test(wrong_loaders_are_refused),
        cmocka_unit_test(null_arguments_are_named),
        cmocka_unit_test(refused_memory_harms_no_loader),
    };
    return cmocka_run_group_tests_name("data: loaders", tests, NULL, NULL);
}
