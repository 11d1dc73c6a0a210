/* adze-bench deep: a chain of additions, forward, backward and freeing. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

int bench_deep(int argc, char **argv)
{
    int64_t ops = 1000000;
    bool json = false;
    const option options[] = { { "ops", AN_INTEGER, &ops, 1, 1e9, NULL },
        { "json", A_FLAG, &json, 0, 0, NULL }, { NULL, A_FLAG, NULL, 0, 0, NULL } };
    if (!read_options(argc, argv, options, NULL)) {
        return EXIT_FAILURE;
    }
    double best[3] = { 1e9, 1e9, 1e9 };
    adz_memory_info info;
    for (int round = 0; round < 5; ++round) {
        adz_scope *scope = adz_scope_open();
        double start = now();
        adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(1), ADZ_F32), true), *h = x;
        adz_tensor *step = adz_full(ADZ_SHAPE(1), 1e-6, ADZ_F32);
        for (int64_t i = 0; i < ops; ++i) {
            h = adz_add(h, step);
        }
        double forward = now();
        adz_backward(h);
        double backward = now();
        adz_get_memory_info(&info, sizeof info);
        double closing = now();
        adz_scope_close(scope);
        double end = now();
        double parts[] = { forward - start, backward - forward, end - closing };
        for (int i = 0; i < 3; ++i) {
            best[i] = parts[i] < best[i] ? parts[i] : best[i];
        }
    }
    double scale = 1e9 / (double)ops;
    printf(
        json
            ? "{\"bench\": \"deep\", \"ops\": %lld, \"forward_ns\": %.0f, \"backward_ns\": %.0f, \"free_ns\": %.0f, \"total_ns\": %.0f, \"bytes_per_op\": %.0f}\n"
            : "%lld operators deep: forward %.0f ns each, backward %.0f, freeing %.0f, together %.0f; %.0f bytes each at the peak\n",
        (long long)ops, best[0] * scale, best[1] * scale, best[2] * scale,
        (best[0] + best[1] + best[2]) * scale, (double)info.peak_bytes / (double)ops);
    return EXIT_SUCCESS;
}
