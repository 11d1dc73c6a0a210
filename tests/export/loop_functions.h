/* Functions with scans, while loops and branches, which exports write. */
#ifndef ADZE_TESTS_EXPORT_LOOP_FUNCTIONS_H
#define ADZE_TESTS_EXPORT_LOOP_FUNCTIONS_H

#include "adze/adze.h"

enum { LOOP_WIDTH = 6, LOOP_STEPS = 7 };

/* A function of in[0], which is x[LOOP_STEPS, LOOP_WIDTH], and of the cell. */
typedef struct {
    const char *name;
    adz_tensor *(*call)(adz_module *cell, adz_tensor **in);
    adz_module *(*module)(void); /* makes the cell; NULL: loop_cell */
} loop_function;

extern const loop_function loop_functions[];
extern const size_t n_loop_functions;

/* The layer of the gated cell. */
adz_module *loop_cell(void);

/* The cell of a function. */
adz_module *loop_module(const loop_function *f);

/* Those of equation_functions.c. */
adz_tensor *loop_runge_kutta(adz_module *none, adz_tensor **in);
adz_tensor *loop_dormand_prince(adz_module *none, adz_tensor **in);
adz_tensor *loop_error_control(adz_module *none, adz_tensor **in);
adz_tensor *loop_error_control_between(adz_module *none, adz_tensor **in);
adz_tensor *loop_error_control_of_short_times(adz_module *none, adz_tensor **in);
adz_tensor *loop_error_control_at_zero(adz_module *none, adz_tensor **in);
adz_tensor *loop_root_of_rows(adz_module *none, adz_tensor **in);

/* A gated cell: in[0] is its state, in[1] an input, and user a loop_cell. */
adz_status loop_gated(adz_tensor **results, adz_tensor *const *in, void *user);

/* What a body returns whose last result this is. */
adz_status loop_status(const adz_tensor *last);

/* A scan over the rows of x. False with the error recorded. */
bool loop_scan(adz_loop_body body, void *user, adz_tensor **carries, size_t n_carries,
    adz_tensor *x, size_t n_results, bool reverse, adz_tensor **results);

/* Writes a function of x as ONNX. A plan cannot hold all of them. */
adz_status loop_write_onnx(
    const loop_function *f, adz_module *cell, adz_tensor *x, const char *path);

#endif
