/* Progress of a training: a bar on a terminal, plain lines elsewhere. */
#ifndef FFN_PROGRESS_H
#define FFN_PROGRESS_H

#include "train.h"

typedef struct progress {
    bool terminal;
    int64_t epochs;
    double began, drawn; /* seconds of a clock that only goes forward */
} progress;

progress progress_begin(int64_t epochs);
void progress_epoch(progress *p, int64_t epoch, const epoch_record *record, bool last);
void progress_end(const progress *p);
double progress_seconds(const progress *p);

#endif
