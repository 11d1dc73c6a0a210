/* Chooses the arguments of the calls of one function. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker.h"

enum { TRIES = 500 };

static size_t hinted(const param *p)
{
    size_t valid, n = choices_of(p, &valid);
    for (size_t i = 0; p->hint != NULL && i < n; ++i) {
        const char *name = choice_name(p, i);
        if (strcmp(name != NULL ? name : "NULL", p->hint) == 0) {
            return i;
        }
    }
    if (p->hint != NULL) {
        fprintf(stderr, "%s has no choice '%s'\n", p->name, p->hint);
        exit(2);
    }
    return 0;
}

/* The calls of one function, which every worker counts in the same order. */
typedef struct plan {
    const function *f;
    size_t first; /* calls before this one were made by an earlier worker */
    size_t next;
    size_t good[MOST_PARAMS]; /* choices with which the function succeeds */
    bool succeeds;
} plan;

static bool planned(plan *p, const size_t *choices, bool unsized)
{
    uint64_t random = (p->next < TRIES ? 1 : seed) * 1000003 + p->next;
    now->call = p->next++;
    return now->call >= p->first ? call(p->f, choices, random, unsized) : false;
}

/* Searches for arguments with which the function succeeds, and begins with those that hints name.
 * After a crash the search starts again, because its result was lost with the worker. */
static void find_success(plan *p)
{
    uint64_t random = 7; /* independent of the seed */
    size_t choices[MOST_PARAMS], valid, first = p->first;
    p->first = first > TRIES ? 0 : first;
    for (size_t t = 0; t < TRIES && !p->succeeds; ++t) {
        for (size_t i = 0; i < p->f->n_params; ++i) {
            choices_of(&p->f->params[i], &valid);
            choices[i] = hinted(&p->f->params[i]);
            if (t > 0 && random_from(&random) % 3 == 0) {
                choices[i] = random_from(&random) % valid;
            }
        }
        if (planned(p, choices, false)) {
            memcpy(p->good, choices, sizeof p->good);
            p->succeeds = true;
        }
        if (p->f->n_params == 0) {
            break;
        }
    }
    p->first = first;
    p->next = TRIES;
}

static void attack_alone(plan *p)
{
    size_t choices[MOST_PARAMS], valid;
    for (size_t i = 0; i < p->f->n_params; ++i) {
        bool is_struct = p->f->params[i].kind == KIND_STRUCT, filled = false;
        memcpy(choices, p->good, sizeof choices);
        for (size_t c = 0; c < choices_of(&p->f->params[i], &valid); ++c) {
            choices[i] = c;
            bool ok = planned(p, choices, p->succeeds);
            const char *name = is_struct ? choice_name(&p->f->params[i], c) : "";
            filled = c == 0 ? ok : filled;
            if (filled && !ok && strcmp(name, "of a newer caller") == 0) {
                complain("a struct of a newer caller was refused");
            }
        }
    }
}

static void attack_together(plan *p)
{
    uint64_t random = seed + 11;
    size_t choices[MOST_PARAMS], valid;
    for (size_t n = 0; n < random_calls && p->f->n_params > 0; ++n) {
        for (size_t i = 0; i < p->f->n_params; ++i) {
            size_t all = choices_of(&p->f->params[i], &valid);
            uint64_t drawn = random_from(&random);
            choices[i] = drawn % 3 == 0 ? p->good[i] : drawn / 3 % (drawn % 2 != 0 ? all : valid);
        }
        planned(p, choices, false);
    }
}

static bool has_path(const function *f)
{
    for (size_t i = 0; i < f->n_params; ++i) {
        if (f->params[i].kind == KIND_PATH) {
            return true;
        }
    }
    return false;
}

void sweep_function(const function *f, size_t first)
{
    plan p = { .f = f, .first = first };
    if (has_path(f)) {
        files_write();
    }
    find_success(&p);
    if (p.succeeds != f->succeeds) {
        snprintf(now->text, sizeof now->text, "%s", f->name);
        complain("%s, against what generate.py says; the first call said: %s",
            p.succeeds ? "has succeeded" : "has not succeeded", first_error);
    }
    attack_alone(&p);
    attack_together(&p);
}
