/* Status codes. */
#ifndef ADZI_BASE_STATUS_H
#define ADZI_BASE_STATUS_H

#include "adze/base.h"

/** True for the codes of failures, false for ADZ_OK and for numbers that are no status. */
bool adzi_is_error(adz_status status);

#endif
