/* Losses and distances as modules: one row of a table for each. A module keeps the arguments of its
 * function in one state, and its weights in buffers. Nothing stands between the parentheses of the
 * printed forms, as in PyTorch. */
#include "adze/nn/loss.h"

#include "adze/options.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/shape.h"
#include "base/error.h"
#include "nn/module.h"

enum { MOST_INPUTS = 4 };

typedef struct loss_row loss_row;

/* The arguments of any loss. A row reads those that its function has. */
typedef struct {
    const loss_row *row;
    adz_reduction reduction;
    double number;        /* margin, beta, delta or p */
    double eps;           /* of distances */
    int dim;              /* of cosine_similarity */
    bool flag;            /* log_target or keepdim */
    int64_t ignore_index; /* of nll_loss */
    union {
        adz_cross_entropy_options cross_entropy;
        adz_multi_margin_loss_options multi_margin;
        adz_poisson_nll_loss_options poisson;
        adz_gaussian_nll_loss_options gaussian;
        adz_ctc_loss_options ctc;
        adz_triplet_margin_loss_options triplet;
        adz_triplet_margin_with_distance_loss_options with_distance;
    } o;
} loss_state;

struct loss_row {
    adz_module_type type;
    const char *inputs[MOST_INPUTS];
    const char *trial; /* the arguments with which the constructor tries the function: zero_of */
    adz_tensor *(*function)(adz_module *self, const loss_state *s, adz_tensor *const *in);
};

/* A buffer that was added, or ADZ_NONE. */
static adz_tensor *buffer(const adz_module *self, size_t i)
{
    return self->buffers[i].tensor;
}

/* Reads the arguments by position or by name, and calls the function. */
static adz_status call(adz_module *self, const adz_values *from, adz_values *out)
{
    const loss_state *s = self->state;
    adz_tensor *in[MOST_INPUTS] = { NULL };
    for (size_t i = 0; i < MOST_INPUTS && s->row->inputs[i] != NULL; ++i) {
        in[i] = adz_values_argument(from, i, s->row->inputs[i]);
        if (!adzi_check_tensor(self->type.name, s->row->inputs[i], in[i])) {
            return adz_error_code();
        }
    }
    return adz_values_add(out, "", s->row->function(self, s, in));
}

/* ---- the distance of a triplet loss is a module ---------------------------------------------- */

static adz_tensor *by_module(adz_tensor *a, adz_tensor *b, void *module)
{
    return ADZ_CALL(module, { NULL, a }, { NULL, b });
}

/* Without the child, which the trial in the constructor does not call, the default distance. */
static adz_tensor *triplet_by_module(adz_module *self, const loss_state *s, adz_tensor *const *in)
{
    const bool whole = self->n_children > 0;
    return adz_triplet_margin_with_distance_loss(in[0], in[1], in[2], whole ? by_module : NULL,
        whole ? adzi_child_at(self, 0) : NULL, &s->o.with_distance);
}

/* ---- the rows ------------------------------------------------------------------------------ */

#define INPUTS(...) \
    {               \
        __VA_ARGS__ \
    }
#define LOSS(id, shown, its_inputs, its_trial, formula)                                      \
    static adz_tensor *id##_of(adz_module *self, const loss_state *s, adz_tensor *const *in) \
    {                                                                                        \
        (void)self, (void)s;                                                                 \
        return formula;                                                                      \
    }                                                                                        \
    static const loss_row id##_row = {                                                       \
        .type = { .size = sizeof(adz_module_type), .name = (shown), .call = call },          \
        .inputs = its_inputs,                                                                \
        .trial = (its_trial),                                                                \
        .function = id##_of,                                                                 \
    };
#define PAIR    INPUTS("x", "target")
#define VECTORS INPUTS("x1", "x2")
#define LABELED INPUTS("x1", "x2", "target")
#define TRIPLET INPUTS("anchor", "positive", "negative")
#define WEIGHT  buffer(self, 0)

/* clang-format off */
LOSS(bce_loss, "BCELoss", PAIR, "vv", adz_binary_cross_entropy(in[0], in[1], WEIGHT, s->reduction))
LOSS(bce_with_logits_loss, "BCEWithLogitsLoss", PAIR, "vv",
    adz_binary_cross_entropy_with_logits(in[0], in[1], WEIGHT, s->reduction, buffer(self, 1)))
