/* Checkpoints of data-parallel training that fail: on every rank, with nothing changed. */
#include "checkpoints.h"

#include <signal.h>
#include <sys/resource.h>

#include "../temporary.h"

/* ---- failures ------------------------------------------------------------------------------- */

/* The recorded error has this code and part on every rank, and the same text if `same` is set. */
static void all_fail(adz_group *group, adz_status code, const char *part, bool same)
{
    char text[4096] = "";
    check(adz_error_take(text, sizeof text) == code);
    check_at(strstr(text, part) != NULL, text, __FILE__, __LINE__);
    check(!same || adz_group_agree(group, "the message", text) == ADZ_OK);
}

static void unchanged(adz_group *group, run *r)
{
    check(save_run(r, path_of(NOW)) == ADZ_OK);
    check(adz_group_rank(group) != 0 || files_equal(path_of(NOW), path_of(WAS)));
}

static void bad_files(adz_group *group, void *user)
{
    const plan *p = user;
    const bool odd = adz_group_rank(group) == 1;
    const char *one = "rank 1 of 3 (threads) failed: ";
    run r = run_new(group, p);
    train(&r, p);
    check(save_run(&r, path_of(WAS)) == ADZ_OK);
    check(load_run(&r, path_of(CUT)) == ADZ_ERR_FORMAT);
    all_fail(group, ADZ_ERR_FORMAT, "/cut: ", true);
    check(load_run(&r, path_of(WEIGHTS)) == ADZ_ERR_FORMAT);
    all_fail(group, ADZ_ERR_FORMAT, "it is no checkpoint", true);
    check(load_run(&r, path_of(MISSING)) == ADZ_ERR_IO);
    all_fail(group, ADZ_ERR_IO, "/missing", true);
    check(load_run(&r, path_of(odd ? MISSING : GOOD)) == ADZ_ERR_IO);
    all_fail(group, ADZ_ERR_IO, odd ? "/missing" : one, false);
    check(load_run(&r, odd ? NULL : path_of(GOOD)) == ADZ_ERR_NULL);
    all_fail(group, ADZ_ERR_NULL, odd ? "path is NULL" : one, false);
    check(load_run(&r, path_of(odd ? OTHER_STEP : GOOD)) == ADZ_ERR_STATE);
    all_fail(group, ADZ_ERR_STATE,
        "the ranks differ in the checkpoint: rank 0 has epoch 0, step 1, ", true);
    unchanged(group, &r);
    check(load_run(&r, path_of(GOOD)) == ADZ_OK && r.step == 1);
    run_end(&r);
}

static void other_runs(adz_group *group, void *user)
{
    plan p = *(const plan *)user;
    p.micro_batches = 4;
    run r = run_new(group, &p);
    check(load_run(&r, path_of(GOOD)) == ADZ_ERR_STATE);
    all_fail(group, ADZ_ERR_STATE, "the file's run has 8 micro-batches, this one 4", true);
    run_end(&r);
    p.micro_batches = 8;
    p.seed = 4;
    r = run_new(group, &p);
    check(load_run(&r, path_of(GOOD)) == ADZ_ERR_STATE);
    all_fail(group, ADZ_ERR_STATE, "the file's run has the seed 3, this one 4", true);
    run_end(&r);
    p.seed = 3;
    p.carries = false;
    r = run_new(group, &p);
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.parallel = r.parallel;
    check(adz_checkpoint_load(&c, path_of(GOOD)) == ADZ_ERR_STATE);
    all_fail(group, ADZ_ERR_STATE, "32 carried values, of which the module knows 0", true);
    run_end(&r);
}

static void a_bad_file_changes_no_rank(void **state)
{
    (void)state;
    make_paths();
    plan p = { true, true, 8, 3, NULL, path_of(GOOD), 1 };
    run_ranks(2, NULL, carry_out, &p);
    p.save = path_of(OTHER_STEP);
    p.until = 2;
    run_ranks(2, NULL, carry_out, &p);
    size_t size = 0;
    unsigned char *bytes = read_file(path_of(GOOD), &size);
    write_file(path_of(CUT), bytes, size - 9);
    free(bytes);
    adz_module *module = new_model(true);
    assert_int_equal(adz_module_save(module, path_of(WEIGHTS)), ADZ_OK);
    adz_module_release(&module);
    run_ranks(3, NULL, bad_files, &p);
    run_ranks(3, NULL, other_runs, &p);
    end_paths();
}

