/* Working memory: making it, lending it to calls, and ending it. */
#include "scratch.h"

adzi_tok_scratch *adzi_tok_borrow(adzi_tok *t)
{
    for (int i = 0; i < ADZI_TOK_SPARES; ++i) {
        adzi_tok_scratch *spare = atomic_exchange(&t->spare[i], NULL);
        if (spare != NULL) {
            return spare;
        }
    }
    return adzi_tok_alloc(sizeof(adzi_tok_scratch));
}

/* A call with a very long text leaves no memory behind. */
enum { MOST_KEPT = 1 << 22 };

static bool is_small(const adzi_tok_scratch *s)
{
    return s->repaired.capacity + s->normal[0].bytes.capacity + s->normal[1].bytes.capacity +
               s->split[0].bytes.capacity + s->split[1].bytes.capacity + s->output.room * 12 +
               s->symbols_room * 16 <=
           MOST_KEPT;
}

void adzi_tok_return(adzi_tok *t, adzi_tok_scratch *scratch)
{
    for (int i = 0; i < ADZI_TOK_SPARES && scratch != NULL && is_small(scratch); ++i) {
        adzi_tok_scratch *none = NULL;
        if (atomic_compare_exchange_strong(&t->spare[i], &none, scratch)) {
            return;
        }
    }
    adzi_tok_scratch_free(scratch);
}

void adzi_tok_scratch_free(adzi_tok_scratch *s)
{
    if (s == NULL) {
        return;
    }
    for (int i = 0; i < 2; ++i) {
        adzi_tok_making_free(&s->normal[i]);
        adzi_tok_making_free(&s->split[i]);
    }
    void *const memory[] = { s->repaired.at, s->repaired_spans, s->symbols, s->ranks, s->heap,
        s->spelled.at, s->pieces, s->entries, s->words.at, s->known, s->output.ids, s->output.spans,
        s };
    for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i) {
        adzi_tok_free(memory[i]);
    }
}
