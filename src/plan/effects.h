/* What a part of a captured call does: the launches since a position in it. */
#ifndef ADZI_PLAN_EFFECTS_H
#define ADZI_PLAN_EFFECTS_H

#include "base/capture.h"

/** How many launches a captured call has made, and how many blocks that kernels use. */
typedef struct adzi_plan_position {
    int64_t launches, blocks;
} adzi_plan_position;

/** Where the call that runs is. */
adzi_plan_position adzi_plan_position_of(const adzi_capture *capture);

/** The operator that has first changed, since a position, memory that is older than it: a tensor,
 * or the state of a generator. NULL if there is none. */
const char *adzi_plan_changed_since(const adzi_capture *capture, adzi_plan_position from);

/** The first operator of the n launches from `first` on that differs, in more than its addresses,
 * from its twin among those from `second` on. NULL if there is none, and if numbers cannot be
 * compared. */
const char *adzi_plan_differs(
    const adzi_capture *capture, int64_t first, int64_t second, int64_t n);

/** All launches that follow are held (Note [Stretches]), until they need not be: adzi_plan_differs
 * compares launches that are held. Calls may be nested. */
void adzi_plan_hold(adzi_capture *capture, bool on);

#endif
