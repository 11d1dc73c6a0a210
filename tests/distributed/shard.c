/* Optimizers whose state is divided among the ranks. */
#include "optim/optimizer.h"
#include "parallel.h"

enum { ROUNDS = 9 };

/* ---- equal bits ----------------------------------------------------------------------------- */

static void equal_steps(adz_group *group, void *user)
{
    const optimizer_case *which = user;
    training whole = training_new(NULL), divided = training_new(group);
    training_optimizer(&whole, which);
    training_optimizer(&divided, which);
    const bool divides = !adz_optimizer_type_of(divided.optimizer)->whole;
    const adz_status status = adz_data_parallel_shard(divided.parallel, divided.optimizer);
    check(status == (divides ? ADZ_OK : ADZ_ERR_UNSUPPORTED));
    adz_error_clear();
    training_second_group(&whole);
    training_second_group(&divided);
    for (int step = 0; step < ROUNDS; ++step) {
        if (step == 5) {
            check(adz_optimizer_set(whole.optimizer, 0, "lr", 0.007) == ADZ_OK);
            check(adz_optimizer_set(divided.optimizer, 0, "lr", 0.007) == ADZ_OK);
        }
        check(training_step(&whole, step) == ADZ_OK);
        check(training_step(&divided, step) == ADZ_OK);
        if (!training_equal(&whole, &divided)) {
            check_at(false, which->name, __FILE__, step);
        }
    }
    const size_t all = training_state_bytes(&whole), part = training_state_bytes(&divided);
    const size_t n = (size_t)adz_group_size(group);
    check(all == 0 || !divides || (part > 0 && part <= all / n + 2 * 3 * 64));
    training_end(&whole);
    training_end(&divided);
}

static void divided_steps_have_the_bits_of_whole_ones(void **state)
{
    static const int ranks[] = { 1, 2, 3, 4, 8 };
    (void)state;
    for (int k = 0; k < n_cases; ++k) {
        for (size_t r = 0; r < sizeof ranks / sizeof *ranks; ++r) {
            optimizer_case which = cases[k];
            run_ranks(ranks[r], NULL, equal_steps, &which);
        }
    }
}

/* A parameter of 4 elements lies in one slice. With 8 ranks most ranks have nothing of it. A
 * parameter of 391 elements lies in several. */
static void straddle(adz_group *group, void *user)
{
    training t = training_new(group);
    (void)user;
    training_optimizer(&t, &cases[1]);
    check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_OK);
    const adzi_sharding *s = adzi_sharding_of(t.optimizer);
    int owners[PARAMETERS] = { 0 };
    for (int i = 0; i < PARAMETERS; ++i) {
        int64_t at = 0;
        for (int r = 0; r < adz_group_size(group); ++r) {
            const adzi_part part = adzi_sharding_part(s, t.w[i], r);
            if (i >= PARAMETERS - 2) { /* frozen: whole on every rank */
                check(part.begin == 0 && part.count == t.w[i]->numel);
                continue;
            }
            check(part.begin == at && part.count >= 0);
            check(
                part.count == 0 ||
                ((uintptr_t)t.w[i]->data + (size_t)part.begin * adzi_item_size(t.w[i])) % 64 == 0);
            at += part.count;
            owners[i] += part.count > 0;
        }
        check(i >= PARAMETERS - 2 || at == t.w[i]->numel);
    }
    check(owners[0] >= 3 && owners[5] == 1);
    training_end(&t);
}

static void parameters_straddle_slices(void **state)
{
    (void)state;
    run_ranks(8, NULL, straddle, NULL);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void warm_steps(adz_group *group, void *user)
{
    training t = training_new(group);
    (void)user;
    training_optimizer(&t, &cases[3]);
    check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_OK);
    for (int step = 0; step < 3; ++step) {
        training_gradients(&t, 1);
        const uint64_t before = adzi_alloc_requests();
        const uint32_t version = t.w[3]->storage->version;
        check(adz_data_parallel_step(t.parallel, t.optimizer) == ADZ_OK);
        check(step == 0 || adzi_alloc_requests() == before);
        check(t.w[3]->storage->version > version); /* also where another rank has updated it */
    }
    training_end(&t);
}

