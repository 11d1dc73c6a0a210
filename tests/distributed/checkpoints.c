/* Checkpoints of data-parallel training: one file for any number of ranks. */
#include "checkpoints.h"

#include "../groups.h"
#include "../temporary.h"

/* ---- any number of ranks -------------------------------------------------------------------- */

static void runs_go_on_with_any_number_of_ranks(void **state)
{
    static const int saving[] = { 1, 4, 3, 8 }, loading[] = { 1, 2, 3, 7 };
    char half[512], whole[512], part[512], rest[512];
    (void)state;
    temporary_begin(NULL);
    strcpy(half, temporary_path("half"));
    strcpy(whole, temporary_path("whole"));
    strcpy(part, temporary_path("part"));
    strcpy(rest, temporary_path("rest"));
    for (int carries = 0; carries < 2; ++carries) {
        plan p = { carries, false, 8, 3, NULL, half, HALF };
        run_ranks(1, NULL, carry_out, &p);
        p.until = WHOLE;
        p.save = whole;
        run_ranks(1, NULL, carry_out, &p);
        for (int k = 0; k < 4; ++k) {
            p = (plan){ carries, k != 2, 8, 3, NULL, part, HALF };
            run_ranks(saving[k], NULL, carry_out, &p);
            assert_true(files_equal(half, part));
            p = (plan){ carries, k != 1, 8, 3, part, rest, WHOLE };
            run_ranks(loading[k], &(network){ .largest = 100 }, carry_out, &p);
            assert_true(files_equal(whole, rest));
        }
        assert_false(files_equal(half, whole));
    }
    temporary_end(NULL);
}

/* ---- every optimizer ------------------------------------------------------------------------ */

typedef struct task {
    const optimizer_case *which;
    const char *load, *save;
    int from, until;
    bool divided;
} task;

static void make_steps(adz_group *group, void *user)
{
    const task *k = user;
    training t = training_new(group);
    training_optimizer(&t, k->which);
    if (k->divided && !adz_optimizer_type_of(t.optimizer)->whole) {
        check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_OK);
    }
    training_second_group(&t);
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = t.model;
    c.optimizer = t.optimizer;
    c.parallel = t.parallel;
    if (k->load != NULL) {
        check(adz_checkpoint_load(&c, k->load) == ADZ_OK);
    }
    for (int step = k->from; step < k->until; ++step) {
        check(training_step(&t, step) == ADZ_OK);
    }
    if (strcmp(adz_optimizer_name(t.optimizer), "Adam") == 0) { /* a state that no step has made */
        check(adz_optimizer_set(t.optimizer, -1, "amsgrad", 1) == ADZ_OK);
    }
    check(adz_checkpoint_save(&c, k->save) == ADZ_OK);
    training_end(&t);
}

/* States of f32 and f64, some of which straddle slices. */
static void states_of_every_optimizer_go_on(void **state)
{
    (void)state;
    make_paths();
    for (int i = 0; i < n_cases; ++i) {
        task k = { &cases[i], NULL, path_of(WAS), 0, 4, false };
        run_ranks(1, NULL, make_steps, &k);
        k = (task){ &cases[i], path_of(WAS), path_of(OTHER_STEP), 4, 7, false };
        run_ranks(1, NULL, make_steps, &k);
        k = (task){ &cases[i], NULL, path_of(GOOD), 0, 4, true };
        run_ranks(3 + i % 4, NULL, make_steps, &k);
        assert_true(files_equal(path_of(GOOD), path_of(WAS)));
        k = (task){ &cases[i], path_of(GOOD), path_of(NOW), 4, 7, i % 3 > 0 };
        run_ranks(1 + i % 7, NULL, make_steps, &k);
        assert_true(files_equal(path_of(NOW), path_of(OTHER_STEP)));
    }
    end_paths();
}

/* ---- names ---------------------------------------------------------------------------------- */

