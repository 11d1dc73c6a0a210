/* The names of status codes. */
#include "base/errors/status.h"

static const char *const names[] = { "ADZ_OK", "ADZ_ERR_NULL", "ADZ_ERR_ARGUMENT", "ADZ_ERR_SHAPE",
    "ADZ_ERR_DIM", "ADZ_ERR_DTYPE", "ADZ_ERR_INDEX", "ADZ_ERR_MEMORY", "ADZ_ERR_GRAPH",
    "ADZ_ERR_VERSION", "ADZ_ERR_INPLACE", "ADZ_ERR_OWNERSHIP", "ADZ_ERR_STATE", "ADZ_ERR_IO",
    "ADZ_ERR_FORMAT", "ADZ_ERR_NUMERIC", "ADZ_ERR_CANCELLED", "ADZ_ERR_UNSUPPORTED" };

enum { COUNT = sizeof names / sizeof *names };

bool adzi_is_error(adz_status status)
{
    return (int)status < 0 && (int)status > -COUNT;
}

const char *adz_status_name(adz_status status)
{
    return status == ADZ_OK || adzi_is_error(status) ? names[-(int)status] : "unknown status";
}
