/* Lengths of padded sequences: their check, the padding that they make, and what fills it. Layers
 * of the library and those of any cell share this. */
#include "ops/recurrent/lengths.h"

#include "adze/ops.h"
#include "base/capture.h"
#include "base/error.h"
#include "ops/op.h"

typedef struct {
    const char *name;
    const int64_t *lengths;
    int64_t n, steps;
} lengths_args;

ADZI_ADDRESSES(lengths_args, name, lengths);

/* Refuses a length that is no number of steps of x. Replays of a plan look at the lengths again. */
static adz_status report_lengths(const void *block)
{
    const lengths_args *a = block;
    for (int64_t i = 0; i < a->n; ++i) {
        if (a->lengths[i] < 1 || a->lengths[i] > a->steps) {
            return adzi_error(a->name, ADZ_ERR_INDEX,
                "lengths[%lld] is %lld, but must be 1 or more and at most %lld, the time steps of x; leave out empty sequences",
                (long long)i, (long long)a->lengths[i], (long long)a->steps);
        }
    }
    return ADZ_OK;
}

bool adzi_lengths_check(const char *name, adz_tensor *lengths, const adz_tensor *x)
{
    const int64_t batch = x->sizes[1];
    if ((adz_dtype)lengths->dtype != ADZ_I64) {
        adzi_error(name, ADZ_ERR_DTYPE, "lengths is %s, but must be int64",
            adz_dtype_name((adz_dtype)lengths->dtype));
        return false;
    }
    if (lengths->rank != 1 || lengths->sizes[0] != batch) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "lengths%s must have shape [%lld], one length for each sequence of the batch",
            adzi_text_shape(lengths), (long long)batch);
        return false;
    }
    lengths = adzi_compact(name, lengths);
    if (lengths == NULL) {
        return false;
    }
    const lengths_args args = { name, (const int64_t *)(const void *)lengths->data, batch,
        x->sizes[0] };
    return adzi_repeat(report_lengths, lengths_args, &args) == ADZ_OK;
}

/* True behind the end of a sequence: step t of sequence b is padding if t >= lengths[b]. It is made
 * of operators, so a plan computes it again for other lengths. */
adz_tensor *adzi_lengths_padding(const adz_tensor *x, adz_tensor *lengths)
{
    adz_tensor *steps = adz_arange(0, (double)x->sizes[0], 1, ADZ_I64);
    return adz_ge(adz_unsqueeze(steps, 1), adz_unsqueeze(lengths, 0));
}

/* The mask gets a dimension for each feature of x, so that it broadcasts over them. Neither values
 * nor gradients of the padding come through. */
adz_tensor *adzi_lengths_fill(adz_tensor *x, adz_tensor *padding)
{
    for (int d = 2; d < x->rank && padding != NULL; ++d) {
        padding = adz_unsqueeze(padding, d);
    }
    return adz_masked_fill(x, padding, 0);
}
