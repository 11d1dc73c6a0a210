/* What the tests of published models share: the golden folders that oracle.py has written (GOLDEN),
 * models of them, and comparisons. */
#ifndef ADZE_TESTS_MODELS_PUBLISHED_H
#define ADZE_TESTS_MODELS_PUBLISHED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "run_pretrained.h"
#include "temporary.h"

static inline const char *golden(const char *name, const char *file)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s%s%s", GOLDEN, name, file[0] != '\0' ? "/" : "", file);
    return path;
}

static inline adz_module *open_as(const char *folder, adz_dtype dtype)
{
    adz_pretrained_options o = ADZ_PRETRAINED_OPTIONS;
    o.dtype = dtype;
    adz_module *model = adz_pretrained_open(folder, &o);
    assert_non_null(model);
    return model;
}

static inline void expect_close(
    const char *name, adz_tensor *found, adz_tensor *expected, double bound)
{
    assert_non_null(found);
    expected = adz_to(expected, ADZ_F64);
    adz_tensor *most = adz_amax(adz_abs(expected), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *error =
        adz_amax(adz_abs(adz_sub(adz_to(found, ADZ_F64), expected)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (!(adz_item(error) <= bound * fmax(adz_item(most), 1e-3))) {
        fail_msg("%s differs by %g", name, adz_item(error));
    }
}

#endif
