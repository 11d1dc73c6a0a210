#include "adze/base.h"

#define TEXT(number)     #number
#define EXPANDED(number) TEXT(number)
#define VERSION(a, b, c) EXPANDED(a) "." EXPANDED(b) "." EXPANDED(c)

const char *adz_version(void)
{
    return VERSION(ADZ_VERSION_MAJOR, ADZ_VERSION_MINOR, ADZ_VERSION_PATCH);
}
