/* One interface to all architectures: token numbers in, scores of the next token out. */
#ifndef CHAR_LM_MODEL_H
#define CHAR_LM_MODEL_H

#include <adze/adze.h>

#include "options.h"

/* True if the model carries a state from call to call. Other models see a window of the text. */
bool is_carrying(const options *o);

/* Makes a network with its initial weights. Its input is ids[B, T]. */
adz_module *new_network(const options *o, int64_t vocabulary);

/* scores[B, T, V], borrowed from the scope. Appends all results of the network to `results`. */
adz_tensor *run_network(adz_module *network, adz_tensor *ids, adz_values *results);

/* The mean cross entropy of scores[B, T, V] against targets[B, T]. */
adz_tensor *loss_of(adz_tensor *scores, adz_tensor *targets);

/* The keys and values that attention has computed: `count` tensors, to which the cache owns a
 * reference. With them a layer computes a new token only, and not the text before it again. */
typedef struct cache {
    adz_tensor **past;
    size_t count;
    int64_t length; /* number of tokens in the cache */
} cache;

cache new_cache(const options *o);
void forget(cache *c);
void free_cache(cache *c);

/* scores[1, T, V] of ids[1, T]. The ids follow the tokens in the cache and are added to it. Only
 * for architectures that carry no state. */
adz_tensor *run_cached(const options *o, adz_module *network, adz_tensor *ids, cache *c);

/* Writes run_network's scores[B, T, V] of ids[B, T] as an ONNX model, with T the context. A state
 * that is carried begins with zeros. */
void export_onnx(const options *o, adz_module *network, const char *path);

/* The feed-forward network of --ffn: a gated one of the table in adze/nn/feed_forward.h, or two
 * linear layers with an activation between them. Its width is --d-model. It has no dropout. */
adz_module *new_ffn(const options *o);

/* ---- one file for each family --------------------------------------------------------------- */

adz_module *new_gpt2(const options *o, int64_t vocabulary);
adz_tensor *run_gpt2_cached(adz_module *network, adz_tensor *ids, cache *c, adz_values *results);

adz_module *new_fastai(const options *o, int64_t vocabulary);
adz_tensor *run_transformer_cached(
    const options *o, adz_module *network, adz_tensor *ids, cache *c);

/* Replaces tensor `i` of the cache. */
void remember(cache *c, size_t i, adz_tensor *t);

#endif