LOSS(cosine_embedding_loss, "CosineEmbeddingLoss", LABELED, "vvs",
    adz_cosine_embedding_loss(in[0], in[1], in[2], s->reduction, s->number))
LOSS(cosine_similarity, "CosineSimilarity", VECTORS, "",
    adz_cosine_similarity(in[0], in[1], s->dim, s->eps))
LOSS(cross_entropy_loss, "CrossEntropyLoss", PAIR, "mc",
    adz_cross_entropy(in[0], in[1], WEIGHT, &s->o.cross_entropy))
LOSS(ctc_loss, "CTCLoss", INPUTS("log_probs", "targets", "input_lengths", "target_lengths"), "",
    adz_ctc_loss(in[0], in[1], in[2], in[3], &s->o.ctc))
LOSS(gaussian_nll_loss, "GaussianNLLLoss", INPUTS("x", "target", "var"), "vvv",
    adz_gaussian_nll_loss(in[0], in[1], in[2], &s->o.gaussian))
LOSS(hinge_embedding_loss, "HingeEmbeddingLoss", PAIR, "vv",
    adz_hinge_embedding_loss(in[0], in[1], s->reduction, s->number))
LOSS(huber_loss, "HuberLoss", PAIR, "vv", adz_huber_loss(in[0], in[1], s->reduction, s->number))
LOSS(kl_div_loss, "KLDivLoss", PAIR, "vv", adz_kl_div(in[0], in[1], s->reduction, s->flag))
LOSS(l1_loss, "L1Loss", PAIR, "vv", adz_l1_loss(in[0], in[1], s->reduction))
LOSS(margin_ranking_loss, "MarginRankingLoss", LABELED, "vvv",
    adz_margin_ranking_loss(in[0], in[1], in[2], s->reduction, s->number))
LOSS(mse_loss, "MSELoss", PAIR, "vv", adz_mse_loss(in[0], in[1], s->reduction))
LOSS(multi_margin_loss, "MultiMarginLoss", PAIR, "mc",
    adz_multi_margin_loss(in[0], in[1], WEIGHT, &s->o.multi_margin))
LOSS(multilabel_margin_loss, "MultiLabelMarginLoss", PAIR, "vc",
    adz_multilabel_margin_loss(in[0], in[1], s->reduction))
LOSS(multilabel_soft_margin_loss, "MultiLabelSoftMarginLoss", PAIR, "vv",
    adz_multilabel_soft_margin_loss(in[0], in[1], WEIGHT, s->reduction))
LOSS(nll_loss, "NLLLoss", PAIR, "mc", adz_nll_loss(in[0], in[1], WEIGHT, s->ignore_index, s->reduction))
LOSS(pairwise_distance, "PairwiseDistance", VECTORS, "vv",
    adz_pairwise_distance(in[0], in[1], s->number, s->eps, s->flag))
LOSS(poisson_nll_loss, "PoissonNLLLoss", PAIR, "vv", adz_poisson_nll_loss(in[0], in[1], &s->o.poisson))
LOSS(smooth_l1_loss, "SmoothL1Loss", PAIR, "vv", adz_smooth_l1_loss(in[0], in[1], s->reduction, s->number))
LOSS(soft_margin_loss, "SoftMarginLoss", PAIR, "vv", adz_soft_margin_loss(in[0], in[1], s->reduction))
LOSS(triplet_margin_loss, "TripletMarginLoss", TRIPLET, "vvv",
    adz_triplet_margin_loss(in[0], in[1], in[2], &s->o.triplet))
LOSS(triplet_margin_with_distance_loss, "TripletMarginWithDistanceLoss", TRIPLET, "vvv",
    triplet_by_module(self, s, in))
/* clang-format on */

/* ---- constructors -------------------------------------------------------------------------- */

/* An argument of a trial: zeros shaped like `whole` for 'v', with a dimension before it for 'm',
 * one class for 'c' and a scalar for 's'. */
static adz_tensor *zero_of(char kind, adz_tensor *whole)
{
    return kind == 'v'   ? whole
           : kind == 'm' ? adz_unsqueeze(whole, 0)
           : kind == 'c' ? adz_zeros(ADZ_SHAPE(1), ADZ_I64)
                         : adz_scalar(0, ADZ_F32);
}

/* Calls the function with zeros, so that what it refuses is refused by the constructor too. Weights
 * broadcast to the zeros. */
