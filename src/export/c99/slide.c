#include "export/c99/slide.h"

#include <stdio.h>
#include <string.h>

adzi_c99_axis adzi_c99_axis_of(
    const adzi_c99_call *call, int d, int64_t big, int64_t small, int64_t taps)
{
    const int64_t *stride = adzi_c99_attr_list(call, "stride");
    const int64_t *dilation = adzi_c99_attr_list(call, "dilation");
    const int64_t *padding = adzi_c99_attr_list(call, "padding");
    return (adzi_c99_axis){ .big = big,
        .small = small,
        .taps = taps,
        .stride = stride[d],
        .dilation = dilation[d],
        .padding = padding[d] };
}

bool adzi_c99_axis_inside(const adzi_c99_axis *a)
{
    const int64_t last = (a->small - 1) * a->stride + (a->taps - 1) * a->dilation - a->padding;
    return a->padding <= 0 && last < a->big;
}

/* ---- indices -------------------------------------------------------------------------------- */

void adzi_c99_add_variable(char index[ADZI_C99_INDEX], const char *variable, int64_t stride)
{
    if (variable[0] != '\0') {
        adzi_c99_index(index, ADZI_C99_INDEX, variable, stride);
    }
}

/* A negative number behind other terms is subtracted. */
void adzi_c99_add_offset(char index[ADZI_C99_INDEX], int64_t offset)
{
    char number[ADZI_C99_INDEX + 24];
    if (offset < 0 && index[0] != '\0') {
        snprintf(number, sizeof number, "%s - %lld", index, -(long long)offset);
        index[0] = '\0';
        adzi_c99_join(index, ADZI_C99_INDEX, number);
    } else if (offset != 0) {
        snprintf(number, sizeof number, "%lld", (long long)offset);
        adzi_c99_join(index, ADZI_C99_INDEX, number);
    }
}

void adzi_c99_add_meeting(char index[ADZI_C99_INDEX], const adzi_c99_axis *a, const char *position,
    const char *tap, int64_t step)
{
    adzi_c99_add_variable(index, position, a->stride * step);
    adzi_c99_add_variable(index, tap, a->dilation * step);
    adzi_c99_add_offset(index, -a->padding * step);
}

bool adzi_c99_open_meeting(adzi_c99 *c, const adzi_c99_axis *a, const char *position,
    const char *tap, const char *name, char row[ADZI_C99_INDEX])
{
    char at[ADZI_C99_INDEX] = "";
    adzi_c99_add_meeting(at, a, position, tap, 1);
    if (adzi_c99_axis_inside(a)) {
        const bool single = strchr(at, ' ') == NULL;
        snprintf(row, ADZI_C99_INDEX, "%s%.*s%s", single ? "" : "(", ADZI_C99_INDEX - 3, at,
            single ? "" : ")");
        return false;
    }
    adzi_c99_line(c, "const int %s = %s;", name, at[0] != '\0' ? at : "0");
    adzi_c99_open(c, "if (%s >= 0 && %s < %lld) {", name, name, (long long)a->big);
    snprintf(row, ADZI_C99_INDEX, "%s", name);
    return true;
}

void adzi_c99_print_tap_range(
    adzi_c99 *c, const adzi_c99_axis *a, const char *tap, char texts[2][24])
{
    char shift[40] = "";
    if (adzi_c99_axis_inside(a)) {
        snprintf(texts[0], 24, "0");
        snprintf(texts[1], 24, "%lld", (long long)a->small);
        return;
    }
    if (tap[0] != '\0') {
        snprintf(shift, sizeof shift, " - %s * %lld", tap, (long long)a->dilation);
    }
    adzi_c99_line(c, "const int low = (%lld%s) / %lld, high = (%lld%s) / %lld;",
        (long long)(a->padding + a->stride - 1), shift, (long long)a->stride,
        (long long)(a->big + a->padding + a->stride - 1), shift, (long long)a->stride);
    adzi_c99_line(c, "const int first = low > 0 ? low : 0, last = high < %lld ? high : %lld;",
        (long long)a->small, (long long)a->small);
    snprintf(texts[0], 24, "first");
    snprintf(texts[1], 24, "last");
}
