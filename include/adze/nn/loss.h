/**
 * @file loss.h
 * Losses and distances as modules. Their arguments come by position or by the names given here.
 *
 * A constructor checks its arguments as the function of the loss does. Weights are buffers: a
 * state holds them, and adz_module_to converts them. PyTorch prints these modules without their
 * options, LinearCrossEntropyLoss excepted, and so does adze.
 *
 * @code
 * adz_module *loss = adz_cross_entropy_loss_new(ADZ_NONE, NULL);
 * adz_tensor *x = adz_randn(ADZ_SHAPE(5, 3), ADZ_F32), *y = adz_zeros(ADZ_SHAPE(5), ADZ_I64);
 * adz_tensor *l = ADZ_CALL(loss, { NULL, x }, { NULL, y });
 * adz_module_release(&loss);
 * @endcode
 */
#ifndef ADZE_NN_LOSS_H
#define ADZE_NN_LOSS_H

#include "adze/nn/module.h"
#include "adze/ops/margin_loss.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * adz_l1_loss of the arguments "x" and "target".
 *
 * @param reduction  none, mean or sum
 * @return           yours, end it with adz_module_release; NULL with an error recorded,
 *                   ADZ_ERR_MEMORY or that of the loss
 * @see              torch.nn.L1Loss
 */
ADZ_API adz_module *adz_l1_loss_new(adz_reduction reduction);

/**
 * adz_mse_loss of the arguments "x" and "target".
 *
 * @param reduction  none, mean or sum
 * @return           yours, end it with adz_module_release; NULL with an error recorded,
 *                   ADZ_ERR_MEMORY or that of the loss
 * @see              torch.nn.MSELoss
 */
ADZ_API adz_module *adz_mse_loss_new(adz_reduction reduction);

/**
 * adz_soft_margin_loss of the arguments "x" and "target".
 *
 * @param reduction  none, mean or sum
 * @return           yours, end it with adz_module_release; NULL with an error recorded,
 *                   ADZ_ERR_MEMORY or that of the loss
 * @see              torch.nn.SoftMarginLoss
 */
ADZ_API adz_module *adz_soft_margin_loss_new(adz_reduction reduction);

/**
 * adz_multilabel_margin_loss of the arguments "x" and "target".
 *
 * @param reduction  none, mean or sum
 * @return           yours, end it with adz_module_release; NULL with an error recorded,
 *                   ADZ_ERR_MEMORY or that of the loss
 * @see              torch.nn.MultiLabelMarginLoss
 */
ADZ_API adz_module *adz_multilabel_margin_loss_new(adz_reduction reduction);

/**
 * adz_smooth_l1_loss of the arguments "x" and "target".
 *
 * @param reduction  none, mean or sum
 * @param beta       0 or more; PyTorch's default is 1
 * @return           yours, end it with adz_module_release; NULL with an error recorded,
 *                   ADZ_ERR_MEMORY or that of the loss
 * @see              torch.nn.SmoothL1Loss
 */
ADZ_API adz_module *adz_smooth_l1_loss_new(adz_reduction reduction, double beta);

/**
 * adz_huber_loss of the arguments "x" and "target".
 *
 * @param reduction  none, mean or sum
 * @param delta      above 0; PyTorch's default is 1
 * @return           yours, end it with adz_module_release; NULL with an error recorded,
 *                   ADZ_ERR_MEMORY or that of the loss
 * @see              torch.nn.HuberLoss
 */
ADZ_API adz_module *adz_huber_loss_new(adz_reduction reduction, double delta);

/**
 * adz_hinge_embedding_loss of the arguments "x" and "target".
 *
 * @param reduction  none, mean or sum
 * @param margin     finite; PyTorch's default is 1
 * @return           yours, end it with adz_module_release; NULL with an error recorded,
 *                   ADZ_ERR_MEMORY or that of the loss
 * @see              torch.nn.HingeEmbeddingLoss
 */
ADZ_API adz_module *adz_hinge_embedding_loss_new(adz_reduction reduction, double margin);

/**
 * adz_kl_div of the arguments "x" and "target".
 *
 * @param reduction   none, mean, sum or batchmean
 * @param log_target  whether the target holds logarithms; PyTorch's default is false
 * @return            yours, end it with adz_module_release; NULL with an error recorded,
 *                    ADZ_ERR_MEMORY or that of the loss
 * @see               torch.nn.KLDivLoss
 */
ADZ_API adz_module *adz_kl_div_loss_new(adz_reduction reduction, bool log_target);

/**
 * adz_cosine_embedding_loss of the arguments "x1", "x2" and "target".
 *
 * @param reduction  none, mean or sum
 * @param margin     finite; PyTorch's default is 0
 * @return           yours, end it with adz_module_release; NULL with an error recorded,
 *                   ADZ_ERR_MEMORY or that of the loss
 * @see              torch.nn.CosineEmbeddingLoss
 */
