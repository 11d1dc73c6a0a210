/* Errors of data-parallel training: every rank gets them, and none is left waiting. */
#include "ranks.h"

#include <stdlib.h>

#include "adze/data_parallel.h"
#include "base/alloc.h"

enum { ROWS = 16, WIDTH = 3 };

/* A training that is going to fail. */
typedef struct run {
    adz_group *group;
    int rank;
    adz_context *context, *before;
    adz_module *net, *left, *right;
    adz_optimizer *sgd;
    adz_data_parallel *parallel;
    adz_tensor *x;
} run;

static run begin_run(adz_group *group)
{
    run r = { .group = group, .rank = adz_group_rank(group), .context = adz_context_new() };
    r.before = adz_context_use(r.context);
    adz_set_num_threads(1);
    adz_manual_seed(3);
    r.left = adz_linear_new(WIDTH, 4, NULL);
    r.right = adz_linear_new(WIDTH, 4, NULL);
    r.net = ADZ_SEQUENTIAL(r.left, r.right);
    r.sgd = adz_sgd_new(adz_module_parameters(r.net), 0.1, NULL);
    r.parallel = adz_data_parallel_new(group, r.net, NULL);
    r.x = numbers_of(5, ADZ_SHAPE(ROWS, WIDTH), ADZ_F32);
    check(r.parallel != NULL);
    return r;
}

static void end_run(run *r)
{
    adz_data_parallel_free(&r->parallel);
    adz_optimizer_release(&r->sgd);
    adz_module_release(&r->net);
    adz_context_use(r->before);
    adz_context_free(&r->context);
}

