/* bench-parallel: a step of data-parallel training, and what it is made of.
 *
 *     mpirun -n RANKS bench-parallel [--model gpt2|w3] [OPTION...]
 *
 * A round measures, one after the other: steps of the training; `compute`, in which every rank
 * computes its micro-batches alone while the others do so too; and `send`, which sends gradients
 * that nobody computes. A time is that of the slowest rank, from a barrier on. Rank 0 prints one
 * line of JSON, with the median of each round's steps.
 *
 * With --turns PREFIX a round of steps runs for each line that every rank reads from the file
 * PREFIX.RANK, and each round prints a line. Meanwhile the ranks sleep, so that several programs
 * can take turns. --interface eth0 counts the bytes that this interface sends. --group none is the
 * loop of a program without data-parallel training, --group single a group of one rank without MPI.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adze/mpi.h"
#include "trainer.h"

enum { WORLD, SINGLE, NONE };
enum { MOST_ROUNDS = 1000, MOST_STEPS = 1000 };

typedef struct {
    settings s;
    int64_t rounds;
    int kind; /* WORLD, SINGLE or NONE */
    bool no_compute, no_send;
    const char *turns, *interface;
} plan;

/* What a round has measured, each the median of its steps. */
typedef struct {
    double step, gradients, optimizer, compute, first, send, processor, wire;
} result;

static adz_group *group;

static void die(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    if (group != NULL) {
        adz_group_abort(group, 1, message);
    }
    fprintf(stderr, "bench-parallel: %s\n", message);
    exit(EXIT_FAILURE);
}

/* ---- over all ranks ------------------------------------------------------------------------- */

static void over_ranks(double *values, int count, adz_group_op op)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = adz_empty(ADZ_SHAPE(count), ADZ_F64);
    memcpy(adz_tensor_data_f64(t), values, (size_t)count * sizeof *values);
    adz_group_all_reduce(group, t, op);
    memcpy(values, adz_tensor_data_f64(t), (size_t)count * sizeof *values);
    adz_scope_close(scope);
}

/* ---- a round -------------------------------------------------------------------------------- */

typedef struct {
    double gradients[MOST_STEPS], optimizer[MOST_STEPS], first[MOST_STEPS], whole[MOST_STEPS];
} series;

static double median(double *values, int64_t count)
{
    return timing_of(values, (int)count).median;
}

/* Steps of a trainer. Barriers between them, so that no rank starts ahead. */
static void run_steps(trainer *t, int64_t steps, bool updates, series *out)
{
    for (int64_t i = 0; i < steps; ++i) {
        adz_group_barrier(group);
        const times one = updates ? trainer_step(t) : trainer_gradients(t);
        double all[] = { one.gradients, one.optimizer, one.first, one.gradients + one.optimizer };
        over_ranks(all, 4, ADZ_GROUP_MAX);
        out->gradients[i] = all[0];
        out->optimizer[i] = all[1];
        out->first[i] = all[2];
        out->whole[i] = all[3];
    }
}

static double measure_send(trainer *t, int64_t steps)
{
    double seconds[MOST_STEPS];
    for (int64_t i = 0; i < steps; ++i) {
        adz_group_barrier(group);
        seconds[i] = trainer_send(t);
        over_ranks(&seconds[i], 1, ADZ_GROUP_MAX);
    }
    return median(seconds, steps);
}

/* Bytes that a network interface has sent, as the kernel counts them; 0 without one. */
static double wire_bytes(const char *interface)
{
    char path[256];
    long long bytes = 0;
    if (interface == NULL) {
        return 0;
    }
    snprintf(path, sizeof path, "/sys/class/net/%s/statistics/tx_bytes", interface);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%lld", &bytes) != 1) {
        die(ADZ_ERR_IO, path, NULL);
    }
    fclose(file);
    return (double)bytes;
}

