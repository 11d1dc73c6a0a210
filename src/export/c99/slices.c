#include "export/c99/printer.h"

#include <stdio.h>
#include <string.h>

adzi_c99_slices adzi_c99_slices_of(const adzi_c99_value *value, unsigned mask)
{
    adzi_c99_slices slices = { .rank = value->rank, .mask = mask, .count = 1 };
    if (mask == 0) {
        slices.mask = (1u << value->rank) - 1;
    }
    int64_t kept[ADZ_MAX_RANK], slice[ADZ_MAX_RANK];
    int n_kept = 0, n_slice = 0;
    for (int d = 0; d < value->rank; ++d) {
        if (slices.mask >> d & 1u) {
            slice[n_slice++] = value->sizes[d];
            slices.count *= value->sizes[d];
        } else {
            kept[n_kept++] = value->sizes[d];
        }
    }
    slices.outer = adzi_c99_nest_of(n_kept, kept);
    slices.inner = adzi_c99_nest_of(n_slice, slice);
    return slices;
}

int adzi_c99_slices_add(adzi_c99_slices *slices, const adzi_c99_value *value)
{
    if (value == NULL) {
        return -1;
    }
    adzi_c99_value outer = *value, inner = *value;
    outer.rank = inner.rank = 0;
    inner.offset = 0;
    const int missing = slices->rank - value->rank;
    for (int d = 0; d < slices->rank; ++d) {
        adzi_c99_value *part = slices->mask >> d & 1u ? &inner : &outer;
        part->sizes[part->rank] = d < missing ? 1 : value->sizes[d - missing];
        part->strides[part->rank++] = d < missing ? 0 : value->strides[d - missing];
    }
    adzi_c99_nest_add(&slices->inner, &inner);
    const int k = adzi_c99_nest_add(&slices->outer, &outer);
    slices->outer.operand[k].memory = -1; /* its elements are those of the passes */
    return k;
}

int adzi_c99_slices_add_reduced(adzi_c99_slices *slices, const adzi_c99_value *value)
{
    if (value->rank == slices->rank) {
        return adzi_c99_slices_add(slices, value);
    }
    adzi_c99_value full = *value;
    full.rank = slices->rank;
    for (int d = 0, from = 0; d < slices->rank; ++d) {
        const bool gone = slices->mask >> d & 1u;
        full.sizes[d] = gone ? 1 : value->sizes[from];
        full.strides[d] = gone ? 0 : value->strides[from++];
    }
    return adzi_c99_slices_add(slices, &full);
}

void adzi_c99_slices_open(adzi_c99 *c, adzi_c99_slices *slices)
{
    adzi_c99_nest_open(c, &slices->outer);
    if (slices->outer.loops == 0) { /* a separate block for the slice's variables */
        adzi_c99_open(c, "{");
    }
    for (int k = 0; k < slices->outer.n; ++k) {
        memcpy(slices->inner.operand[k].index, slices->outer.operand[k].index, ADZI_C99_INDEX);
    }
}

void adzi_c99_slices_close(adzi_c99 *c, adzi_c99_slices *slices)
{
    if (slices->outer.loops == 0) {
        adzi_c99_close(c);
    }
    adzi_c99_nest_close(c, &slices->outer);
}

adzi_c99_nest adzi_c99_pass(adzi_c99 *c, const adzi_c99_slices *slices)
{
    adzi_c99_nest pass = slices->inner;
    adzi_c99_nest_open(c, &pass);
    return pass;
}

const char *adzi_c99_slice_element(adzi_c99 *c, adzi_c99_slices *slices, int operand)
{
    const adzi_c99_nest *nest = &slices->inner;
    char *text = slices->outer.operand[operand].text;
    adzi_c99_element(c, nest->operand[operand].memory, nest->operand[operand].index, text,
        sizeof slices->outer.operand[operand].text);
    return text;
}

unsigned adzi_c99_dim_mask(const adzi_c99_call *call, const adzi_c99_value *value)
{
    return value->rank > 0 ? 1u << (int)adzi_c99_attr(call, "dim", 0) : 0;
}

void adzi_c99_print_exponentials(
    adzi_c99 *c, const adzi_c99_slices *slices, int from, int to, bool limited)
{
    adzi_c99_line(c, "float most = (-1.0f / 0.0f), total = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, slices);
    adzi_c99_line(
        c, "most = %s > most ? %s : most;", pass.operand[from].text, pass.operand[from].text);
    adzi_c99_nest_close(c, &pass);
    if (limited) {
        adzi_c99_line(c, "most = most - most == 0 ? most : 0;");
    }
    pass = adzi_c99_pass(c, slices);
    if (to >= 0) {
        adzi_c99_line(c, "const float e = @exp(%s - most);", pass.operand[from].text);
        adzi_c99_line(c, "total += e;");
        adzi_c99_line(c, "%s = e;", pass.operand[to].text);
    } else {
        adzi_c99_line(c, "total += @exp(%s - most);", pass.operand[from].text);
    }
    adzi_c99_nest_close(c, &pass);
}
