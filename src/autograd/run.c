/* A running backward from its begin to its end, and its memory. */
#include "autograd/run.h"

#include "autograd/leaf.h"
#include "base/door.h"
#include "base/threads/upcalls.h"

/* ---- memory of a run ------------------------------------------------------------------------- */

enum { CHUNK_HEAD = (sizeof(adzi_chunk) + 15) & ~(size_t)15, CHUNK = 65000 };

void *adzi_run_alloc(adzi_run *run, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    adzi_chunk *c = run->chunks;
    if (c->size - c->used >= bytes) {
        c->used += bytes;
        return (char *)c + c->used - bytes;
    }
    size_t size = bytes + CHUNK_HEAD > CHUNK ? bytes + CHUNK_HEAD : CHUNK;
    adzi_chunk *fresh = adzi_alloc(size);
    if (fresh == NULL) {
        return adzi_fail_memory(ADZI_BACKWARD_NAME, size);
    }
    fresh->next = run->chunks;
    fresh->size = size;
    fresh->used = CHUNK_HEAD + bytes;
    run->chunks = fresh;
    return (char *)fresh + CHUNK_HEAD;
}

adzi_run *adzi_run_begin(adzi_thread *thread, uintptr_t floor)
{
    const size_t frame = adzi_open_door(thread, ADZI_BACKWARD_NAME, floor, NULL);
    if (frame == SIZE_MAX) {
        return NULL;
    }
    adzi_run *run = adzi_alloc(sizeof *run);
    if (run == NULL) {
        adzi_close_door(thread, frame);
        return adzi_fail_memory(ADZI_BACKWARD_NAME, sizeof *run);
    }
    thread->frames[frame].run = run;
    run->thread = thread;
    run->frame = frame;
    run->checked = NULL;
    run->express = thread->tracer != NULL;
    run->create_graph = run->keep_graph = run->commits = run->done = false;
    run->targets = NULL;
    run->found = NULL;
    run->n_targets = 0;
    run->order = run->first_order;
    run->n_order = 0;
    run->order_capacity = sizeof run->first_order / sizeof *run->first_order;
    run->leaves = NULL;
    run->chunks = (adzi_chunk *)(void *)run->first_chunk;
    run->chunks->next = NULL;
    run->chunks->size = sizeof run->first_chunk;
    run->chunks->used = CHUNK_HEAD;
    return run;
}

/* Releases what call_checked has retained, after a jump out of the backward. */
static void release_checked(adzi_run *run)
{
    adzi_node *node = run->checked;
    for (int k = 0; k < node->n_results; ++k) {
        adzi_drop(node->entry->grads[k]);
    }
}

static void run_abandon(adzi_run *run)
{
    size_t n_roots = 0;
    if (run->checked != NULL) {
        release_checked(run);
    }
    for (size_t i = 0; i < run->n_order; ++i) {
        adzi_node *node = run->order[i];
        adzi_entry *entry = node->entry;
        for (int k = 0; k < node->n_results; ++k) {
            adzi_drop(entry->grads[k]);
        }
        node->entry = entry->outer;
        node->targeted = entry->outer != NULL && entry->outer->run->targets != NULL;
        if (entry->root) {
            run->order[n_roots++] = node;
        }
    }
    for (adzi_leaf_slot *slot = run->leaves; slot != NULL; slot = slot->next) {
        if (!run->done) {
            adzi_leaf_undo(slot);
        }
        slot->leaf->gradient->slot = slot->outer;
        adzi_drop(slot->grad);
        if (slot->held) {
            adzi_drop(slot->leaf);
        }
    }
    for (size_t i = 0; i < run->n_targets; ++i) {
        adzi_drop(run->found[i]);
    }
    while (n_roots > 0) {
        adzi_node_release(run->thread, run->order[--n_roots]);
    }
    if (run->order != run->first_order) {
        adzi_free(run->order, run->order_capacity * sizeof *run->order);
    }
    while (run->chunks->next != NULL) {
        adzi_chunk *next = run->chunks->next;
        adzi_free(run->chunks, run->chunks->size);
        run->chunks = next;
    }
    adzi_free(run, sizeof *run);
}

ADZI_AT_LOAD register_runs(void)
{
    adzi_upper.run_abandon = run_abandon;
}

void adzi_run_end(adzi_run *run)
{
    adzi_close_door(run->thread, run->frame);
    run_abandon(run);
}
