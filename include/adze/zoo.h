/**
 * @file zoo.h
 * libadze-zoo: networks, optimizers and rules of other code bases, which are built on adze's public
 * headers alone. A program that includes this header links libadze-zoo and libadze; adze.h does not
 * include it.
 *
 * - `adz_gpt2_...`: GPT-2, as in PyTorch implementations of it
 * - `adz_fastai_...`: fastai's text models (AWD-LSTM, QRNN, Transformer, Transformer-XL)
 * - `adz_labml_...`: the transformers and optimizers of the annotated library labml_nn
 * - `adz_darts_...`: layers of the time-series library darts
 * - `adz_notebook_...`: a feed-forward network that a notebook published
 *
 * Files of weights and checkpoints need no list of types: a program makes the model and loads into
 * it (adz_module_load, adz_checkpoint_load), whichever library the model comes from.
 */
#ifndef ADZE_ZOO_H
#define ADZE_ZOO_H

#include "adze/zoo/darts.h"
#include "adze/zoo/fastai.h"
#include "adze/zoo/fastai_attention.h"
#include "adze/zoo/fastai_awd_lstm.h"
#include "adze/zoo/fastai_classifier.h"
#include "adze/zoo/fastai_config.h"
#include "adze/zoo/fastai_decoder.h"
#include "adze/zoo/fastai_dropout.h"
#include "adze/zoo/fastai_groups.h"
#include "adze/zoo/fastai_loss.h"
#include "adze/zoo/fastai_qrnn.h"
#include "adze/zoo/fastai_tokenizer.h"
#include "adze/zoo/fastai_transformer.h"
#include "adze/zoo/gpt2.h"
#include "adze/zoo/labml_attention.h"
#include "adze/zoo/labml_optimizers.h"
#include "adze/zoo/labml_transformer.h"
#include "adze/zoo/notebook.h"

#endif
