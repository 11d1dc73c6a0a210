/* What the processor offers and which variant of every kernel runs; the level itself,
 * adzi_cpu_level, is declared in tensor/isa.h, where kernels find it. */
#ifndef ADZI_TENSOR_CPU_H
#define ADZI_TENSOR_CPU_H

#include "tensor/isa.h"

/** The best level that this processor and its operating system can run. */
int adzi_cpu_best(void);

/** Chooses adzi_cpu_level. A constructor calls it; calling it again changes nothing. */
void adzi_cpu_init(void);

#endif
