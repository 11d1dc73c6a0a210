/* Scaled dot-product attention: the checked arguments of a call, and the parts of the expression of
 * operators that gives the same result as the kernels. */
#ifndef ADZI_OPS_ATTENTION_ATTENTION_H
#define ADZI_OPS_ATTENTION_ATTENTION_H

#include "adze/ops/attention.h"
#include "ops/op.h"

/* The inputs on the tape. */
enum { ADZI_QUERY, ADZI_KEY, ADZI_VALUE, ADZI_MASK, ADZI_ATTENTION_INPUTS };

/** One call with its options checked. It is also the struct of attributes of the node. */
typedef struct adzi_attention {
    int batch_rank; /* leading dimensions after broadcasting */
    int64_t batch[ADZ_MAX_RANK];
    int64_t batch_size; /* number of matrices: the product of `batch` */
    int64_t l, s;       /* queries and keys */
    int64_t e, ev;      /* elements of a query or key, and of a value */
    double scale;
    bool causal;
    bool masked;      /* by attn_mask */
    bool drops;       /* dropout is applied */
    bool replays;     /* dropout uses a given mask and draws none */
    double dropout_p; /* 0 outside training */
} adzi_attention;

/** Tells whether dropout draws its mask from a generator. */
static inline bool adzi_attention_draws(const adzi_attention *at)
{
    return at->drops && !at->replays && at->dropout_p < 1;
}

/**
 * The keys of a row of probabilities as dropout counts them: rounded up to whole groups of Philox,
 * so that every row of the mask begins with its own group.
 */
int64_t adzi_attention_row_words(const adzi_attention *at);

/** softmax(scale q k^T + mask) in [..., L, S]: zeros where a row sees nothing. mask: bool, float or
 * ADZ_NONE. An expression of operators. */
adz_tensor *adzi_attention_probabilities(
    const adzi_attention *at, adz_tensor *q, adz_tensor *k, adz_tensor *mask);

/**
 * Checks the options, the inputs and the dropout mask `kept`, and fills `at`. A mask that is left
 * out is ADZ_NONE.
 */
bool adzi_attention_check(adzi_attention *at, const adz_attention_options *options,
    adz_tensor *const *in, const adz_tensor *kept);

/** The call with enable_gqa or a sliding window, by a call without them on views of the operands.
 */
adz_tensor *adzi_attention_narrowed(
    adz_tensor *query, adz_tensor *key, adz_tensor *value, const adz_attention_options *options);

/**
 * Dropout on p[..., L, S] with the mask `kept`. If `kept` is ADZ_NONE, the mask is drawn from
 * `state`, an i64 tensor that holds the state of a generator. An expression of operators, linear in
 * p.
 */
adz_tensor *adzi_attention_dropout(
    const adzi_attention *at, adz_tensor *p, adz_tensor *kept, adz_tensor *state);

#endif