static adz_tensor *loss_of(const run *r, adz_micro_batch m, bool both)
{
    adz_tensor *x = adz_narrow(r->x, 0, m.begin, m.count);
    adz_tensor *a = adz_mean(adz_square(adz_module_forward(r->left, x)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *b =
        adz_mean(adz_square(adz_module_forward(r->right, x)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return both ? adz_add(a, b) : a;
}

static adz_status step(const run *r, int64_t number, int64_t rows)
{
    adz_micro_batch m;
    adz_data_parallel_begin(r->parallel, number, rows);
    while (adz_data_parallel_next(r->parallel, &m)) {
        adz_data_parallel_backward(r->parallel, loss_of(r, m, true), m.weight);
    }
    return adz_data_parallel_end(r->parallel, NULL);
}

static bool has_no_gradients(const run *r)
{
    adz_tensor_list list = adz_module_parameters(r->net);
    bool none = true;
    for (size_t i = 0; i < list.count; ++i) {
        none = none && adz_tensor_grad(list.items[i]) == NULL;
    }
    return none;
}

/* The next step after a failure works. */
static void goes_on(const run *r)
{
    check(has_no_gradients(r));
    check(step(r, 7, ROWS) == ADZ_OK);
    check(!has_no_gradients(r) && adz_optimizer_step(r->sgd) == ADZ_OK);
}

/* ---- at the start --------------------------------------------------------------------------- */

static void too_many(adz_group *group, void *user)
{
    (void)user;
    adz_module *net = adz_linear_new(2, 1, NULL);
    adz_tensor *weight = adz_module_get_parameter(net, "weight");
    const float *data = adz_tensor_data_f32(weight);
    adz_data_parallel_options o = ADZ_DATA_PARALLEL_OPTIONS;
    o.micro_batches = 3;
    check(adz_data_parallel_new(group, net, &o) == NULL);
    check_error(ADZ_ERR_ARGUMENT, "there are 4 ranks and 3 micro-batches");
    o.micro_batches = 4 + adz_group_rank(group) / 2;
    check(adz_data_parallel_new(group, net, &o) == NULL);
    check_error(ADZ_ERR_STATE,
        "the ranks differ in the options of adz_data_parallel_new: rank 0 has micro_batches 4, ");
    o.micro_batches = adz_group_rank(group) == 1 ? 5000 : 8;
    check(adz_data_parallel_new(group, net, &o) == NULL);
    check_error(ADZ_ERR_ARGUMENT, "micro_batches is 5000, but must be in [1, 4096]");
    check(adz_data_parallel_new(group, adz_group_rank(group) == 3 ? NULL : net, NULL) == NULL);
    check_error(ADZ_ERR_NULL, "module is NULL");
    check(adz_data_parallel_new(NULL, net, NULL) == NULL);
    check_error(ADZ_ERR_NULL, "group is NULL");
    check(adz_tensor_data_f32(weight) == data); /* nothing was laid out */
    adz_module_release(&net);
}

static void models_differ(adz_group *group, void *user)
{
    const int me = adz_group_rank(group);
    (void)user;
    adz_module *net = adz_linear_new(2, me == 2 ? 3 : 1, NULL);
    check(adz_data_parallel_new(group, net, NULL) == NULL);
    check_error(ADZ_ERR_STATE,
        "the ranks differ in the model's parameter 0: rank 0 has weight[1, 2] float32, rank 2 weight[3, 2] float32");
    adz_module_release(&net);
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = me != 1;
    net = adz_linear_new(2, 1, &o);
    check(adz_data_parallel_new(group, net, NULL) == NULL);
    check_error(ADZ_ERR_STATE,
        "the ranks differ in the number of the model's parameters: rank 0 has 2, rank 1 1");
    adz_module_release(&net);
    net = adz_linear_new(2, 1, NULL);
    adz_requires_grad_(adz_module_get_parameter(net, "bias"), me != 0);
    check(adz_data_parallel_new(group, net, NULL) == NULL);
    check_error(ADZ_ERR_STATE, "bias[1] float32 without gradient");
    adz_module_release(&net);
}

static void ranks_compare_at_the_start(void **state)
{
    (void)state;
    run_ranks(4, NULL, too_many, NULL);
    run_ranks(4, NULL, models_differ, NULL);
}

/* Refuses the Nth request for memory of one rank. */
static void refuse_new(adz_group *group, void *user)
{
    const bool fails = adz_group_rank(group) == 1;
    (void)user;
    adz_context *own = adz_context_new(), *before = adz_context_use(own);
    adz_set_num_threads(1);
    adz_module *net = adz_linear_new(3, 2, NULL);
    for (int64_t nth = 1, over = 0; !over; ++nth) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *reached = adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I32);
        adzi_alloc_fail_at(fails ? nth : 0);
        adz_data_parallel *p = adz_data_parallel_new(group, net, NULL);
        const bool refused = fails && adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        if (p == NULL) {
            check_error(ADZ_ERR_MEMORY, fails ? "memory" : "rank 1 of 3 (threads) failed: ");
        }
        check(!refused || p == NULL);
        adz_data_parallel_free(&p);
        *(int32_t *)adz_tensor_data(reached) = refused;
        check(adz_group_all_reduce(group, reached, ADZ_GROUP_SUM) == ADZ_OK);
        over = adz_item(reached) == 0;
        adz_scope_close(scope);
    }
    adz_module_release(&net);
    adz_context_use(before);
    adz_context_free(&own);
}

static void refused_memory_at_the_start(void **state)
{
    (void)state;
    run_ranks(3, NULL, refuse_new, NULL);
}

/* ---- in a step ------------------------------------------------------------------------------ */

static void small_batches(adz_group *group, void *user)
{
    run r = begin_run(group);
    (void)user;
    check(step(&r, 0, 7) == ADZ_ERR_ARGUMENT);
    check_error(ADZ_ERR_ARGUMENT, "a batch of 7 rows cannot be cut into 8 micro-batches");
    goes_on(&r);
    check(step(&r, r.rank == 1 ? -1 : 0, ROWS) == ADZ_ERR_ARGUMENT);
    check_error(ADZ_ERR_ARGUMENT, "step is -1");
    goes_on(&r);
    check(step(&r, r.rank == 2 ? 4 : 5, ROWS) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE,
        "the ranks differ in their steps: rank 0 is in step 5 with 16 rows, rank 2 in step 4 with 16 rows");
    goes_on(&r);
    end_run(&r);
}

/* The micro-batches from `first` on do not use the right half. */
static void leave_out_from(const run *r, int first)
{
    char message[160];
    adz_micro_batch m;
    check(adz_data_parallel_begin(r->parallel, 0, ROWS) == ADZ_OK);
    while (adz_data_parallel_next(r->parallel, &m)) {
        check(adz_data_parallel_backward(r->parallel, loss_of(r, m, m.index < first), m.weight) ==
              ADZ_OK);
    }
    check(adz_data_parallel_end(r->parallel, NULL) == ADZ_ERR_STATE);
    snprintf(message, sizeof message,
        "parameter 2[4, 3] has a gradient from micro-batch 0 (rank 0) and none from micro-batch %d (rank ",
        first);
    check_error(ADZ_ERR_STATE, message);
}

static void some_have_no_gradient(adz_group *group, void *user)
{
    run r = begin_run(group);
    adz_micro_batch m;
    (void)user;
    leave_out_from(&r, 6);
    goes_on(&r);
    leave_out_from(&r, 7); /* the last one alone */
    goes_on(&r);
    /* Nobody uses the right half. */
    check(adz_data_parallel_begin(r.parallel, 0, ROWS) == ADZ_OK);
    while (adz_data_parallel_next(r.parallel, &m)) {
        check(adz_data_parallel_backward(r.parallel, loss_of(&r, m, false), m.weight) == ADZ_OK);
    }
    check(adz_data_parallel_end(r.parallel, NULL) == ADZ_OK);
    check(adz_tensor_grad(adz_module_get_parameter(r.right, "weight")) == NULL);
    check(adz_tensor_grad(adz_module_get_parameter(r.left, "weight")) != NULL);
    end_run(&r);
}

/* One rank leaves out what the others do. */
static void one_forgets(adz_group *group, void *user)
{
    run r = begin_run(group);
    adz_micro_batch m;
    (void)user;
    check(adz_data_parallel_begin(r.parallel, 0, ROWS) == ADZ_OK);
    while (adz_data_parallel_next(r.parallel, &m)) {
        if (r.rank == 1) {
            break;
        }
        check(adz_data_parallel_backward(r.parallel, loss_of(&r, m, true), m.weight) == ADZ_OK);
    }
    check(adz_data_parallel_end(r.parallel, NULL) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "has no gradient; call adz_data_parallel_next until");
    goes_on(&r);
    if (r.rank == 0) { /* without a begin */
        check(!adz_data_parallel_next(r.parallel, &m));
        check_error(ADZ_ERR_STATE, "no step has begun");
        check(adz_data_parallel_end(r.parallel, NULL) == ADZ_ERR_STATE);
    } else {
        check(step(&r, 8, ROWS) == ADZ_ERR_STATE);
    }
    check_error(ADZ_ERR_STATE, "no step has begun");
    goes_on(&r);
    end_run(&r);
}

/* A rank leaves its step after the last backward, when buckets travel, and begins another one. */
static void one_leaves(adz_group *group, void *user)
{
    run r = begin_run(group);
    adz_micro_batch m;
    (void)user;
    check(adz_data_parallel_begin(r.parallel, 0, ROWS) == ADZ_OK);
    while (adz_data_parallel_next(r.parallel, &m)) {
        check(adz_data_parallel_backward(r.parallel, loss_of(&r, m, true), m.weight) == ADZ_OK);
    }
    if (r.rank == 1) {
        check(adz_data_parallel_begin(r.parallel, 1, ROWS) == ADZ_ERR_STATE);
    }
    check(adz_data_parallel_end(r.parallel, NULL) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "the step before has not ended");
    goes_on(&r);
    end_run(&r);
}

/* A rank ends its training in the middle of a step: its group is broken, and nothing is used that
 * has ended. */
static void ends_in_a_step(adz_group *group, void *user)
{
    run r = begin_run(group);
    adz_micro_batch m;
    (void)user;
    check(adz_data_parallel_begin(r.parallel, 0, ROWS) == ADZ_OK);
    while (adz_data_parallel_next(r.parallel, &m)) {
        check(adz_data_parallel_backward(r.parallel, loss_of(&r, m, true), m.weight) == ADZ_OK);
    }
    adz_data_parallel_free(&r.parallel);
    check(adz_group_barrier(group) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "adz_data_parallel_free was called in the middle of a step");
    end_run(&r);
}

/* A rank has an error of its own somewhere in a step: `where` counts its micro-batches. */
static void one_errs(adz_group *group, void *user)
{
    run r = begin_run(group);
    (void)user;
    const int ranks = adz_group_size(group), own = 16 / ranks - 8 / ranks; /* of rank 1 */
    for (int where = 0; where < own; ++where) {
        adz_micro_batch m;
        int seen = 0;
        check(adz_data_parallel_begin(r.parallel, where, ROWS) == ADZ_OK);
        while (adz_data_parallel_next(r.parallel, &m)) {
            if (r.rank == 1 && seen++ == where) {
                adz_error_set("the program", ADZ_ERR_NUMERIC, "the loss is NaN");
            }
            adz_data_parallel_backward(r.parallel, loss_of(&r, m, true), m.weight);
        }
        const adz_status status = adz_data_parallel_end(r.parallel, NULL);
        check_error(ADZ_ERR_NUMERIC, "the loss is NaN");
        check(status == ADZ_ERR_NUMERIC && has_no_gradients(&r));
    }
    goes_on(&r);
    end_run(&r);
}

static void refuse_step(adz_group *group, void *user)
{
    run r = begin_run(group);
    const bool fails = r.rank == 1;
    (void)user;
    check(step(&r, 0, ROWS) == ADZ_OK); /* makes what a first step makes */
    for (int64_t nth = 1, over = 0; !over; ++nth) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *reached = adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I32);
        adzi_alloc_fail_at(fails ? nth : 0);
        const adz_status status = step(&r, nth, ROWS);
        const bool refused = fails && adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        if (status != ADZ_OK) {
            check_error(ADZ_ERR_MEMORY, fails ? "memory" : "rank 1 of 2 (threads) failed: ");
            check(has_no_gradients(&r));
        }
        check(!refused || status != ADZ_OK);
        *(int32_t *)adz_tensor_data(reached) = refused;
        check(adz_group_all_reduce(group, reached, ADZ_GROUP_SUM) == ADZ_OK);
        over = adz_item(reached) == 0;
        adz_scope_close(scope);
    }
    adz_module_zero_grad(r.net);
    goes_on(&r);
    end_run(&r);
}

