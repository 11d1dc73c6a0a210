/* The update of a large parameter by blocks: the bits of small parameters, which are computed
 * operator by operator, and types whose updates cannot be computed so. */
#include "base/threads/parallel.h"
#include "cases.h"
#include "tests.h"

enum { LARGE = 20003, SMALL = 5003, PIECES = (LARGE + SMALL - 1) / SMALL, TAKEN = 4 };

static adz_tensor *numbers(int seed, adz_dtype dtype)
{
    adz_tensor *at = adz_arange(seed, (double)LARGE + seed, 1, ADZ_F64);
    return adz_to(adz_sin(adz_mul_number(at, 0.7)), dtype);
}

static adz_tensor *piece(adz_tensor *t, int i)
{
    const int64_t end = (i + 1) * SMALL < LARGE ? (i + 1) * SMALL : LARGE;
    return adz_contiguous(adz_slice(t, 0, i * SMALL, end, 1));
}

static void expect_bits_of_pieces(const optimizer_case *which, adz_dtype dtype)
{
    adz_tensor *start = numbers(1, dtype), *pieces[PIECES], *now[PIECES];
    adz_tensor *w = adz_requires_grad_(adz_clone(start), true);
    for (int i = 0; i < PIECES; ++i) {
        pieces[i] = adz_requires_grad_(piece(start, i), true);
    }
    adz_optimizer *large = which->make(one(&w));
    adz_optimizer *small = which->make(adz_tensor_list_of(pieces, PIECES));
    for (int t = 0; t < TAKEN; ++t) {
        adz_tensor *g = numbers(100 * t + 7, dtype);
        assert_int_equal(adz_tensor_set_grad(w, g), ADZ_OK);
        for (int i = 0; i < PIECES; ++i) {
            assert_int_equal(adz_tensor_set_grad(pieces[i], piece(g, i)), ADZ_OK);
        }
        assert_int_equal(adz_optimizer_step(large), ADZ_OK);
        assert_int_equal(adz_optimizer_step(small), ADZ_OK);
        for (int i = 0; i < PIECES; ++i) {
            now[i] = adz_detach(pieces[i]);
        }
        if (!adz_equal(adz_cat(now, PIECES, 0), adz_detach(w))) {
            fail_msg("%s: step %d of a large parameter has other bits", which->name, t);
        }
    }
    adz_optimizer_release(&large);
    adz_optimizer_release(&small);
}

static void large_parameters_have_the_bits_of_small_ones(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; ++threads) {
        assert_int_equal(adz_set_num_threads(threads), ADZ_OK);
        for (int k = 0; k < n_cases; ++k) {
            adz_scope *scope = adz_scope_open();
            adz_tensor *w = adz_requires_grad_(numbers(1, ADZ_F32), true);
            adz_optimizer *o = cases[k].make(one(&w));
            const bool whole = adz_optimizer_type_of(o)->whole;
            adz_optimizer_release(&o);
            if (!whole) {
                expect_bits_of_pieces(&cases[k], ADZ_F32);
                expect_bits_of_pieces(&cases[k], ADZ_F64);
            }
            adz_scope_close(scope);
        }
    }
    adz_set_num_threads(0);
}

/* The numbers of two parameters differ if one of them has made fewer steps. */
static void each_parameter_has_its_numbers(void **state)
{
    (void)state;
    adz_tensor *w[2], *late = adz_requires_grad_(numbers(2, ADZ_F32), true);
    w[0] = adz_requires_grad_(numbers(2, ADZ_F32), true);
    w[1] = adz_requires_grad_(numbers(2, ADZ_F32), true);
    adz_optimizer *both = adz_nadam_new(adz_tensor_list_of(w, 2), 0.1, NULL);
    adz_optimizer *alone = adz_nadam_new(one(&late), 0.1, NULL);
    for (int t = 0; t < 2 * TAKEN; ++t) {
        adz_tensor *g = numbers(100 * t + 7, ADZ_F32);
        assert_int_equal(adz_tensor_set_grad(w[1], g), ADZ_OK);
        if (t >= TAKEN) {
            assert_int_equal(adz_tensor_set_grad(w[0], g), ADZ_OK);
            assert_int_equal(adz_tensor_set_grad(late, g), ADZ_OK);
            assert_int_equal(adz_optimizer_step(alone), ADZ_OK);
        }
        assert_int_equal(adz_optimizer_step(both), ADZ_OK);
    }
    assert_true(adz_equal(adz_detach(w[0]), adz_detach(late)));
    assert_false(adz_equal(adz_detach(w[1]), adz_detach(late)));
    adz_optimizer_release(&both);
    adz_optimizer_release(&alone);
}

