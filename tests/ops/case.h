/* The case of an operator: what tests/ops/<family>/<op>.c tells the sweep (tests/ops/sweep.c). It
 * says how to call the operator, which inputs it gets, which it must refuse, and which further
 * facts are tested. */
#ifndef ADZE_TESTS_OPS_CASE_H
#define ADZE_TESTS_OPS_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "adze/adze.h"

enum { CASE_INPUTS = 36, CASE_PARAMS = 10, CASE_RESULTS = 16 };

/** How an input's elements are drawn. */
typedef enum case_fill {
    FILL_NORMAL,   /* normal numbers */
    FILL_AWAY,     /* normal, but nowhere closer than 0.1 to 0: for kinks at 0 */
    FILL_POSITIVE, /* between 0.3 and 2.5 */
    FILL_UNIT,     /* between 0.05 and 0.95 */
    FILL_DISTINCT, /* all elements at least 0.1 apart, in random order: for maxima */
    FILL_INDEX,    /* i64 in [0, range) */
    FILL_MASK      /* bool */
} case_fill;

/** The layout of an input in memory. */
typedef enum case_layout {
    LAYOUT_PLAIN,      /* contiguous */
    LAYOUT_TRANSPOSED, /* a view of a tensor with the dimensions in reverse order */
    LAYOUT_SLICED,     /* every other element of a tensor twice as wide in the last dimension */
    LAYOUT_EXPANDED,   /* the first dimension has stride 0, so its entries are one in memory */
    LAYOUT_OFFSET      /* all but the first entry along the first dimension: contiguous, and its
                          first element is not the first one of its memory */
} case_layout;

typedef struct case_input {
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    case_fill fill;
    case_layout layout;
    double range;    /* FILL_INDEX: indices are below it */
    bool constant;   /* wants no gradient (integers and masks never do) */
    bool none;       /* ADZ_NONE */
    bool given;      /* set by the macros: the entry is used */
    adz_dtype dtype; /* of a constant input that is not the sample's float type; with `typed` */
    bool typed;
} case_input;

#define CASE_SIZES_(...)                                                                           \
    .rank = (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), .sizes = { __VA_ARGS__ }, \
    .given = true
/** An input of normal numbers: IN(3, 5). */
#define IN(...)                  \
    {                            \
        CASE_SIZES_(__VA_ARGS__) \
    }
/** An input of normal numbers that is stored transposed: IN_T(3, 5). */
#define IN_T(...)                                             \
    {                                                         \
        CASE_SIZES_(__VA_ARGS__), .layout = LAYOUT_TRANSPOSED \
    }
/** An input whose numbers are drawn in the way `kind`: IN_OF(FILL_AWAY, 3, 5). */
#define IN_OF(kind, ...)                       \
    {                                          \
        CASE_SIZES_(__VA_ARGS__), .fill = kind \
    }
#define IN_T_OF(kind, ...)                                                  \
    {                                                                       \
        CASE_SIZES_(__VA_ARGS__), .fill = kind, .layout = LAYOUT_TRANSPOSED \
    }
/** A scalar. */
#define IN_0          \
    {                 \
        .given = true \
    }
#define IN_0_OF(kind)               \
    {                               \
        .given = true, .fill = kind \
    }
/** i64 indices below n. */
#define IN_INDEX(n, ...)                                         \
    {                                                            \
        CASE_SIZES_(__VA_ARGS__), .fill = FILL_INDEX, .range = n \
    }
#define IN_INDEX_0(n)                                 \
    {                                                 \
        .given = true, .fill = FILL_INDEX, .range = n \
    }
/** A bool mask. */
#define IN_MASK(...)                                \
    {                                               \
        CASE_SIZES_(__VA_ARGS__), .fill = FILL_MASK \
    }
/** A float input that wants no gradient. */
#define IN_CONST(...)                              \
    {                                              \
        CASE_SIZES_(__VA_ARGS__), .constant = true \
    }
#define IN_CONST_OF(kind, ...)                                   \
    {                                                            \
        CASE_SIZES_(__VA_ARGS__), .fill = kind, .constant = true \
    }
/** A constant of a dtype: IN_TYPED(ADZ_I32, 3, 5); for rejects and for integer operators. */
#define IN_TYPED(type, ...)                                                      \
    {                                                                            \
        CASE_SIZES_(__VA_ARGS__), .constant = true, .dtype = type, .typed = true \
    }
/** ADZ_NONE. */
#define IN_NONE                     \
    {                               \
        .given = true, .none = true \
    }

