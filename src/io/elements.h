/* A tensor's elements as a file holds them. */
#ifndef ADZI_IO_ELEMENTS_H
#define ADZI_IO_ELEMENTS_H

#include "adze/tensor.h"
#include "base/sink.h"

/** Writes a tensor's elements in row-major order, little-endian or, when `big`, big-endian. */
adz_status adzi_sink_tensor(adzi_sink *sink, const adz_tensor *t, bool big);

#endif
