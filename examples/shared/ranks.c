/* The group of processes that a launcher has started. WITH_MPI is defined if the build has
 * libadze-mpi. */
#define _GNU_SOURCE
#include "ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <adze/mpi.h>
#endif

#include "files.h"
#include "interrupt.h"
#include "progress.h"

static adz_group *group; /* NULL before open_ranks and after finish_output */

adz_group *group_of_ranks(void)
{
    return group;
}

int count_ranks(void)
{
    return group != NULL ? adz_group_size(group) : 1;
}

bool is_first_rank(void)
{
    return group == NULL || adz_group_rank(group) == 0;
}

/* ---- what the launcher says ----------------------------------------------------------------- */

/* A whole number at the beginning of a variable of the environment; `otherwise` without it. */
static long variable(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text != NULL && *text >= '0' && *text <= '9' ? strtol(text, NULL, 10) : otherwise;
}

/* Open MPI's mpirun sets the first variable; that of MPICH, and Slurm's srun, the second one; srun
 * --mpi=pmix and other launchers that speak PMIx, the third one. MPI_Init takes time and may fail
 * on a machine without a network, so that a program without a launcher does not call it. */
static bool is_launched(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMI_RANK") != NULL ||
           getenv("PMIX_RANK") != NULL;
}

int64_t threads_of_rank(void)
{
    long neighbours = variable("OMPI_COMM_WORLD_LOCAL_SIZE",
        variable("MPI_LOCALNRANKS", variable("SLURM_TASKS_PER_NODE", 1)));
    if (!is_launched() || neighbours < 2) {
        return 0;
    }
    long share = sysconf(_SC_NPROCESSORS_ONLN) / neighbours;
    long allowed = adz_get_num_threads(); /* fewer if the launcher has bound this process */
    share = share < allowed ? share : allowed;
    return share > 1 ? share : 1;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Rank 0 has probably failed for the same reason, and ends this process before the time is over.
 * Thus a message that all ranks have is printed once. */
static void wait_for_first(void)
{
    const struct timespec grace = { 2, 0 };
    stop_listening();
    nanosleep(&grace, NULL);
}

/* Ends all ranks. If `message` is NULL it was printed already. */
static void end_all(int code, const char *message)
{
    if (!is_first_rank()) {
        wait_for_first();
    }
    if (message != NULL) {
        adz_group_abort(group, code, message);
    }
#ifdef WITH_MPI
    usleep(100000); /* MPICH's launcher forgets what it has not yet read from its processes */
    MPI_Abort(MPI_COMM_WORLD, code);
#endif
}

static void leave(void)
{
    adz_group_free(&group);
}

/* ---- the beginning -------------------------------------------------------------------------- */

/* With the launcher of another MPI each process is rank 0 of 1, and all would write the same files.
 */
static void check_launcher(void)
{
    long wanted = variable("OMPI_COMM_WORLD_SIZE", variable("PMI_SIZE", 1));
    if (count_ranks() > 1 || wanted == 1) {
        return;
    }
#ifdef WITH_MPI
    fail(
        "the launcher has started %ld processes, but they do not know each other: this program needs the launcher of %s",
        wanted,
#ifdef OPEN_MPI
        "Open MPI (mpirun.openmpi, or mpirun)"
#else
        "MPICH (mpirun.mpich, or mpiexec)"
#endif
    );
#else
    fail(
        "the launcher has started %ld processes, but this program was built without MPI; install libopenmpi-dev or libmpich-dev and build it again",
        wanted);
#endif
}

void open_ranks(void)
{
#ifdef WITH_MPI
    bool launched = is_launched();
    group = launched ? adz_mpi_group_world() : adz_group_single();
#else
    bool launched = false;
    group = adz_group_single();
#endif
    if (group == NULL) {
        fail("%s", adz_error_message());
    }
    check_launcher();
    if (launched) {
        progress_in_lines();
        set_processes(&(processes){ is_first_rank(), end_all, leave });
    } else {
        set_processes(&(processes){ true, NULL, leave });
    }
    if (!is_first_rank() && freopen("/dev/null", "w", stdout) == NULL) {
        fail("/dev/null: %s", strerror(errno));
    }
}

/* ---- micro-batches -------------------------------------------------------------------------- */

int64_t default_micro_batches(void)
{
    return is_launched() ? 8 : 1;
}

void check_micro_batches(int64_t micro_batches, int64_t rows)
{
    long long m = micro_batches, n = rows;
    if (count_ranks() > micro_batches) {
        usage_error("--micro-batches %lld: there are %d ranks, and each needs at least one of them",
            m, count_ranks());
    }
    if (rows < micro_batches) {
        usage_error(
            "--micro-batches %lld: a batch of %lld row%s cannot be cut into so many; give --micro-batches up to %lld, or batches of more rows",
            m, n, plural(rows), n);
    }
}

void print_ranks(int64_t micro_batches)
{
    int ranks = count_ranks();
    if (ranks > 1 || micro_batches > 1) {
        printf("%d rank%s; %lld micro-batch%s\n", ranks, plural(ranks), (long long)micro_batches,
            micro_batches == 1 ? "" : "es");
    }
}

adz_data_parallel *new_parallel(adz_module *network, int64_t micro_batches, int64_t seed, bool fast)
{
    adz_data_parallel_options p = ADZ_DATA_PARALLEL_OPTIONS;
    p.micro_batches = (int)micro_batches;
    p.seed = (uint64_t)seed;
    p.fast = fast;
    return adz_data_parallel_new(group, network, &p);
}

steps *new_whole_steps(
    step_function step, void *user, size_t tensors, bool capture, bool is_divided)
{
    const bool whole = count_ranks() == 1 && !is_divided;
    if (capture && !whole) {
        puts(
            "the training is divided into parts, so its steps are not captured, and each is made anew");
    }
    return capture && whole ? new_steps(step, user, tensors, true) : NULL;
}

double make_whole_step(
    steps *s, adz_data_parallel *parallel, int64_t step, adz_tensor *const *batch)
{
    adz_micro_batch whole;
    adz_data_parallel_begin(parallel, step, adz_tensor_size(batch[0], 0));
    adz_data_parallel_next(parallel, &whole);
    const double loss = adz_item(make_step(s, batch));
    adz_data_parallel_leave(parallel);
    return loss;
}

static double gradient_bytes(adz_module *network)
{
    adz_tensor_list all = adz_module_parameters(network);
    double bytes = 0;
    for (size_t i = 0; i < all.count; ++i) {
        bytes += (double)adz_tensor_numel(all.items[i]) *
                 (double)adz_dtype_size(adz_tensor_dtype(all.items[i]));
    }
    return bytes;
}

void print_traffic(adz_data_parallel *parallel, adz_module *network)
{
    if (count_ranks() == 1) {
        return;
    }
    adz_scope *scope = adz_scope_open();
    adz_tensor *sent = adz_scalar((double)adz_data_parallel_bytes_sent(parallel), ADZ_F64);
    adz_group_all_reduce(group, sent, ADZ_GROUP_MAX);
    double most = adz_item(sent), all = gradient_bytes(network);
    if (most > 0) {
        printf("sent in a step: %.3g MB at most by a rank, %.2f times the gradients\n", most / 1e6,
            most / all);
    }
    adz_scope_close(scope);
}

/* ---- decisions ------------------------------------------------------------------------------ */

void compare_texts(const char *what, const char *text)
{
    if (count_ranks() > 1) {
        adz_group_agree(group, what, text);
    }
}

void compare_bytes(const char *what, const void *bytes, size_t size)
{
    char text[64];
    uint64_t sum = 0xcbf29ce484222325; /* FNV-1a */
    if (count_ranks() == 1) {
        return;
    }
    for (size_t i = 0; i < size; ++i) {
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    }
    snprintf(text, sizeof text, "%zu bytes with the hash %016llx", size, (unsigned long long)sum);
    compare_texts(what, text);
}

void compare_file(const char *option, const char *path)
{
    size_t size = 0;
    if (count_ranks() > 1) {
        char *bytes = path != NULL ? read_whole_file(path, &size) : copy_text("");
        compare_bytes(option, bytes, size);
        free(bytes);
    }
}

void compare_options(const argument *table, size_t n)
{
    char name[64], value[64];
    for (size_t i = 0; i < n; ++i) {
        const argument *a = &table[i];
        if (a->kind != ARGUMENT_TEXT && a->kind != ARGUMENT_READ &&
            strcmp(a->name, "threads") != 0) {
            snprintf(name, sizeof name, "--%s", a->name);
            compare_texts(name, argument_text(a, value, sizeof value));
        }
    }
}

/* The ranks ask each other at the same call, because each proposes how many calls to wait, and the
 * largest proposal holds for all. */
bool is_any_interrupted(void)
{
    static int64_t calls = 1, period = 1;
    static double asked;
    if (count_ranks() == 1) {
        return is_interrupted();
    }
    if (--calls > 0) {
        return false;
    }
    double now = seconds_now(), each = (now - asked) / (double)period;
    double proposal = asked > 0 && each > 0 ? 0.05 / each : 1;
    double numbers[] = { interrupt_code(), proposal < 1 ? 1 : proposal < 1e4 ? proposal : 1e4 };
    adz_scope *scope = adz_scope_open();
    adz_tensor *all = adz_tensor_from(numbers, ADZ_SHAPE(2), ADZ_F64);
    adz_group_all_reduce(group, all, ADZ_GROUP_MAX);
    adz_tensor_read(all, numbers, sizeof numbers);
    adz_scope_close(scope);
    calls = period = (int64_t)numbers[1];
    asked = now;
    if (numbers[0] != 0) {
        take_interrupt((int)numbers[0]);
    }
    return numbers[0] != 0;
}
