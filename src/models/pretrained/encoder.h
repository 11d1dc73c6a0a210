/* The encoder block of BERT, RoBERTa and DistilBERT. */
#ifndef ADZI_MODELS_PRETRAINED_ENCODER_H
#define ADZI_MODELS_PRETRAINED_ENCODER_H

#include "adze/ops/activation.h"
#include "pretrained/parts.h"

/** What the weights of a block are called. */
typedef struct models_encoder_names {
    const char *query, *key, *value, *out, *attention_norm; /* attention */
    const char *inner, *outer, *norm;                       /* the feed-forward network */
} models_encoder_names;

/** The sizes and the options of a block. */
typedef struct models_encoder {
    int64_t hidden, intermediate, heads;
    double norm_eps, dropout, attention_dropout; /* dropout in training */
    adz_activation activation;
    const models_encoder_names *names; /* a constant */
} models_encoder;

/**
 * Makes a block of the weights PATH.attention.self.query.weight and so on.
 *
 *     h = norm(x + attention(x)),   y = norm(h + outer(f(inner(h))))
 *
 * A call takes "x" [B, T, D] and "mask", a bool mask of the keys or ADZ_NONE. The result is y.
 */
adz_module *adzi_models_encoder_new(
    models_weights *weights, const char *path, const models_encoder *e);

/** Adds a child under a path of names with points between them; the modules on the way are made
 * where they are missing. The child's reference is taken over. False with the error recorded. */
bool adzi_models_add_path(adz_module *parent, const char *path, adz_module *child);

#endif
