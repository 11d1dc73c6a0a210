/* adze-bench op: one operator, forward, recorded, and with its backward. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct {
    const char *name;
    adz_tensor *(*call)(adz_tensor *a, adz_tensor *b);
} operation;

static adz_tensor *call_relu(adz_tensor *a, adz_tensor *b)
{
    (void)b;
    return adz_relu(a);
}

static adz_tensor *call_sum(adz_tensor *a, adz_tensor *b)
{
    (void)b;
    return adz_sum(a, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static adz_tensor *call_mse(adz_tensor *a, adz_tensor *b)
{
    return adz_mse_loss(a, b, ADZ_REDUCE_MEAN);
}

static adz_tensor *call_dropout(adz_tensor *a, adz_tensor *b)
{
    (void)b;
    return adz_dropout(a, 0.1, true, NULL);
}

static const operation operations[] = { { "add", adz_add }, { "mul", adz_mul },
    { "relu", call_relu }, { "sum", call_sum }, { "mse_loss", call_mse },
    { "dropout", call_dropout } };

typedef struct {
    const operation *op;
    adz_tensor *a, *b, *upstream;
    bool backward;
} op_work;

static void run_op(void *user)
{
    op_work *w = user;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = w->op->call(w->a, w->b);
    if (w->backward) {
        adz_backward_with(&y, &w->upstream, 1, NULL);
        adz_tensor_set_grad(w->a, ADZ_NONE);
    }
    adz_scope_close(scope);
}

int bench_op(int argc, char **argv)
{
    int64_t size = 1024;
    bool json = false;
    const char *name = "";
    const option options[] = { { "size", AN_INTEGER, &size, 1, 1e9, NULL },
        { "json", A_FLAG, &json, 0, 0, NULL }, { NULL, A_FLAG, NULL, 0, 0, NULL } };
    if (!read_options(argc, argv, options, &name)) {
        return EXIT_FAILURE;
    }
    op_work w = { .op = NULL };
    for (size_t i = 0; i < sizeof operations / sizeof *operations; ++i) {
        w.op = strcmp(operations[i].name, name) == 0 ? &operations[i] : w.op;
    }
    if (w.op == NULL) {
        fprintf(stderr,
            "adze-bench: no operator '%s' here; there are add, mul, relu, sum, mse_loss, dropout\n",
            name);
        return EXIT_FAILURE;
    }
    w.a = adz_requires_grad_(adz_keep(adz_randn(ADZ_SHAPE(size), ADZ_F32)), true);
    w.b = adz_keep(adz_randn(ADZ_SHAPE(size), ADZ_F32));
    w.upstream = adz_keep(adz_ones_like(w.op->call(w.a, w.b)));
    int calls = size < 4096 ? 2000 : size < 1 << 20 ? 20 : 2;
    adz_set_grad_enabled(false);
    timing plain = measure(run_op, &w, calls);
    adz_set_grad_enabled(true);
    timing recorded = measure(run_op, &w, calls);
    w.backward = true;
    timing both = measure(run_op, &w, calls);
    printf(json ? "{\"op\": \"%s\", \"size\": %lld, \"forward_ns\": %.1f, \"recorded_ns\": %.1f, "
                  "\"with_backward_ns\": %.1f}\n"
                : "%s over %lld elements: %.1f ns, recorded %.1f ns, with backward %.1f ns\n",
        name, (long long)size, plain.median * 1e9, recorded.median * 1e9, both.median * 1e9);
    adz_release(&w.a);
    adz_release(&w.b);
    adz_release(&w.upstream);
    return EXIT_SUCCESS;
}