static void bad_saves(adz_group *group, void *user)
{
    const plan *p = user;
    const bool first = adz_group_rank(group) == 0;
    const char *says = "rank 0 of 4 (threads) failed: ";
    run r = run_new(group, p);
    train(&r, p);
    check(save_run(&r, path_of(NO_FOLDER)) == ADZ_ERR_IO);
    all_fail(group, ADZ_ERR_IO, first ? "no/folder" : says, false);
    check(save_run(&r, first ? NULL : path_of(GOOD)) == ADZ_ERR_NULL);
    all_fail(group, ADZ_ERR_NULL, first ? "path is NULL" : says, false);
    check(save_run(&r, path_of(first ? GOOD : NOW)) == ADZ_ERR_STATE);
    all_fail(group, ADZ_ERR_STATE, "the ranks differ in the checkpoint: rank 0 has ", true);
    r.step = -1;
    check(save_run(&r, path_of(GOOD)) == ADZ_ERR_ARGUMENT);
    all_fail(group, ADZ_ERR_ARGUMENT, "step is -1, below 0", false);
    r.step = p->until;
    check(save_run(&r, path_of(GOOD)) == ADZ_OK);

    /* A full disk: the other ranks have sent a part of their states by then. */
    adz_group_barrier(group);
    struct rlimit before = { 0 }, small;
    struct stat file;
    if (first) {
        signal(SIGXFSZ, SIG_IGN);
        stat(path_of(GOOD), &file);
        getrlimit(RLIMIT_FSIZE, &before);
        small = before;
        small.rlim_cur = (rlim_t)file.st_size / 2;
        setrlimit(RLIMIT_FSIZE, &small);
    }
    train(&r, &(plan){ p->carries, p->divided, 8, 3, NULL, NULL, p->until + 1 });
    check(save_run(&r, path_of(GOOD)) == ADZ_ERR_IO);
    if (first) {
        setrlimit(RLIMIT_FSIZE, &before);
        signal(SIGXFSZ, SIG_DFL);
    }
    all_fail(group, ADZ_ERR_IO, first ? "good" : says, false);
    check(load_run(&r, path_of(GOOD)) == ADZ_OK && r.step == p->until);
    run_end(&r);
}

static void a_failed_save_is_one_on_every_rank(void **state)
{
    (void)state;
    make_paths();
    for (int carries = 0; carries < 2; ++carries) {
        plan p = { carries, true, 8, 3, NULL, NULL, 2 };
        run_ranks(4, NULL, bad_saves, &p);
        assert_int_equal(count_files(true), 1);
    }
    end_paths();
}

static bool any(adz_group *group, bool flag)
{
    adz_tensor *t = adz_full(ADZ_SHAPE_SCALAR, flag, ADZ_I32);
    check(adz_group_all_reduce(group, t, ADZ_GROUP_MAX) == ADZ_OK);
    return adz_item(t) != 0;
}

/* Refuses the Nth request on one rank, for every N, of a save and of a load. */
static void refuse(adz_group *group, void *user)
{
    const plan *p = user;
    char says[64];
    run r = run_new(group, p);
    train(&r, p);
    check(save_run(&r, path_of(GOOD)) == ADZ_OK && save_run(&r, path_of(WAS)) == ADZ_OK);
    for (int odd = 0; odd < 2; ++odd) {
        const bool fails = adz_group_rank(group) == odd;
        snprintf(says, sizeof says, "rank %d of 2 (threads) failed: ", odd);
        for (int loads = 0; loads < 2; ++loads) {
            int64_t nth = 1;
            for (bool over = false; !over && nth < 2000; ++nth) {
                adz_scope *scope = adz_scope_open();
                adzi_alloc_fail_at(fails ? nth : 0);
                const adz_status status =
                    loads ? load_run(&r, path_of(GOOD)) : save_run(&r, path_of(GOOD));
                const bool hit = fails && adzi_alloc_failed();
                adzi_alloc_fail_at(0);
                if (status != ADZ_OK) {
                    check_error(ADZ_ERR_MEMORY, fails ? "" : says);
                    check(adz_group_rank(group) != 0 || files_equal(path_of(GOOD), path_of(WAS)));
                }
                over = !any(group, hit);
                check(over == (status == ADZ_OK));
                adz_scope_close(scope);
            }
            check(nth > (loads ? 40 : odd == 0 ? 40 : 3));
        }
    }
    unchanged(group, &r);
    run_end(&r);
}

