/* Computes the mean loss of a network on the validation part of the text. */
#include "validation.h"

#include <stdlib.h>

/* The sum of the losses of rows of `length` tokens that begin at `starts`. */
static double loss_of_rows(
    adz_module *network, const part *p, const int64_t *starts, int64_t rows, int64_t length)
{
    adz_scope *scope = adz_scope_open();
    adz_values *results = adz_values_new();
    adz_tensor *x = gather(p, starts, rows, length);
    part next = { p->ids + 1, p->n - 1 };
    adz_tensor *scores = run_network(network, x, results);
    double loss = adz_item(loss_of(scores, gather(&next, starts, rows, length)));
    adz_values_free(&results);
    adz_scope_close(scope);
    return loss * (double)(rows * length);
}

/* The sum of the losses over windows that follow each other. The rest of the text is a shorter
 * window. */
static double sum_windows(const options *o, adz_module *network, const part *p, int64_t *starts)
{
    int64_t windows = (p->n - 1) / o->context, rest = (p->n - 1) % o->context;
    double sum = 0;
    for (int64_t first = 0; first < windows; first += o->batch) {
        int64_t rows = windows - first < o->batch ? windows - first : o->batch;
        for (int64_t r = 0; r < rows; ++r) {
            starts[r] = (first + r) * o->context;
        }
        sum += loss_of_rows(network, p, starts, rows, o->context);
    }
    starts[0] = windows * o->context;
    return rest > 0 ? sum + loss_of_rows(network, p, starts, 1, rest) : sum;
}

/* The sum of the losses over equal streams, each read to its end. The rest of the text is one more
 * stream. */
static double sum_streams(const options *o, adz_module *network, const part *p, int64_t *starts)
{
    int64_t length = (p->n - 1) / o->batch, rest = (p->n - 1) % o->batch;
    double sum = 0;
    for (int64_t at = 0; at < length; at += o->context) {
        for (int64_t r = 0; r < o->batch; ++r) {
            starts[r] = r * length + at;
        }
        int64_t n = length - at < o->context ? length - at : o->context;
        sum += loss_of_rows(network, p, starts, o->batch, n);
    }
    adz_module_reset(network);
    starts[0] = o->batch * length;
    return rest > 0 ? sum + loss_of_rows(network, p, starts, 1, rest) : sum;
}

double validate(const options *o, adz_module *network, const part *p)
{
    bool carrying = is_carrying(o), training = adz_module_is_training(network);
    adz_module *used = carrying ? adz_module_copy(network) : adz_module_keep(network);
    int64_t *starts = allocate((size_t)o->batch * sizeof *starts);
    bool grad = adz_set_grad_enabled(false);
    adz_module_eval(used);
    adz_module_reset(used);
    double sum = carrying ? sum_streams(o, used, p, starts) : sum_windows(o, used, p, starts);
    adz_module_train(used, training);
    adz_set_grad_enabled(grad);
    free(starts);
    adz_module_release(&used);
    return sum / (double)(p->n - 1);
}
