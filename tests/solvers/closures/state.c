/* States of L-BFGS and Levenberg-Marquardt in checkpoints. */
#include "tests.h"

static adz_status save(adz_optimizer *optimizer, const char *name)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = optimizer;
    return adz_checkpoint_save(&c, temporary_path(name));
}

static adz_status load(adz_optimizer *optimizer, const char *name)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = optimizer;
    return adz_checkpoint_load(&c, temporary_path(name));
}

static adz_optimizer *make(problem *p, bool lm)
{
    adz_lbfgs_options options = ADZ_LBFGS_OPTIONS;
    options.max_iter = 4;
    options.history_size = 5;
    options.strong_wolfe = true;
    adz_levenberg_marquardt_options few = ADZ_LEVENBERG_MARQUARDT_OPTIONS;
    few.max_iter = 2;
    return lm ? lm_of(p, &few) : lbfgs_of(p, &options);
}

static void steps(problem *p, bool lm, int n)
{
    for (int i = 0; i < n; ++i) {
        assert_int_equal(
            adz_optimizer_step_closure(p->optimizer, lm ? residuals : loss_of, p, NULL), ADZ_OK);
    }
}

static void a_load_goes_on_bit_for_bit(void **state)
{
    (void)state;
    for (int k = 0; k < 4; ++k) {
        const bool lm = k % 2 == 1;
        problem p = begin(k < 2 ? ADZ_F64 : ADZ_F32), q = begin(k < 2 ? ADZ_F64 : ADZ_F32);
        make(&p, lm);
        make(&q, lm);
        for (int before = 0; before < 3; ++before) {
            assert_int_equal(save(p.optimizer, "one"), ADZ_OK);
            steps(&q, lm, 1); /* the load replaces the state that this step makes */
            assert_int_equal(load(q.optimizer, "one"), ADZ_OK);
            ADZ_NO_GRAD
            {
                adz_copy_(q.x, p.x);
            }
            assert_int_equal(save(q.optimizer, "again"), ADZ_OK);
            assert_true(files_equal(temporary_path("one"), temporary_path("again")));
            steps(&p, lm, 2);
            steps(&q, lm, 2);
            assert_true(adz_equal(p.x, q.x));
        }
        adz_optimizer_release(&p.optimizer);
        adz_optimizer_release(&q.optimizer);
    }
}

/* Writes the tensors of a file without one of them, or with another one instead. */
static void change_file(const char *without, adz_tensor *instead)
{
    adz_safetensors *from = adz_safetensors_load(temporary_path("whole"), NULL);
    adz_safetensors *to = adz_safetensors_new();
    for (size_t i = 0; i < adz_safetensors_count(from); ++i) {
        const char *name = adz_safetensors_name_at(from, i);
        adz_tensor *t = strcmp(name, without) == 0 ? instead : adz_safetensors_at(from, i);
        if (t != NULL) {
            assert_int_equal(adz_safetensors_add(to, name, t), ADZ_OK);
        }
    }
    for (size_t i = 0; i < adz_safetensors_metadata_count(from); ++i) {
        const char *key = adz_safetensors_metadata_key_at(from, i);
        adz_safetensors_set_metadata(to, key, adz_safetensors_get_metadata(from, key));
    }
    assert_int_equal(adz_safetensors_save(to, temporary_path("changed")), ADZ_OK);
    adz_safetensors_free(&from);
    adz_safetensors_free(&to);
}

static void expect_refused(problem *p, const char *without, adz_tensor *instead, const char *says)
{
    adz_error_clear();
    change_file(without, instead);
    assert_int_equal(save(p->optimizer, "before"), ADZ_OK);
    assert_int_equal(load(p->optimizer, "changed"), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, says);
    assert_int_equal(save(p->optimizer, "after"), ADZ_OK);
    assert_true(files_equal(temporary_path("before"), temporary_path("after")));
}

static void files_with_gaps_are_refused(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    make(&p, false);
    steps(&p, false, 3);
    assert_int_equal(save(p.optimizer, "whole"), ADZ_OK);
    static const char *const names[] = { "n_iter", "func_evals", "t", "H_diag", "prev_loss", "d",
        "prev_flat_grad", "ro", "old_dirs", "old_stps" };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char name[64], says[64];
        snprintf(name, sizeof name, "state.0.%s", names[i]);
        snprintf(says, sizeof says, "there is no state.0.%s", names[i]);
        expect_refused(&p, name, NULL, says);
        expect_refused(&p, name, adz_full(ADZ_SHAPE(2, 2), NAN, ADZ_F64), name);
    }
    expect_refused(&p, "state.0.ro", adz_ones(ADZ_SHAPE(2), ADZ_F64), "rows");
    adz_optimizer_release(&p.optimizer);
    p.x = leaf((const double[]){ 1, 2 }, 2, ADZ_F64);
    make(&p, false);
    change_file("", NULL);
    assert_int_equal(load(p.optimizer, "changed"), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "L-BFGS of 2 elements cannot have state.0.");
    adz_optimizer_release(&p.optimizer);
    p = begin(ADZ_F64);
    make(&p, true);
    assert_int_equal(load(p.optimizer, "changed"), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "LBFGS");
    adz_optimizer_release(&p.optimizer);
}

