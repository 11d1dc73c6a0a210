#ifndef elem
#define THIS_FILE "autograd/ops/loss/nll_loss.kernel.c"
#include "autograd/ops/loss/class_target.h"
#include "tensor/kernel/each_float.h"
#else

/* Row r is (n, l) of x[N, C, L]: the loss -w_y x_y of its class y. */
void KERNEL(nll_loss)(const void *block, int64_t begin, int64_t end);
void KERNEL(nll_loss)(const void *block, int64_t begin, int64_t end)
{
    const adzi_class_args *args = block;
    const elem *x = args->x, *w = args->weight;
    elem *losses = args->losses;
    for (int64_t r = begin; r < end; ++r) {
        int64_t y = args->target[r];
        if (y == args->ignore_index) {
            losses[r] = 0;
        } else {
            elem value = x[(r / args->l * args->c + y) * args->l + r % args->l];
            losses[r] = w != NULL ? -w[y] * value : -value;
        }
    }
}

#endif
