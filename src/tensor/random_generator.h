/* Generators: a Philox key and how far it has been drawn. */
#ifndef ADZI_TENSOR_RANDOM_GENERATOR_H
#define ADZI_TENSOR_RANDOM_GENERATOR_H

#include "adze/random.h"

struct adz_generator {
    adz_generator_state state;
};

/** The generator itself, or the context's default for NULL. NULL when memory was refused. */
adz_generator *adzi_generator_or_default(adz_generator *generator);

/** Takes `counters` 128-bit counters: the state from before, with which to draw. */
adz_generator_state adzi_generator_take(adz_generator *generator, uint64_t counters);

#endif
