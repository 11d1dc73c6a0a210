/* Groups over MPI. tests/mpi/run.py starts each scenario on 1 to 4 ranks:
 *
 *     test_mpi SCENARIO
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <adze/adze.h>
#include <adze/mpi.h>

static int failures;

#define check(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: not so: %s (error: %s)\n", __FILE__, __LINE__, #condition, \
                adz_error_message());                                                          \
            ++failures;                                                                        \
        }                                                                                      \
    } while (0)

/* Takes the recorded error, which must have this code and contain this text. */
static void expect(adz_status code, const char *part)
{
    char text[4096];
    const adz_status taken = adz_error_take(text, sizeof text);
    if (taken != code || strstr(text, part) == NULL) {
        fprintf(stderr, "%s \"%s\" instead of %s \"%s\"\n", adz_status_name(taken), text,
            adz_status_name(code), part);
        ++failures;
    }
}

static float element(int rank, int64_t i)
{
    const uint64_t z = ((uint64_t)i * 8 + (uint64_t)rank + 1) * 0x9e3779b97f4a7c15u;
    return (float)((double)(int64_t)(z ^ (z >> 29)) / 0x1p60);
}

static adz_tensor *numbers(int rank, int64_t n)
{
    adz_tensor *t = adz_empty(ADZ_SHAPE(n), ADZ_F32);
    for (int64_t i = 0; i < n; ++i) {
        adz_tensor_data_f32(t)[i] = element(rank, i);
    }
    return t;
}

/* ---- what is computed ----------------------------------------------------------------------- */

static float tree_sum(int ranks, int64_t i)
{
    float x[4] = { 0 };
    for (int r = 0; r < ranks; ++r) {
        x[r] = element(r, i);
    }
    return ranks == 1   ? x[0]
           : ranks == 2 ? x[0] + x[1]
           : ranks == 3 ? (x[0] + x[1]) + x[2]
                        : (x[0] + x[1]) + (x[2] + x[3]);
}

static void sums(adz_group *group, int64_t n)
{
    const int me = adz_group_rank(group), ranks = adz_group_size(group);
    int64_t wrong = 0;
    adz_tensor *t = numbers(me, n);
    check(adz_group_all_reduce(group, t, ADZ_GROUP_SUM) == ADZ_OK);
    for (int64_t i = 0; i < n; ++i) {
        wrong += adz_tensor_data_f32(t)[i] != tree_sum(ranks, i);
    }
    check(wrong == 0);
}

static void dtypes(adz_group *group)
{
    const int me = adz_group_rank(group), ranks = adz_group_size(group);
    for (int d = ADZ_F32; d <= ADZ_BOOL; ++d) {
        const adz_dtype dtype = (adz_dtype)d;
        const bool boolean = dtype == ADZ_BOOL;
        adz_tensor *mine = adz_full(ADZ_SHAPE(ranks, 5), boolean ? me == 1 : me + 1, dtype);
        adz_tensor *max = adz_clone(mine), *sent = adz_clone(mine);
        adz_tensor *slice = adz_group_reduce_scatter(group, mine, ADZ_GROUP_SUM);
        const double sum = boolean ? ranks > 1 : ranks * (ranks + 1) / 2;
        check(adz_equal(slice, adz_full(ADZ_SHAPE(5), sum, dtype)));
        check(adz_group_all_reduce(group, max, ADZ_GROUP_MAX) == ADZ_OK);
        check(adz_equal(max, adz_full(ADZ_SHAPE(ranks, 5), boolean ? ranks > 1 : ranks, dtype)));
        check(adz_group_broadcast(group, sent, ranks - 1) == ADZ_OK);
        check(adz_equal(sent, adz_full(ADZ_SHAPE(ranks, 5), boolean ? ranks == 2 : ranks, dtype)));
        adz_tensor *all = adz_group_all_gather(group, mine);
        for (int r = 0; r < ranks; ++r) {
            check(adz_equal(adz_select(all, 0, r),
                adz_full(ADZ_SHAPE(ranks, 5), boolean ? r == 1 : r + 1, dtype)));
        }
    }
}