ADZ_API adz_module *adz_cosine_embedding_loss_new(adz_reduction reduction, double margin);

/**
 * adz_margin_ranking_loss of the arguments "x1", "x2" and "target".
 *
 * @param reduction  none, mean or sum
 * @param margin     finite; PyTorch's default is 0
 * @return           yours, end it with adz_module_release; NULL with an error recorded,
 *                   ADZ_ERR_MEMORY or that of the loss
 * @see              torch.nn.MarginRankingLoss
 */
ADZ_API adz_module *adz_margin_ranking_loss_new(adz_reduction reduction, double margin);

/**
 * adz_binary_cross_entropy of the arguments "x" and "target".
 *
 * @param weight     broadcasts to x, or ADZ_NONE; a buffer
 * @param reduction  none, mean or sum
 * @return           yours, end it with adz_module_release; NULL with an error recorded,
 *                   ADZ_ERR_MEMORY or that of the loss
 * @see              torch.nn.BCELoss
 */
ADZ_API adz_module *adz_bce_loss_new(adz_tensor *weight, adz_reduction reduction);

/**
 * adz_binary_cross_entropy_with_logits of the arguments "x" and "target".
 *
 * @param weight      broadcasts to x, or ADZ_NONE; a buffer
 * @param reduction   none, mean or sum
 * @param pos_weight  broadcasts to x, or ADZ_NONE; a buffer
 * @return            yours, end it with adz_module_release; NULL with an error recorded,
 *                    ADZ_ERR_MEMORY or that of the loss
 * @see               torch.nn.BCEWithLogitsLoss
 */
ADZ_API adz_module *adz_bce_with_logits_loss_new(
    adz_tensor *weight, adz_reduction reduction, adz_tensor *pos_weight);

/**
 * adz_multilabel_soft_margin_loss of the arguments "x" and "target".
 *
 * @param weight     broadcasts to x, or ADZ_NONE; a buffer
 * @param reduction  none, mean or sum
 * @return           yours, end it with adz_module_release; NULL with an error recorded,
 *                   ADZ_ERR_MEMORY or that of the loss
 * @see              torch.nn.MultiLabelSoftMarginLoss
 */
ADZ_API adz_module *adz_multilabel_soft_margin_loss_new(
    adz_tensor *weight, adz_reduction reduction);

/**
 * adz_nll_loss of the arguments "x" and "target".
 *
 * @param weight        weight[C], or ADZ_NONE; a buffer
 * @param ignore_index  rows of this class do not count; PyTorch's default is -100
 * @param reduction     none, mean or sum
 * @return              yours, end it with adz_module_release; NULL with an error recorded,
 *                      ADZ_ERR_MEMORY or that of the loss
 * @see                 torch.nn.NLLLoss
 */
ADZ_API adz_module *adz_nll_loss_new(
    adz_tensor *weight, int64_t ignore_index, adz_reduction reduction);

/**
 * adz_cross_entropy of the arguments "x" and "target".
 *
 * @param weight   weight[C], or ADZ_NONE; a buffer
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with an error recorded,
 *                 ADZ_ERR_MEMORY or that of the loss
 * @see            torch.nn.CrossEntropyLoss
 */
ADZ_API adz_module *adz_cross_entropy_loss_new(
    adz_tensor *weight, const adz_cross_entropy_options *options);

/** Options of adz_linear_cross_entropy_loss_new. Start from
 * ADZ_LINEAR_CROSS_ENTROPY_LOSS_OPTIONS. */