/* Files that were written before there were these entries load. */
static void entries_that_came_later_may_lack(void **state)
{
    (void)state;
    static const struct {
        bool lm;
        const char *name;
    } later[] = { { true, "state.0.scale" }, { false, "state.0.unit" },
        { false, "state.0.largest_loss" } };
    for (size_t i = 0; i < sizeof later / sizeof *later; ++i) {
        problem p = begin(ADZ_F64);
        make(&p, later[i].lm);
        steps(&p, later[i].lm, 3);
        const double before = adz_item(adz_sum(adz_square(residuals(&p)), ADZ_ALL_DIMS, false));
        assert_int_equal(save(p.optimizer, "whole"), ADZ_OK);
        change_file(later[i].name, NULL);
        assert_int_equal(load(p.optimizer, "changed"), ADZ_OK);
        steps(&p, later[i].lm, 2);
        assert_true(adz_item(adz_sum(adz_square(residuals(&p)), ADZ_ALL_DIMS, false)) < before);
        adz_optimizer_release(&p.optimizer);
    }
}

static void wrong_scales_and_units_are_refused(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    make(&p, true);
    steps(&p, true, 1);
    assert_int_equal(save(p.optimizer, "whole"), ADZ_OK);
    expect_refused(&p, "state.0.scale", adz_ones(ADZ_SHAPE(4), ADZ_F64),
        "Levenberg-Marquardt of 5 elements cannot have state.0.scale[4]");
    expect_refused(&p, "state.0.scale", adz_ones(ADZ_SHAPE(5, 1), ADZ_F64), "state.0.scale[5, 1]");
    expect_refused(&p, "state.0.scale", adz_full(ADZ_SHAPE(5), -1, ADZ_F64),
        "state.0.scale[0] is -1, but must be finite and 0 or more");
    expect_refused(
        &p, "state.0.scale", adz_full(ADZ_SHAPE(5), INFINITY, ADZ_F64), "state.0.scale[0] is inf");
    adz_optimizer_release(&p.optimizer);
    p = begin(ADZ_F64);
    make(&p, false);
    steps(&p, false, 1);
    assert_int_equal(save(p.optimizer, "whole"), ADZ_OK);
    expect_refused(&p, "state.0.unit", adz_scalar(3, ADZ_F64),
        "state.0.unit is 3, but must be a power of two or 0");
    expect_refused(&p, "state.0.unit", adz_scalar(-2, ADZ_F64), "state.0.unit is -2");
    adz_optimizer_release(&p.optimizer);
}

/* A smaller history, set between steps, forgets the oldest pairs. */
static void the_history_can_be_made_smaller(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    make(&p, false);
    steps(&p, false, 3);
    adz_optimizer_set(p.optimizer, 0, "history_size", 2);
    steps(&p, false, 1);
    assert_int_equal(save(p.optimizer, "whole"), ADZ_OK);
    adz_safetensors *file = adz_safetensors_load(temporary_path("whole"), NULL);
    assert_int_equal(adz_tensor_size(adz_safetensors_get(file, "state.0.old_dirs"), 0), 2);
    adz_safetensors_free(&file);
    adz_optimizer_release(&p.optimizer);
}

typedef struct {
    problem p;
    bool saves;
} attempt;

static adz_status move_state(void *user)
{
    attempt *a = user;
    return a->saves ? save(a->p.optimizer, "whole") : load(a->p.optimizer, "whole");
}

static void refused_memory_is_an_error(void **state)
{
    (void)state;
    attempt a = { begin(ADZ_F64), true };
    make(&a.p, false);
    steps(&a.p, false, 3);
    assert_true(refuse_each(move_state, NULL, &a) > 5);
    a.saves = false;
    assert_true(refuse_each(move_state, NULL, &a) > 5);
    adz_optimizer_release(&a.p.optimizer);
}

int state_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_load_goes_on_bit_for_bit),
        TEST(files_with_gaps_are_refused),
        TEST(entries_that_came_later_may_lack),
        TEST(wrong_scales_and_units_are_refused),
        TEST(the_history_can_be_made_smaller),
        TEST(refused_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("closures: states", tests, temporary_begin, temporary_end);
}
