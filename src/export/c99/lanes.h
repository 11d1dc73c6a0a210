/* Loops over the lanes of a tensor and over the elements of each lane, for operators that reduce or
 * normalise over some dimensions. */
#ifndef ADZI_EXPORT_C99_LANES_H
#define ADZI_EXPORT_C99_LANES_H

#include "export/c99/c99.h"

/** `outer` runs over the dimensions that stay, `inner` over those of a lane. Operand k is the same
 * value in both. */
typedef struct adzi_c99_lanes {
    adzi_c99_nest outer, inner;
    int rank;
    unsigned mask;
    int64_t count; /* elements of a lane */
} adzi_c99_lanes;

/** Lanes of `value` along the dimensions in `mask`; 0 means all of them. */
adzi_c99_lanes adzi_c99_lanes_of(const adzi_c99_value *value, unsigned mask);

/** Adds an operand that broadcasts to the value, or is a result of it without the dimensions of the
 * mask. Returns its number. NULL gives -1. */
int adzi_c99_lanes_add(adzi_c99_lanes *lanes, const adzi_c99_value *value);

/** Adds an operand of the value's rank, reduced over the mask, which may have lost these
 * dimensions. */
int adzi_c99_lanes_add_reduced(adzi_c99_lanes *lanes, const adzi_c99_value *value);

void adzi_c99_lanes_open(adzi_c99 *c, adzi_c99_lanes *lanes);
void adzi_c99_lanes_close(adzi_c99 *c, adzi_c99_lanes *lanes);

/** Opens one pass over the lane's elements. The returned nest has the elements' texts. */
adzi_c99_nest adzi_c99_pass(adzi_c99 *c, const adzi_c99_lanes *lanes);

/** The element of an operand that is the same for the whole lane. */
const char *adzi_c99_lane_element(adzi_c99 *c, adzi_c99_lanes *lanes, int operand);

#endif
