/* Weights that a plan packs once: adz_plan_options.pack_weights.
 *
 * Tiles of a large product read the weight from strips of columns (gemm_pack in
 * tensor/gemm/gemm_blocked.kernel.c). An ordinary product copies the weight into strips in every
 * call. Here the copy is made when the launches are taken into use, and every replay reads it.
 *
 * The captured call notes the version of each such weight in `seen`, so the plan is made again
 * after a weight was written. Weights that the run itself writes are not packed, and
 * none of a loop, where the address may move. */
#include "plan/once.h"
#include "tensor/gemm/loops.h"
#include "tensor/tensor.h"

/* A packed copy, and the weight and the shape of it. Products of equal members read one copy. What
 * launches of weights alone have written (once.c) is a copy, too, and has no weight. */
typedef struct adzi_plan_packed {
    const void *b;
    adz_dtype dtype;
    bool tb;
    int64_t n, k, ldb;
    void *copy;
    size_t bytes;
} adzi_plan_packed;

adzi_storage *adzi_plan_storage_at(adz_tensor_list parameters, const void *address)
{
    for (size_t i = 0; i < parameters.count; ++i) {
        adzi_storage *s = parameters.items[i]->storage;
        const uintptr_t begin = (uintptr_t)s->data, at = (uintptr_t)address;
        if (at >= begin && at - begin < s->bytes) {
            return s;
        }
    }
    return NULL;
}

bool adzi_plan_writes(const adzi_captured_call *c, const adzi_storage *storage)
{
    for (size_t i = 0; i < c->n_written; ++i) {
        if (c->written[i] == storage) {
            return true;
        }
    }
    return false;
}

bool adzi_plan_note_weight(adzi_captured_call *c, adzi_storage *storage)
{
    if (!adzi_grow(&c->seen, &c->seen_capacity, c->n_seen + 1, sizeof *c->seen)) {
        return false;
    }
    c->seen[c->n_seen++] = (struct adzi_plan_seen){ storage, storage->version };
    return true;
}

char *adzi_plan_keep(adz_plan *plan, size_t bytes)
{
    if (!adzi_grow(
            &plan->packed, &plan->packed_capacity, plan->n_packed + 1, sizeof *plan->packed)) {
        return NULL;
    }
    char *memory = adzi_alloc(bytes);
    if (memory != NULL) {
        plan->packed[plan->n_packed++] = (adzi_plan_packed){ .copy = memory, .bytes = bytes };
    }
    return memory;
}

/* Whether an address lies in memory that adzi_plan_keep has given. */
static bool is_kept(const adz_plan *plan, const void *address)
{
    for (size_t i = 0; i < plan->n_packed; ++i) {
        const adzi_plan_packed *p = &plan->packed[i];
        if (p->b == NULL && (uintptr_t)address - (uintptr_t)p->copy < p->bytes) {
            return true;
        }
    }
    return false;
}

/* Whether a product may read a copy of its weight, which lies in this parameter or in none. */
static bool may_pack(
    const adz_plan *plan, size_t launch, const adzi_gemm_args *g, const adzi_storage *parameter)
{
    const bool same = parameter != NULL ? !adzi_plan_writes(plan->last, parameter)
                                        : g != NULL && is_kept(plan, g->b);
    return same && adzi_plan_loop_at(plan->last, launch) == NULL;
}

/* The copy of the weight of a product, which may exist already; NULL if memory was refused. */
static const void *copy_of(adz_plan *plan, const adzi_gemm_args *g)
{
    for (size_t i = 0; i < plan->n_packed; ++i) {
        const adzi_plan_packed *p = &plan->packed[i];
        if (p->b == g->b && p->dtype == g->dtype && p->tb == g->tb && p->n == g->n &&
            p->k == g->k && p->ldb == g->ldb) {
            return p->copy;
        }
    }
    adzi_plan_packed made = { g->b, g->dtype, g->tb, g->n, g->k, g->ldb, NULL, 0 };
    if (!adzi_grow(
            &plan->packed, &plan->packed_capacity, plan->n_packed + 1, sizeof *plan->packed)) {
        return NULL;
    }
    made.bytes = adzi_gemm_packed_bytes(g);
    made.copy = adzi_alloc(made.bytes);
    if (made.copy != NULL) {
        adzi_gemm_pack(g, made.copy);
        plan->packed[plan->n_packed++] = made;
    }
    return made.copy;
}

bool adzi_plan_pack_weights(adz_plan *plan)
{
    adzi_captured_call *c = plan->last;
    const adz_tensor_list parameters = adz_module_parameters(plan->module);
    if (!adzi_plan_do_once(plan)) {
        return false;
    }
    for (size_t i = 0; i < c->n_launches; ++i) {
        adzi_plan_launch *launch = &c->launches[i];
        const adzi_gemm_args *g = adzi_gemm_packable(launch->kernel, launch->args);
        adzi_storage *storage = g != NULL ? adzi_plan_storage_at(parameters, g->b) : NULL;
        if (!may_pack(plan, i, g, storage)) {
            continue;
        }
        const void *copy = copy_of(plan, g);
        if (copy == NULL || (storage != NULL && !adzi_plan_note_weight(c, storage))) {
            return false;
        }
        adzi_gemm_use_packed(launch->args, copy, &launch->units, &launch->grain);
    }
    return true;
}

size_t adzi_plan_packed_bytes(const adz_plan *plan)
{
    size_t bytes = 0;
    for (size_t i = 0; i < plan->n_packed; ++i) {
        bytes += plan->packed[i].bytes;
    }
    return bytes;
}

void adzi_plan_free_packed(adz_plan *plan)
{
    for (size_t i = 0; i < plan->n_packed; ++i) {
        adzi_free(plan->packed[i].copy, plan->packed[i].bytes);
    }
    adzi_free(plan->packed, plan->packed_capacity * sizeof *plan->packed);
    plan->packed = NULL;
    plan->n_packed = plan->packed_capacity = 0;
}
