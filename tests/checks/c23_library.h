/* What C23 adds to headers that C11 has. A build in which this is included first (-include) fails
 * where a name of ours is one of the library's, also on a system whose library is older than C23:
 * glibc declares all of this from 2.43 on, in C11 too where _GNU_SOURCE is defined. */
#ifndef ADZE_TESTS_CHECKS_C23_LIBRARY_H
#define ADZE_TESTS_CHECKS_C23_LIBRARY_H

/* A file that is about to define _GNU_SOURCE would be too late: headers look at it once. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#include <math.h>
#undef _GNU_SOURCE
#endif
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

/* stdlib.h */
void call_once(once_flag *flag, void (*function)(void));
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);
size_t memalignment(const void *p);

/* string.h */
void *memset_explicit(void *to, int c, size_t n);

/* time.h */
struct tm *gmtime_r(const time_t *timer, struct tm *result);
struct tm *localtime_r(const time_t *timer, struct tm *result);
time_t timegm(struct tm *time);
int timespec_getres(struct timespec *resolution, int base);

/* math.h, each for double, float and long double */
#define OF_ONE(name)        \
    double name(double x);  \
    float name##f(float x); \
    long double name##l(long double x)
#define OF_TWO(name, second)              \
    double name(double x, second y);      \
    float name##f(float x, second##_f y); \
    long double name##l(long double x, second##_l y)
typedef double c23_real;
typedef float c23_real_f;
typedef long double c23_real_l;
typedef long long int c23_whole;
typedef long long int c23_whole_f;
typedef long long int c23_whole_l;

OF_ONE(acospi);
OF_ONE(asinpi);
OF_ONE(atanpi);
OF_ONE(cospi);
OF_ONE(exp10);
OF_ONE(exp10m1);
OF_ONE(exp2m1);
OF_ONE(log10p1);
OF_ONE(log2p1);
OF_ONE(logp1);
OF_ONE(roundeven);
OF_ONE(rsqrt);
OF_ONE(sinpi);
OF_ONE(tanpi);
OF_TWO(atan2pi, c23_real);
OF_TWO(fmaximum, c23_real);
OF_TWO(fmaximum_mag, c23_real);
OF_TWO(fmaximum_mag_num, c23_real);
OF_TWO(fmaximum_num, c23_real);
OF_TWO(fminimum, c23_real);
OF_TWO(fminimum_mag, c23_real);
OF_TWO(fminimum_mag_num, c23_real);
OF_TWO(fminimum_num, c23_real);
OF_TWO(powr, c23_real);
OF_TWO(compoundn, c23_whole);
OF_TWO(pown, c23_whole);
OF_TWO(rootn, c23_whole);
#undef OF_ONE
#undef OF_TWO

#endif