static void a_changed_model(adz_group *group, void *user)
{
    run r = begin_run(group);
    (void)user;
    if (r.rank == 1) {
        adz_module_add_parameter(r.right, "more", adz_ones(ADZ_SHAPE(2), ADZ_F32));
    }
    check(step(&r, 0, ROWS) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "the module was changed after it was laid out");
    end_run(&r);
}

/* Batch norm has no variance of a single row, which the first of eight parts of 15 rows has. */
static void one_row(adz_group *group, void *user)
{
    adz_context *own = adz_context_new(), *before = adz_context_use(own);
    adz_set_num_threads(1);
    adz_module *norm = adz_batch_norm1d_new(WIDTH, NULL);
    adz_data_parallel *p = adz_data_parallel_new(group, norm, NULL);
    adz_micro_batch m;
    (void)user;
    check(adz_data_parallel_begin(p, 0, 15) == ADZ_OK);
    while (adz_data_parallel_next(p, &m)) {
        adz_tensor *y = adz_module_forward(norm, adz_ones(ADZ_SHAPE(m.count, WIDTH), ADZ_F32));
        adz_data_parallel_backward(p, adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM), m.weight);
    }
    check(adz_data_parallel_end(p, NULL) == ADZ_ERR_SHAPE);
    check_error(ADZ_ERR_SHAPE, "x[1, 3] has a single value per channel");
    check(adz_item(adz_module_get_buffer(norm, "num_batches_tracked")) == 0);
    adz_data_parallel_free(&p);
    adz_module_release(&norm);
    adz_context_use(before);
    adz_context_free(&own);
}

