/* Operators that compute with numbers on the host. Each returns as host.h says. */
#ifndef ADZI_ONNX_HOST_MATH_H
#define ADZI_ONNX_HOST_MATH_H

#include "run.h"

int adzi_reader_host_unary(const reader_call *call);
int adzi_reader_host_binary(const reader_call *call);
int adzi_reader_host_reduce(const reader_call *call);
int adzi_reader_host_cast(const reader_call *call);
int adzi_reader_host_where(const reader_call *call);

#endif
