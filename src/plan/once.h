/* Copies of weights that belong to a plan, between weights.c and once.c. */
#ifndef ADZI_PLAN_ONCE_H
#define ADZI_PLAN_ONCE_H

#include "plan/plan.h"

/* ---- once.c ---- */

/** Runs the launches that depend on weights alone and takes them out of the captured call. False if
 * memory was refused. */
bool adzi_plan_do_once(adz_plan *plan);

/* ---- weights.c ---- */

/** The storage of the parameter in which an address lies, or NULL. */
struct adzi_storage *adzi_plan_storage_at(adz_tensor_list parameters, const void *address);

/** Whether a launch of the captured call writes a storage. */
bool adzi_plan_writes(const adzi_captured_call *call, const struct adzi_storage *storage);

/** Notes the version of a weight: the plan is made again after it was written. False if memory was
 * refused. */
bool adzi_plan_note_weight(adzi_captured_call *call, struct adzi_storage *storage);

/** Memory that is freed with the copies; NULL if it was refused. */
char *adzi_plan_keep(adz_plan *plan, size_t bytes);

#endif
