/* The training step of a C program, and the arrays of its optimizer. */
#ifndef ADZI_EXPORT_C99_STEP_H
#define ADZI_EXPORT_C99_STEP_H

#include "adze/export.h"
#include "export/c99/c99.h"
#include "optim/optimizer.h"

/** False with the error recorded if the optimizer has no printer. */
bool adzi_c99_check_optimizer(adzi_c99 *c, const adz_optimizer *optimizer);

/** Marks the parameters that the optimizer updates, and everything that depends on them. */
void adzi_c99_mark_parameters(adzi_c99 *c, const adz_optimizer *optimizer);

/** Prints the body of the step. */
void adzi_c99_print_step(adzi_c99 *c, const adz_optimizer *optimizer, adz_c_loss loss);

/** Adds the learning rates and the optimizer's state to the file, with their present contents. The
 * step must have been printed. Returns the bytes that they take. */
int64_t adzi_c99_print_states(adzi_c99 *c, adzi_text *file, const adz_optimizer *optimizer);

#endif