static void layout(adz_group *group, void *user)
{
    const plan *p = user;
    run r = run_new(group, p);
    train(&r, p);
    check(save_run(&r, p->save) == ADZ_OK);
    if (adz_group_rank(group) == 0) {
        adz_safetensors *file = adz_safetensors_load(p->save, NULL);
        const char *const names[] = { "carried.0.0.hidden_0_h", "carried.7.0.hidden_1_c",
            "state.0.exp_avg", "state.1.exp_avg_sq", "loader", "scheduler.0", "generator.0" };
        for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
            check_at(adz_safetensors_has(file, names[i]), names[i], __FILE__, __LINE__);
        }
        check(strcmp(adz_safetensors_get_metadata(file, "micro_batches"), "8") == 0);
        check(strcmp(adz_safetensors_get_metadata(file, "seed"), "3") == 0);
        adz_safetensors_free(&file);
    }
    run_end(&r);
}

static void the_file_has_the_documented_names(void **state)
{
    (void)state;
    temporary_begin(NULL);
    plan p = { true, true, 8, 3, NULL, temporary_path("run"), 1 };
    run_ranks(3, NULL, layout, &p);
    temporary_end(NULL);
}

/* ---- misuse --------------------------------------------------------------------------------- */

static void misuse(adz_group *group, void *user)
{
    const plan *p = user;
    run r = run_new(group, p);
    train(&r, p);
    check(save_run(&r, path_of(GOOD)) == ADZ_OK);
    adz_checkpoint c = parts_of(&r);
    c.parallel = NULL;
    check(adz_checkpoint_save(&c, path_of(NOW)) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "the state of this AdamW is divided among ranks; set `parallel`");
    check(adz_checkpoint_load(&c, path_of(GOOD)) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "the state of this AdamW is divided among ranks; set `parallel`");
    check(adz_data_parallel_begin(r.parallel, 1, BATCH) == ADZ_OK);
    check(save_run(&r, path_of(NOW)) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "call adz_data_parallel_end first");
    check(load_run(&r, path_of(GOOD)) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "call adz_data_parallel_end first");
    adz_data_parallel_end(r.parallel, NULL);
    adz_error_clear();
    adz_data_parallel_free(&r.parallel);
    check(save_run(&r, path_of(NOW)) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "adz_data_parallel_free has ended the training");
    run_end(&r);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    make_paths();
    plan p = { true, true, 8, 3, NULL, NULL, 1 };
    run_ranks(2, NULL, misuse, &p);
    assert_int_equal(count_files(false), 1);
    end_paths();
}

/* A file that was saved without `parallel` starts a data-parallel run, and the other way round. */
static void mixed(adz_group *group, void *user)
{
    plan p = *(const plan *)user;
    p.divided = false;
    run r = run_new(group, &p), other;
    train(&r, &p);
    adz_checkpoint c = parts_of(&r);
    c.parallel = NULL;
    check(adz_group_rank(group) != 0 || adz_checkpoint_save(&c, path_of(GOOD)) == ADZ_OK);
    check(adz_group_barrier(group) == ADZ_OK);
    p.divided = true;
    other = run_new(group, &p);
    check(load_run(&other, path_of(GOOD)) == ADZ_OK && other.step == p.until);
    check(save_run(&other, path_of(NOW)) == ADZ_OK);
    check(adz_checkpoint_load(&c, path_of(NOW)) == ADZ_OK);
    check(adz_equal(
        adz_module_parameters(r.model).items[0], adz_module_parameters(other.model).items[0]));
    run_end(&other);
    run_end(&r);
}

static void files_pass_between_single_and_parallel_runs(void **state)
{
    (void)state;
    make_paths();
    plan p = { true, true, 8, 3, NULL, NULL, 2 };
    run_ranks(2, NULL, mixed, &p);
    end_paths();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_go_on_with_any_number_of_ranks),
        cmocka_unit_test(states_of_every_optimizer_go_on),
        cmocka_unit_test(the_file_has_the_documented_names),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(files_pass_between_single_and_parallel_runs),
    };
    return run_group("parallel checkpoint", tests, sizeof tests / sizeof *tests) +
           run_group("carried values", checkpoint_carried_tests, n_checkpoint_carried_tests) +
           run_group("checkpoint faults", checkpoint_faults_tests, n_checkpoint_faults_tests);
}