static void a_step_fails_on_all_ranks(void **state)
{
    (void)state;
    run_ranks(3, NULL, small_batches, NULL);
    for (int ranks = 1; ranks <= 5; ++ranks) {
        run_ranks(ranks, NULL, some_have_no_gradient, NULL);
    }
    for (int ranks = 2; ranks <= 5; ++ranks) {
        run_ranks(ranks, NULL, one_forgets, NULL);
        run_ranks(ranks, NULL, one_errs, NULL);
        run_ranks(ranks, NULL, one_leaves, NULL);
        run_ranks(ranks, NULL, a_changed_model, NULL);
        run_ranks(ranks, NULL, one_row, NULL);
    }
    run_ranks(2, NULL, refuse_step, NULL);
}

static void dies(adz_group *group, void *user)
{
    run r = begin_run(group);
    (void)user;
    adz_status status = ADZ_OK;
    for (int64_t i = 0; i < 100 && status == ADZ_OK; ++i) {
        status = step(&r, i, ROWS);
    }
    check(status == ADZ_ERR_IO);
    check(has_no_gradients(&r));
    check_error(ADZ_ERR_IO, "the cable was cut");
    check(step(&r, 0, ROWS) != ADZ_OK);
    adz_error_clear();
    end_run(&r);
}

static void a_dead_transport_ends_the_step(void **state)
{
    (void)state;
    for (int at = 150; at < 170; ++at) {
        run_ranks(4, &(network){ .dies = 1, .dies_at = at }, dies, NULL);
        run_ranks(3, &(network){ .dies = 2, .dies_at = at }, dies, NULL);
    }
}

static void a_training_may_end_in_a_step(void **state)
{
    (void)state;
    run_ranks(2, &(network){ .loses = true }, ends_in_a_step, NULL);
}

const struct CMUnitTest parallel_faults_tests[] = {
    cmocka_unit_test(ranks_compare_at_the_start),
    cmocka_unit_test(refused_memory_at_the_start),
    cmocka_unit_test(a_step_fails_on_all_ranks),
    cmocka_unit_test(a_dead_transport_ends_the_step),
    cmocka_unit_test(a_training_may_end_in_a_step),
};
const size_t n_parallel_faults_tests = sizeof parallel_faults_tests / sizeof *parallel_faults_tests;
