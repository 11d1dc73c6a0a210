/* The feed-forward network and its variants, for other dialects of it. */
#ifndef ADZI_NN_LAYERS_FEED_FORWARD_H
#define ADZI_NN_LAYERS_FEED_FORWARD_H

#include "adze/nn/dropout.h"
#include "adze/nn/feed_forward.h"

typedef adz_module *(*adzi_dropout_maker)(double p, const adz_dropout_options *options);

/** The network with dropouts of the given kind; options NULL for the defaults. */
adz_module *adzi_feed_forward_new(const char *op, int64_t d_model, int64_t d_ff,
    const adz_feed_forward_options *options, adzi_dropout_maker make_dropout);

enum { ADZI_FEED_FORWARD_VARIANTS = 7 };

/** Reads `options` into `all` and sets what the variant of that name says; returns its number, or
 * -1 with an error recorded. */
int adzi_feed_forward_variant(const char *op, const char *name,
    const adz_feed_forward_options *options, adz_feed_forward_options *all);

#endif
