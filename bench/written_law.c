/* bench-written-law: a law of 6-32-32-6 with its Jacobian in f64, written as C, compared with the
 * same by hand.
 *
 *     bench-written-law FOLDER [COMMAND]
 *
 * FOLDER gets the files in C. COMMAND compiles them; by default it is "cc -O3". One line comes out
 * for each kind of file: the seconds of a call of the function by hand and of the written one, the
 * second over the first, the largest difference of the Jacobians, and the bytes of the functions'
 * code. Seconds are the least of many runs in turn.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { IN = 6, HIDDEN = 32, OUT = 6, TEXT = 4096, CALLS = 2000, ROUNDS = 200 };

typedef struct {
    adz_module *net;
    adz_tensor *x;
} law;

static adz_tensor *stress(adz_tensor *x, void *net)
{
    return adz_module_forward(net, x);
}

static adz_status tangent(adz_tensor **results, void *user)
{
    const law *l = user;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = results;
    results[1] = adz_jacobian_rows(stress, l->net, l->x, &o);
    return adz_error_code();
}

/* A kind of file, and what its function gets. */
typedef struct {
    const char *name;
    adz_c_state state;
    bool libm;
} kind;

static const kind kinds[] = { { "own", ADZ_C_STATE_STATIC, false },
    { "libm", ADZ_C_STATE_STATIC, true }, { "caller", ADZ_C_STATE_CALLER, false },
    { NULL, ADZ_C_STATE_STATIC, false } };

typedef struct {
    void (*by_hand)(const double *const w[6], const double *x, double *y, double *dydx);
    void (*of_file)(const double *x, double *y, double *dydx);
    int (*of_state)(void *state, const double *x, double *y, double *dydx);
    void *state;
    const double *w[6];
    const double *x;
    double y[OUT], dydx[OUT * IN];
} functions;

static void call_by_hand(void *user)
{
    functions *f = user;
    f->by_hand(f->w, f->x, f->y, f->dydx);
}

static void call_written(void *user)
{
    functions *f = user;
    if (f->state != NULL) {
        f->of_state(f->state, f->x, f->y, f->dydx);
    } else {
        f->of_file(f->x, f->y, f->dydx);
    }
}

static double seconds_of(void (*call)(void *), functions *f)
{
    const double start = now();
    for (int i = 0; i < CALLS; ++i) {
        call(f);
    }
    return (now() - start) / CALLS;
}

static void write_law(adz_plan *plan, const kind *k, const char *path)
{
    static const char *const names[] = { "tangent" };
    adz_c_options o = ADZ_C_OPTIONS;
    o.name = "law";
    o.precision = ADZ_F64;
    o.state = k->state;
    o.libm = k->libm;
    adz_plan_write_c_many(&plan, names, 1, path, &o);
}

/* Compiles a file to FOLDER/NAME.so and opens it. */
static void *compile(const char *folder, const char *name, const char *path, const char *compiler)
{
    char library[TEXT + 64], command[4 * TEXT];
    snprintf(library, sizeof library, "%s/%s.so", folder, name);
    snprintf(command, sizeof command, "%s -std=c99 -shared -fPIC -o %s %s -lm && size %s | tail -1",
        compiler, library, path, library);
    void *opened = system(command) == 0 ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (opened == NULL) {
        fprintf(stderr, "bench-written-law: %s does not compile\n", path);
        exit(EXIT_FAILURE);
    }
    return opened;
}

static void find_functions(functions *f, void *library, const kind *k)
{
    void *run = dlsym(library, "law_tangent");
    f->state = NULL;
    if (k->state == ADZ_C_STATE_CALLER) {
        unsigned long (*bytes)(void);
        int (*init)(void *, unsigned long);
        *(void **)(void *)&bytes = dlsym(library, "law_state_bytes");
        *(void **)(void *)&init = dlsym(library, "law_init");
        f->state = malloc(bytes());
        init(f->state, bytes());
        *(void **)(void *)&f->of_state = run;
    } else {
        *(void **)(void *)&f->of_file = run;
    }
}

static void compare(functions *f, const kind *k)
{
    double right[OUT * IN], difference = 0, hand = 1, written = 1;
    call_by_hand(f);
    memcpy(right, f->dydx, sizeof right);
    call_written(f);
    for (int i = 0; i < OUT * IN; ++i) {
        difference = fmax(difference, fabs(right[i] - f->dydx[i]));
    }
    for (int i = 0; i < ROUNDS; ++i) {
        hand = fmin(hand, seconds_of(call_by_hand, f));
        written = fmin(written, seconds_of(call_written, f));
    }
    printf("%-8s %.3g us by hand, %.3g us written: %.2f; the Jacobians differ by %.1e\n", k->name,
        hand * 1e6, written * 1e6, written / hand, difference);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench-written-law FOLDER [COMMAND]\n");
        return EXIT_FAILURE;
    }
    const char *compiler = argc > 2 ? argv[2] : "cc -O3";
    adz_on_error(end_on_error, "bench-written-law");
    adz_manual_seed(7);
    law l = { ADZ_SEQUENTIAL(adz_linear_new(IN, HIDDEN, NULL), adz_tanh_new(),
                  adz_linear_new(HIDDEN, HIDDEN, NULL), adz_tanh_new(),
                  adz_linear_new(HIDDEN, OUT, NULL)),
        adz_randn(ADZ_SHAPE(1, IN), ADZ_F64) };
    adz_module_to(l.net, ADZ_F64);
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(&l.x, 1);
    o.module = l.net;
    adz_plan *plan = adz_plan_new_many(tangent, &l, 2, &o);
    functions f = { .x = adz_tensor_data_f64(l.x) };
    adz_tensor_list parameters = adz_module_parameters(l.net);
    for (size_t i = 0; i < 6; ++i) {
        f.w[i] = adz_tensor_data_f64(parameters.items[i]);
    }
    *(void **)(void *)&f.by_hand = dlsym(compile(argv[1], "by_hand", BY_HAND, compiler), "by_hand");
    for (const kind *k = kinds; k->name != NULL; ++k) {
        char path[TEXT];
        snprintf(path, sizeof path, "%s/%s.c", argv[1], k->name);
        write_law(plan, k, path);
        find_functions(&f, compile(argv[1], k->name, path, compiler), k);
        compare(&f, k);
        free(f.state);
    }
    adz_plan_free(&plan);
    adz_module_release(&l.net);
    return EXIT_SUCCESS;
}
