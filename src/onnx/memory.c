/* Memory of models and runs. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

typedef struct reader_block {
    struct reader_block *next;
    adz_tensor *memory;
    size_t used, size;
} reader_block;

enum { ALIGNMENT = 16, SMALLEST = 1024, LARGEST = 65536 };
#define HEADER ((sizeof(reader_block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

/* Adds a block for at least `bytes`. Blocks double in size, so that small models take little. */
static reader_block *add_block(reader_arena *arena, size_t bytes)
{
    size_t size = arena->blocks != NULL ? 2 * arena->blocks->size : SMALLEST;
    size = size > LARGEST ? LARGEST : size;
    size = size < bytes ? bytes : size;
    adz_tensor *memory = NULL;
    reader_block *block = arena->plain ? calloc(1, HEADER + size) : NULL;
    if (!arena->plain) {
        adz_scope *scope = adz_scope_open();
        memory = adz_keep(adz_zeros(ADZ_SHAPE((int64_t)(HEADER + size)), ADZ_U8));
        adz_scope_close(scope);
        block = memory != NULL ? adz_tensor_data(memory) : NULL;
    } else if (block == NULL) {
        adz_error_format("ONNX", ADZ_ERR_MEMORY, "%zu bytes were refused", HEADER + size);
    }
    if (block != NULL) {
        *block = (reader_block){ arena->blocks, memory, 0, size };
        arena->blocks = block;
    }
    return block;
}

void *adzi_reader_alloc(reader_arena *arena, size_t count, size_t size)
{
    if (count > (size_t)INT64_MAX / 16 / size) {
        adz_error_set(LOAD, ADZ_ERR_MEMORY, "the model needs more memory than there can be");
        return NULL;
    }
    const size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    reader_block *block = arena->blocks;
    if (block == NULL || block->size - block->used < bytes) {
        block = add_block(arena, bytes);
    }
    if (block == NULL) {
        return NULL;
    }
    char *start = (char *)block + HEADER + block->used;
    block->used += bytes;
    return start;
}

char *adzi_reader_text(reader_arena *arena, reader_bytes bytes)
{
    char *text = adzi_reader_alloc(arena, bytes.size + 1, 1);
    if (text != NULL && bytes.size > 0) {
        memcpy(text, bytes.at, bytes.size);
    }
    return text;
}

void adzi_reader_arena_free(reader_arena *arena)
{
    for (reader_block *b = arena->blocks; b != NULL;) {
        reader_block *block = b;
        adz_tensor *memory = b->memory;
        b = b->next;
        if (memory != NULL) {
            adz_release(&memory);
        } else {
            free(block);
        }
    }
    arena->blocks = NULL;
}

adz_status adzi_reader_keep(reader_model *model, adz_tensor *t)
{
    if (model->n_kept == model->room_kept) {
        const size_t room = 2 * model->room_kept + 8;
        adz_tensor **kept = adzi_reader_alloc(&model->arena, room, sizeof *kept);
        if (kept == NULL) {
            return ADZ_ERR_MEMORY;
        }
        if (model->n_kept > 0) {
            memcpy(kept, model->kept, model->n_kept * sizeof *kept);
        }
        model->kept = kept;
        model->room_kept = room;
    }
    model->kept[model->n_kept++] = adz_keep(t);
    return ADZ_OK;
}

void adzi_reader_model_release(reader_model *model)
{
    if (model == NULL || atomic_fetch_sub(&model->references, 1) > 1) {
        return;
    }
    for (size_t i = 0; i < model->n_values; ++i) {
        if (model->values[i].weight != NULL) {
            adz_release(&model->values[i].weight);
        }
    }
    for (size_t i = 0; i < model->n_kept; ++i) {
        adz_release(&model->kept[i]);
    }
    /* The model lies in its own arena. */
    reader_arena arena = model->arena;
    adzi_reader_arena_free(&arena);
}
