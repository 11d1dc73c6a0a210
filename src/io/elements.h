/* Writing the elements of tensors to files: contiguous, in the byte order of the file. */
#ifndef ADZI_IO_ELEMENTS_H
#define ADZI_IO_ELEMENTS_H

#include "adze/tensor.h"
#include "base/sink.h"

/** Writes a tensor's elements in row-major order, big-endian if `big`, else little-endian. A tensor
 * that is not contiguous is copied first. ADZ_ERR_IO, ADZ_ERR_MEMORY. */
adz_status adzi_sink_tensor(adzi_sink *sink, const adz_tensor *t, bool big);

#endif
