/* The version of the library as a string, made from the numbers in adze/base.h. */
#include "adze/base.h"

/* Two steps, because # does not expand its argument. */
#define TEXT(number)     #number
#define EXPANDED(number) TEXT(number)
#define VERSION(a, b, c) EXPANDED(a) "." EXPANDED(b) "." EXPANDED(c) ADZ_VERSION_TAG

const char *adz_version(void)
{
    return VERSION(ADZ_VERSION_MAJOR, ADZ_VERSION_MINOR, ADZ_VERSION_PATCH);
}
