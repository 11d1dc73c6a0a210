/* Losses of classes. */
#include <string.h>

#include "adze/ops.h"
#include "run.h"

/** A label that no class has, for files without ignore_index. */
#define NO_LABEL INT32_MIN

static adz_tensor *loss_of(const reader_call *call, adz_tensor *log_probabilities)
{
    const char *name = adzi_reader_string(call, "reduction", "mean");
    adz_reduction reduction = strcmp(name, "none") == 0  ? ADZ_REDUCE_NONE
                              : strcmp(name, "sum") == 0 ? ADZ_REDUCE_SUM
                                                         : ADZ_REDUCE_MEAN;
    return adz_nll_loss(log_probabilities, adzi_reader_in(call, 1), adzi_reader_in(call, 2),
        adzi_reader_int(call, "ignore_index", NO_LABEL), reduction);
}

static adz_tensor *negative_log_likelihood(const reader_call *call)
{
    return loss_of(call, adzi_reader_in(call, 0));
}

static adz_tensor *softmax_cross_entropy(const reader_call *call)
{
    adz_tensor *log_probabilities = adz_log_softmax(adzi_reader_in(call, 0), 1);
    if (adzi_reader_wants(call, 1)) {
        adzi_reader_set(call, 1, log_probabilities);
    }
    return loss_of(call, log_probabilities);
}

#define LOSS "ignore_index:i reduction:s=none|sum|mean"

const reader_operator adzi_reader_losses[] = {
    ROW("NegativeLogLikelihoodLoss", 12, 0, 2, 3, 1, LOSS, 6, negative_log_likelihood),
    ROW("SoftmaxCrossEntropyLoss", 12, 0, 2, 3, 2, LOSS, 6, softmax_cross_entropy),
    { .name = NULL },
};
