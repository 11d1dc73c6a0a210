/* The sweep of plans calls every public function inside a captured function and between two runs.
 * A plan and ordinary calls must leave the same bits, or the plan must be refused. world.c has the
 * trainings and forwards around the calls, calls.c makes a call in them, main.c chooses the cases.
 */
#ifndef ADZE_TESTS_SWEEP_PLANS_H
#define ADZE_TESTS_SWEEP_PLANS_H

#include "../sweep.h"

enum { STEPS = 6, AT = 4 }; /* steps of a case; the step before which a call between runs is made */

/* What is computed around the call. */
typedef enum world_kind {
    MLP_TRAINING, /* with dropout and batch norm */
    MLP_FORWARD,
    FLAT_TRAINING, /* parameters in a flat buffer */
    AWD_TRAINING,
    AWD_FORWARD,
    QRNN_TRAINING,
    QRNN_FORWARD,
    WORLD_KINDS
} world_kind;

extern const char *const world_names[WORLD_KINDS];

/* Which objects the call gets. */
typedef enum variant {
    OBJECTS_OF_ITS_OWN,
    COMPUTED,     /* tensors that the captured function has computed */
    OF_THE_WORLD, /* its model, optimizer, generator, and a parameter as the tensor */
    INPUT,        /* as OF_THE_WORLD, with the input as the tensor */
    GRADIENT,     /* as OF_THE_WORLD, with a gradient or a buffer as the tensor */
    VARIANTS
} variant;

extern const char *const variant_names[VARIANTS];

typedef struct example {
    const function *f;
    size_t choices[MOST_PARAMS];
    world_kind kind;
    variant variant;
    bool inside;
} example;

typedef struct world {
    const example *e;
    adz_module *model, *head;
    adz_optimizer *optimizer;
    adz_scheduler *scheduler;
    adz_generator *generator;
    adz_flat_parameters *flat;
    adz_tensor *x, *y;
    adz_scope *scope;
    arg args[MOST_PARAMS];
    bool made;   /* the arguments */
    bool called; /* without an error */
    bool failed; /* the call has failed */
} world;

/* ---- world.c --------------------------------------------------------------------------------- */

void world_begin(world *w, const example *e);
void world_end(world *w);

bool is_training(world_kind which);

/* The captured function. */
adz_tensor *world_step(void *user);

/* Writes the inputs of step k. */
void world_inputs(world *w, int k);

/* A number that follows from everything that a step may have changed. */
uint64_t world_digest(world *w, adz_tensor *output);

/* ---- calls.c --------------------------------------------------------------------------------- */

/* Whether the arguments must be made for each call. */
bool is_fresh(const function *f);

void arguments_make(world *w);
void arguments_end(world *w);

/* Other contents of the arguments for step k. */
void arguments_write(world *w, int k);
uint64_t arguments_digest(world *w, uint64_t digest);

/* Makes the call. Returns `output` and what the call gives as one number; NULL after an error. */
adz_tensor *call_inside(world *w, adz_tensor *output);
void call_between(world *w);

/* Searches choices with which the function succeeds. */
bool find_choices(const function *f, size_t *choices);

uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t n);
uint64_t digest_tensor(uint64_t digest, adz_tensor *t);
uint64_t digest_module(uint64_t digest, adz_module *module);

#endif
