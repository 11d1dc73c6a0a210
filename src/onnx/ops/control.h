/* Nodes that run graphs inside them: what their two ways share. control.c runs a graph step by step
 * and follows numbers on the host; loops.c hands it to adz_scan, adz_while and adz_branch. */
#ifndef ADZI_ONNX_OPS_CONTROL_H
#define ADZI_ONNX_OPS_CONTROL_H

#include "run.h"

/** A value between two runs of a graph. */
typedef struct reader_carried {
    adz_tensor *t; /* kept */
    reader_numbers *numbers;
} reader_carried;

/** Gives a value to a run, which ends it. */
void adzi_reader_give(reader_run *run, size_t value, reader_carried *given);

void adzi_reader_end(reader_carried *value);

/** An attribute that is a graph. */
reader_graph *adzi_reader_graph_of(const reader_call *call, const char *name);

/** Runs a graph whose inputs are given, and takes its outputs. What the graph made by the way ends.
 */
adz_status adzi_reader_run_graph(
    const reader_call *call, const reader_graph *graph, reader_carried *outputs, size_t n);

/** An If by adz_branch. Returns as the operator does. */
adz_tensor *adzi_reader_branch(const reader_call *call);

/** A Scan or a Loop by adz_scan or adz_while, if it fits. Returns as the operator does. `fits`
 * becomes false, and nothing has happened, if it does not: the host reads numbers that change from
 * turn to turn, a Loop changes shapes or gathers results without a fixed number of turns. */
adz_tensor *adzi_reader_scan(const reader_call *call, bool *fits);
adz_tensor *adzi_reader_loop(const reader_call *call, bool *fits);

#endif