static void a_warm_step_allocates_nothing(void **state)
{
    (void)state;
    run_ranks(3, NULL, warm_steps, NULL);
}

/* Reads the bytes of all ranks while they wait. */
static int64_t bytes_of_all(adz_group *group)
{
    check(adz_group_barrier(group) == ADZ_OK);
    const int64_t bytes = adzi_live_bytes();
    check(adz_group_barrier(group) == ADZ_OK);
    return bytes;
}

/* The states of all ranks together take the memory of one optimizer. */
static void big_states(adz_group *group, void *user)
{
    enum { SIDE = 512 };
    const int64_t state = 2 * SIDE * SIDE * (int64_t)sizeof(float);
    adz_module *model = adz_linear_new(SIDE, SIDE, NULL);
    adz_data_parallel *parallel = adz_data_parallel_new(group, model, NULL);
    adz_flat_parameters *flat = parallel->flat;
    adz_optimizer *adamw = adz_adamw_new(adz_module_parameters(model), 0.1, NULL);
    (void)user;
    check(adz_data_parallel_shard(parallel, adamw) == ADZ_OK);
    for (size_t i = 0; i < adz_flat_parameters_count(flat); ++i) {
        check(adz_flat_parameters_attach_grad(flat, i) == ADZ_OK);
    }
    const int64_t before = bytes_of_all(group);
    check(adz_data_parallel_step(parallel, adamw) == ADZ_OK);
    const int64_t grown = bytes_of_all(group) - before;
    check(grown >= state && grown < state + state / 16);
    adz_data_parallel_free(&parallel);
    adz_optimizer_release(&adamw);
    adz_module_release(&model);
}

static void memory_of_the_states_is_divided(void **state)
{
    (void)state;
    for (int n = 1; n <= 8; n *= 2) {
        run_ranks(n, NULL, big_states, NULL);
    }
}

static bool any(adz_group *group, bool flag)
{
    adz_tensor *t = adz_full(ADZ_SHAPE_SCALAR, flag, ADZ_I32);
    check(adz_group_all_reduce(group, t, ADZ_GROUP_MAX) == ADZ_OK);
    return adz_item(t) != 0;
}

/* Refuses the Nth request on rank 1, for every N: of adz_data_parallel_shard, then of the step. */
static void refuse(adz_group *group, void *user)
{
    const bool fails = adz_group_rank(group) == 1;
    const char *says = fails ? "memory" : "rank 1 of 3 (threads) failed: ";
    training t = training_new(group), before = training_new(NULL);
    int64_t refused[2] = { 0, 0 };
    (void)user;
    training_optimizer(&t, &cases[2]);
    for (int stage = 0; stage < 2; ++stage) {
        for (bool over = false; !over && refused[stage] < 200; ++refused[stage]) {
            training_gradients(&t, 1);
            adzi_alloc_fail_at(fails ? refused[stage] + 1 : 0);
            const adz_status status = stage == 0 ? adz_data_parallel_shard(t.parallel, t.optimizer)
                                                 : adz_data_parallel_step(t.parallel, t.optimizer);
            const bool hit = fails && adzi_alloc_failed();
            adzi_alloc_fail_at(0);
            if (status != ADZ_OK) {
                check_error(ADZ_ERR_MEMORY, says);
                check(training_equal(&t, &before) && training_state_bytes(&t) == 0);
                check((t.optimizer->shard != NULL) == (stage == 1));
            }
            over = status == ADZ_OK;
            check(any(group, hit) == !over);
        }
    }
    check(refused[0] >= 3 && refused[1] >= 5);
    check(!training_equal(&t, &before));
    training_end(&t);
    training_end(&before);
}

static void refused_memory_on_one_rank_changes_nothing(void **state)
{
    (void)state;
    run_ranks(3, NULL, refuse, NULL);
}

/* ---- failures ------------------------------------------------------------------------------- */