static result run_round(trainer *together, trainer *alone, const plan *p)
{
    static series s;
    const int64_t steps = p->s.steps;
    result r = { 0 };
    adz_group_barrier(group);
    const double before = processor_time(), wire = wire_bytes(p->interface);
    run_steps(together, steps, true, &s);
    r.processor = (processor_time() - before) / (double)steps;
    r.wire = (wire_bytes(p->interface) - wire) / (double)steps;
    over_ranks(&r.processor, 1, ADZ_GROUP_SUM);
    over_ranks(&r.wire, 1, ADZ_GROUP_MAX);
    r.step = median(s.whole, steps);
    r.gradients = median(s.gradients, steps);
    r.optimizer = median(s.optimizer, steps);
    if (alone->module != NULL) {
        run_steps(alone, steps, false, &s);
        r.compute = median(s.gradients, steps);
        r.first = median(s.first, steps);
    }
    if (together->parallel != NULL && !p->no_send) {
        r.send = measure_send(together, steps);
    }
    return r;
}

/* ---- output --------------------------------------------------------------------------------- */

static void print_list(const char *name, const result *r, int64_t rounds, size_t offset)
{
    printf(", \"%s\": [", name);
    for (int64_t i = 0; i < rounds; ++i) {
        const double value = *(const double *)(const void *)((const char *)&r[i] + offset);
        printf("%s%.6g", i > 0 ? ", " : "", value);
    }
    putchar(']');
}

static void print_results(const result *r, int64_t rounds)
{
    print_list("step", r, rounds, offsetof(result, step));
    print_list("gradients", r, rounds, offsetof(result, gradients));
    print_list("optimizer", r, rounds, offsetof(result, optimizer));
    print_list("compute", r, rounds, offsetof(result, compute));
    print_list("first", r, rounds, offsetof(result, first));
    print_list("send", r, rounds, offsetof(result, send));
    print_list("processor", r, rounds, offsetof(result, processor));
    print_list("wire", r, rounds, offsetof(result, wire));
}

/* The bytes of gradients that the busiest rank sends in a step, with the least possible. */
static void print_bytes(const trainer *t)
{
    const int ranks = adz_group_size(group);
    const double gradients = (double)trainer_gradient_bytes(t);
    const double least = 2.0 * (ranks - 1) / ranks * gradients;
    double sent = t->parallel != NULL ? (double)adz_data_parallel_bytes_sent(t->parallel) : 0;
    over_ranks(&sent, 1, ADZ_GROUP_MAX);
    if (adz_group_rank(group) == 0) {
        printf(", \"parameters\": %lld, \"gradient_bytes\": %.0f, \"sent\": %.0f, \"least\": %.0f",
            (long long)adz_module_numel(t->module), gradients, sent, least);
        printf(", \"sent_ratio\": %.4f", least > 0 ? sent / least : 0);
    }
}

/* Bytes on this machine's heap that the optimizer's first step has taken and kept. */
static double live_bytes(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return (double)info.live_bytes;
}

static void print_moments(double bytes)
{
    double most = bytes, all = bytes;
    over_ranks(&most, 1, ADZ_GROUP_MAX);
    over_ranks(&all, 1, ADZ_GROUP_SUM);
    if (adz_group_rank(group) == 0) {
        printf(", \"moments\": %.0f, \"moments_of_all\": %.0f", most, all);
    }
}

/* ---- running -------------------------------------------------------------------------------- */

/* A round for each line of this rank's file, until it ends. */
static void take_turns(trainer *t, const plan *p)
{
    char path[1000], line[100];
    snprintf(path, sizeof path, "%s.%d", p->turns, adz_group_rank(group));
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        die(ADZ_ERR_IO, path, NULL);
    }
    trainer none = { .module = NULL };
    while (fgets(line, sizeof line, file) != NULL) {
        const result r = run_round(t, &none, p);
        if (adz_group_rank(group) == 0) {
            printf("{\"step\": %.6g, \"processor\": %.6g}\n", r.step, r.processor);
            fflush(stdout);
        }
    }
    fclose(file);
}

static void run_rounds(trainer *together, trainer *alone, const plan *p, double moments)
{
    static result results[MOST_ROUNDS];
    run_round(together, alone, p); /* warm-up */
    for (int64_t i = 0; i < p->rounds; ++i) {
        results[i] = run_round(together, alone, p);
    }
    trainer_step(together); /* whose bytes are printed */
    if (adz_group_rank(group) == 0) {
        printf("{\"ranks\": %d, \"micro_batches\": %lld, \"rows\": %lld", adz_group_size(group),
            (long long)p->s.micro_batches, (long long)p->s.rows);
    }
    print_bytes(together);
    print_moments(moments);
    if (adz_group_rank(group) == 0) {
        print_results(results, p->rounds);
        puts("}");
    }
}

