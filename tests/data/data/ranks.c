/* Loaders of several ranks: together they give out the batches of a single one, and a position is
 * valid for any number of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>

#include "adze/random.h"
#include "numbered.h"
#include "../../errors.h"
#include "tests.h"

enum { ROWS = 101, MOST_RANKS = 8 };

typedef struct setting {
    int ranks, micro_batches;
    int64_t batch_size;
    bool drop_last;
} setting;

static void make_ranks(adz_loader **loaders, adz_dataset *all, const setting *s)
{
    for (int r = 0; r < s->ranks; ++r) {
        adz_generator *generator = adz_generator_new(9);
        adz_loader_options o = ADZ_LOADER_OPTIONS;
        o.batch_size = s->batch_size;
        o.shuffle = true;
        o.drop_last = s->drop_last;
        o.generator = generator;
        o.rank = r;
        o.ranks = s->ranks;
        o.micro_batches = s->micro_batches;
        loaders[r] = adz_loader_new(all, &o);
        assert_non_null(loaders[r]);
        adz_generator_free(&generator);
    }
}

static void free_ranks(adz_loader **loaders, int ranks)
{
    for (int r = 0; r < ranks; ++r) {
        adz_loader_free(&loaders[r]);
    }
}

/* Draws a batch on every rank and writes the rows one rank after the other. Checks that the shares
 * are one behind the other and cut at micro-batches. False at the end of the epoch, on all ranks.
 */
static bool next_of_all(adz_loader **loaders, const setting *s, int64_t *rows, int64_t *n)
{
    int more = 0;
    int64_t micro = s->micro_batches > 0 ? s->micro_batches : s->ranks, begin = *n;
    for (int r = 0; r < s->ranks; ++r) {
        adz_tensor *batch[2];
        adz_loader_share share;
        adz_scope *scope = adz_scope_open();
        if (adz_loader_next(loaders[r], batch)) {
            ++more;
            int64_t count = rows_of(batch[0], batch[1], rows + *n);
            assert_int_equal(adz_loader_get_share(loaders[r], &share), ADZ_OK);
            assert_int_equal(share.count, count);
            assert_int_equal(share.first, *n - begin);
            int64_t part = micro * r / s->ranks;
            assert_int_equal(share.first, share.rows * part / micro);
            assert_int_equal(share.first, adz_loader_cut(share.rows, (int)micro, (int)part));
            *n += count;
            assert_true(r + 1 < s->ranks || *n - begin == share.rows);
        }
        adz_scope_close(scope);
    }
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_true(more == 0 || more == s->ranks);
    return more > 0;
}

/* The rows of an epoch, or of the rest of one, on any ranks. */
static int64_t epoch_of(adz_loader **loaders, const setting *s, int64_t *rows)
{
    int64_t n = 0, batches = 0;
    while (next_of_all(loaders, s, rows, &n)) {
        ++batches;
    }
    assert_true(batches <= adz_loader_batch_count(loaders[0]));
    return n;
}

static void ranks_share_each_batch(void **state)
{
    (void)state;
    adz_dataset *all = numbered(ROWS);
    static const int ranks[] = { 1, 2, 3, 4, 7, 8 };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
        static const int64_t sizes[] = { 8, 13, 99, 1000 };
        for (int variant = 0; variant < 16; ++variant) {
            setting s = { ranks[i], variant & 4 ? 8 : 0, sizes[variant & 3], variant & 8 };
            adz_loader *loaders[MOST_RANKS], *alone[1];
            setting one = { 1, 0, s.batch_size, s.drop_last };
            make_ranks(loaders, all, &s);
            make_ranks(alone, all, &one);
            for (int e = 0; e < 2; ++e) {
                int64_t rows[ROWS], whole[ROWS];
                int64_t n = epoch_of(loaders, &s, rows);
                assert_int_equal(n, epoch_of(alone, &one, whole));
                assert_int_equal(n, s.drop_last ? ROWS - ROWS % s.batch_size : ROWS);
                assert_memory_equal(rows, whole, (size_t)n * sizeof *rows);
            }
            free_ranks(loaders, s.ranks);
            free_ranks(alone, 1);
        }
    }
    adz_dataset_release(&all);
}

/* A position that was read on 4 ranks goes on with other ranks, micro-batches and batch sizes: the
 * rows are those that the 4 ranks had still to come. */
