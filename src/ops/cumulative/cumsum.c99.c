#include "export/c99/printer.h"

/* Prints to[i] = from[0] + ... + from[i], or from the last element on. */
static void running_sum(
    adzi_c99 *c, const adzi_c99_call *call, adzi_c99_value to, adzi_c99_value from, bool reverse)
{
    const unsigned mask = adzi_c99_dim_mask(call, &from);
    for (int d = 0; d < from.rank; ++d) {
        if (reverse && (mask >> d & 1u)) {
            from.offset += (from.sizes[d] - 1) * from.strides[d];
            to.offset += (to.sizes[d] - 1) * to.strides[d];
            from.strides[d] = -from.strides[d];
            to.strides[d] = -to.strides[d];
        }
    }
    adzi_c99_slices slices = adzi_c99_slices_of(&from, mask);
    const int x = adzi_c99_slices_add(&slices, &from), y = adzi_c99_slices_add(&slices, &to);
    adzi_c99_slices_open(c, &slices);
    adzi_c99_line(c, "%s s = 0;", adzi_c99_type(to.dtype));
    adzi_c99_nest pass = adzi_c99_pass(c, &slices);
    adzi_c99_line(c,
        adzi_is_float(to.dtype) ? "s += %s;" : "s = (int32_t)((uint32_t)s + (uint32_t)%s);",
        pass.operand[x].text);
    adzi_c99_line(c, "%s = s;", pass.operand[y].text);
    adzi_c99_nest_close(c, &pass);
    adzi_c99_slices_close(c, &slices);
}

ADZI_C99_PRINTER(cumsum)
{
    const bool reverse = adzi_c99_attr(call, "reverse", 0) != 0;
    running_sum(c, call, *adzi_c99_out(c, call, 0), *adzi_c99_in(c, call, 0), reverse);
}
