/* Exports functions as C99, compiles them with the C compiler of the build, and calls them. */
#ifndef ADZE_TESTS_EXPORT_C99_NETWORK_H
#define ADZE_TESTS_EXPORT_C99_NETWORK_H

#include <dlfcn.h>
#include <math.h>

#include "adze/adze.h"
#include "../../errors.h"
#include "export/c99/write/write_c.h"
#include "../../temporary.h"

enum { MOST_INPUTS = 3 };

/* How far the compiler goes. A test that is not about its results compiles faster without. */
#ifndef C_LEVEL
#define C_LEVEL "-O1 -fstrict-aliasing"
#endif

/* A module with its inputs, which a test exports and calls. */
typedef struct {
    adz_module *module;
    adz_tensor *in[MOST_INPUTS];
    size_t n_in;
    adz_tensor *(*call)(adz_module *module, adz_tensor **in);
} c_network;

static adz_tensor *plain_call(adz_module *module, adz_tensor **in)
{
    return adz_module_forward(module, in[0]);
}

static adz_tensor *call_network(void *user)
{
    c_network *n = user;
    return (n->call != NULL ? n->call : plain_call)(n->module, n->in);
}

/* The exported library, after it was compiled. */
typedef struct {
    void *library;
    void (*run)(void); /* cast to the type that its inputs give it */
    void (*step)(const void *x, const void *target, void *loss);
    void *learning_rate; /* floats, or doubles in a file of doubles */
} compiled;

static inline adz_status write_network(c_network *n, const char *name, const adz_c_options *options)
{
    const adzi_export what = {
        .function = call_network, .user = n, .inputs = { n->in, n->n_in }, .module = n->module
    };
    return adzi_write_c("adz_plan_write_c", temporary_path(name), &what, 1, options);
}

/* The functions of the file NAME.c in a library. */
static inline compiled functions_of(void *library, const char *name)
{
    char symbol[640];
    compiled c = { .library = library };
    snprintf(symbol, sizeof symbol, "%s_run", name);
    *(void **)(void *)&c.run = dlsym(library, symbol);
    snprintf(symbol, sizeof symbol, "%s_step", name);
    *(void **)(void *)&c.step = dlsym(library, symbol);
    snprintf(symbol, sizeof symbol, "%s_learning_rate", name);
    c.learning_rate = dlsym(library, symbol);
    assert_non_null(*(void **)(void *)&c.run);
    return c;
}

/* Compiles net.c. Skips the test if the machine has no compiler now. */
static inline compiled compile(const char *name, bool libm)
{
    char command[2000], library[600], symbol[640];
    static int number;
    snprintf(library, sizeof library, "%s/%s%d.so", temporary_folder, name, number++);
    snprintf(command, sizeof command,
        "%s -std=c99 -pedantic -Wall -Wextra -Wdouble-promotion -Werror " C_LEVEL
        " -ffp-contract=off -fPIC -shared -o %s %s/%s.c %s",
        C_COMPILER, library, temporary_folder, name, libm ? "-lm" : "");
    const int status = system(command);
    if (status != 0 && system(C_COMPILER " --version > /dev/null 2>&1") != 0) {
        skip();
    }
    assert_int_equal(status, 0);
    snprintf(symbol, sizeof symbol, "./%s", library);
    void *opened = dlopen(symbol, RTLD_NOW | RTLD_LOCAL);
    if (opened == NULL) {
        fail_msg("%s", dlerror());
    }
    return functions_of(opened, name);
}

/* The contents of an input as the C function reads them: integers are int32_t. The caller frees. */
static inline void *as_argument(const adz_tensor *t)
{
    const size_t count = (size_t)adz_tensor_numel(t);
    if (adz_tensor_dtype(t) != ADZ_I64) {
        void *copy = malloc(count * adz_dtype_size(adz_tensor_dtype(t)));
        memcpy(copy, adz_tensor_data((adz_tensor *)(uintptr_t)t),
            count * adz_dtype_size(adz_tensor_dtype(t)));
        return copy;
    }
    int32_t *copy = malloc(count * sizeof *copy);
    const int64_t *from = adz_tensor_data_i64((adz_tensor *)(uintptr_t)t);
    for (size_t i = 0; i < count; ++i) {
        copy[i] = (int32_t)from[i];
    }
    return copy;
}