static bool tried(adz_module *self, const loss_state *s)
{
    adz_tensor *in[MOST_INPUTS] = { NULL }, *whole = adz_zeros(ADZ_SHAPE(1), ADZ_F32);
    for (size_t i = 0; i < self->n_buffers; ++i) {
        adz_tensor *weight = buffer(self, i);
        whole = adzi_is_none(weight) ? whole : adz_zeros_like(adz_add(whole, weight));
    }
    for (size_t i = 0; s->row->trial[i] != '\0'; ++i) {
        in[i] = zero_of(s->row->trial[i], whole);
        if (in[i] == NULL) {
            return false;
        }
    }
    return s->row->trial[0] == '\0' || s->row->function(self, s, in) != NULL;
}

typedef struct {
    const char *name;
    adz_tensor *tensor; /* or ADZ_NONE */
} named_buffer;

/* A module of a row. Up to two buffers; a name of NULL ends the list. */
static adz_module *loss_new(const loss_row *row, loss_state s, const named_buffer *buffers)
{
    s.row = row;
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&row->type, &s, sizeof s);
    bool good = self != NULL;
    for (int i = 0; good && i < 2 && buffers[i].name != NULL; ++i) {
        good = adz_module_add_buffer(self, buffers[i].name, buffers[i].tensor, true) != NULL;
    }
    good = good && tried(self, &s);
    return adzi_build_end(build, self, good);
}

#define NO_BUFFERS ((const named_buffer[2]){ { NULL, NULL } })
#define WEIGHTED   ((const named_buffer[2]){ { "weight", weight }, { NULL, NULL } })

adz_module *adz_l1_loss_new(adz_reduction reduction)
{
    return loss_new(&l1_loss_row, (loss_state){ .reduction = reduction }, NO_BUFFERS);
}

adz_module *adz_mse_loss_new(adz_reduction reduction)
{
    return loss_new(&mse_loss_row, (loss_state){ .reduction = reduction }, NO_BUFFERS);
}

adz_module *adz_multilabel_margin_loss_new(adz_reduction reduction)
{
    return loss_new(
        &multilabel_margin_loss_row, (loss_state){ .reduction = reduction }, NO_BUFFERS);
}

adz_module *adz_soft_margin_loss_new(adz_reduction reduction)
{
    return loss_new(&soft_margin_loss_row, (loss_state){ .reduction = reduction }, NO_BUFFERS);
}

adz_module *adz_cosine_embedding_loss_new(adz_reduction reduction, double margin)
{
    return loss_new(&cosine_embedding_loss_row,
        (loss_state){ .reduction = reduction, .number = margin }, NO_BUFFERS);
}

adz_module *adz_hinge_embedding_loss_new(adz_reduction reduction, double margin)
{
    return loss_new(&hinge_embedding_loss_row,
        (loss_state){ .reduction = reduction, .number = margin }, NO_BUFFERS);
}

adz_module *adz_huber_loss_new(adz_reduction reduction, double delta)
{
    return loss_new(
        &huber_loss_row, (loss_state){ .reduction = reduction, .number = delta }, NO_BUFFERS);
}

adz_module *adz_margin_ranking_loss_new(adz_reduction reduction, double margin)
{
    return loss_new(&margin_ranking_loss_row,
        (loss_state){ .reduction = reduction, .number = margin }, NO_BUFFERS);
}

adz_module *adz_smooth_l1_loss_new(adz_reduction reduction, double beta)
{
    return loss_new(
        &smooth_l1_loss_row, (loss_state){ .reduction = reduction, .number = beta }, NO_BUFFERS);
}

adz_module *adz_kl_div_loss_new(adz_reduction reduction, bool log_target)
{
    return loss_new(
        &kl_div_loss_row, (loss_state){ .reduction = reduction, .flag = log_target }, NO_BUFFERS);
}

adz_module *adz_bce_loss_new(adz_tensor *weight, adz_reduction reduction)
{
    return loss_new(&bce_loss_row, (loss_state){ .reduction = reduction }, WEIGHTED);
}

adz_module *adz_multilabel_soft_margin_loss_new(adz_tensor *weight, adz_reduction reduction)
{
    return loss_new(
        &multilabel_soft_margin_loss_row, (loss_state){ .reduction = reduction }, WEIGHTED);
}