/* ---- how it is computed --------------------------------------------------------------------- */

static int large_launches;

static void count(adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    (void)size;
    large_launches += units == LARGE;
    adzi_launch_unobserved(kernel, args, units, grain);
}

static int launches_of(adz_optimizer *o, adz_tensor *w)
{
    assert_int_equal(adz_tensor_set_grad(w, numbers(3, ADZ_F32)), ADZ_OK);
    assert_int_equal(adz_optimizer_step(o), ADZ_OK); /* makes the states */
    large_launches = 0;
    atomic_store(&adzi_launch_observer, count);
    assert_int_equal(adz_optimizer_step(o), ADZ_OK);
    atomic_store(&adzi_launch_observer, NULL);
    adz_optimizer_release(&o);
    return large_launches;
}

/* One launch per step, and not one per operator. */
static void library_types_are_computed_by_blocks(void **state)
{
    (void)state;
    adz_tensor *w = adz_requires_grad_(numbers(1, ADZ_F32), true);
    assert_int_equal(launches_of(adz_nadam_new(one(&w), 0.1, NULL), w), 1);
    assert_int_equal(launches_of(adz_adamax_new(one(&w), 0.1, NULL), w), 1);
    assert_int_equal(launches_of(adz_adadelta_new(one(&w), 0.1, NULL), w), 1);
    assert_int_equal(launches_of(adz_asgd_new(one(&w), 0.1, NULL), w), 1);
    assert_int_equal(launches_of(adz_rprop_new(one(&w), 0.1, NULL), w), 1);
}

/* ---- types that cannot be computed by blocks ------------------------------------------------ */

static adz_tensor *kept;
static double seen;

static adz_status by_norm(adz_tensor **results, const adz_update *u)
{
    adz_tensor *g = adz_mul(u->gradient, u->gradient);
    adz_tensor *norm = adz_sqrt(adz_sum(g, ADZ_ALL_DIMS, ADZ_DROPDIM));
    results[0] = adz_sub(u->parameter, adz_div(adz_mul(u->numbers[0], u->gradient), norm));
    results[1] = u->states[0];
    results[2] = u->states[1];
    return ADZ_OK;
}

static adz_status keeping(adz_tensor **results, const adz_update *u)
{
    kept = adz_keep(adz_mul(u->numbers[0], u->gradient));
    results[0] = adz_sub(u->parameter, kept);
    results[1] = u->states[0];
    results[2] = u->states[1];
    return ADZ_OK;
}

/* A condition has smaller elements than what it chooses. */
static adz_status choosing(adz_tensor **results, const adz_update *u)
{
    adz_tensor *falls = adz_lt_number(u->gradient, 0);
    adz_tensor *move = adz_where(falls, u->gradient, u->numbers[0]);
    results[0] = adz_sub(u->parameter, move);
    results[1] = u->states[0];
    results[2] = u->states[1];
    return ADZ_OK;
}

static adz_status reading(adz_tensor **results, const adz_update *u)
{
    adz_tensor *move = adz_mul(u->numbers[0], u->gradient);
    seen = adz_item(adz_slice(move, 0, LARGE - 1, LARGE, 1));
    results[0] = adz_sub(u->parameter, move);
    results[1] = u->states[0];
    results[2] = u->states[1];
    return ADZ_OK;
}

