/* Losses and distances as modules: those without buffers and options. */
#include "nn/case.h"

#define PLAIN(fn, call)                     \
    static adz_module *fn(adz_generator *g) \
    {                                       \
        (void)g;                            \
        return call;                        \
    }

PLAIN(soft_margin, adz_soft_margin_loss_new(ADZ_REDUCE_SUM))
PLAIN(smooth, adz_smooth_l1_loss_new(ADZ_REDUCE_MEAN, 0.5))
PLAIN(huber, adz_huber_loss_new(ADZ_REDUCE_MEAN, 0.5))
PLAIN(divergence, adz_kl_div_loss_new(ADZ_REDUCE_BATCHMEAN, true))
PLAIN(hinge, adz_hinge_embedding_loss_new(ADZ_REDUCE_MEAN, 1))
PLAIN(ranking, adz_margin_ranking_loss_new(ADZ_REDUCE_MEAN, 0.5))
PLAIN(embedded, adz_cosine_embedding_loss_new(ADZ_REDUCE_MEAN, -0.5))
PLAIN(pairwise, adz_pairwise_distance_new(2, 1e-6, ADZ_KEEPDIM))
PLAIN(cosine, adz_cosine_similarity_new(1, 1e-8))

const module_case plain_losses_module = {
    .name = "plain_losses",
    .samples = {
        { soft_margin, "SoftMarginLoss()", "", { X(4, 3), X(4, 3) } },
        { smooth, "SmoothL1Loss()", "", { X(4, 3), X(4, 3) } },
        { huber, "HuberLoss()", "", { X(4, 3), X(4, 3) } },
        { divergence, "KLDivLoss()", "", { X(4, 3), X(4, 3) } },
        { hinge, "HingeEmbeddingLoss()", "", { X(4, 3), IDS(2, 4, 3) } },
        { ranking, "MarginRankingLoss()", "", { X(4, 3), X(4, 3), X(4, 3) } },
        { embedded, "CosineEmbeddingLoss()", "", { X(4, 3), X(4, 3), IDS(2, 4) } },
        { pairwise, "PairwiseDistance()", "", { X(4, 3), X(4, 3) } },
        { cosine, "CosineSimilarity()", "", { X(4, 3), X_NAMED("x2", 4, 3) } },
    },
};
