/* The update of a large parameter by blocks: the bits of small parameters, which are computed
 * at once, what happens if something fails, and types whose updates are not computed so. */
#include <setjmp.h>
#include <string.h>

#include "base/threads/parallel.h"
#include "cases.h"
#include "tests.h"

enum {
    LARGE = 150003,
    SMALL = 50001,
    BLOCK = 65536,
    PIECES = (LARGE + SMALL - 1) / SMALL,
    TAKEN = 2
};

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

static int large_launches, block_launches;

static void count(adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    const bool copies_a_block = units == BLOCK * (int64_t)sizeof(float); /* a copy counts bytes */
    (void)size;
    large_launches += units >= LARGE && !copies_a_block;
    block_launches += units == BLOCK;
    adzi_launch_unobserved(kernel, args, units, grain);
}

static void expect_blocks(adz_optimizer *o, adz_tensor *w)
{
    assert_int_equal(adz_tensor_set_grad(w, numbers(3, ADZ_F32)), ADZ_OK);
    assert_int_equal(adz_optimizer_step(o), ADZ_OK); /* makes the states */
    large_launches = block_launches = 0;
    atomic_store(&adzi_launch_observer, count);
    assert_int_equal(adz_optimizer_step(o), ADZ_OK);
    atomic_store(&adzi_launch_observer, NULL);
    assert_int_equal(large_launches, 0);
    assert_true(block_launches >= 2 * (LARGE / BLOCK));
    adz_optimizer_release(&o);
}

static void library_types_are_computed_by_blocks(void **state)
{
    (void)state;
    adz_tensor *w = adz_requires_grad_(numbers(1, ADZ_F32), true);
    expect_blocks(adz_nadam_new(one(&w), 0.1, NULL), w);
    expect_blocks(adz_adamax_new(one(&w), 0.1, NULL), w);
    expect_blocks(adz_adadelta_new(one(&w), 0.1, NULL), w);
    expect_blocks(adz_asgd_new(one(&w), 0.1, NULL), w);
    expect_blocks(adz_rprop_new(one(&w), 0.1, NULL), w);
}

/* A part of a parameter, as a rank has it: its elements have the bits of a whole step, and the
 * others stay. */
static void a_part_is_computed_by_blocks(void **state)
{
    (void)state;
    enum { BEGIN = 1001, END = BEGIN + 140000 };
    adz_tensor *start = numbers(1, ADZ_F32), *w[2];
    for (int k = 0; k < 2; ++k) {
        w[k] = adz_requires_grad_(adz_clone(start), true);
        adz_optimizer *o = adz_nadam_new(one(&w[k]), 0.1, NULL);
        if (k == 1) {
            o->groups[0]->kept[0].part = (adzi_part){ BEGIN, END - BEGIN };
        }
        for (int t = 0; t < TAKEN; ++t) {
            assert_int_equal(adz_tensor_set_grad(w[k], numbers(100 * t + 7, ADZ_F32)), ADZ_OK);
            assert_int_equal(adz_optimizer_step(o), ADZ_OK);
        }
        adz_optimizer_release(&o);
    }
    adz_tensor *pieces[] = { adz_slice(start, 0, 0, BEGIN, 1),
        adz_slice(adz_detach(w[0]), 0, BEGIN, END, 1), adz_slice(start, 0, END, LARGE, 1) };
    assert_true(adz_equal(adz_cat(pieces, 3, 0), adz_detach(w[1])));
}

/* ---- other types ---------------------------------------------------------------------------- */

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

static adz_optimizer *optimizer_of(adz_update_function update, bool elementwise, adz_tensor **w)
{
    static adz_optimizer_type type;
    type = (adz_optimizer_type){ .size = sizeof type,
        .name = "blocks",
        .settings = { ADZ_SETTING("lr", 0.5, ADZ_FINITE_FROM(0)) },
        .states = { { "a", 0 }, { "b", ADZ_INITIAL_ONE } },
        .update = update,
        .elementwise = elementwise };
    *w = adz_requires_grad_(numbers(1, ADZ_F32), true);
    adz_optimizer *o = adz_optimizer_new(&type, one(w), NULL, 0);
    assert_non_null(o);
    assert_int_equal(adz_tensor_set_grad(*w, numbers(3, ADZ_F32)), ADZ_OK);
    return o;
}

static void expect_step(adz_update_function update, adz_tensor *move)
{
    adz_tensor *w;
    adz_optimizer *o = optimizer_of(update, false, &w);
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
    for (int which = 0; which < 4; ++which) {
        const bool crosses = which % 2, by_blocks = which / 2;
        adz_optimizer *o = optimizer_of(crosses ? crossing : exchanging, by_blocks, &w);
        assert_int_equal(adz_optimizer_step(o), ADZ_OK);
        const adzi_kept *its = &o->groups[0]->kept[0];
        assert_true(adz_equal(adz_detach(w), moved));
        assert_true(adz_equal(its->state[0], crosses ? adz_add(ones, g) : ones));
        assert_true(adz_equal(its->state[1], crosses ? adz_add(zeros, start) : start));
        adz_optimizer_release(&o);
    }
}

/* ---- failures ------------------------------------------------------------------------------- */

static bool is_granted(void)
{
    adz_scope *scope = adz_scope_open();
    adzi_alloc_fail_at(1);
    const bool granted = adz_zeros(ADZ_SHAPE(3), ADZ_F32) != NULL;
    adzi_alloc_fail_at(0);
    adz_error_clear();
    adz_scope_close(scope);
    return granted;
}

