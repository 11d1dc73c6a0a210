/* The source line of a call, which the macros of ADZ_SITES hand to the library. */
#include <stdio.h>
#include <string.h>

#include "base/capture.h"
#include "tensor/tensor.h"

adz_tensor *adz_sited(adz_tensor *t, const char *file, int line)
{
    if (t == NULL) {
        adzi_error_record *error = &adzi_self()->error;
        size_t length = strlen(error->text);
        if (error->code != ADZ_OK && !error->sited) {
            snprintf(error->text + length, sizeof error->text - length, " (at %s:%d)", file, line);
            error->sited = true;
        }
        return NULL;
    }
    if (adzi_is_none(t)) {
        return t;
    }
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        capture->sited(capture, file, line);
    }
    if (t->node != NULL) {
        adzi_tape.node_sited(t->node, file, line);
    }
    if (!t->is_view && t->storage->file == NULL) { /* a view's storage was made elsewhere */
        t->storage->file = file;
        t->storage->line = line;
    }
    return t;
}
