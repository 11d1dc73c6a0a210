#include "ops/shape/list.h"

/* Stacks sequences of several lengths, torch.nn.utils.rnn.pad_sequence. A composition: each
 * sequence is padded to the longest length, and stack joins them. */

/* The longest length, or -1 with the error recorded: sequences have one dtype, and the same sizes
 * but for the first. */
static int64_t longest(adz_tensor *const *sequences, size_t n)
{
    static const char op[] = "pad_sequence";
    int64_t most = 0;
    if (!adzi_check_list(op, sequences, n)) {
        return -1;
    }
    const adz_tensor *first = sequences[0];
    for (size_t i = 0; i < n; ++i) {
        const adz_tensor *x = sequences[i];
        bool fits = x->rank > 0 && x->rank == first->rank;
        for (int d = 1; d < x->rank && fits; ++d) {
            fits = x->sizes[d] == first->sizes[d];
        }
        if (!fits) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "sequence %zu%s must have a dimension of time and the other sizes of the first, %s",
                i, adzi_text_shape(x), adzi_text_shape(first));
            return -1;
        }
        if (x->dtype != first->dtype) {
            adzi_error(op, ADZ_ERR_DTYPE, "sequence %zu is %s, but the first is %s; use adz_to", i,
                adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)first->dtype));
            return -1;
        }
        most = x->sizes[0] > most ? x->sizes[0] : most;
    }
    return most;
}

/* A sequence of the longest length is not copied before it is stacked. */
adz_tensor *adz_pad_sequence(
    adz_tensor *const *sequences, size_t n, bool batch_first, double value, bool left)
{
    ADZI_COMPOSED();
    const int64_t most = longest(sequences, n);
    if (most < 0) {
        return NULL;
    }
    const size_t bytes = n * sizeof(adz_tensor *);
    adz_tensor **padded = adzi_alloc(bytes);
    if (padded == NULL) {
        return adzi_fail_memory("pad_sequence", bytes);
    }
    bool ok = true;
    for (size_t i = 0; i < n && ok; ++i) {
        /* Pads go from the last dimension to the first. */
        int64_t pads[2 * ADZ_MAX_RANK] = { 0 };
        const int rank = sequences[i]->rank;
        pads[2 * (rank - 1) + (left ? 0 : 1)] = most - sequences[i]->sizes[0];
        padded[i] = sequences[i]->sizes[0] == most
                        ? sequences[i]
                        : adz_pad(sequences[i], pads, 2 * (size_t)rank, value);
        ok = padded[i] != NULL;
    }
    adz_tensor *y = ok ? adz_stack(padded, n, batch_first ? 0 : 1) : NULL;
    adzi_free(padded, bytes);
    return y;
}
