#include "ops/demand.h"

#include "base/capture.h"

/* Demands: conditions on elements, which an operator that is a composition checks. The flag is a
 * tensor, so that a plan computes it again from its own inputs and refuses a replay whose elements
 * do not meet the demand. */

/* What the host needs to report a demand that is not met. */
typedef struct {
    const char *op, *message;
    const bool *flag;
    int64_t code;
} report_args;

ADZI_ADDRESSES(report_args, op, message, flag);

/* Reads the flag when the kernels before it have run: in the call itself, and in each replay. */
static adz_status report(const void *block)
{
    const report_args *args = block;
    return *args->flag ? ADZ_OK : adzi_error(args->op, (adz_status)args->code, "%s", args->message);
}

bool adzi_demand(const char *op, adz_tensor *flag, adz_status code, const char *message)
{
    const adz_tensor *compact = flag != NULL ? adzi_compact(op, flag) : NULL;
    if (compact == NULL) {
        return false;
    }
    const report_args shown = { op, message, (const bool *)(const void *)compact->data, code };
    return adzi_repeat(report, report_args, &shown) == ADZ_OK;
}