static void positions_serve_other_ranks(void **state)
{
    (void)state;
    adz_dataset *all = numbered(ROWS);
    static const setting others[] = { { 1, 0, 13, false }, { 2, 8, 13, false }, { 3, 8, 13, false },
        { 7, 0, 13, false }, { 3, 0, 20, false } };
    const setting four = { 4, 8, 13, false };
    for (int stop = 0; stop <= 9; ++stop) {
        adz_loader *loaders[MOST_RANKS];
        int64_t before[2 * ROWS], n = 0, rest[2 * ROWS];
        adz_loader_position position, same;
        make_ranks(loaders, all, &four);
        for (int i = 0; i < stop; ++i) {
            next_of_all(loaders, &four, before, &n);
        }
        adz_loader_get_position(loaders[0], &position);
        for (int r = 1; r < four.ranks; ++r) {
            adz_loader_get_position(loaders[r], &same);
            assert_memory_equal(&position, &same, sizeof same);
        }
        assert_int_equal(position.consumed, stop == 9 ? 0 : stop == 8 ? ROWS : 13 * stop);
        int64_t left = epoch_of(loaders, &four, rest);
        left += epoch_of(loaders, &four, rest + left);
        free_ranks(loaders, four.ranks);
        for (size_t k = 0; k < sizeof others / sizeof *others; ++k) {
            int64_t rows[2 * ROWS];
            make_ranks(loaders, all, &others[k]);
            for (int r = 0; r < others[k].ranks; ++r) {
                assert_int_equal(adz_loader_set_position(loaders[r], &position), ADZ_OK);
            }
            n = epoch_of(loaders, &others[k], rows);
            n += epoch_of(loaders, &others[k], rows + n);
            assert_int_equal(n, left);
            assert_memory_equal(rows, rest, (size_t)n * sizeof *rows);
            free_ranks(loaders, others[k].ranks);
        }
    }
    adz_dataset_release(&all);
}

static bool note_batch(int64_t batch, int64_t batches, void *user)
{
    assert_int_equal(batches, 4);
    *(int64_t *)user = batch;
    return true;
}

/* A new position forgets the share of the last batch. A loader that does not shuffle has no seed.
 * Batches that begin between two whole ones count as the batch in which they begin. */
static void positions_between_batches(void **state)
{
    (void)state;
    adz_dataset *all = numbered(10);
    int64_t noted = 0;
    adz_loader_options o = ADZ_LOADER_OPTIONS;
    o.batch_size = 3;
    o.progress = note_batch;
    o.user = &noted;
    adz_generator_state before = adz_generator_get_state(NULL);
    adz_loader *loader = adz_loader_new(all, &o);
    adz_generator_state after = adz_generator_get_state(NULL);
    assert_memory_equal(&before, &after, sizeof before);
    adz_loader_position position = { 77, 1, 5, 10 };
    adz_loader_share share;
    adz_tensor *batch[2];
    assert_true(adz_loader_next(loader, batch));
    assert_int_equal(noted, 1);
    assert_int_equal(adz_loader_set_position(loader, &position), ADZ_OK);
    assert_int_equal(adz_loader_get_share(loader, &share), ADZ_OK);
    assert_true(share.begin == 0 && share.rows == 0 && share.first == 0 && share.count == 0);
    adz_loader_get_position(loader, &position);
    assert_true(position.seed == 0 && position.epoch == 1 && position.consumed == 5);
    for (int64_t begin = 5, left = 2; left > 0; begin += 3, --left) {
        int64_t rows[3];
        assert_true(adz_loader_next(loader, batch));
        assert_int_equal(rows_of(batch[0], batch[1], rows), left == 2 ? 3 : 2);
        assert_int_equal(rows[0], begin);
        assert_int_equal(noted, begin / 3 + 1);
        adz_loader_get_share(loader, &share);
        assert_true(share.begin == begin && share.first == 0 && share.rows == share.count);
    }
    assert_false(adz_loader_next(loader, batch));
    adz_loader_get_position(loader, &position);
    assert_true(position.epoch == 2 && position.consumed == 0);
    adz_loader_free(&loader);
    adz_dataset_release(&all);
}

