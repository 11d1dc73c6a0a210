/* The part of a checkpoint that is divided among ranks: states of optimizers whose parameters are
 * sharded. */
#include "io/scattered.h"

#include <stdio.h>
#include <string.h>

#include "adze/data/loader.h"
#include "base/alloc.h"
#include "io/checkpoint_carried.h"
#include "optim/optimizer.h"

/* ---- preparing ------------------------------------------------------------------------------ */

static adzi_carried describe(const adz_tensor *t)
{
    adzi_carried c = { .dtype = -1 };
    if (!adzi_is_none(t)) {
        c.dtype = t->dtype;
        c.rank = t->rank;
        memcpy(c.sizes, t->sizes, (size_t)t->rank * sizeof *c.sizes);
    }
    return c;
}

/* Takes the memory for what is known before the first agreement. */
static bool take_memory(adzi_gathering *g)
{
    const adz_data_parallel *p = g->parallel;
    const size_t all = (size_t)p->micro_batches * g->n_carried;
    size_t states = 0;
    for (size_t k = 0; g->sharding != NULL && k < g->optimizer->n_groups; ++k) {
        states += g->optimizer->groups[k]->count * ADZ_OPTIMIZER_STATES;
    }
    g->capacity = states + all;
    g->carried = adzi_alloc_zero(all * sizeof *g->carried);
    g->begin = adzi_alloc_zero(((size_t)p->group->size + 1) * sizeof *g->begin);
    g->items = adzi_alloc_zero(g->capacity * sizeof *g->items);
    if (g->carried == NULL || g->begin == NULL || g->items == NULL) {
        adzi_fail_memory(g->op, g->capacity * sizeof *g->items);
        return false;
    }
    return true;
}

void adzi_gathering_begin(const char *op, adzi_gathering *g, const adz_checkpoint *checkpoint)
{
    adz_data_parallel *p = checkpoint->parallel;
    g->op = op;
    g->parallel = p;
    g->optimizer = checkpoint->optimizer;
    g->sharding = g->optimizer != NULL ? adzi_sharding_of(g->optimizer) : NULL;
    g->n_carried = adzi_micro_state_carried(p->state);
    if (!take_memory(g)) {
        return;
    }
    for (int r = 0; r <= p->group->size; ++r) {
        const size_t first = (size_t)adz_loader_cut(p->micro_batches, p->group->size, r);
        g->begin[r] = first * g->n_carried * sizeof *g->carried;
    }
    for (size_t k = 0; k < (size_t)p->count * g->n_carried; ++k) {
        const int micro = p->first + (int)(k / g->n_carried);
        const adz_tensor *t = adzi_micro_state_get(p->state, micro, k % g->n_carried);
        g->carried[(size_t)p->first * g->n_carried + k] = describe(t);
    }
}

void adzi_gathering_end(adzi_gathering *g)
{
    const adz_data_parallel *p = g->parallel;
    if (p == NULL) {
        return;
    }
    adzi_free(g->carried, (size_t)p->micro_batches * g->n_carried * sizeof *g->carried);
    adzi_free(g->begin, ((size_t)p->group->size + 1) * sizeof *g->begin);
    adzi_free(g->items, g->capacity * sizeof *g->items);
    adzi_free(g->room, g->room_bytes);
}

adz_status adzi_gathering_shapes(adzi_gathering *g)
{
    return adzi_gather_slices(g->op, g->parallel->group, g->carried, g->begin, ADZI_TAG_DATA);
}

/* ---- the list ------------------------------------------------------------------------------- */

static void list_states(adzi_gathering *g, size_t item)
{
    size_t index = 0;
    for (size_t k = 0; g->sharding != NULL && k < g->optimizer->n_groups; ++k) {
        const adzi_group *group = g->optimizer->groups[k];
        for (size_t i = 0; i < group->count; ++i, ++index) {
            const adz_tensor *t = group->parameters[i];
            for (int s = 0; s < ADZ_OPTIMIZER_STATES; ++s) {
                if (group->kept[i].state[s] != NULL && adzi_item_size(t) == item &&
                    !adzi_state_is_undivided(g->optimizer, t, s) &&
                    adzi_sharding_divides(g->sharding, t)) {
                    g->items[g->count++] = (adzi_scattered){ .parameter = t,
                        .index = index,
                        .which = s,
                        .here = group->kept[i].state[s],
                        .item = item,
                        .bytes = (size_t)t->numel * item };
                }
            }
        }
    }
}

static void list_carried(adzi_gathering *g, size_t item)
{
    const adz_data_parallel *p = g->parallel;
    for (size_t k = 0; k < (size_t)p->micro_batches * g->n_carried; ++k) {
        const adzi_carried *c = &g->carried[k];
        if (c->dtype < 0 || adz_dtype_size((adz_dtype)c->dtype) != item) {
            continue;
        }
        const int micro = (int)(k / g->n_carried);
        const bool here = micro >= p->first && micro < p->first + p->count;
        size_t bytes = item;
        for (int64_t d = 0; d < c->rank; ++d) {
            bytes *= (size_t)c->sizes[d];
        }
        const size_t index = k % g->n_carried;
        g->items[g->count++] = (adzi_scattered){ .index = index,
            .which = micro,
            .here = here ? adzi_micro_state_get(p->state, micro, index) : NULL,
            .item = item,
            .bytes = bytes };
    }
}