static inline void call_run(const compiled *c, c_network *n, void *y)
{
    void *in[MOST_INPUTS] = { NULL };
    for (size_t i = 0; i < n->n_in; ++i) {
        in[i] = as_argument(n->in[i]);
    }
    if (n->n_in == 1) {
        ((void (*)(const void *, void *))c->run)(in[0], y);
    } else if (n->n_in == 2) {
        ((void (*)(const void *, const void *, void *))c->run)(in[0], in[1], y);
    } else {
        ((void (*)(const void *, const void *, const void *, void *))c->run)(
            in[0], in[1], in[2], y);
    }
    for (size_t i = 0; i < n->n_in; ++i) {
        free(in[i]);
    }
}

/* The elements of an array as doubles. */
static inline adz_tensor *wide_copy(const void *data, int64_t count, adz_dtype dtype)
{
    return adz_to(adz_tensor_from(data, ADZ_SHAPE(count), dtype), ADZ_F64);
}

/* The largest difference between the compiled function and the library. It is relative to the
 * largest element of the result, or of a row if `rows` rows are compared one by one. */
static inline double difference(const compiled *c, c_network *n, int64_t rows)
{
    adz_tensor *y = adz_contiguous(call_network(n));
    if (y == NULL) {
        fail_msg("%s", adz_error_message());
    }
    const int64_t count = adz_tensor_numel(y);
    const adz_dtype dtype = adz_tensor_dtype(y);
    void *results = malloc((size_t)count * sizeof(double));
    memset(results, 0xff, (size_t)count * sizeof(double));
    call_run(c, n, results);
    const double *ours = adz_tensor_data_f64(wide_copy(results, count, dtype));
    const double *theirs = adz_tensor_data_f64(wide_copy(adz_tensor_data(y), count, dtype));
    double result = 0;
    for (int64_t r = 0; r < rows; ++r) {
        double worst = 0, largest = 0;
        for (int64_t i = r * count / rows; i < (r + 1) * count / rows; ++i) {
            const double d = fabs(ours[i] - theirs[i]);
            worst = d > worst || isnan(d) ? d : worst;
            largest = fabs(theirs[i]) > largest ? fabs(theirs[i]) : largest;
        }
        if (isnan(worst) || worst > result * largest) {
            result = worst / largest;
            if (rows > 1 && !(result < 1e-6)) {
                printf("row %d: %g\n", (int)r, result);
            }
        }
    }
    free(results);
    return result;
}

/* Gives every float input new contents. */
static inline void refill(c_network *n)
{
    for (size_t i = 0; i < n->n_in; ++i) {
        const adz_dtype dtype = adz_tensor_dtype(n->in[i]);
        if (dtype == ADZ_F32 || dtype == ADZ_F64) {
            ADZ_NO_GRAD
            {
                adz_copy_(n->in[i], adz_randn(adz_tensor_shape(n->in[i]), dtype));
            }
        }
    }
}

/* Exports a network, compiles it and compares it on three inputs; with its own functions, and with
 * libm's. */
static inline void check_rows(c_network *n, double tolerance, int64_t rows)
{
    for (int libm = 0; libm <= 1; ++libm) {
        adz_c_options o = ADZ_C_OPTIONS;
        o.libm = libm != 0;
        if (write_network(n, "net.c", &o) != ADZ_OK) {
            fail_msg("%s", adz_error_message());
        }
        const compiled c = compile("net", o.libm);
        for (int i = 0; i < 3; ++i) {
            refill(n);
            const double d = difference(&c, n, rows);
            if (!(d <= tolerance)) {
                fail_msg("the C function differs by %g", d);
            }
        }
        dlclose(c.library);
    }
}

static inline void check_network(c_network *n, double tolerance)
{
    check_rows(n, tolerance, 1);
}

static inline c_network of(adz_module *module, adz_tensor *x)
{
    return (c_network){ .module = module, .in = { x }, .n_in = 1 };
}

static inline void check_and_free(adz_module *module, adz_tensor *x)
{
    c_network n = of(module, x);
    check_network(&n, 1e-6);
    adz_module_release(&module);
}

static inline adz_tensor *ids_of(const int64_t *ids, adz_shape shape)
{
    return adz_tensor_from(ids, shape, ADZ_I64);
}

#endif