static void one_fails(adz_group *group, void *user)
{
    const bool odd = adz_group_rank(group) == 2;
    const char *says = "rank 2 of 4 (threads) failed: ";
    training t = training_new(group), whole = training_new(NULL);
    (void)user;
    training_optimizer(&t, &cases[0]);
    training_optimizer(&whole, &cases[0]);

    if (odd) {
        adz_error_set("the program", ADZ_ERR_NUMERIC, "the loss is NaN");
    }
    check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_ERR_NUMERIC);
    check_error(ADZ_ERR_NUMERIC, odd ? "the loss is NaN" : says);
    check(adz_data_parallel_shard(t.parallel, odd ? NULL : t.optimizer) == ADZ_ERR_NULL);
    check_error(ADZ_ERR_NULL, odd ? "optimizer is NULL" : says);
    check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_OK);

    if (odd) {
        adz_error_set("the program", ADZ_ERR_NUMERIC, "the loss is NaN");
    }
    check(training_step(&t, 1) == ADZ_ERR_NUMERIC);
    check_error(ADZ_ERR_NUMERIC, odd ? "the loss is NaN" : says);
    check(adz_data_parallel_step(t.parallel, odd ? NULL : t.optimizer) == ADZ_ERR_NULL);
    check_error(ADZ_ERR_NULL, odd ? "optimizer is NULL" : says);

    training_gradients(&t, 1);
    t.w[1]->gradient->spoiled = odd;
    check(adz_data_parallel_step(t.parallel, t.optimizer) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, odd ? "a backward failed" : says);
    check(training_equal(&t, &whole) && training_state_bytes(&t) == 0);
    check(training_step(&t, 1) == ADZ_OK && training_step(&whole, 1) == ADZ_OK);
    check(training_equal(&t, &whole));
    training_end(&t);
    training_end(&whole);
}

static void a_failure_on_one_rank_is_one_on_all(void **state)
{
    (void)state;
    run_ranks(4, NULL, one_fails, NULL);
}

static void ranks_differ(adz_group *group, void *user)
{
    const bool odd = adz_group_rank(group) == 1;
    training t = training_new(group), before = training_new(NULL);
    (void)user;
    training_optimizer(&t, &cases[odd ? 1 : 3]);
    check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "the ranks differ in the optimizer: rank 0 has AdamW, ");
    adz_optimizer_release(&t.optimizer);

    training_optimizer(&t, &cases[3]);
    check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_OK);
    check(adz_optimizer_set(t.optimizer, 0, "lr", odd ? 0.5 : 0.25) == ADZ_OK);
    check(training_step(&t, 1) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "parameters with a gradient; lr 0.25, beta1 0.9");
    check(adz_optimizer_set(t.optimizer, 0, "lr", 0.5) == ADZ_OK);
    training_gradients(&t, 1);
    if (odd) {
        adz_tensor_set_grad(t.w[0], ADZ_NONE);
    }
    check(adz_data_parallel_step(t.parallel, t.optimizer) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "3 of 4 parameters with a gradient");
    check(training_equal(&t, &before) && training_state_bytes(&t) == 0);
    training_end(&t);
    training_end(&before);
}

static void ranks_that_differ_are_told_so(void **state)
{
    (void)state;
    run_ranks(3, NULL, ranks_differ, NULL);
}

/* ---- misuse --------------------------------------------------------------------------------- */

static adz_status unchanged(adz_tensor **results, const adz_update *u)
{
    results[0] = u->parameter;
    return ADZ_OK;
}

static adz_status kept_second(adz_tensor **results, const adz_update *u)
{
    results[0] = u->parameter;
    results[2] = adz_mul_number(u->states[1], 1);
    return ADZ_OK;
}

/* A type whose updates depend on other elements. */
static const adz_optimizer_type whole_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Whole",
    .settings = { ADZ_SETTING("lr", 0.1, ADZ_FINITE_FROM(0)) },
    .update = unchanged,
    .whole = true,
};

static uint32_t second_alone(const double *settings)
{
    return settings[0] >= 0 ? 2 : 0;
}

/* A type without a count of steps, of whose states the first one is never made. */
static const adz_optimizer_type second_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Second",
    .settings = { ADZ_SETTING("lr", 0.1, ADZ_FINITE_FROM(0)) },
    .states = { { "first", 0 }, { "second", 0 } },
    .update = kept_second,
    .needs = second_alone,
    .uncounted = true,
};

