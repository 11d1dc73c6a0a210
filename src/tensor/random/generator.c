#include "adze/random.h"
#include "base/context.h"
#include "base/error.h"
#include "base/random_generator.h"
#include "base/thread.h"

enum { DEFAULT_SEED = 5489 };

adz_generator *adz_generator_new(uint64_t seed)
{
    adz_generator *generator = adzi_alloc(sizeof *generator);
    if (generator == NULL) {
        return adzi_fail_memory("adz_generator_new", sizeof *generator);
    }
    generator->state = (adz_generator_state){ seed, 0 };
    return generator;
}

void adz_generator_free(adz_generator **generator)
{
    if (generator != NULL && *generator != NULL) {
        adzi_free(*generator, sizeof **generator);
        *generator = NULL;
    }
}

adz_generator *adz_default_generator(void)
{
    adz_context *context = adzi_self()->context;
    if (!context->seeded) {
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
    adz_default_generator()->state = (adz_generator_state){ seed, 0 };
    return ADZ_OK;
}

adz_generator_state adz_generator_get_state(const adz_generator *generator)
{
    return (generator != NULL ? generator : adz_default_generator())->state;
}

void adz_generator_set_state(adz_generator *generator, adz_generator_state state)
{
    adzi_generator_or_default(generator)->state = state;
}

/* ---- who has drawn -------------------------------------------------------------------------- */

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

static void note(adzi_draws *draws, adz_generator *generator)
{
    for (size_t i = 0; i < draws->count && i < ADZI_MOST_DRAWN; ++i) {
        if (draws->drawn[i].generator == generator) {
            return;
        }
    }
    if (draws->count < ADZI_MOST_DRAWN) {
        draws->drawn[draws->count].generator = generator;
        draws->drawn[draws->count].before = generator->state;
    }
    draws->count += draws->count <= ADZI_MOST_DRAWN;
}

adz_generator_state adzi_generator_take(adz_generator *generator, uint64_t counters)
{
    adz_generator_state before = generator->state;
    for (adzi_draws *draws = adzi_self()->draws; draws != NULL; draws = draws->outer) {
        note(draws, generator);
    }
    generator->state.offset += counters;
    return before;
}
