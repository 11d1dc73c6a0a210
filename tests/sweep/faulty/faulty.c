#include "faulty.h"
#include "operators.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

void adz_faulty_options_init(adz_faulty_options *options, size_t size)
{
    adz_faulty_options all = { sizeof all, 3 };
    if (options != NULL && size >= sizeof size) {
        memcpy(options, &all, size < sizeof all ? size : sizeof all);
    } else {
        adz_item(NULL); /* records some error */
    }
}

adz_status adz_faulty_crashes(int64_t n)
{
    if (n == INT64_MAX) {
        raise(SIGSEGV);
    }
    return ADZ_OK;
}

adz_status adz_faulty_computes_for_ever(double x)
{
    for (volatile bool more = x == INFINITY; more;) {
    }
    return ADZ_OK;
}

adz_status adz_faulty_waits_for_ever(double x)
{
    while (x == INFINITY) {
        pause();
    }
    return ADZ_OK;
}

adz_tensor *adz_faulty_is_silent(adz_tensor *t)
{
    return t;
}

adz_status adz_faulty_returns_another_code(adz_tensor *t)
{
    return adz_neg(t) != NULL ? ADZ_OK : ADZ_ERR_IO;
}

adz_tensor *adz_faulty_succeeds_with_an_error(adz_tensor *t)
{
    return adz_neg(t) != NULL ? t : adz_none();
}

adz_status adz_faulty_keeps(adz_tensor *t, bool keep)
{
    return keep && adz_keep(t) == NULL ? adz_error_code() : ADZ_OK;
}

adz_status adz_faulty_ignores_a_missing_size(const adz_faulty_options *options)
{
    (void)options;
    return ADZ_OK;
}

adz_status adz_faulty_refuses_a_newer_caller(const adz_faulty_options *options)
{
    bool good = options == NULL || options->size == sizeof *options;
    return good || adz_neg(NULL) != NULL ? ADZ_OK : adz_error_code();
}

adz_status adz_faulty_always_fails(adz_tensor *t)
{
    (void)t;
    adz_neg(NULL);
    return adz_error_code();
}

adz_tensor *adz_faulty_names_another(adz_tensor *t)
{
    return adz_neg(t); /* which records its errors under its own name */
}