static void misuse_of_types(adz_group *group, void *user)
{
    training t = training_new(group), other = training_new(group);
    other.optimizer = adz_optimizer_new(&second_type, adz_module_parameters(other.model), NULL, 0);
    training_gradients(&other, 1);
    check(adz_optimizer_step(other.optimizer) == ADZ_OK);
    adz_state_dict *all = adz_state_dict_new();
    json_t *groups = adzi_optimizer_groups(other.optimizer);
    check(adzi_optimizer_collect(other.optimizer, all) == ADZ_OK);
    t.optimizer = adz_optimizer_new(&second_type, adz_module_parameters(t.model), NULL, 0);
    check(adzi_optimizer_restore(t.optimizer, all, groups) == ADZ_OK);
    check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "this Second has made a step, or was loaded");
    adz_optimizer_release(&t.optimizer);
    json_decref(groups);
    adz_state_dict_free(&all);
    training_end(&other);
    (void)user;
    t.optimizer = adz_optimizer_new(&whole_type, adz_module_parameters(t.model), NULL, 0);
    check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_ERR_UNSUPPORTED);
    check_error(ADZ_ERR_UNSUPPORTED, "an update of Whole depends on all elements");
    training_end(&t);
}

static void whole_updates_are_not_divided(void **state)
{
    (void)state;
    run_ranks(2, NULL, misuse_of_types, NULL);
}

static void misuse(adz_group *group, void *user)
{
    training t = training_new(group), other = training_new(group);
    adz_optimizer *sgd = adz_sgd_new(one(&t.w[0]), 0.1, NULL); /* not divided */
    (void)user;
    training_optimizer(&t, &cases[0]);
    training_optimizer(&other, &cases[0]);
    check(adz_data_parallel_shard(NULL, t.optimizer) == ADZ_ERR_NULL);
    check_error(ADZ_ERR_NULL, "parallel is NULL");
    check(adz_data_parallel_step(NULL, t.optimizer) == ADZ_ERR_NULL);
    check_error(ADZ_ERR_NULL, "parallel is NULL");
    check(adz_data_parallel_step(t.parallel, NULL) == ADZ_ERR_NULL);
    check_error(ADZ_ERR_NULL, "optimizer is NULL");
    check(adz_data_parallel_shard(other.parallel, t.optimizer) == ADZ_ERR_ARGUMENT);
    check_error(ADZ_ERR_ARGUMENT, "parameter 0[17, 23] is not one of the module");
    training_gradients(&other, 1);
    check(adz_data_parallel_step(other.parallel, other.optimizer) == ADZ_OK); /* not divided */
    check(adz_data_parallel_shard(other.parallel, other.optimizer) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "this SGD has made a step");

    check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_OK);
    check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "the state of this SGD is divided among ranks already");
    check(adz_optimizer_step(t.optimizer) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "call adz_data_parallel_step");
    check(adz_data_parallel_step(other.parallel, t.optimizer) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "with another module");
    check(adz_optimizer_add_param_group(t.optimizer, one(&other.w[5])) == -1);
    check_error(ADZ_ERR_ARGUMENT, "is not one of the module");
    check(adz_optimizer_group_count(t.optimizer) == 1);
    check(training_step(&t, 1) == ADZ_OK);

    check(adz_data_parallel_begin(t.parallel, 0, 8) == ADZ_OK);
    check(adz_data_parallel_step(t.parallel, t.optimizer) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "call adz_data_parallel_end first");
    check(adz_data_parallel_step(t.parallel, sgd) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "call adz_data_parallel_end first");

    adz_data_parallel_free(&t.parallel);
    check(adz_data_parallel_step(other.parallel, t.optimizer) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "make a new optimizer");
    check(adz_optimizer_step(t.optimizer) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "adz_data_parallel_step");
    check(adz_optimizer_add_param_group(t.optimizer, one(&t.w[5])) == -1);
    check_error(ADZ_ERR_STATE, "adz_data_parallel_free has ended");
    adz_optimizer_release(&sgd);
    training_end(&t);
    training_end(&other);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    run_ranks(1, NULL, misuse, NULL);
    run_ranks(2, NULL, misuse, NULL);
}