/** One call: inputs and numbers. The sweep fills `in` with tensors. */
typedef struct op_sample {
    case_input in[CASE_INPUTS];
    double p[CASE_PARAMS];
    const char *text; /* for arguments that are no numbers, such as the equation of einsum */
    bool large;       /* takes kernels past their blocks: too large for numeric derivatives and for
                         refusing each request; every other check runs */
} op_sample;

/** A call that must fail. */
typedef struct op_reject {
    case_input in[CASE_INPUTS];
    double p[CASE_PARAMS];
    adz_status status;
    const char *says; /* a part of the message; NULL: the message is not checked */
    const char *text;
} op_reject;

/** The arguments of a call. */
typedef struct op_args {
    adz_tensor *in[CASE_INPUTS];
    int n;
    double p[CASE_PARAMS];
    const char *text;
} op_args;

typedef struct op_case {
    const char *name; /* the operator's name in the registry */

    /** Calls the operator, fills out[0 ..], and returns the number of results; 0 for a failure. */
    int (*call)(const op_args *args, adz_tensor **out);

    op_sample samples[24];
    op_reject rejects[12];

    bool not_differentiable;   /* comparisons, argmax, ...: no gradient is checked */
    bool broadcasts;           /* demands a sample in which an input broadcasts */
    bool no_empty;             /* refuses size-0 dimensions (then a reject must say so) */
    bool no_layouts;           /* takes inputs in which the automatic layouts make no sense */
    bool needs_distinct;       /* no expanded inputs, because equal elements have no derivative */
    bool first_order_only;     /* the second derivative is 0 or undefined: no gradgradcheck */
    bool no_second_derivative; /* the operator refuses it: no gradgradcheck, and a fact says so */
    double f32_tolerance;      /* relative, f32 against f64; 0 means 1e-4 */

    /* Reference vectors. `vectors` lists the values of config.op that this case serves; `inputs`
     * the tensors' names in the order of `in` ("x", or "a", "b"; a name that a file lacks becomes
     * ADZ_NONE); `config` reads the other attributes into p and text and may rearrange `in`.
     * Results are compared with output.y, or with the names in `outputs`. */
    const char *vectors[8];
    const char *inputs[CASE_INPUTS];
    const char *outputs[CASE_RESULTS];
    bool (*config)(const json_t *config, op_args *args);

    const struct CMUnitTest *facts;
    size_t n_facts;
} op_case;

/** Names of a list of tensors in reference vectors. */
#define LISTED(x)                                                                                 \
    x "0", x "1", x "2", x "3", x "4", x "5", x "6", x "7", x "8", x "9", x "10", x "11", x "12", \
        x "13", x "14", x "15"

/** For `.facts`: the array and its count. */
#define FACTS(array) .facts = (array), .n_facts = sizeof(array) / sizeof((array)[0])

/* ---- helpers for `call` and `config` --------------------------------------------------------- */

/** The power of 2 by which each input of the sample was multiplied. Outside the sweep over scales
 * all are 1. A call that adds numbers to an input multiplies them by its unit. */
extern double case_units[CASE_INPUTS];
/** Sets all of them to 1. */
void reset_case_units(void);

/** One result. */
static inline int case_one(adz_tensor *y, adz_tensor **out)
{
    out[0] = y;
    return y != NULL;
}

/** A number of the config, or `otherwise` if it has none. "inf" and "-inf" are infinities. */
double config_number(const json_t *config, const char *key, double otherwise);

/** True if the config has the key with a value that is not null. */
bool config_has(const json_t *config, const char *key);

/** A bool of the config, or `otherwise` if it has none. */
bool config_flag(const json_t *config, const char *key, bool otherwise);

/** Copies a list of integers, or one integer, of the config. Returns their number, or -1 for null.
 */
int config_list(const json_t *config, const char *key, double *values, int most);

/** A string of the config, or `otherwise` if it has none. */
const char *config_text(const json_t *config, const char *key, const char *otherwise);

/** The reduction of the config ("none", "mean", "sum" or "batchmean") as an adz_reduction. */
double config_reduction(const json_t *config);

/** p[at] = count, p[at + 1 ..] the dimensions; count -1 for all (null). And back. */
void config_dims(const json_t *config, const char *key, op_args *args, int at);
adz_dims case_dims(const op_args *args, int at);

/** p[at] = rank, p[at + 1 ..] the sizes. And back. */
void config_shape(const json_t *config, const char *key, op_args *args, int at);
adz_shape case_shape(const op_args *args, int at);

#endif
