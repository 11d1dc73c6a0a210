/* Generators: a Philox key and how far it has been drawn. */
#ifndef ADZI_BASE_RANDOM_GENERATOR_H
#define ADZI_BASE_RANDOM_GENERATOR_H

#include "adze/base.h"

struct adz_generator {
    adz_generator_state state;
};

/** The generator itself, or the context's default for NULL. */
adz_generator *adzi_generator_or_default(adz_generator *generator);

/** Takes `counters` 128-bit counters: the state from before, with which to draw. */
adz_generator_state adzi_generator_take(adz_generator *generator, uint64_t counters);

enum { ADZI_MOST_DRAWN = 16 };

/** The generators that the thread has drawn from between adzi_draws_begin and adzi_draws_end, and
 * their states before. Several may watch at a time. */
typedef struct adzi_draws {
    struct adzi_draws *outer;
    size_t count; /* ADZI_MOST_DRAWN + 1: more than there is room for */
    struct {
        adz_generator *generator;
        adz_generator_state before;
    } drawn[ADZI_MOST_DRAWN];
} adzi_draws;

void adzi_draws_begin(adzi_draws *draws);
void adzi_draws_end(adzi_draws *draws);

#endif