static void whole(adz_group *group, void *user)
{
    training t = training_new(group);
    const adz_tensor_list all = adz_module_parameters(t.model);
    adz_optimizer *o[] = { adz_adafactor_new(all, 0.01, NULL), muon_of_matrices(all, 0.01) };
    (void)user;
    for (int i = 0; i < 2; ++i) {
        check(adz_data_parallel_shard(t.parallel, o[i]) == ADZ_ERR_UNSUPPORTED);
        check_error(ADZ_ERR_UNSUPPORTED, i == 0 ? "of Adafactor depends" : "of Muon depends");
        adz_optimizer_release(&o[i]);
    }
    training_end(&t);
}

/* Optimizers whose updates depend on a whole parameter refuse, and the message has their names. */
static void whole_updates_are_refused_by_name(void **state)
{
    (void)state;
    run_ranks(2, NULL, whole, NULL);
}

/* Two optimizers of one module, both divided. */
static void two_optimizers(adz_group *group, void *user)
{
    training t = training_new(group), whole = training_new(NULL);
    (void)user;
    training_optimizer(&t, &cases[3]);
    training_optimizer(&whole, &cases[3]);
    adz_optimizer *sgd = cases[0].make(adz_tensor_list_of(t.w + 4, 2));
    adz_optimizer *whole_sgd = cases[0].make(adz_tensor_list_of(whole.w + 4, 2));
    check(adz_data_parallel_shard(t.parallel, t.optimizer) == ADZ_OK);
    check(adz_data_parallel_shard(t.parallel, sgd) == ADZ_OK);
    for (int step = 0; step < 4; ++step) {
        check(training_step(&t, step) == ADZ_OK && training_step(&whole, step) == ADZ_OK);
        check(adz_data_parallel_step(t.parallel, sgd) == ADZ_OK);
        check(adz_optimizer_step(whole_sgd) == ADZ_OK);
    }
    check(training_equal(&t, &whole));
    adz_optimizer_release(&sgd);
    adz_optimizer_release(&whole_sgd);
    training_end(&t);
    training_end(&whole);
}

static void a_module_may_have_two_divided_optimizers(void **state)
{
    (void)state;
    run_ranks(3, NULL, two_optimizers, NULL);
}

static void until_it_dies(adz_group *group, void *user)
{
    training t = training_new(group);
    (void)user;
    if (t.parallel == NULL) {
        check_error(ADZ_ERR_IO, "the cable was cut");
        training_end(&t);
        return;
    }
    training_optimizer(&t, &cases[1]);
    adz_status status = adz_data_parallel_shard(t.parallel, t.optimizer);
    for (int step = 0; step < 200 && status == ADZ_OK; ++step) {
        status = training_step(&t, step);
    }
    check(status == ADZ_ERR_IO);
    check_error(ADZ_ERR_IO, "the cable was cut");
    if (t.optimizer->shard != NULL) { /* else the division itself has failed */
        check(training_step(&t, 1) == ADZ_ERR_STATE);
        check_error(ADZ_ERR_STATE, "cannot be used any more");
    }
    training_end(&t);
}

static void a_dead_transport_is_reported(void **state)
{
    (void)state;
    for (int at = 1; at < 160; at += 4) {
        network behaviour = { .dies = at % 3, .dies_at = at };
        run_ranks(3, &behaviour, until_it_dies, NULL);
    }
}

const struct CMUnitTest shard_tests[] = {
    cmocka_unit_test(divided_steps_have_the_bits_of_whole_ones),
    cmocka_unit_test(parameters_straddle_slices),
    cmocka_unit_test(a_warm_step_allocates_nothing),
    cmocka_unit_test(memory_of_the_states_is_divided),
    cmocka_unit_test(refused_memory_on_one_rank_changes_nothing),
    cmocka_unit_test(a_failure_on_one_rank_is_one_on_all),
    cmocka_unit_test(ranks_that_differ_are_told_so),
    cmocka_unit_test(whole_updates_are_not_divided),
    cmocka_unit_test(misuse_is_refused),
    cmocka_unit_test(whole_updates_are_refused_by_name),
    cmocka_unit_test(a_module_may_have_two_divided_optimizers),
    cmocka_unit_test(a_dead_transport_is_reported),
};
const size_t n_shard_tests = sizeof shard_tests / sizeof *shard_tests;
