/* Kernel of nll_loss: the loss of each target from log-probabilities x[N, C, L].
 *
 *     losses[r] = -w_y x[n, y, l],   y = target[r],   r = n L + l
 *
 * A unit is one target r. The loss is 0 where the target is ignore_index. w are the weights of the
 * classes, or NULL for 1. Each unit reads a single element of x, so there is nothing to vectorise.
 * The reduction and the backward are compositions of other kernels (nll_loss.c).
 */
#ifndef elem
#define THIS_FILE "ops/loss/nll_loss.kernel.c"
#include "ops/loss/class_target.h"
#include "tensor/kernel/each_float.h"
#else

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
