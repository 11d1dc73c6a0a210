/* Small valid ONNX models of many kinds. */
#ifndef ADZE_TESTS_ONNX_SEEDS_H
#define ADZE_TESTS_ONNX_SEEDS_H

#include "wire_writer.h"

/* Model i, from 0 on; empty behind the last one. */
wire seed(size_t i);

#endif
