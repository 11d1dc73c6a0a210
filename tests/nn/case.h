/* The case of a module: what tests/nn/<module>.c or tests/zoo/<module>.c tells the sweep over
 * modules (tests/nn/sweep.c) and adze-parity. It says how modules are made, what they print, how
 * the config of a vector file becomes a module, and which further facts are tested. */
#ifndef ADZE_TESTS_NN_CASE_H
#define ADZE_TESTS_NN_CASE_H

#include "adze/zoo.h"
#include "nn.h"
#include "ops/case.h" /* for the functions that read configs */

enum { MODULE_INPUTS = 5, MODULE_SAMPLES = 12 };

/** An argument: normal numbers, or i64 numbers below `range` if that is not 0. */
typedef struct module_input {
    int rank;
    int64_t sizes[6];
    double range;
    const char *name; /* NULL: the argument has no name */
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
    adz_module *(*build)(adz_generator *generator); /* its dropouts draw from the generator */
    const char *prints;                             /* the printed tree */
    const char *names;              /* of the state, with blanks between; "" if none */
    module_input in[MODULE_INPUTS]; /* up to the first of rank 0 */
} module_sample;

typedef struct module_case {
    const char *name; /* of the file, without ".c" */
    module_sample samples[MODULE_SAMPLES];

    /* Reference vectors: the values of `reference` that `from_config` understands. Each may be
     * followed by names that differ between file and module: "ids=input_ids", or with a number
     * "mem.#=raw.#". */
    const char *references[12];
    adz_module *(*from_config)(const char *reference, const json_t *config);
    const char *renames[4];
    /* Pairs of names: results of a call whose names begin with the first are arguments of the call
     * after it, where their names begin with the second. For example "present." and "past.". */
    const char *carries[4];
    bool detaches; /* no gradient flows from one call to the call before it */
    /* Does what a file's config asks for before call number `call`. `select_rows` is done for every
     * module and is not its task. May be NULL. */
    adz_status (*between)(adz_module *module, const json_t *config, int call);

    const struct CMUnitTest *facts;
    size_t n_facts;
} module_case;

/** The generated list of all cases. */
extern const module_case *const module_cases[];
extern const int n_module_cases;

/** A module of the activation with this name in a config; NULL if adze does not have it. */
adz_module *case_activation(const char *name);

/** The value of "act" in a config of fastai. An unknown name gives a value that constructors
 * refuse. */
adz_fastai_activation case_fastai_activation(const json_t *config);

/** The configuration of an encoder of fastai and of its head. `arch` is "AWD_LSTM", "Transformer"
 * or "TransformerXL". */
adz_fastai_config case_fastai_config(const char *arch, const json_t *config);

/** The encoder of a config without a head. */
adz_module *case_fastai_encoder(const char *arch, const json_t *config);

/** A module with the children of `model`, which it frees. Its results are "logits", the first
 * result of the model, and, if there is an argument "target", "ce", the detached cross entropy, and
 * "loss", to which alpha times AR and beta times TAR are added. */
adz_module *case_with_loss(adz_module *model, double alpha, double beta);

/** Fails unless y has the elements of `expected` within `tolerance`. A NULL y fails too. */
static inline void expect_same(adz_tensor *y, adz_tensor *expected, double tolerance)
{
    assert_non_null(y);
    assert_non_null(expected);
    assert_true(alike(y, expected, tolerance));
}

/** Fails unless the module refuses x with a shape error whose message contains `says`. */
static inline void expect_refused(adz_module *module, adz_tensor *x, const char *says)
{
    assert_non_null(module);
    assert_null(adz_module_forward(module, x));
    expect_error(ADZ_ERR_SHAPE, says);
    adz_module_release(&module);
}

/** Fails unless a constructor has returned NULL with an error whose message contains `says`. */
static inline void expect_no_module(adz_module *module, const char *says)
{
    assert_null(module);
    expect_error(ADZ_ERR_ARGUMENT, says);
}

#endif
