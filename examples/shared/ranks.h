/* A program that a launcher such as mpirun starts several times, to train one model. Each process
 * is a rank. Rank 0 prints and writes files; standard output of the others goes nowhere. */
#ifndef EXAMPLES_RANKS_H
#define EXAMPLES_RANKS_H

#include <adze/adze.h>
#include <adze/data_parallel.h>
#include <stdbool.h>
#include <stdint.h>

#include "arguments.h"
#include "steps.h"

/* Joins the processes that the launcher has started. Without a launcher this process is the only
 * rank. Call it first in main. From then on fail(), usage_error() and errors of adze end all
 * processes, and finish_output() waits for all of them. */
void open_ranks(void);

/* The group of all ranks, until finish_output(). */
adz_group *group_of_ranks(void);

int count_ranks(void);

/* True on the rank that prints and writes files. Before open_ranks() it is true. */
bool is_first_rank(void);

/* The threads of each rank by default, such that the ranks on one machine share its processors. 0
 * stands for one per processor. */
int64_t threads_of_rank(void);

/* ---- micro-batches -------------------------------------------------------------------------- */

/* The most that --micro-batches takes. */
enum { MOST_MICRO_BATCHES = 4096 };

/* The default of --micro-batches: 8 if a launcher has started the program, and else 1. It does not
 * depend on the number of ranks, because the weights depend on it. */
int64_t default_micro_batches(void);

/* Ends the program if there are more ranks than micro-batches, or more micro-batches than rows of a
 * batch. */
void check_micro_batches(int64_t micro_batches, int64_t rows);

/* Prints how many ranks and micro-batches there are, unless both are 1. */
void print_ranks(int64_t micro_batches);

/* The text of --no-capture where steps may be divided, for --help. */
#define HELP_NO_CAPTURE_OF_RANKS \
    HELP_NO_CAPTURE              \
    "                         (several processes or micro-batches: always anew)\n"

/* Steps that a plan replays, or NULL if each step is to be made anew: if `capture` is false, or if
 * there are several ranks, or if the program divides its steps or the optimizer's state. A plan
 * does not hold what is added up or sent between parts, which is said on standard output. Batches
 * have `tensors` tensors. */
steps *new_whole_steps(
    step_function step, void *user, size_t tensors, bool capture, bool is_divided);

/* Makes a network train on all ranks. All random numbers that it draws follow from the seed. */
adz_data_parallel *new_parallel(
    adz_module *network, int64_t micro_batches, int64_t seed, bool fast);

/* Makes step number `step` of a training whose steps are whole, on a batch whose tensors have a row
 * for each sample. Random numbers and carried values are those of a step of `parallel`, so the
 * results are its bits. Returns the loss. */
double make_whole_step(
    steps *s, adz_data_parallel *parallel, int64_t step, adz_tensor *const *batch);

/* Prints how many bytes of gradients the ranks have sent in the last step, if there are several and
 * adze has sent them. All ranks call it. */
void print_traffic(adz_data_parallel *parallel, adz_module *network);

/* ---- decisions of all ranks ----------------------------------------------------------------- */

/* Ends the program if a text is not the same on all ranks. `what` names it in the message. */
void compare_texts(const char *what, const char *text);

/* Ends the program if some bytes, such as those of a file, are not the same on all ranks. */
void compare_bytes(const char *what, const void *bytes, size_t size);

/* Ends the program if a file is not the same on all ranks, or only some of them have the option.
 * NULL stands for an option that is not given. */
void compare_file(const char *option, const char *path);

/* Ends the program if an option has not the same value on all ranks. Options of ARGUMENT_TEXT and
 * ARGUMENT_READ, such as paths, are left out, and so is --threads. */
void compare_options(const argument *table, size_t n);

/* True if Ctrl-C or SIGTERM has reached one of the ranks. All ranks call it equally often, and all
 * get the same answer. They ask each other about 20 times in a second. */
bool is_any_interrupted(void);

#endif
