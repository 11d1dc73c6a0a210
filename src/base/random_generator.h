/* Generators of random numbers. The state is a Philox key and the number of blocks drawn so far. */
#ifndef ADZI_BASE_RANDOM_GENERATOR_H
#define ADZI_BASE_RANDOM_GENERATOR_H

#include "adze/base.h"
#include "base/handle.h"

struct adz_generator {
    adzi_handle handle;
    adz_generator_state state;
};

/** A state for kernels that read one although the numbers do not matter, because everything is
 * dropped or a mask is given. */
extern const adz_generator_state adzi_nothing_drawn;

/** Returns the generator, or the context's default generator for NULL. */
adz_generator *adzi_generator_or_default(adz_generator *generator);

/**
 * Moves the generator past `counters` 128-bit counters. Call it after the launch that draws: the
 * kernel reads the generator's state through a pointer when it runs. The move is a launch too, so
 * that a replayed step draws other numbers than the step before.
 */
void adzi_generator_advance(adz_generator *generator, uint64_t counters);

/** Copies a state by a launch, so that a replayed step copies it too. Use it to keep the state with
 * which something was drawn. */
void adzi_generator_copy_state(adz_generator_state *to, const adz_generator_state *from);

/** The most generators that an adzi_draws has room for. */
enum { ADZI_MOST_DRAWN = 16 };

/** The generators from which the thread draws between adzi_draws_begin and adzi_draws_end, with
 * their states before. Launches copy the states, so the struct must not be on the stack. Pairs of
 * these calls may be nested. */
typedef struct adzi_draws {
    struct adzi_draws *outer; /* the list of the pair around this one, or NULL */
    size_t count;             /* ADZI_MOST_DRAWN + 1 if there was not enough room */
    struct {
        adz_generator *generator; /* NULL if it was freed before the list ended */
        adz_generator_state before;
    } drawn[ADZI_MOST_DRAWN];
} adzi_draws;

/** Begins and ends a list. The calls of one thread are nested. */
void adzi_draws_begin(adzi_draws *draws);
void adzi_draws_end(adzi_draws *draws);

#endif
