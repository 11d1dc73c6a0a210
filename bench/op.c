/* adze-bench op: one operator, or all, forward, recorded, and with its backward. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "operations.h"

enum { COLUMNS = 64, MOST_CALLS = 2000 };
static const double SAMPLE = 1e-4; /* seconds */

typedef struct {
    const operation *op;
    operands *in;
    adz_tensor *upstream; /* NULL: no backward */
} op_work;

static void run_op(void *user)
{
    op_work *w = user;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = w->op->call(w->in);
    if (w->upstream != NULL) {
        adz_autograd_backward(&y, &w->upstream, 1, NULL);
        operands_forget(w->in);
    }
    adz_scope_close(scope);
}

/* Nanoseconds of a call. */
static double nanoseconds(op_work *w)
{
    run_op(w);
    double start = now();
    run_op(w);
    double calls = SAMPLE / (now() - start);
    timing t = measure(run_op, w, calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : (int)calls);
    return t.median * 1e9;
}

static void report(const operation *op, operands *in, int64_t size, bool json)
{
    op_work w = { .op = op, .in = in };
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = op->call(in);
    bool backward = adz_tensor_requires_grad(y);
    adz_set_grad_enabled(false);
    double forward = nanoseconds(&w);
    adz_set_grad_enabled(true);
    double recorded = nanoseconds(&w), both = recorded;
    if (backward) {
        w.upstream = adz_ones_like(adz_detach(y));
        both = nanoseconds(&w);
    }
    adz_scope_close(scope);
    printf(
        json
            ? "{\"op\": \"%s\", \"size\": %lld, \"forward_ns\": %.1f, \"recorded_ns\": %.1f, \"with_backward_ns\": %.1f}\n"
            : "%s over %lld elements: %.1f ns, recorded %.1f ns, with backward %.1f ns\n",
        op->name, (long long)size, forward, recorded, both);
    fflush(stdout);
}

int bench_op(int argc, char **argv)
{
    int64_t size = 1024, threads = 1;
    bool json = false, known = false;
    const char *name = "";
    const option options[] = { { "size", AN_INTEGER, &size, COLUMNS, 1e9, NULL },
        { "threads", AN_INTEGER, &threads, 1, 256, NULL }, { "json", A_FLAG, &json, 0, 0, NULL },
        { NULL, A_FLAG, NULL, 0, 0, NULL } };
    if (!read_options(argc, argv, options, &name)) {
        return EXIT_FAILURE;
    }
    adz_set_num_threads((int)threads);
    operands in = operands_begin(size / COLUMNS, COLUMNS);
    for (size_t i = 0; i < n_operations; ++i) {
        if (strcmp(name, "all") == 0 || strcmp(operations[i].name, name) == 0) {
            report(&operations[i], &in, size / COLUMNS * COLUMNS, json);
            known = true;
        }
    }
    operands_end(&in);
    if (!known) {
        fprintf(stderr, "adze-bench: no operator '%s' here; there are all,", name);
        for (size_t i = 0; i < n_operations; ++i) {
            fprintf(stderr, " %s%s", operations[i].name, i + 1 < n_operations ? "," : "\n");
        }
    }
    return known ? EXIT_SUCCESS : EXIT_FAILURE;
}
