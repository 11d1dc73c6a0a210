/* Generators of random numbers. Every change of a generator's state is a launch, so that a replayed
 * step seeds, draws and advances as the captured step did. */
#include "adze/random.h"
#include "base/context.h"
#include "base/error.h"
#include "base/threads/parallel.h"
#include "base/random_generator.h"
#include "base/capture.h"
#include "base/tracer.h"
#include "base/threads/thread.h"

/* The seed of a default generator that the program has not seeded. */
enum { DEFAULT_SEED = 5489 };

/* See base/random_generator.h. */
const adz_generator_state adzi_nothing_drawn = { 0, 0 };

/* ---- states --------------------------------------------------------------------------------- */

/* *to = *from, or `state` if `from` is NULL. There is one unit. */
typedef struct {
    adz_generator_state *to;
    const adz_generator_state *from;
    adz_generator_state state;
} state_args;

ADZI_ADDRESSES(state_args, to, from);

static void write_state(const void *block, int64_t begin, int64_t end)
{
    const state_args *args = block;
    if (begin < end) {
        *args->to = args->from != NULL ? *args->from : args->state;
    }
}

/* A trace puts the states of generators back, so these launches belong to no call. */
static void launch_state(const state_args *args)
{
    const bool open = adzi_trace_open(true);
    adzi_launch(write_state, state_args, args, 1, 1);
    adzi_trace_open(open);
}

/* Adds a generator and its state to a list of draws, unless the list has it already. */
static void note(adzi_draws *draws, adz_generator *generator)
{
    for (size_t i = 0; i < draws->count && i < ADZI_MOST_DRAWN; ++i) {
        if (draws->drawn[i].generator == generator) {
            return;
        }
    }
    if (draws->count < ADZI_MOST_DRAWN) {
        draws->drawn[draws->count].generator = generator;
        adzi_generator_copy_state(&draws->drawn[draws->count].before, &generator->state);
    }
    draws->count += draws->count <= ADZI_MOST_DRAWN;
}

/* Adds a generator to the lists of the thread, before its state changes. */
static void note_everywhere(adz_generator *generator)
{
    for (adzi_draws *draws = adzi_self()->draws; draws != NULL; draws = draws->outer) {
        note(draws, generator);
    }
}

/* Sets a state by a launch, so that a step that seeds its generator seeds it in every replay. */
static void set_state(adz_generator *generator, adz_generator_state state)
{
    adzi_capture_number((double)state.seed);
    adzi_capture_number((double)state.offset);
    note_everywhere(generator);
    const state_args args = { &generator->state, NULL, state };
    launch_state(&args);
}

void adzi_generator_copy_state(adz_generator_state *to, const adz_generator_state *from)
{
    const state_args args = { .to = to, .from = from };
    launch_state(&args);
}

/* ---- generators ----------------------------------------------------------------------------- */

adz_generator *adz_generator_new(uint64_t seed)
{
    adz_generator *generator = adzi_alloc_for_kernels(sizeof *generator);
    if (generator == NULL) {
        return adzi_fail_memory("adz_generator_new", sizeof *generator);
    }
    generator->handle.mark = ADZI_HANDLE_ALIVE;
    set_state(generator, (adz_generator_state){ seed, 0 });
    return generator;
}

/* Takes a generator that ends out of the lists of draws: its state is not put back. */
static void forget(const adz_generator *generator)
{
    for (adzi_draws *draws = adzi_self()->draws; draws != NULL; draws = draws->outer) {
        for (size_t i = 0; i < draws->count && i < ADZI_MOST_DRAWN; ++i) {
            if (draws->drawn[i].generator == generator) {
                draws->drawn[i].generator = NULL;
            }
        }
    }
}

void adz_generator_free(adz_generator **generator)
{
    adz_generator *gone = adzi_handle_take("adz_generator_free", "generator", generator);
    if (gone != NULL) {
        forget(gone);
        adzi_handle_end(gone, sizeof *gone);
    }
}

adz_generator *adz_default_generator(void)
{
    adz_context *context = adzi_self()->context;
    if (!context->seeded) {
        context->generator.handle.mark = ADZI_HANDLE_PART;
        context->generator.state = (adz_generator_state){ DEFAULT_SEED, 0 };
        context->seeded = true;
    }
    return &context->generator;
}

adz_generator *adzi_generator_or_default(adz_generator *generator)
{
    return generator != NULL ? generator : adz_default_generator();
}

adz_status adz_manual_seed(uint64_t seed)
{
    set_state(adz_default_generator(), (adz_generator_state){ seed, 0 });
    return ADZ_OK;
}

/* Whether a generator of the program's lives, or is a context's. NULL is the default one. */
static bool check(const char *op, const adz_generator *generator)
{
    return generator == NULL || generator->handle.mark == ADZI_HANDLE_PART ||
           adzi_check_handle(op, "generator", generator);
}

adz_generator_state adz_generator_get_state(const adz_generator *generator)
{
    static const char op[] = "adz_generator_get_state";
    if (!check(op, generator) || adzi_is_captured(op, "the state is another one in each run")) {
        return (adz_generator_state){ 0, 0 };
    }
    return (generator != NULL ? generator : adz_default_generator())->state;
}

adz_status adz_generator_set_state(adz_generator *generator, adz_generator_state state)
{
    if (!check("adz_generator_set_state", generator)) {
        return adz_error_code();
    }
    set_state(adzi_generator_or_default(generator), state);
    return ADZ_OK;
}

/* ---- lists of draws, and advancing ---------------------------------------------------------- */

void adzi_draws_begin(adzi_draws *draws)
{
    adzi_thread *thread = adzi_self();
    draws->outer = thread->draws;
    draws->count = 0;
    thread->draws = draws;
}

void adzi_draws_end(adzi_draws *draws)
{
    adzi_self()->draws = draws->outer;
}

/* Adds `counters` to the offset of a state. There is one unit. */
typedef struct {
    adz_generator_state *state;
    uint64_t counters;
} advance_args;

ADZI_ADDRESSES(advance_args, state);

static void advance(const void *block, int64_t begin, int64_t end)
{
    const advance_args *args = block;
    if (begin < end) {
        args->state->offset += args->counters;
    }
}

void adzi_generator_advance(adz_generator *generator, uint64_t counters)
{
    note_everywhere(generator);
    const advance_args args = { &generator->state, counters };
    const bool open = adzi_trace_open(true);
    adzi_launch(advance, advance_args, &args, 1, 1);
    adzi_trace_open(open);
}