/* Rows of the order that no share holds. */
static void any_rows_can_be_gathered(void **state)
{
    (void)state;
    adz_dataset *all = numbered(ROWS);
    const setting s = { 3, 0, 10, false };
    adz_loader *loaders[MOST_RANKS];
    make_ranks(loaders, all, &s);
    adz_loader_position position, after;
    adz_loader_get_position(loaders[2], &position);
    static const int64_t asked[][2] = { { 0, ROWS }, { 95, 6 }, { 40, 1 }, { ROWS, 0 }, { 0, 0 } };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *batch[2];
        int64_t rows[ROWS], begin = asked[i][0], n = asked[i][1];
        assert_int_equal(adz_loader_get_rows(loaders[2], begin, n, batch), ADZ_OK);
        assert_int_equal(rows_of(batch[0], batch[1], rows), n);
        for (int64_t k = 0; k < n; ++k) {
            assert_int_equal(rows[k], adz_shuffle_index(position.seed, 0, ROWS, begin + k));
        }
        adz_scope_close(scope);
    }
    adz_loader_get_position(loaders[2], &after);
    assert_memory_equal(&position, &after, sizeof after);
    static const int64_t outside[][2] = { { -1, 1 }, { 0, ROWS + 1 }, { ROWS, 1 }, { 5, -1 },
        { INT64_MAX, INT64_MAX } };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; ++i) {
        adz_tensor *batch[2] = { NULL, NULL };
        assert_int_equal(
            adz_loader_get_rows(loaders[2], outside[i][0], outside[i][1], batch), ADZ_ERR_INDEX);
        assert_null(batch[0]);
        adz_error_clear();
    }
    assert_int_equal(
        adz_loader_get_rows(loaders[2], 100, 2, (adz_tensor *[2]){ NULL }), ADZ_ERR_INDEX);
    expect_error(ADZ_ERR_INDEX, "2 rows from position 100 on, of an order of 101");
    free_ranks(loaders, s.ranks);
    adz_dataset_release(&all);
}

static void cuts_are_even(void **state)
{
    (void)state;
    for (int64_t rows = 0; rows < 40; ++rows) {
        for (int parts = 1; parts < 20; ++parts) {
            assert_int_equal(adz_loader_cut(rows, parts, 0), 0);
            assert_int_equal(adz_loader_cut(rows, parts, parts), rows);
            for (int k = 0; k < parts; ++k) {
                int64_t n = adz_loader_cut(rows, parts, k + 1) - adz_loader_cut(rows, parts, k);
                assert_true(n == rows / parts || n == (rows + parts - 1) / parts);
            }
        }
    }
    assert_true(adz_loader_cut(INT64_MAX, INT_MAX, INT_MAX) == INT64_MAX);
    assert_true(adz_loader_cut(INT64_MAX, 2, 1) == INT64_MAX / 2);
    static const struct {
        int64_t rows;
        int parts, part;
    } wrong[] = { { -1, 2, 1 }, { 4, 0, 0 }, { 4, 2, 3 }, { 4, 2, -1 } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        assert_int_equal(adz_loader_cut(wrong[i].rows, wrong[i].parts, wrong[i].part), -1);
        assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
        adz_error_clear();
    }
}

static void wrong_ranks_are_refused(void **state)
{
    (void)state;
    adz_dataset *all = numbered(ROWS);
    static const struct {
        int rank, ranks, micro_batches;
        int64_t batch_size;
        const char *says;
    } wrong[] = {
        { 0, 0, 0, 32, "ranks is 0, but must be 1 or more" },
        { 2, 2, 0, 32, "there is no rank 2 of 2" },
        { -1, 2, 0, 32, "rank is -1, but must be 0 or more" },
        { 0, 4, 3, 32, "3 micro_batches for 4 ranks; each rank needs one of its own" },
        { 0, 1, -1, 32, "micro_batches is -1, but must be 0 or more" },
        { 0, 2, 8, 7, "batch_size is 7, below its 8 micro_batches; each needs a row" },
        { 0, 5, 0, 4, "batch_size is 4, below its 5 micro_batches" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        adz_loader_options o = ADZ_LOADER_OPTIONS;
        o.rank = wrong[i].rank;
        o.ranks = wrong[i].ranks;
        o.micro_batches = wrong[i].micro_batches;
        o.batch_size = wrong[i].batch_size;
        o.shuffle = true;
        adz_generator_state before = adz_generator_get_state(NULL);
        assert_null(adz_loader_new(all, &o));
        expect_error(ADZ_ERR_ARGUMENT, wrong[i].says);
        adz_generator_state after = adz_generator_get_state(NULL);
        assert_memory_equal(&before, &after, sizeof before);
    }
    expect_null(adz_loader_get_share(NULL, NULL) == ADZ_ERR_NULL, "adz_loader_get_share", "loader");
    adz_dataset_release(&all);
}

int ranks_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_share_each_batch),
        cmocka_unit_test(positions_serve_other_ranks),
        cmocka_unit_test(positions_between_batches),
        cmocka_unit_test(any_rows_can_be_gathered),
        cmocka_unit_test(cuts_are_even),
        cmocka_unit_test(wrong_ranks_are_refused),
    };
    return cmocka_run_group_tests_name("data: ranks", tests, NULL, NULL);
}
