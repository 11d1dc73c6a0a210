/* Runs of data-parallel training that are saved and go on, for the tests of checkpoints. */
#ifndef ADZE_TESTS_DISTRIBUTED_CHECKPOINTS_H
#define ADZE_TESTS_DISTRIBUTED_CHECKPOINTS_H

#include "parallel.h"
#include "ranks.h"

enum { BATCH = 16, TIME = 3, TOKENS = 7, WIDTH = 5, HALF = 3, WHOLE = 6 };

/** Files by the names that make_paths has made. */
enum { GOOD, CUT, WEIGHTS, OTHER_STEP, MISSING, NOW, WAS, NO_FOLDER };
const char *path_of(int which);
void make_paths(void);
void end_paths(void);

/** How many files there are; with `remove` they are removed, too. */
int count_files(bool remove);

/** What the ranks of a test do. */
typedef struct plan {
    bool carries; /* a language model that carries values; else a network with batch norm */
    bool divided;
    int micro_batches;
    uint64_t seed;
    const char *load, *save; /* NULL for neither */
    int until;               /* steps before saving */
} plan;

typedef struct run {
    adz_module *model;
    adz_data_parallel *parallel;
    adz_optimizer *adamw;
    adz_scheduler *schedule;
    adz_generator *generators[1];
    adz_loader *loader;
    int64_t step;
} run;

/** The model of a run, with its initial weights. */
adz_module *new_model(bool carries);

run run_new(adz_group *group, const plan *p);
void run_end(run *r);

/** Makes the steps that are left until p->until. */
void train(run *r, const plan *p);

/** The parts of the run's checkpoint. */
adz_checkpoint parts_of(run *r);

adz_status save_run(run *r, const char *path);
adz_status load_run(run *r, const char *path);

/** Makes a run, loads, trains and saves, as its plan says. A rank_function of a plan. */
void carry_out(adz_group *group, void *user);

extern const struct CMUnitTest checkpoint_carried_tests[], checkpoint_faults_tests[];
extern const size_t n_checkpoint_carried_tests, n_checkpoint_faults_tests;

#endif