static void collectives(adz_group *group)
{
    adz_scope *scope = adz_scope_open();
    sums(group, 3);
    sums(group, 70001);
    sums(group, (5 << 20) / 4);
    dtypes(group);
    check(adz_group_barrier(group) == ADZ_OK);
    check(adz_group_progress(group) == ADZ_OK);
    check((adz_group_bytes_sent(group) > 0) == (adz_group_size(group) > 1));
    adz_scope_close(scope);
}

static void one_fails(adz_group *group)
{
    const int me = adz_group_rank(group), odd = adz_group_size(group) - 1;
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = adz_ones(ADZ_SHAPE(3), ADZ_F32), *u = adz_ones(ADZ_SHAPE(4), ADZ_F32);
    check(adz_group_all_reduce(group, me == odd ? NULL : t, ADZ_GROUP_SUM) == ADZ_ERR_NULL);
    expect(ADZ_ERR_NULL, me == odd ? "tensor is NULL" : " failed: adz_group_all_reduce");
    if (odd > 0) {
        check(adz_group_all_reduce(group, me == odd ? u : t, ADZ_GROUP_SUM) == ADZ_ERR_SHAPE);
        expect(ADZ_ERR_SHAPE, "the ranks differ in their shapes: rank ");
        check((me == odd ? adz_group_barrier(group) : adz_group_broadcast(group, t, 0)) < 0);
        expect(ADZ_ERR_STATE, "the ranks call different functions: rank ");
    }
    adz_set_memory_limit(me == odd ? 64 : 0);
    adz_tensor *all = adz_group_all_gather(group, t);
    adz_set_memory_limit(0);
    check(all == NULL);
    expect(ADZ_ERR_MEMORY, me == odd ? "adz_group_all_gather" : " failed: adz_group_all_gather");
    adz_scope_close(scope);
    collectives(group);
}

/* ---- scenarios ------------------------------------------------------------------------------ */

static void start_mpi(int *argc, char ***argv)
{
    int level;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
}

/* Communicators of the program's own: freed early, a part of the world, reversed, none. */
static void communicators(void)
{
    int me, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(adz_mpi_group_new(MPI_COMM_NULL) == NULL);
    expect(ADZ_ERR_ARGUMENT, "comm is MPI_COMM_NULL");

    MPI_Comm reversed, half;
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - me, &reversed);
    adz_group *group = adz_mpi_group_new(reversed);
    MPI_Comm_free(&reversed);
    check(adz_group_rank(group) == ranks - 1 - me);
    check(strstr(adz_group_name(group), "(MPI on ") != NULL);
    collectives(group);

    MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 1, me, &half);
    adz_group *part = half != MPI_COMM_NULL ? adz_mpi_group_new(half) : NULL;
    if (part != NULL) {
        check(adz_group_size(part) == ranks - 1);
        MPI_Comm_free(&half);
        collectives(part);
    }
    collectives(group);
    adz_group_free(&part);
    adz_group_free(&group);
    check(adz_error_code() == ADZ_OK);
}

static void finalized(void)
{
    adz_scope *scope = adz_scope_open();
    adz_group *group = adz_mpi_group_new(MPI_COMM_WORLD);
    adz_tensor *t = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    check(adz_group_all_reduce(group, t, ADZ_GROUP_SUM) == ADZ_OK);
    MPI_Finalize();
    check(adz_group_all_reduce(group, t, ADZ_GROUP_SUM) == ADZ_ERR_STATE);
    expect(ADZ_ERR_STATE, "MPI_Finalize was called before this");
    check(adz_group_all_gather(group, t) == NULL);
    expect(ADZ_ERR_STATE, "rank ");
    adz_error_set("the program", ADZ_ERR_NUMERIC, "the loss is NaN");
    check(adz_group_barrier(group) == ADZ_ERR_NUMERIC);
    expect(ADZ_ERR_NUMERIC, "the loss is NaN");
    check(adz_group_rank(group) >= 0);
    adz_group_free(&group);
    check(adz_mpi_group_new(MPI_COMM_WORLD) == NULL);
    expect(ADZ_ERR_STATE, "MPI_Finalize was called before this");
    check(adz_mpi_group_world() == NULL);
    expect(ADZ_ERR_STATE, "MPI_Finalize was called before this");
    adz_scope_close(scope);
}

