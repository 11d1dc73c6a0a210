/* Functions that misbehave, each in a way that the sweep has to notice. */
#ifndef ADZE_TESTS_SWEEP_FAULTY_H
#define ADZE_TESTS_SWEEP_FAULTY_H

#include "adze/adze.h"

typedef struct adz_faulty_options {
    size_t size;
    int64_t number;
} adz_faulty_options;

ADZ_API void adz_faulty_options_init(adz_faulty_options *options, size_t size);
ADZ_API adz_status adz_faulty_crashes(int64_t n);
ADZ_API adz_status adz_faulty_computes_for_ever(double x);
ADZ_API adz_status adz_faulty_waits_for_ever(double x);
ADZ_API adz_tensor *adz_faulty_is_silent(adz_tensor *t);
ADZ_API adz_status adz_faulty_returns_another_code(adz_tensor *t);
ADZ_API adz_tensor *adz_faulty_succeeds_with_an_error(adz_tensor *t);
ADZ_API adz_status adz_faulty_keeps(adz_tensor *t, bool keep);
ADZ_API adz_status adz_faulty_ignores_a_missing_size(const adz_faulty_options *options);
ADZ_API adz_status adz_faulty_refuses_a_newer_caller(const adz_faulty_options *options);
ADZ_API adz_status adz_faulty_always_fails(adz_tensor *t);

#endif