typedef struct adz_linear_cross_entropy_loss_options {
    size_t size;             /**< sizeof(adz_linear_cross_entropy_loss_options) */
    bool bias;               /**< the linear layer has a bias; false */
    adz_reduction reduction; /**< none, mean or sum; mean */
    int64_t ignore_index;    /**< targets of this class do not count; -100, shown as None */
    double label_smoothing;  /**< share of the target spread over all classes, in [0, 1]; 0 */
    adz_dtype dtype;         /**< of the linear layer, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_linear_cross_entropy_loss_options;

/** The defaults. */
#define ADZ_LINEAR_CROSS_ENTROPY_LOSS_OPTIONS                                                     \
    {                                                                                             \
        ADZ_MEMBER(size, sizeof(adz_linear_cross_entropy_loss_options)), ADZ_MEMBER(bias, false), \
            ADZ_MEMBER(reduction, ADZ_REDUCE_MEAN), ADZ_MEMBER(ignore_index, -100),               \
            ADZ_MEMBER(label_smoothing, 0.0), ADZ_MEMBER(dtype, ADZ_F32)                          \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_linear_cross_entropy_loss_options) as the caller knows it
 */
ADZ_API void adz_linear_cross_entropy_loss_options_init(
    adz_linear_cross_entropy_loss_options *options, size_t size);

/**
 * adz_cross_entropy of scores that a linear layer makes, the child "linear". The arguments are "x"
 * and "target".
 *
 *     loss = cross_entropy(reshape(linear(x), [N, C, out_features...]), target)
 *
 * x is [N, in_features], or [in_features] if out_features is empty. The target is [N,
 * out_features...] of classes or [N, C, out_features...] of probabilities, without N for the
 * second form of x. All scores are in memory at once: PyTorch's chunks, its argument options, are
 * not there.
 *
 * @param in_features   0 or more
 * @param num_classes   C, 1 or more
 * @param out_features  up to 6 sizes, each 0 or more; ADZ_SHAPE_SCALAR, which is PyTorch's default,
 *                      for one loss of each sample
 * @param weight        weight[C] of the options' dtype, or ADZ_NONE; a buffer
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with an error recorded,
 *                      ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE or
 *                      ADZ_ERR_MEMORY
 * @see                 torch.nn.LinearCrossEntropyLoss
 */
ADZ_API adz_module *adz_linear_cross_entropy_loss_new(int64_t in_features, int64_t num_classes,
    adz_shape out_features, adz_tensor *weight,
    const adz_linear_cross_entropy_loss_options *options);

/**
 * adz_multi_margin_loss of the arguments "x" and "target".
 *
 * @param weight   weight[C], or ADZ_NONE; a buffer
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with an error recorded,
 *                 ADZ_ERR_MEMORY or that of the loss
 * @see            torch.nn.MultiMarginLoss
 */
ADZ_API adz_module *adz_multi_margin_loss_new(
    adz_tensor *weight, const adz_multi_margin_loss_options *options);

/**
 * adz_poisson_nll_loss of the arguments "x" and "target".
 *
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with an error recorded,
 *                 ADZ_ERR_MEMORY or that of the loss
 * @see            torch.nn.PoissonNLLLoss
 */
ADZ_API adz_module *adz_poisson_nll_loss_new(const adz_poisson_nll_loss_options *options);

/**
 * adz_gaussian_nll_loss of the arguments "x", "target" and "var".
 *
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with an error recorded,
 *                 ADZ_ERR_MEMORY or that of the loss
 * @see            torch.nn.GaussianNLLLoss
 */
ADZ_API adz_module *adz_gaussian_nll_loss_new(const adz_gaussian_nll_loss_options *options);

/**
 * adz_ctc_loss of the arguments "log_probs", "targets", "input_lengths" and "target_lengths".
 * The first call checks the options.
 *
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with an error recorded,
 *                 ADZ_ERR_MEMORY or that of the loss
 * @see            torch.nn.CTCLoss
 */
ADZ_API adz_module *adz_ctc_loss_new(const adz_ctc_loss_options *options);

/**
 * adz_triplet_margin_loss of the arguments "anchor", "positive" and "negative".
 *
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with an error recorded,
 *                 ADZ_ERR_MEMORY or that of the loss
 * @see            torch.nn.TripletMarginLoss
 */
ADZ_API adz_module *adz_triplet_margin_loss_new(const adz_triplet_margin_loss_options *options);

/**
 * adz_triplet_margin_with_distance_loss of the arguments "anchor", "positive" and "negative".
 *
 * The distance is a module, which may have parameters: the child "distance_function".
 *
 * @param distance_function  called with two tensors by position; its reference is taken over in
 * every case, failure included. NULL: adz_pairwise_distance_new(2, 1e-6, false)
 * @param options            NULL for the defaults
 * @return                   yours, end it with adz_module_release; NULL with an error recorded,
 *                           ADZ_ERR_MEMORY or that of the loss
 * @see                      torch.nn.TripletMarginWithDistanceLoss
 */
ADZ_API adz_module *adz_triplet_margin_with_distance_loss_new(
    adz_module *distance_function, const adz_triplet_margin_with_distance_loss_options *options);

/* ---- distances --------------------------------------------------------------------------- */

/**
 * adz_pairwise_distance of the arguments "x1" and "x2".
 *
 * @param p        any norm of adz_norm; PyTorch's default is 2
 * @param eps      finite; PyTorch's default is 1e-6
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM, PyTorch's default
 * @return         yours, end it with adz_module_release; NULL with an error recorded,
 *                 ADZ_ERR_MEMORY or that of the loss
 * @see            torch.nn.PairwiseDistance
 */
ADZ_API adz_module *adz_pairwise_distance_new(double p, double eps, bool keepdim);

/**
 * adz_cosine_similarity of the arguments "x1" and "x2".
 *
 * @param dim  of the broadcast shape; PyTorch's default is 1
 * @param eps  0 or more; PyTorch's default is 1e-8
 * @return     yours, end it with adz_module_release; NULL with an error recorded,
 *             ADZ_ERR_MEMORY or that of the loss
 * @see        torch.nn.CosineSimilarity
 */
ADZ_API adz_module *adz_cosine_similarity_new(int dim, double eps);

#ifdef __cplusplus
}
#endif

#endif
