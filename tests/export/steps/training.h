/* A small training, whose step is traced. */
#ifndef ADZE_TESTS_EXPORT_STEPS_TRAINING_H
#define ADZE_TESTS_EXPORT_STEPS_TRAINING_H

#include "replay.h"

enum { BATCH = 6, FEATURES = 4, OUTPUTS = 3 };

typedef enum loss_kind {
    MSE,
    CROSS_ENTROPY,
    BCE,
    HUBER_AND_PENALTY, /* the Huber loss of a scaled residual, and an L1 penalty of the weights */
    TWO_LOSSES,        /* both have the prediction as input */
    OWN_OPERATOR,      /* an operator of the program without a kernel */
    GRADIENT_PENALTY,  /* contains a gradient of the prediction by x */
    N_LOSSES
} loss_kind;

typedef enum clip_kind { NO_CLIP, CLIP_NORM, CLIP_LARGEST, CLIP_VALUE, N_CLIPS } clip_kind;
typedef enum zero_kind { DROP_FIRST, FILL_FIRST, DROP_LAST, NEVER } zero_kind;

typedef struct training {
    adz_module *net;
    adz_optimizer *optimizer;
    adz_flat_parameters *flat;
    adz_tensor *x, *target, *classes; /* kept */
    loss_kind loss;
    clip_kind clip;
    zero_kind zero;
    double dropout;           /* after the first layer; 0: there is none */
    double momentum;          /* of a batch norm in place of the layer norm; 0: there is none */
    int micro_batches;        /* the batch is cut into so many parts; 0: 1 */
    void (*last)(void *user); /* called at the end of the step, or NULL */
} training;

/** linear, layer_norm, tanh, linear, in f64, with inputs. */
void training_begin(training *t);
void training_end(training *t);

/** New inputs. */
void training_draw(training *t);

/** One step; the adzi_export_function of the trace. */
adz_tensor *training_step(void *user);

/** Traces the step. Fails the test if it cannot be traced. */
adzi_trace *training_trace(training *t);

/** As training_trace, but may return NULL with the error recorded. */
adzi_trace *training_try(training *t);

/** Replays and trains for `steps` steps, with other inputs and another rate in each. All losses and
 * parameters must agree within `tolerance`. */
void training_compare(training *t, int steps, double tolerance);

int restored_tests(int argc, char **argv);

#endif
