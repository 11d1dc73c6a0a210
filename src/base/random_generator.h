/* Generators: a Philox key and how far it has been drawn. */
#ifndef ADZI_BASE_RANDOM_GENERATOR_H
#define ADZI_BASE_RANDOM_GENERATOR_H

#include "adze/base.h"

struct adz_generator {
    adz_generator_state state;
};

/** Stands for a generator's state where a kernel reads one in any case, but what it draws does not
 * matter: everything is dropped, or a mask is given. */
extern const adz_generator_state adzi_nothing_drawn;

/** The generator itself, or the context's default for NULL. */
adz_generator *adzi_generator_or_default(adz_generator *generator);

/**
 * Moves the generator past `counters` 128-bit counters. Call it after the launch that draws: the
 * kernel reads the generator's state through a pointer when it runs. The move is a launch too, so
 * that a replayed step draws other numbers than the step before.
 */
void adzi_generator_advance(adz_generator *generator, uint64_t counters);

/** Copies a state in a launch. Use it to keep the state with which something was drawn. */
void adzi_generator_copy_state(adz_generator_state *to, const adz_generator_state *from);

enum { ADZI_MOST_DRAWN = 16 };

/** The generators that the thread has drawn from between adzi_draws_begin and adzi_draws_end, and
 * their states before, which are copied in launches: the struct must not be on the stack. Several
 * may watch at a time. */
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
