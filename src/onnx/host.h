/* Numbers that decide about shapes, computed on the host: chains such as Shape, Gather, Concat and
 * Reshape. They are known while a plan captures and while a network is exported, where the elements
 * of computed tensors are not. */
#ifndef ADZI_ONNX_HOST_H
#define ADZI_ONNX_HOST_H

#include "run.h"

/** The host's function of an operator; NULL if it has none. It gets a call whose inputs are all
 * known, sets output 0 by adzi_reader_set_numbers, and returns 1; 0 to leave the node to its
 * tensor function; -1 with an error recorded. */
int (*adzi_reader_find_host(const char *type))(const reader_call *call);

/** Calls it if the host knows all inputs. Returns as it does. */
int adzi_reader_run_host(const reader_call *call);

/** Sets output i. Returns 1, or -1 if `numbers` is NULL. */
int adzi_reader_set_numbers(const reader_call *call, size_t i, reader_numbers *numbers);

#endif