static void refused_memory_leaves_nobody_waiting(void **state)
{
    (void)state;
    make_paths();
    for (int carries = 0; carries < 2; ++carries) {
        plan p = { carries, true, 8, 3, NULL, NULL, 1 };
        run_ranks(2, NULL, refuse, &p);
    }
    count_files(true);
    end_paths();
}

static void until_it_dies(adz_group *group, void *user)
{
    const plan *p = user;
    run r = run_new(group, p);
    train(&r, p);
    adz_status status = ADZ_OK;
    for (int i = 0; i < 200 && status == ADZ_OK; ++i) {
        status = save_run(&r, path_of(GOOD));
    }
    check(status == ADZ_ERR_IO);
    check_error(ADZ_ERR_IO, "adz_checkpoint_save: ");
    check(load_run(&r, path_of(GOOD)) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "cannot be used any more");
    run_end(&r);
}

/* The cable is cut in the middle of a save. The file of an earlier save is whole. */
static void a_dead_transport_leaves_the_old_file(void **state)
{
    (void)state;
    make_paths();
    plan p = { true, true, 8, 3, NULL, path_of(WAS), 1 };
    run_ranks(1, NULL, carry_out, &p);
    for (int at = 0; at < 40; at += 3) {
        /* a run of 3 ranks sends about 200 messages per rank before its first save */
        network behaviour = { .dies = at % 3, .dies_at = 400 + at, .silent = true };
        run_ranks(3, &behaviour, until_it_dies, &p);
        assert_true(files_equal(path_of(GOOD), path_of(WAS)));
        assert_int_equal(count_files(false), 2);
    }
    end_paths();
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Rank 0 has room for one state tensor more than what all ranks hold already, and not for two. */
static void in_little_memory(adz_group *group, void *user)
{
    enum { SIDE = 1024 };
    (void)user;
    adz_module *layers[] = { adz_linear_new(SIDE, SIDE, NULL), adz_linear_new(SIDE, SIDE, NULL) };
    adz_module *model = adz_sequential_new(layers, 2);
    adz_data_parallel *parallel = adz_data_parallel_new(group, model, NULL);
    adz_optimizer *adamw = adz_adamw_new(adz_module_parameters(model), 0.01, NULL);
    check(adz_data_parallel_shard(parallel, adamw) == ADZ_OK);
    for (size_t i = 0; i < adz_flat_parameters_count(parallel->flat); ++i) {
        check(adz_flat_parameters_attach_grad(parallel->flat, i) == ADZ_OK);
    }
    check(adz_data_parallel_step(parallel, adamw) == ADZ_OK);
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = model;
    c.optimizer = adamw;
    c.parallel = parallel;
    adz_group_barrier(group);
    if (adz_group_rank(group) == 0) {
        const size_t one = SIDE * SIDE * sizeof(float);
        adz_set_memory_limit((size_t)adzi_live_bytes() + one + one / 2);
    }
    adz_group_barrier(group);
    check(adz_checkpoint_save(&c, path_of(GOOD)) == ADZ_OK);
    adz_group_barrier(group);
    adz_set_memory_limit(0);
    adz_data_parallel_free(&parallel);
    adz_optimizer_release(&adamw);
    adz_module_release(&model);
}

static void rank_0_holds_one_tensor_at_a_time(void **state)
{
    (void)state;
    make_paths();
    run_ranks(3, NULL, in_little_memory, NULL);
    end_paths();
}

const struct CMUnitTest checkpoint_faults_tests[] = {
    cmocka_unit_test(a_bad_file_changes_no_rank),
    cmocka_unit_test(a_failed_save_is_one_on_every_rank),
    cmocka_unit_test(refused_memory_leaves_nobody_waiting),
    cmocka_unit_test(a_dead_transport_leaves_the_old_file),
    cmocka_unit_test(rank_0_holds_one_tensor_at_a_time),
};
const size_t n_checkpoint_faults_tests =
    sizeof checkpoint_faults_tests / sizeof *checkpoint_faults_tests;
