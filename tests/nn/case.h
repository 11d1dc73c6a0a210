/* What tests/nn/<module>.c hands to the sweep over modules (tests/nn/sweep.c) and to adze-parity:
 * how its modules are made, what they print, how a vector file's config becomes one, and the facts
 * that no sweep can know. */
#ifndef ADZE_TESTS_NN_CASE_H
#define ADZE_TESTS_NN_CASE_H

#include "nn.h"
#include "ops/case.h" /* for what reads configs */

enum { MODULE_INPUTS = 5, MODULE_SAMPLES = 12 };

/** An argument: normal numbers, or i64 below `range` where that is not 0. */
typedef struct module_input {
    int rank;
    int64_t sizes[6];
    double range;
    const char *name; /* NULL: by place */
} module_input;

#define X_SIZES_(...) \
    .rank = (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), .sizes = { __VA_ARGS__ }
/** Normal numbers: X(2, 3, 4). */
#define X(...)                 \
    {                          \
        X_SIZES_(__VA_ARGS__), \
    }
/** Normal numbers that the module gets by the name `text`. */
#define X_NAMED(text, ...)                  \
    {                                       \
        X_SIZES_(__VA_ARGS__), .name = text \
    }
/** i64 numbers below n. */
#define IDS(n, ...)                       \
    {                                     \
        X_SIZES_(__VA_ARGS__), .range = n \
    }
#define IDS_NAMED(text, n, ...)                         \
    {                                                   \
        X_SIZES_(__VA_ARGS__), .range = n, .name = text \
    }

/** One module, called once. */
typedef struct module_sample {
    adz_module *(*build)(adz_generator *generator); /* for its dropouts */
    const char *prints;                             /* the printed tree */
    const char *names;              /* of the state, with blanks between; "" if none */
    module_input in[MODULE_INPUTS]; /* up to the first of rank 0 */
} module_sample;

typedef struct module_case {
    const char *name; /* the file's */
    module_sample samples[MODULE_SAMPLES];

    /* Reference vectors: the values of `reference` that `from_config` understands, and what the
     * module calls a file's inputs and results where the two differ: "ids=input_ids", or with a
     * number "mem.#=raw.#". */
    const char *references[12];
    adz_module *(*from_config)(const char *reference, const json_t *config);
    const char *renames[4];
    /* Names of the results of a call that are arguments of the next: "present." of one is "past."
     * of the next one. In pairs. */
    const char *carries[4];
    bool detaches; /* and no gradient goes from one call to the one before */
    /* What a file's config asks for before call 0, 1, ... beyond `select_rows`, which goes for
     * every module; may be NULL. */
    adz_status (*between)(adz_module *module, const json_t *config, int call);

    const struct CMUnitTest *facts;
    size_t n_facts;
} module_case;

/** Every case: the generated list. */
extern const module_case *const module_cases[];
extern const int n_module_cases;

/** The activation of that name in a config; NULL for one that adze does not have. */
adz_module *case_activation(const char *name);

/** The "act" of a config of fastai's; one that does not exist is refused by what gets it. */
adz_fastai_activation case_fastai_activation(const json_t *config);

/** What a config says of an encoder of fastai's ("AWD_LSTM", "Transformer" or "TransformerXL") and
 * of what stands on it. */
adz_fastai_config case_fastai_config(const char *arch, const json_t *config);

/** The encoder alone. */
adz_module *case_fastai_encoder(const char *arch, const json_t *config);

/** A model whose children are `model`'s, which it ends: its results are the first of the model's,
 * "logits", and, if there is a "target", the cross entropy "ce", detached, and "loss", which adds
 * alpha times AR and beta times TAR. */
adz_module *case_with_loss(adz_module *model, double alpha, double beta);

/** Whether y has all elements of another, within `tolerance`, and the module a result at all. */
static inline void expect_same(adz_tensor *y, adz_tensor *expected, double tolerance)
{
    assert_non_null(y);
    assert_non_null(expected);
    assert_true(alike(y, expected, tolerance));
}

/** The shape of the call's error: `module` refuses an x of these sizes, and `says` why. */
static inline void expect_refused(adz_module *module, adz_tensor *x, const char *says)
{
    assert_non_null(module);
    assert_null(adz_module_forward(module, x));
    expect_error(ADZ_ERR_SHAPE, says);
    adz_module_free(&module);
}

/** A constructor has refused. */
static inline void expect_no_module(adz_module *module, const char *says)
{
    assert_null(module);
    expect_error(ADZ_ERR_ARGUMENT, says);
}

#endif