/* The two states change places, and the first one becomes the old parameter. */
static adz_status exchanging(adz_tensor **results, const adz_update *u)
{
    results[0] = adz_sub(u->parameter, adz_mul(u->numbers[0], u->gradient));
    results[1] = u->states[1];
    results[2] = u->parameter;
    return ADZ_OK;
}

/* Both new states depend on the old ones and on the old parameter. */
static adz_status crossing(adz_tensor **results, const adz_update *u)
{
    results[1] = adz_add(u->states[1], u->gradient);
    results[0] = adz_sub(u->parameter, adz_mul(u->numbers[0], u->gradient));
    results[2] = adz_add(u->states[0], u->parameter);
    return ADZ_OK;
}

static adz_optimizer *optimizer_of(adz_update_function update, adz_tensor **w)
{
    static adz_optimizer_type type;
    type = (adz_optimizer_type){ .size = sizeof type,
        .name = "blocks",
        .settings = { ADZ_SETTING("lr", 0.5, ADZ_FINITE_FROM(0)) },
        .states = { { "a", 0 }, { "b", ADZ_INITIAL_ONE } },
        .update = update };
    *w = adz_requires_grad_(numbers(1, ADZ_F32), true);
    adz_optimizer *o = adz_optimizer_new(&type, one(w), NULL, 0);
    assert_non_null(o);
    assert_int_equal(adz_tensor_set_grad(*w, numbers(3, ADZ_F32)), ADZ_OK);
    return o;
}

static void expect_step(adz_update_function update, adz_tensor *move)
{
    adz_tensor *w;
    adz_optimizer *o = optimizer_of(update, &w);
    assert_int_equal(adz_optimizer_step(o), ADZ_OK);
    assert_true(adz_equal(adz_detach(w), adz_sub(numbers(1, ADZ_F32), move)));
    adz_optimizer_release(&o);
}

static void other_updates_are_computed_as_they_are_written(void **state)
{
    (void)state;
    adz_tensor *g = numbers(3, ADZ_F32), *move = adz_mul_number(g, 0.5);
    adz_tensor *norm = adz_sqrt(adz_sum(adz_mul(g, g), ADZ_ALL_DIMS, ADZ_DROPDIM));
    expect_step(keeping, move); /* the first one, so that no earlier block has these elements */
    assert_true(adz_equal(kept, move));
    adz_release(&kept);
    expect_step(by_norm, adz_div(move, norm));
    expect_step(choosing, adz_where(adz_lt_number(g, 0), g, adz_full(ADZ_SHAPE(1), 0.5, ADZ_F32)));
    expect_step(reading, move);
    assert_true(seen == adz_item(adz_slice(move, 0, LARGE - 1, LARGE, 1)));
}

static void states_may_depend_on_each_other(void **state)
{
    (void)state;
    adz_tensor *start = numbers(1, ADZ_F32), *g = numbers(3, ADZ_F32), *w;
    adz_tensor *moved = adz_sub(start, adz_mul_number(g, 0.5));
    adz_tensor *zeros = adz_zeros_like(start), *ones = adz_ones_like(start);
    for (int crosses = 0; crosses < 2; ++crosses) {
        adz_optimizer *o = optimizer_of(crosses ? crossing : exchanging, &w);
        assert_int_equal(adz_optimizer_step(o), ADZ_OK);
        const adzi_kept *its = &o->groups[0]->kept[0];
        assert_true(adz_equal(adz_detach(w), moved));
        assert_true(adz_equal(its->state[0], crosses ? adz_add(ones, g) : ones));
        assert_true(adz_equal(its->state[1], crosses ? adz_add(zeros, start) : start));
        adz_optimizer_release(&o);
    }
}

int blocks_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(large_parameters_have_the_bits_of_small_ones),
        TEST(each_parameter_has_its_numbers),
        TEST(library_types_are_computed_by_blocks),
        TEST(other_updates_are_computed_as_they_are_written),
        TEST(states_may_depend_on_each_other),
    };
    return cmocka_run_group_tests_name("optimizers: blocks", tests, temporary_begin, temporary_end);
}
