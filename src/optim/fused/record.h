/* The launches of an update that are put off. */
#ifndef ADZI_OPTIM_FUSED_RECORD_H
#define ADZI_OPTIM_FUSED_RECORD_H

#include "base/capture.h"
#include "optim/fused/fused.h"
#include "tensor/kernel/pointwise.h"

enum {
    ADZI_FUSED_GRAIN = 16384,
    ADZI_FUSED_STEPS = 40,
    ADZI_FUSED_TEMPORARIES = 40,
    ADZI_FUSED_NUMBERS = 64,
    ADZI_FUSED_MOVED = 1 + ADZI_POINTWISE_INPUTS
};

/* A tensor that a launch of the update writes, with as many elements as the parameter. */
typedef struct {
    const char *begin;
    size_t item;
    int first, last; /* the steps that write it first, and that use it last */
    int slot;
    char *home; /* the elements of the parameter or of a state, written at once; or NULL */
} adzi_fused_temporary;

/* An address in the arguments of a step that refers to a temporary. */
typedef struct {
    size_t at;
    int temporary;
} adzi_fused_moved;

typedef union {
    adzi_pointwise_args pointwise;
    adzi_fill_args fill;
} adzi_fused_args;

typedef struct {
    adzi_kernel kernel;
    size_t size;
    int n_moved;
    adzi_fused_moved moved[ADZI_FUSED_MOVED];
    adzi_fused_args args;
} adzi_fused_step;

/* A result: where it goes, and the temporary that it is, or else where its elements are. */
typedef struct {
    char *to;
    const char *from;
    int temporary;
} adzi_fused_stored;

typedef struct {
    const char *begin, *end;
} adzi_fused_range;

struct adzi_fused {
    adzi_capture capture; /* the first member */
    bool running;         /* the capture has not ended */
    bool done;            /* the launches have run */
    bool fills;
    uint8_t items[ADZI_ELEMENTWISE_OPERANDS]; /* of the launch that was announced */
    int64_t count;
    size_t item;
    const char *inputs[2 + ADZ_OPTIMIZER_STATES]; /* what steps may read */
    int last_read[2 + ADZ_OPTIMIZER_STATES];      /* the last step that does, or -1 */
    int n_inputs, n_steps, n_temporaries, n_numbers, n_blocks, n_stored;
    adzi_fused_range blocks[ADZI_FUSED_TEMPORARIES]; /* memory that the update has allocated */
    adzi_fused_temporary temporaries[ADZI_FUSED_TEMPORARIES];
    uint64_t numbers[ADZI_FUSED_NUMBERS]; /* scalar operands, as they were */
    adzi_fused_stored stored[1 + ADZ_OPTIMIZER_STATES];
    adzi_fused_step steps[ADZI_FUSED_STEPS];
};

/** Begins the capture. The inputs and the count are set. */
void adzi_fused_begin_capture(adzi_fused *f);

/** Ends the capture if it has not ended. */
void adzi_fused_end_capture(adzi_fused *f);

/** Runs the launches as they came. */
void adzi_fused_run_all(adzi_fused *f);

/** The number of the input that begins at an address, or -1. */
int adzi_fused_input_at(const adzi_fused *f, const char *address);

/** The temporary in whose memory an address lies, or -1. */
int adzi_fused_temporary_at(const adzi_fused *f, const char *address);

#endif