adz_module *adz_bce_with_logits_loss_new(
    adz_tensor *weight, adz_reduction reduction, adz_tensor *pos_weight)
{
    const named_buffer both[2] = { { "weight", weight }, { "pos_weight", pos_weight } };
    return loss_new(&bce_with_logits_loss_row, (loss_state){ .reduction = reduction }, both);
}

adz_module *adz_nll_loss_new(adz_tensor *weight, int64_t ignore_index, adz_reduction reduction)
{
    return loss_new(&nll_loss_row,
        (loss_state){ .reduction = reduction, .ignore_index = ignore_index }, WEIGHTED);
}

adz_module *adz_pairwise_distance_new(double p, double eps, bool keepdim)
{
    return loss_new(&pairwise_distance_row,
        (loss_state){ .number = p, .eps = eps, .flag = keepdim }, NO_BUFFERS);
}

adz_module *adz_cosine_similarity_new(int dim, double eps)
{
    return loss_new(&cosine_similarity_row, (loss_state){ .dim = dim, .eps = eps }, NO_BUFFERS);
}

/* The caller's options over the defaults, in the state `s`. The function of the loss checks them.
 */
#define READ(id, member, DEFAULTS)           \
    const char op[] = "adz_" #id "_new";     \
    loss_state s = { .o.member = DEFAULTS }; \
    const bool read = adz_options_read(op, #DEFAULTS, &s.o.member, sizeof s.o.member, options)

adz_module *adz_cross_entropy_loss_new(adz_tensor *weight, const adz_cross_entropy_options *options)
{
    READ(cross_entropy_loss, cross_entropy, ADZ_CROSS_ENTROPY_OPTIONS);
    return read ? loss_new(&cross_entropy_loss_row, s, WEIGHTED) : NULL;
}

adz_module *adz_ctc_loss_new(const adz_ctc_loss_options *options)
{
    READ(ctc_loss, ctc, ADZ_CTC_LOSS_OPTIONS);
    return read ? loss_new(&ctc_loss_row, s, NO_BUFFERS) : NULL;
}

adz_module *adz_gaussian_nll_loss_new(const adz_gaussian_nll_loss_options *options)
{
    READ(gaussian_nll_loss, gaussian, ADZ_GAUSSIAN_NLL_LOSS_OPTIONS);
    return read ? loss_new(&gaussian_nll_loss_row, s, NO_BUFFERS) : NULL;
}

adz_module *adz_multi_margin_loss_new(
    adz_tensor *weight, const adz_multi_margin_loss_options *options)
{
    READ(multi_margin_loss, multi_margin, ADZ_MULTI_MARGIN_LOSS_OPTIONS);
    return read ? loss_new(&multi_margin_loss_row, s, WEIGHTED) : NULL;
}

adz_module *adz_poisson_nll_loss_new(const adz_poisson_nll_loss_options *options)
{
    READ(poisson_nll_loss, poisson, ADZ_POISSON_NLL_LOSS_OPTIONS);
    return read ? loss_new(&poisson_nll_loss_row, s, NO_BUFFERS) : NULL;
}

adz_module *adz_triplet_margin_loss_new(const adz_triplet_margin_loss_options *options)
{
    READ(triplet_margin_loss, triplet, ADZ_TRIPLET_MARGIN_LOSS_OPTIONS);
    return read ? loss_new(&triplet_margin_loss_row, s, NO_BUFFERS) : NULL;
}

/* Takes over the reference to `distance_function` in every case. */
adz_module *adz_triplet_margin_with_distance_loss_new(
    adz_module *distance_function, const adz_triplet_margin_with_distance_loss_options *options)
{
    READ(triplet_margin_with_distance_loss, with_distance,
        ADZ_TRIPLET_MARGIN_WITH_DISTANCE_LOSS_OPTIONS);
    const loss_row *row = &triplet_margin_with_distance_loss_row;
    adz_module *self = read ? loss_new(row, s, NO_BUFFERS) : NULL;
    if (self == NULL) {
        if (distance_function != NULL) {
            adzi_module_give_back(distance_function);
        }
        return NULL;
    }
    adz_module *distance =
        distance_function != NULL ? distance_function : adz_pairwise_distance_new(2, 1e-6, false);
    if (distance == NULL || adz_module_add_child(self, "distance_function", distance) == NULL) {
        adz_module_release(&self);
    }
    return self;
}
