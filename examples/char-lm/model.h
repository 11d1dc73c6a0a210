/* One interface to all architectures: token numbers in, scores of the next token out. */
#ifndef CHAR_LM_MODEL_H
#define CHAR_LM_MODEL_H

#include <adze/adze.h>

#include "options.h"

/* Whether a model carries a state from call to call, instead of seeing a window of text. */
bool is_carrying(const options *o);

/* A network with its first weights. It takes ids[B, T]. */
adz_module *new_network(const options *o, int64_t vocabulary);

/* scores[B, T, V], borrowed from the scope. Appends all that the network gave to `results`. */
adz_tensor *run_network(adz_module *network, adz_tensor *ids, adz_values *results);

/* The mean cross entropy of scores[B, T, V] against targets[B, T]. */
adz_tensor *loss_of(adz_tensor *scores, adz_tensor *targets);

/* The keys and values that attention has seen: `count` tensors, kept. With them a new token costs
 * one row of each layer. */
typedef struct cache {
    adz_tensor **past;
    size_t count;
    int64_t length; /* tokens that it holds */
} cache;

cache new_cache(const options *o);
void forget(cache *c);
void free_cache(cache *c);

/* scores[1, T, V] of ids[1, T], which follow the tokens in the cache and are added to it. Only for
 * architectures without a state of their own. */
adz_tensor *run_cached(const options *o, adz_module *network, adz_tensor *ids, cache *c);

/* The feed-forward network of --ffn, of d-model features: one of the experiment with gated linear
 * units, or two layers with that activation. It drops nothing. */
adz_module *new_ffn(const options *o);

/* ---- one file for each family --------------------------------------------------------------- */

adz_module *new_gpt2(const options *o, int64_t vocabulary);
adz_tensor *run_gpt2_cached(adz_module *network, adz_tensor *ids, cache *c, adz_values *results);

adz_module *new_fastai(const options *o, int64_t vocabulary);
adz_tensor *run_transformer_cached(
    const options *o, adz_module *network, adz_tensor *ids, cache *c);

/* Puts a new tensor into the cache's place `i`. */
void remember(cache *c, size_t i, adz_tensor *t);

#endif
