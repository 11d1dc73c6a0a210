/* The buffers of a tree at the beginning of a call that an activation checkpoint repeats. */
#ifndef ADZI_NN_CHECKPOINT_BUFFERS_H
#define ADZI_NN_CHECKPOINT_BUFFERS_H

#include "nn/module.h"

/** A buffer of the tree as it was before the first call. */
typedef struct adzi_noted_buffer {
    adz_module *module; /* may have ended since: compared with living modules before it is used */
    size_t index;
    adz_tensor *tensor; /* a copy if each call moves the buffer in place and computes with it */
    uint32_t version;
    bool moves; /* `tensor` is such a copy */
} adzi_noted_buffer;

typedef struct adzi_noted_buffers {
    const char *op; /* whose errors are recorded */
    adzi_noted_buffer *items;
    size_t count, capacity;
} adzi_noted_buffers;

/** Notes the buffers of a tree. What is noted has to be freed even after a failure, whose error is
 * recorded. */
adz_status adzi_note_buffers(adzi_noted_buffers *all, adz_module *module);
void adzi_noted_buffers_free(adzi_noted_buffers *all);

/** The buffers that the tree has during the backward. They are kept here while the second call uses
 * the buffers of the first call. */
typedef struct adzi_buffer_exchange {
    const adzi_noted_buffers *noted;
    adz_tensor **now; /* for each noted buffer, a reference to its replacement; NULL if unchanged */
    size_t next;      /* how many noted buffers the comparison has passed */
    bool fits;        /* the tree still has the modules and buffers of the first call */
} adzi_buffer_exchange;

/** Puts the buffers of the first call into the modules of the tree. */
adz_status adzi_buffers_exchange(
    adzi_buffer_exchange *e, const adzi_noted_buffers *noted, adz_module *module);

/** Puts back the buffers that the tree had before adzi_buffers_exchange, which may have failed or
 * not have been called if *e is all zeros. */
void adzi_buffers_put_back(adzi_buffer_exchange *e);

#endif
