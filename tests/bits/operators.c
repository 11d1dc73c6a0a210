/* Trains the floating-point inputs of every sample of every operator: steps of SGD down the sum of
 * all results, each times fixed numbers. */
#include "bits.h"

#include <stdio.h>

#include "ops/sweep.h"

enum { STEPS = 2 };

/* The family of each case, in the order of op_cases; meson writes them. */
static const char *const families[] = { BITS_FAMILIES };

static void step(built *b, const outcome *o)
{
    const bool recording = adz_set_grad_enabled(false);
    for (int i = 0; i < b->args.n; ++i) {
        if (o->gradients[i] != NULL) {
            adz_tensor *moved = adz_sub(b->leaves[i], adz_mul_number(o->gradients[i], 0.001));
            must(adz_copy_(b->leaves[i], moved) != NULL, "the step");
        }
    }
    adz_set_grad_enabled(recording);
}

static void train(hash *h, const op_case *c, size_t s, adz_dtype dtype)
{
    adz_scope *scope = adz_scope_open();
    built b;
    adz_manual_seed(3);
    build_sample(&b, c, s, LAYOUT_PLAIN, dtype, 1000);
    for (int t = 0; t < STEPS; ++t) {
        outcome o;
        must(run_built(c, &b, false, &o), c->name);
        for (int k = 0; k < o.n_results; ++k) {
            hash_tensor(h, o.results[k]);
        }
        step(&b, &o);
    }
    for (int i = 0; i < b.args.n; ++i) {
        hash_tensor(h, b.leaves[i]);
    }
    adz_scope_close(scope);
}

/* Rows that hold operators of several families, in the order in which they are hashed: those that
 * were families when the table of hashes was written. All other operators have the row of their
 * family. */
static const struct {
    const char *name, *operators;
} groups[] = {
    { "arithmetic", "add addcmul div fill mul neg sub" },
    { "math", "abs clamp fmod lerp lerp_number logsigmoid maximum minimum polygamma pow "
              "pow_number remainder sigmoid square tanh diff frac trapezoid" },
    { "compare", "eq ge gt isfinite isnan le logical_and logical_not logical_or logical_xor lt "
                 "masked_fill ne where" },
    { "activation", "bias_activation elu gelu glu leaky_relu log_softmax relu silu softmax "
                    "softplus celu hardtanh prelu relu6" },
    { "chosen", "gumbel_softmax rrelu softmin" },
    { "channels", "alpha_dropout channel_shuffle dropout1d dropout2d dropout3d "
                  "feature_alpha_dropout local_response_norm" },
    { "margins", "bilinear embedding_bag hinge_embedding_loss margin_ranking_loss "
                 "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss "
                 "pairwise_distance soft_margin_loss triplet_margin_with_distance_loss" },
    { "volumes", "adaptive_avg_pool3d adaptive_max_pool3d affine_grid avg_pool3d conv3d "
                 "conv_transpose3d grid_sample lp_pool1d lp_pool2d lp_pool3d max_pool3d "
                 "max_unpool1d max_unpool2d max_unpool3d" },
    { "functions", "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh digamma erf "
                   "erfc exp exp2 expm1 floor hardswish hypot lgamma log log10 log1p log2 "
                   "logaddexp mish reciprocal round rsqrt selu sign sin sinh softsign sqrt tan "
                   "trunc" },
    { "indexing", "scatter scatter_reduce index_add index_copy index_fill take" },
    { "runs", "kthvalue mode histc unique_consecutive unique_consecutive_dim cummax cummin "
              "logcumsumexp nansum" },
    { "products", "corrcoef cov diag_embed dist pdist vecdot vector_norm" },
    { "factors", "eigvalsh linalg_cond lu lu_factor lu_solve matrix_norm svdvals" },
    { "arrangement", "broadcast_to movedim pad_sequence rot90 tile unpad_sequence" },
    { "pretrained", "dequantize_q8_0 quantize_q8_0 rotary_embedding" },
};

/* Whether a list of words holds a word. */
static bool holds(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(words, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Whether case i has the row of its family. */
static bool is_of_its_family(int i)
{
    for (size_t g = 0; g < sizeof groups / sizeof *groups; ++g) {
        if (holds(groups[g].operators, op_cases[i]->name)) {
            return false;
        }
    }
    return true;
}

static void train_case(hash *h, const op_case *c, adz_dtype dtype)
{
    for (size_t s = 0; s < n_samples(c); ++s) {
        train(h, c, s, dtype);
    }
}

/* The row of a family or of a group. */
static void family(hash *h, adz_dtype dtype, const void *user)
{
    const char *name = user;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; ++g) {
        char word[64];
        int length = 0;
        for (const char *at = groups[g].operators;
             strcmp(groups[g].name, name) == 0 && sscanf(at, " %63s%n", word, &length) == 1;
             at += length) {
            for (int i = 0; i < n_op_cases; ++i) {
                if (strcmp(op_cases[i]->name, word) == 0) {
                    train_case(h, op_cases[i], dtype);
                }
            }
        }
    }
    for (int i = 0; i < n_op_cases; ++i) {
        if (strcmp(families[i], name) == 0 && is_of_its_family(i)) {
            train_case(h, op_cases[i], dtype);
        }
    }
}

static bool is_group(const char *name)
{
    bool found = false;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; ++g) {
        found = found || strcmp(groups[g].name, name) == 0;
    }
    return found;
}

void operator_rows(void)
{
    enum { FIRST = 4 }; /* groups that stand before the families in the table */
    for (size_t g = 0; g < FIRST; ++g) {
        row("operators", groups[g].name, family, groups[g].name);
    }
    const char *last = "";
    for (int i = 0; i < n_op_cases; ++i) {
        covered("operator", op_cases[i]->name);
        if (is_of_its_family(i) && !is_group(families[i]) && strcmp(families[i], last) != 0) {
            row("operators", families[i], family, families[i]);
            last = families[i];
        }
    }
    for (size_t g = FIRST; g < sizeof groups / sizeof *groups; ++g) {
        row("operators", groups[g].name, family, groups[g].name);
    }
}