/* A refused request changes nothing, and later ones are not refused. */
static void refused_memory_changes_nothing(void **state)
{
    (void)state;
    adz_tensor *start = numbers(1, ADZ_F32), *w[2], *alone[2];
    for (int k = 0; k < 2; ++k) {
        w[k] = adz_requires_grad_(adz_clone(start), true);
        alone[k] = adz_requires_grad_(adz_clone(start), true);
        assert_int_equal(adz_tensor_set_grad(w[k], numbers(3 + k, ADZ_F32)), ADZ_OK);
        assert_int_equal(adz_tensor_set_grad(alone[k], numbers(3 + k, ADZ_F32)), ADZ_OK);
    }
    adz_optimizer *o = adz_nadam_new(adz_tensor_list_of(w, 2), 0.1, NULL);
    adz_optimizer *other = adz_nadam_new(adz_tensor_list_of(alone, 2), 0.1, NULL);
    adz_status status = ADZ_ERR_MEMORY;
    int refused = -1;
    for (; status != ADZ_OK; ++refused) {
        adzi_alloc_fail_at(refused + 2);
        status = adz_optimizer_step(o);
        const bool failed = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        adz_error_clear();
        assert_int_equal(status, failed ? ADZ_ERR_MEMORY : ADZ_OK);
        for (int k = 0; k < 2 && failed; ++k) {
            assert_true(adz_equal(adz_detach(w[k]), start));
            assert_null(o->groups[0]->kept[k].state[1]);
        }
    }
    assert_true(refused > 50);
    assert_false(is_granted());
    assert_int_equal(adz_optimizer_step(other), ADZ_OK);
    for (int k = 0; k < 2; ++k) {
        assert_true(adz_equal(adz_detach(w[k]), adz_detach(alone[k])));
    }
    adz_optimizer_release(&o);
    adz_optimizer_release(&other);
}

static int calls, last_good;
static jmp_buf out;
static void (*later)(void); /* what a later call does */

static adz_status failing(adz_tensor **results, const adz_update *u)
{
    if (calls++ > 0) {
        later();
    }
    results[0] = adz_sub(u->parameter, adz_mul(u->numbers[0], u->gradient));
    results[1] = u->states[0];
    results[2] = u->states[1];
    return calls > last_good ? adz_error_set("update", ADZ_ERR_NUMERIC, "too late") : ADZ_OK;
}

static void nothing(void)
{
}

static void jump(void)
{
    longjmp(out, 1);
}

static void limit_memory(void)
{
    assert_int_equal(adz_set_memory_limit(1), ADZ_OK);
}

static adz_optimizer *failing_of(void (*does)(void), int good, adz_tensor **w)
{
    calls = 0;
    last_good = good;
    later = does;
    return optimizer_of(failing, true, w);
}

/* The first block needs as much memory as the others. What they get is not refused. */
static void the_limit_refuses_the_first_block_alone(void **state)
{
    (void)state;
    adz_tensor *w;
    adz_optimizer *o = failing_of(limit_memory, 99, &w);
    adz_tensor *moved = adz_sub(numbers(1, ADZ_F32), adz_mul_number(numbers(3, ADZ_F32), 0.5));
    const adz_status status = adz_optimizer_step(o);
    adz_tensor *refused = adz_zeros(ADZ_SHAPE(3000), ADZ_F32);
    adz_set_memory_limit(0);
    adz_error_clear();
    assert_int_equal(status, ADZ_OK);
    assert_int_equal(calls, 1 + LARGE / BLOCK);
    assert_null(refused);
    assert_true(adz_equal(adz_detach(w), moved));
    adz_optimizer_release(&o);
}

static char warned[256];

static void hear(adz_status status, const char *text, void *user)
{
    (void)status, (void)user;
    snprintf(warned, sizeof warned, "%s", text);
}

/* A type of a program that breaks its promise: the step fails, says so, and is over. */
static void a_later_block_that_fails_is_told(void **state)
{
    (void)state;
    adz_tensor *w;
    adz_optimizer *o = failing_of(nothing, 2, &w);
    adz_on_warning(hear, NULL);
    warned[0] = '\0';
    assert_int_equal(adz_optimizer_step(o), ADZ_ERR_NUMERIC);
    adz_on_warning(NULL, NULL);
    adz_error_clear();
    assert_non_null(strstr(warned, "the step of blocks has changed a part of parameter 0"));
    assert_int_equal(o->groups[0]->kept[0].steps, 0);
    assert_false(is_granted());
    last_good = 99;
    assert_int_equal(adz_optimizer_step(o), ADZ_OK);
    assert_int_equal(o->groups[0]->kept[0].steps, 1);
    adz_optimizer_release(&o);
}

static void a_later_block_may_be_left_by_a_jump(void **state)
{
    (void)state;
    static adz_optimizer *o;
    static adz_tensor *w;
    o = failing_of(jump, 99, &w);
    if (setjmp(out) == 0) {
        adz_optimizer_step(o);
        fail();
    }
    assert_false(is_granted());
    later = nothing;
    assert_int_equal(adz_optimizer_step(o), ADZ_OK);
    adz_optimizer_release(&o);
}

int blocks_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(large_parameters_have_the_bits_of_small_ones),
        TEST(each_parameter_has_its_numbers),
        TEST(library_types_are_computed_by_blocks),
        TEST(a_part_is_computed_by_blocks),
        TEST(other_updates_are_computed_as_they_are_written),
        TEST(states_may_depend_on_each_other),
        TEST(refused_memory_changes_nothing),
        TEST(the_limit_refuses_the_first_block_alone),
        TEST(a_later_block_that_fails_is_told),
        TEST(a_later_block_may_be_left_by_a_jump),
    };
    return cmocka_run_group_tests_name("optimizers: blocks", tests, temporary_begin, temporary_end);
}