/* MPI is initialised by the first call and finalised with the last group. */
static void world(void)
{
    int flag;
    check(adz_mpi_group_new(MPI_COMM_WORLD) == NULL);
    expect(ADZ_ERR_STATE, "MPI is not initialised");
    adz_group *group = adz_mpi_group_world(), *second = adz_mpi_group_world();
    collectives(group);
    collectives(second);
    adz_group_free(&group);
    MPI_Finalized(&flag);
    check(!flag);
    adz_group_free(&second);
    MPI_Finalized(&flag);
    check(flag);
    check(adz_mpi_group_world() == NULL);
    expect(ADZ_ERR_STATE, "MPI cannot be started again");
}

/* A program that has called MPI_Init alone. */
static void single(void)
{
    int level;
    MPI_Init(NULL, NULL);
    MPI_Query_thread(&level);
    adz_set_num_threads(2);
    adz_group *group = adz_mpi_group_new(MPI_COMM_WORLD);
    if (level == MPI_THREAD_SINGLE) {
        check(group == NULL);
        expect(ADZ_ERR_STATE, "MPI_THREAD_FUNNELED");
        adz_set_num_threads(1);
        group = adz_mpi_group_new(MPI_COMM_WORLD);
    }
    collectives(group);
    adz_group_free(&group);
    MPI_Finalize();
}

/* The last rank ends its group while the others wait for it. */
static void leaves(void)
{
    adz_group *group = adz_mpi_group_world();
    if (adz_group_rank(group) != adz_group_size(group) - 1) {
        check(adz_group_barrier(group) == ADZ_ERR_STATE);
        expect(ADZ_ERR_STATE, "adz_group_free");
    }
    adz_group_free(&group);
}

/* The last rank ends all processes; or returns from main, which the launcher notices. */
static int fail(bool aborts)
{
    adz_group *group = adz_mpi_group_world();
    if (adz_group_rank(group) == adz_group_size(group) - 1) {
        if (!aborts) {
            return 1;
        }
        adz_error_set("the program", ADZ_ERR_NUMERIC, "the loss is NaN");
        adz_group_abort(group, 7, NULL);
    }
    adz_group_barrier(group);
    return 0;
}

int main(int argc, char **argv)
{
    const char *scenario = argc > 1 ? argv[1] : "";
    if (strcmp(scenario, "abort") == 0 || strcmp(scenario, "exits") == 0) {
        return fail(strcmp(scenario, "abort") == 0);
    }
    if (strcmp(scenario, "world") == 0) {
        world();
    } else if (strcmp(scenario, "single") == 0) {
        single();
    } else if (strcmp(scenario, "leaves") == 0) {
        leaves();
    } else if (strcmp(scenario, "finalized") == 0) {
        start_mpi(&argc, &argv);
        finalized();
    } else if (strcmp(scenario, "communicators") == 0) {
        start_mpi(&argc, &argv);
        communicators();
        MPI_Finalize();
    } else if (strcmp(scenario, "collectives") == 0 || strcmp(scenario, "faults") == 0) {
        start_mpi(&argc, &argv);
        adz_group *group = adz_mpi_group_new(MPI_COMM_WORLD);
        (strcmp(scenario, "faults") == 0 ? one_fails : collectives)(group);
        adz_group_free(&group);
        check(adz_error_code() == ADZ_OK);
        MPI_Finalize();
    } else {
        fprintf(stderr, "usage: test_mpi SCENARIO\n");
        return 2;
    }
    return failures > 0;
}
