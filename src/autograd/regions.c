/* The calls that begin and end regions of a trace. */
#include "autograd/regions.h"

#include "autograd/form.h"

static const adz_field fields[] = { ADZI_FIELD(adzi_region_attr, steps),
    ADZI_FIELD(adzi_region_attr, carries), ADZI_FIELD(adzi_region_attr, reverse) };

#define REGION_CALL(name_) \
    const adzi_op adzi_op_##name_ = { .name = #name_, ADZI_ATTRIBUTES(adzi_region_attr, fields) };

REGION_CALL(scan)
REGION_CALL(scan_end)
REGION_CALL(while_loop)
REGION_CALL(while_test)
REGION_CALL(while_end)
REGION_CALL(branch)
REGION_CALL(branch_else)
REGION_CALL(branch_end)

bool adzi_region_report(const adzi_op *op, adzi_region_tensors in, adzi_region_tensors results,
    const adzi_region_attr *attr)
{
    adzi_tracer *tracer = adzi_self()->tracer;
    const adzi_report report = { .op = op,
        .in = in.items,
        .n_in = in.count,
        .results = results.items,
        .n_results = results.count,
        .attr = attr,
        .attr_size = sizeof *attr };
    adzi_trace_enter(tracer, op->name, in.items, in.count);
    return tracer->call(tracer, &report);
}

void adzi_region_ready(void)
{
    adzi_trace_leave(adzi_self()->tracer);
}
