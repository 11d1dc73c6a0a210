/* The C program as it is made from a trace. */
#ifndef ADZI_EXPORT_C99_PROGRAM_H
#define ADZI_EXPORT_C99_PROGRAM_H

#include "export/c99/c99.h"
#include "export/trace.h"

/* ---- variables.c ----------------------------------------------------------------------------- */

/** Makes the memories that the function of a trace shares with others. Call it for all traces
 * before adzi_c99_mark_changes. False with the error recorded. */
bool adzi_c99_add_variables(adzi_c99 *c, const adzi_trace *trace);

/** Marks the variables that the function of a trace changes. Call it for all traces before
 * adzi_c99_program. False with the error recorded. */
bool adzi_c99_mark_changes(adzi_c99 *c, const adzi_trace *trace);

/** False with the error recorded if a variable that changes shares memory with another one. */
bool adzi_c99_check_overlaps(adzi_c99 *c);

/** The memory that functions share for a value, or -1. */
int adzi_c99_shared_memory(const adzi_c99 *c, const adzi_trace *trace, const adzi_traced_value *v);

/** The first element of a tensor's memory, and how many elements an array for it has. */
const char *adzi_c99_base(const adz_tensor *t, int64_t *count);

/** Element i of a constant or a variable when the file is written. */
double adzi_c99_contents(const adzi_c99_memory *m, int64_t i);

/** True if a constant is printed as one number. */
bool adzi_c99_all_equal(const adzi_c99_memory *m);

/** Makes the label "what [2, 3]" for comments. */
void adzi_c99_label(adzi_c99_memory *m, const char *what, const adzi_traced_value *v);

/* ---- updates.c ------------------------------------------------------------------------------- */

/** Notes the parameters that function c->function updates, and how often. Call it for all traces
 * before adzi_c99_count_together. False with the error recorded. */
bool adzi_c99_add_steps(adzi_c99 *c, const adzi_trace *trace);

/** Finds the parameters that have one count. */
void adzi_c99_count_together(adzi_c99 *c);

/** The memory of a number; -1 with the error recorded. */
int adzi_c99_number_memory(adzi_c99 *c, const adzi_traced_value *v);

/** Adds the lines that compute the numbers which the printed function uses, and those that count
 * its steps. */
void adzi_c99_print_numbers(adzi_c99 *c, adzi_text *to);
void adzi_c99_print_counts(const adzi_c99 *c, adzi_text *to);

/** Whether some function makes steps of a parameter. */
bool adzi_c99_makes_steps(const adzi_c99 *c, const adzi_parameter_position *position);

/** The number of the count of a parameter's steps, steps_<number> in the file; ADZI_NOWHERE if the
 * file has none. */
size_t adzi_c99_count_of(const adzi_c99 *c, const adzi_parameter_position *position);

/** The number of the first group of an optimizer among the groups of all. */
size_t adzi_c99_first_group(const adzi_c99 *c, const adz_optimizer *optimizer);

/** Whether the file has the count steps_<i>, of the parameters that agree with parameter i. */
bool adzi_c99_has_count(const adzi_c99 *c, size_t i);

/** The learning rates in C: NAME_learning_rate, or the field of a state. */
const char *adzi_c99_rates(const adzi_c99 *c, char text[ADZI_C99_LABEL]);

/** The groups of all optimizers, whose rates the file has. */
size_t adzi_c99_groups(const adzi_c99 *c);

/** Adds the learning rates, the settings, the counts and the functions that compute numbers to the
 * file. All functions must have been printed. Returns the bytes of the variables. */
int64_t adzi_c99_print_updates(adzi_c99 *c, adzi_text *file);

/** type_text.c: adds the functions that compute a type's numbers unless the file has them, and
 * writes the name of the last one to `name`. */
void adzi_c99_type_text(
    adzi_c99 *c, adzi_text *file, const adz_optimizer_type *type, char name[ADZI_C99_NAME]);

/* ---- reuse.c --------------------------------------------------------------------------------- */

/** Leaves out copies that nothing needs, and lets results be computed in the variables into which
 * they would be copied. */
void adzi_c99_reuse(adzi_c99 *c, const adzi_trace *trace);

/** Whether the end of the function reads a memory: it holds the result, or the new value of a
 * variable. */
bool adzi_c99_is_read_last(const adzi_c99 *c, const adzi_trace *trace, int memory);

/* ---- regions.c ------------------------------------------------------------------------------- */

/** The memory of a result of a call that begins or ends a region; -1 with the error recorded. */
int adzi_c99_region_memory(adzi_c99 *c, const adzi_trace *trace, const adzi_traced_value *v);

/** Lets bodies read and write steps where they lie: inputs of a step in those of all steps, results
 * in the stacked ones, new carries in the carries. Call it when nothing else moves values. */
void adzi_c99_place_steps(adzi_c99 *c);

/** What a call does to regions. */
static inline adzi_region adzi_c99_region_of(const adzi_c99_call *call)
{
    return call->row != NULL ? call->row->region : ADZI_NO_REGION;
}

/** The call that ends the region of a call which begins or goes on with one. */
const adzi_c99_call *adzi_c99_region_end(const adzi_c99 *c, const adzi_c99_call *call);

/** Whether a carry is needed: by the body, or after the loop. */
bool adzi_c99_is_carried(
    const adzi_c99 *c, const adzi_c99_call *begin, const adzi_c99_call *end, int k);

/** The step at which the innermost loop that is being printed began: what was written before it is
 * read again in its next step. -1 outside of loops. */
int adzi_c99_loop_step(const adzi_c99 *c);

/** Whether a value is all of a memory that some call fills, in row-major order. */
bool adzi_c99_is_whole(const adzi_c99 *c, const adzi_c99_value *v);

/** Whether a call may write its result over the elements of `memory` that it reads: it computes
 * each element from those at the same position. */
bool adzi_c99_reads_in_place(
    const adzi_c99 *c, const adzi_c99_call *call, const adzi_c99_value *memory);

/* ---- chain.c --------------------------------------------------------------------------------- */

/** Prints all calls, and elementwise ones that follow each other as one loop. */
void adzi_c99_forward_all(adzi_c99 *c, const adzi_trace *trace);

/* ---- program.c ------------------------------------------------------------------------------- */

/** Fills the values and calls of function c->function. The trace must outlive them. False with the
 * error recorded. */
bool adzi_c99_program(adzi_c99 *c, const adzi_trace *trace);

/* ---- repeat.c -------------------------------------------------------------------------------- */

/** Shortens the constants of function c->function that consist of equal parts to one part. */
void adzi_c99_fold_constants(adzi_c99 *c);

/** Releases what a program holds. */
void adzi_c99_free(adzi_c99 *c);

#endif
