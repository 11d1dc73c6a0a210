/* Exports many functions, compiles all files in one call of the compiler, and compares the results
 * with the library's. */
#ifndef ADZE_TESTS_EXPORT_C99_BATCH_H
#define ADZE_TESTS_EXPORT_C99_BATCH_H

#include "network.h"

/* A function of x and z; either may be unused, but not both. */
typedef adz_tensor *(*batch_function)(adz_tensor *x, adz_tensor *z);

typedef struct {
    const char *name; /* an identifier */
    batch_function call;
} batch_case;

typedef struct {
    const batch_case *fact;
    adz_tensor *in[2];
} batch_call;

static adz_tensor *run_batch_call(void *user)
{
    const batch_call *b = user;
    return b->fact->call(b->in[0], b->in[1]);
}

enum { MOST_CASES = 100 };

/* The flags that exported files promise to compile under. */
#define BATCH_FLAGS "-std=c99 -pedantic -Wall -Wextra -Wdouble-promotion -Werror"

/* A function that does what C leaves undefined ends with a signal. */
#define BATCH_TRAPS "-fsanitize=undefined,float-cast-overflow -fsanitize-undefined-trap-on-error"

static inline bool is_same_float(float ours, float theirs, double tolerance)
{
    if (isnan(theirs) || isinf(theirs)) {
        return isnan(theirs) ? isnan(ours) : ours == theirs;
    }
    if (theirs == 0 && ours == 0) {
        return signbit(ours) == signbit(theirs);
    }
    return fabs((double)ours - (double)theirs) <= tolerance * fabs((double)theirs) + 1e-37;
}

/* Element i as text, from an array as the C function writes it or from a tensor's memory. Integers
 * of the file wrap at 32 bits, so i64 is compared by its low ones. */
static inline void describe(char text[32], const void *data, adz_dtype dtype, int64_t i, bool in_c)
{
    if (dtype == ADZ_F32) {
        snprintf(text, 32, "%.9g", (double)((const float *)data)[i]);
    } else if (dtype == ADZ_F64) {
        snprintf(text, 32, "%.17g", ((const double *)data)[i]);
    } else if (dtype == ADZ_I32 || (dtype == ADZ_I64 && in_c)) {
        snprintf(text, 32, "%d", (int)((const int32_t *)data)[i]);
    } else if (dtype == ADZ_I64) {
        snprintf(text, 32, "%d", (int)(int32_t)((const int64_t *)data)[i]);
    } else {
        snprintf(text, 32, "%d", (int)((const unsigned char *)data)[i]);
    }
}

/* Compares the array `ours` with y, bit by bit except for floats. Prints what differs. Returns the
 * number of different elements. */
static inline int compare_batch(const char *name, const void *ours, adz_tensor *y, double tolerance)
{
    int wrong = 0;
    const adz_dtype dtype = adz_tensor_dtype(y);
    const void *theirs = adz_tensor_data(y);
    for (int64_t i = 0; i < adz_tensor_numel(y); ++i) {
        char a[32], b[32];
        describe(a, ours, dtype, i, true);
        describe(b, theirs, dtype, i, false);
        const bool same = dtype == ADZ_F32 ? is_same_float(((const float *)ours)[i],
                                                 ((const float *)theirs)[i], tolerance)
                                           : strcmp(a, b) == 0;
        if (!same && ++wrong <= 4) {
            printf("%s: element %d is %s, and in the library %s\n", name, (int)i, a, b);
        }
    }
    return wrong;
}

/* Writes all functions as NAME.c. Returns the number of those that cannot be written. */
static inline int write_batch(const batch_case *facts, size_t n, adz_tensor *x, adz_tensor *z)
{
    int refused = 0;
    for (size_t i = 0; i < n; ++i) {
        batch_call call = { &facts[i], { x, z } };
        const adzi_export what = {
            .function = run_batch_call, .user = &call, .inputs = { call.in, z != NULL ? 2 : 1 }
        };
        char file[80];
        snprintf(file, sizeof file, "%s.c", facts[i].name);
        if (adzi_write_c("test", temporary_path(file), &what, 1, NULL) != ADZ_OK) {
            printf("%s: %s\n", facts[i].name, adz_error_message());
            adz_error_clear();
            ++refused;
        }
    }
    return refused;
}

/* Compiles all files of the folder to a library. */
static inline void *compile_batch(void)
{
    char command[2000], library[600];
    static int number;
    snprintf(library, sizeof library, "./%s/batch%d.so", temporary_folder, number++);
    snprintf(command, sizeof command,
        "%s " BATCH_FLAGS " " BATCH_TRAPS " -O0 -ffp-contract=off -fPIC -shared -o %s %s/*.c",
        C_COMPILER, library, temporary_folder);
    const int status = system(command);
    if (status != 0 && system(C_COMPILER " --version > /dev/null 2>&1") != 0) {
        skip();
    }
    assert_int_equal(status, 0);
    void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (opened == NULL) {
        fail_msg("%s", dlerror());
    }
    return opened;
}

/* Checks all functions on x and z, of which z may be NULL. */
static inline void check_batch(
    const batch_case *facts, size_t n, adz_tensor *x, adz_tensor *z, double tolerance)
{
    assert_int_equal(write_batch(facts, n, x, z), 0);
    void *library = compile_batch();
    int wrong = 0;
    for (size_t i = 0; i < n; ++i) {
        adz_scope *scope = adz_scope_open();
        char symbol[80];
        snprintf(symbol, sizeof symbol, "%s_run", facts[i].name);
        compiled c = { .library = library };
        *(void **)(void *)&c.run = dlsym(library, symbol);
        assert_non_null(*(void **)(void *)&c.run);
        adz_tensor *y = adz_contiguous(facts[i].call(x, z));
        assert_non_null(y);
        void *ours = malloc((size_t)adz_tensor_numel(y) * 8 + 8);
        memset(ours, 0x5a, (size_t)adz_tensor_numel(y) * 8 + 8);
        c_network inputs = { .in = { x, z }, .n_in = z != NULL ? 2 : 1 };
        call_run(&c, &inputs, ours);
        wrong += compare_batch(facts[i].name, ours, y, tolerance);
        free(ours);
        adz_scope_close(scope);
    }
    dlclose(library);
    temporary_files(true);
    assert_int_equal(wrong, 0);
}

/* CASE(name, expression) defines a function of x and z; ROW(name) is its row in a table. */
#define CASE(name, expression)                            \
    static adz_tensor *name(adz_tensor *x, adz_tensor *z) \
    {                                                     \
        (void)x;                                          \
        (void)z;                                          \
        return expression;                                \
    }
#define ROW(name)   \
    {               \
#name, name \
    }
#define CHECK_BATCH(cases, x, z, tolerance) \
    check_batch(cases, sizeof(cases) / sizeof *(cases), x, z, tolerance)

#endif