void adzi_gathering_list(adzi_gathering *g)
{
    size_t most = 0;
    for (size_t item = 8; item >= 1; item /= 2) {
        list_states(g, item);
        list_carried(g, item);
    }
    for (size_t i = 0; i < g->count; ++i) {
        most = g->items[i].bytes > most ? g->items[i].bytes : most;
    }
    if (g->parallel->group->rank == 0) {
        g->room_bytes = most;
        g->room = adzi_alloc(most);
        if (g->room == NULL) {
            adzi_fail_memory(g->op, most);
        }
    }
}

/* ---- the file's side ------------------------------------------------------------------------ */

/* Adds the name and shape of a carried value. */
static adz_status add_shape(
    adzi_gathering *g, adz_safetensors *file, const char *name, const adzi_carried *c)
{
    adz_tensor *t = adzi_stand_in(g->op, (adz_dtype)c->dtype, (int)c->rank, c->sizes);
    adz_status status = t != NULL ? adz_safetensors_add(file, name, t) : adz_error_code();
    if (status == ADZ_OK) {
        file->tensors[file->n_tensors - 1].later = true;
    }
    adzi_drop(t);
    return status;
}

/* Items are listed by size. Here the carried values are added in the order of micro-batches. */
static adz_status add_carried(adzi_gathering *g, adz_safetensors *file)
{
    adz_status status = ADZ_OK;
    const size_t all = (size_t)g->parallel->micro_batches * g->n_carried;
    for (size_t k = 0; k < all && status == ADZ_OK; ++k) {
        if (g->carried[k].dtype < 0) {
            continue;
        }
        adzi_text name = { 0 };
        const int micro = (int)(k / g->n_carried);
        status = adzi_carried_name(g->op, &name, g->parallel->state, micro, k % g->n_carried)
                     ? add_shape(g, file, adzi_text_get(&name), &g->carried[k])
                     : ADZ_ERR_MEMORY;
        adzi_text_free(&name);
    }
    return status;
}

static const char *elements(adzi_later *later, size_t index);

adz_status adzi_gathering_add(adzi_gathering *g, adz_safetensors *file)
{
    g->later.elements = elements;
    for (size_t i = 0; i < g->count; ++i) {
        const adzi_scattered *s = &g->items[i];
        if (s->parameter != NULL) {
            char name[96];
            snprintf(name, sizeof name, "%s%zu.%s", ADZI_CHECKPOINT_STATE, s->index,
                g->optimizer->type->states[s->which].name);
            file->tensors[adzi_safetensors_find(file, name)].later = true;
        }
    }
    return add_carried(g, file);
}

/* ---- moving --------------------------------------------------------------------------------- */

/* The bytes of an item that a rank has. */
static size_t piece(const adzi_gathering *g, const adzi_scattered *s, int rank, size_t *begin)
{
    *begin = 0;
    if (s->parameter != NULL) {
        const adzi_part part = adzi_sharding_part(g->sharding, s->parameter, rank);
        *begin = (size_t)part.begin * s->item;
        return (size_t)part.count * s->item;
    }
    const size_t position = (size_t)s->which * g->n_carried * sizeof *g->carried;
    return position >= g->begin[rank] && position < g->begin[rank + 1] ? s->bytes : 0;
}

/* Brings the next item to rank 0's room. */
static adz_status move_next(adzi_gathering *g)
{
    adz_group *group = g->parallel->group;
    const adzi_scattered *s = &g->items[g->next++];
    size_t begin, bytes = piece(g, s, group->rank, &begin);
    if (group->rank != 0) {
        const adzi_transfer t = { .to = 0,
            .send = s->here != NULL ? s->here->data : NULL,
            .send_bytes = bytes,
            .tag = ADZI_TAG_DATA };
        return adzi_transfer_bytes(g->op, group, &t);
    }
    if (bytes > 0) {
        memcpy(g->room, s->here->data, bytes); /* rank 0 has the first part */
    }
    adz_status status = ADZ_OK;
    for (int r = 1; r < group->size && status == ADZ_OK; ++r) {
        bytes = piece(g, s, r, &begin);
        const adzi_transfer t = {
            .from = r, .receive = g->room + begin, .receive_bytes = bytes, .tag = ADZI_TAG_DATA
        };
        status = adzi_transfer_bytes(g->op, group, &t);
    }
    return status;
}

/* The writer asks for the marked tensors in the order of the list. */
static const char *elements(adzi_later *later, size_t index)
{
    adzi_gathering *g = (adzi_gathering *)(void *)later;
    (void)index;
    const adz_status status = move_next(g);
    return status == ADZ_OK ? g->room : NULL;
}

void adzi_gathering_finish(adzi_gathering *g)
{
    while (g->next < g->count && g->parallel->group->broken == ADZ_OK) {
        move_next(g);
    }
}
