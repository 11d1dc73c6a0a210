/**
 * @file fastai_groups.h
 * The parameters of fastai's text models in groups, from the first layers to the head, for
 * learning rates that differ and for training the head first.
 *
 * @code
 * adz_fastai_transformer_options o = ADZ_FASTAI_TRANSFORMER_OPTIONS;
 * o.n_layers = 3;
 * o.n_heads = 1;
 * o.d_model = o.d_head = o.d_inner = 8;
 * adz_module *model =
 *     ADZ_SEQUENTIAL(adz_fastai_transformer_new(20, &o), adz_linear_new(8, 20, NULL));
 * adz_fastai_groups *groups = adz_fastai_tfmer_lm_split(model);
 * adz_fastai_freeze_to(groups, -1); // all but the last group
 * double rates[4];
 * adz_fastai_lr_range(1e-4, 1e-2, adz_fastai_groups_count(groups), rates);
 * adz_fastai_groups_free(&groups);
 * adz_module_release(&model);
 * @endcode
 */
#ifndef ADZE_ZOO_FASTAI_GROUPS_H
#define ADZE_ZOO_FASTAI_GROUPS_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Parameters in groups. No parameter is in two of them; a group may be empty. */
typedef struct adz_fastai_groups adz_fastai_groups;

/* ---- splitting a model -------------------------------------------------------------------- */

/**
 * A language model on an AWD-LSTM: each recurrent layer, then the embedding with the decoder.
 *
 * @param model  a container of an AWD_LSTM and its decoder
 * @return       yours, end it with adz_fastai_groups_free; it refers to the parameters, not to the
 *               model. NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (another model) or ADZ_ERR_MEMORY
 *               recorded
 * @see          fastai.text.models.awd_lstm.awd_lstm_lm_split
 */
ADZ_API adz_fastai_groups *adz_fastai_awd_lstm_lm_split(adz_module *model);

/**
 * A classifier on an AWD-LSTM: the embedding, each recurrent layer, then the head.
 *
 * @param model  a container of a MultiBatchEncoder of an AWD_LSTM and its head
 * @return       yours, end it with adz_fastai_groups_free; it refers to the parameters, not to the
 *               model. NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (another model) or ADZ_ERR_MEMORY
 *               recorded
 * @see          fastai.text.models.awd_lstm.awd_lstm_clas_split
 */
ADZ_API adz_fastai_groups *adz_fastai_awd_lstm_clas_split(adz_module *model);

/**
 * A language model on a Transformer: the layers in thirds, the last of which has the rest, then the
 * table of tokens with the decoder.
 *
 * As in the reference, the table of learned positions is in no group.
 *
 * @param model  a container of a Transformer and its decoder
 * @return       yours, end it with adz_fastai_groups_free; it refers to the parameters, not to the
 *               model. NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (another model) or ADZ_ERR_MEMORY
 *               recorded
 * @see          fastai.text.models.transformer.tfmer_lm_split
 */
ADZ_API adz_fastai_groups *adz_fastai_tfmer_lm_split(adz_module *model);

/**
 * A classifier on a Transformer: the table of tokens, the layers in thirds, then the head.
 *
 * As in the reference, the table of learned positions is in no group.
 *
 * @param model  a container of a MultiBatchEncoder of a Transformer and its head
 * @return       yours, end it with adz_fastai_groups_free; it refers to the parameters, not to the
 *               model. NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (another model) or ADZ_ERR_MEMORY
 *               recorded
 * @see          fastai.text.models.transformer.tfmer_clas_split
 */
ADZ_API adz_fastai_groups *adz_fastai_tfmer_clas_split(adz_module *model);

/**
 * adz_fastai_tfmer_lm_split for a Transformer-XL, whose u and v go with the first third.
 *
 * @param model  a container of a TransformerXL and its decoder
 * @return       yours, end it with adz_fastai_groups_free; it refers to the parameters, not to the
 *               model. NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (another model) or ADZ_ERR_MEMORY
 *               recorded
 * @see          fastai.text.models.transformer.tfmerXL_lm_split
 */
ADZ_API adz_fastai_groups *adz_fastai_tfmer_xl_lm_split(adz_module *model);

/**
 * adz_fastai_tfmer_clas_split for a Transformer-XL, whose u and v go with the first third.
 *
 * @param model  a container of a MultiBatchEncoder of a TransformerXL and its head
 * @return       yours, end it with adz_fastai_groups_free; it refers to the parameters, not to the
 *               model. NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (another model) or ADZ_ERR_MEMORY
 *               recorded
 * @see          fastai.text.models.transformer.tfmerXL_clas_split
 */
ADZ_API adz_fastai_groups *adz_fastai_tfmer_xl_clas_split(adz_module *model);

/* ---- groups ------------------------------------------------------------------------------- */

/**
 * Ends the groups, not the parameters.
 *
 * @param groups  address of the pointer, which becomes NULL; a NULL inside is left alone, and
 * groups that were freed before are ADZ_ERR_OWNERSHIP
 */
ADZ_API void adz_fastai_groups_free(adz_fastai_groups **groups);

/**
 * The number of groups.
 *
 * @param groups  any
 * @return        0 when groups is NULL, and with ADZ_ERR_OWNERSHIP recorded when it was freed
 */
ADZ_API size_t adz_fastai_groups_count(const adz_fastai_groups *groups);

/**
 * The parameters of one group.
 *
 * @param groups  any
 * @param index   below adz_fastai_groups_count
 * @return        borrowed from the groups; empty for an empty group, and with ADZ_ERR_INDEX,
 *                ADZ_ERR_NULL or ADZ_ERR_OWNERSHIP (freed before) recorded
 */
ADZ_API adz_tensor_list adz_fastai_groups_at(const adz_fastai_groups *groups, size_t index);

/**
 * Freezes the groups before one and makes it and those after it want gradients.
 *
 * @param groups  any
 * @param n       the first group that is trained, negative ones counted from the end: -1 leaves the
 *                head alone unfrozen, 0 unfreezes all, the number of groups freezes all
 * @return        ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_OWNERSHIP (freed before)
 * @see           fastai.basic_train.Learner.freeze_to
 */
ADZ_API adz_status adz_fastai_freeze_to(const adz_fastai_groups *groups, int64_t n);

/**
 * Learning rates for groups, from the first to the last by equal factors.
 *
 *     rates[i] = start (stop / start)^(i / (n - 1));  n of 1: stop
 *
 * @param start  the first group's, above 0; or 0 for stop / 10 in every group but the last, as the
 *               reference does for a range without a start
 * @param stop   the last group's, above 0
 * @param n      how many, 1 or more
 * @param rates  receives n numbers
 * @return       ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY or, in a function that a
 *               plan captures, ADZ_ERR_STATE; `rates` is unchanged then
 * @see          fastai.basic_train.Learner.lr_range
 */
ADZ_API adz_status adz_fastai_lr_range(double start, double stop, size_t n, double *rates);

#ifdef __cplusplus
}
#endif

#endif