static void run(const plan *p)
{
    const settings *s = &p->s;
    const int ranks = adz_group_size(group), rank = adz_group_rank(group);
    trainer together, alone = { .module = NULL };
    trainer_begin(&together, s, p->kind == NONE ? NULL : group, s->rows, s->micro_batches);
    trainer_gradients(&together);
    const double before = live_bytes();
    trainer_add_optimizer(&together);
    trainer_step(&together);
    const double moments = live_bytes() - before;
    const int first = (int)adz_loader_cut(s->micro_batches, ranks, rank);
    const int end = (int)adz_loader_cut(s->micro_batches, ranks, rank + 1);
    adz_group *single = adz_group_single();
    if (p->kind != NONE && !p->no_compute && p->turns == NULL) {
        const int parts = (int)s->micro_batches;
        trainer_begin(&alone, s, single,
            adz_loader_cut(s->rows, parts, end) - adz_loader_cut(s->rows, parts, first),
            end - first);
        trainer_gradients(&alone);
    }
    if (p->turns != NULL) {
        take_turns(&together, p);
    } else {
        run_rounds(&together, &alone, p, moments);
    }
    trainer_end(&together);
    trainer_end(&alone);
    adz_group_free(&single);
}

static bool read_plan(int argc, char **argv, plan *p)
{
    static const char *const models[] = { "gpt2", "w3", NULL };
    static const char *const optimizers[] = { "adamw", "sgd", NULL };
    static const char *const kinds[] = { "world", "single", "none", NULL };
    settings *s = &p->s;
    const option options[] = { { "model", A_WORD, &s->model, 0, 0, models },
        { "layers", AN_INTEGER, &s->layers, 1, 1000, NULL },
        { "width", AN_INTEGER, &s->width, 1, 1e5, NULL },
        { "heads", AN_INTEGER, &s->heads, 1, 1000, NULL },
        { "context", AN_INTEGER, &s->context, 1, 1e5, NULL },
        { "vocabulary", AN_INTEGER, &s->vocabulary, 1, 1e6, NULL },
        { "rows", AN_INTEGER, &s->rows, 1, 1e6, NULL },
        { "micro-batches", AN_INTEGER, &s->micro_batches, 1, 4096, NULL },
        { "threads", AN_INTEGER, &s->threads, 1, 256, NULL },
        { "bucket", AN_INTEGER, &s->bucket, 1, 1e10, NULL },
        { "steps", AN_INTEGER, &s->steps, 1, MOST_STEPS, NULL },
        { "rounds", AN_INTEGER, &p->rounds, 1, MOST_ROUNDS, NULL },
        { "optimizer", A_WORD, &s->optimizer, 0, 0, optimizers },
        { "shard", A_FLAG, &s->shard, 0, 0, NULL }, { "fast", A_FLAG, &s->fast, 0, 0, NULL },
        { "group", A_WORD, &p->kind, 0, 0, kinds },
        { "no-compute", A_FLAG, &p->no_compute, 0, 0, NULL },
        { "no-send", A_FLAG, &p->no_send, 0, 0, NULL }, { "turns", A_TEXT, &p->turns, 0, 0, NULL },
        { "interface", A_TEXT, &p->interface, 0, 0, NULL }, { NULL, A_FLAG, NULL, 0, 0, NULL } };
    return read_options(argc - 1, argv + 1, options, NULL);
}

int main(int argc, char **argv)
{
    static const settings usual = { .layers = 6,
        .width = 384,
        .heads = 6,
        .context = 128,
        .vocabulary = 256,
        .rows = 16,
        .micro_batches = 8,
        .threads = 1,
        .bucket = 25 << 20,
        .steps = 3 };
    plan p = { .s = usual, .rounds = 5 };
    if (!read_plan(argc, argv, &p)) {
        return EXIT_FAILURE;
    }
    adz_on_error(die, NULL);
    adz_set_num_threads((int)p.s.threads);
    group = p.kind == WORLD ? adz_mpi_group_world() : adz_group_single();
    run(&p);
    adz_group_free(&group);
    return EXIT_SUCCESS;
}
