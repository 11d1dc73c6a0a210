#include "export/c99/printer.h"

#include <stdio.h>
#include <string.h>

adzi_c99_lanes adzi_c99_lanes_of(const adzi_c99_value *value, unsigned mask)
{
    adzi_c99_lanes lanes = { .rank = value->rank, .mask = mask, .count = 1 };
    if (mask == 0) {
        lanes.mask = (1u << value->rank) - 1;
    }
    int64_t kept[ADZ_MAX_RANK], lane[ADZ_MAX_RANK];
    int n_kept = 0, n_lane = 0;
    for (int d = 0; d < value->rank; ++d) {
        if (lanes.mask >> d & 1u) {
            lane[n_lane++] = value->sizes[d];
            lanes.count *= value->sizes[d];
        } else {
            kept[n_kept++] = value->sizes[d];
        }
    }
    lanes.outer = adzi_c99_nest_of(n_kept, kept);
    lanes.inner = adzi_c99_nest_of(n_lane, lane);
    return lanes;
}

int adzi_c99_lanes_add(adzi_c99_lanes *lanes, const adzi_c99_value *value)
{
    if (value == NULL) {
        return -1;
    }
    adzi_c99_value outer = *value, inner = *value;
    outer.rank = inner.rank = 0;
    inner.offset = 0;
    const int lead = lanes->rank - value->rank;
    for (int d = 0; d < lanes->rank; ++d) {
        adzi_c99_value *part = lanes->mask >> d & 1u ? &inner : &outer;
        part->sizes[part->rank] = d < lead ? 1 : value->sizes[d - lead];
        part->strides[part->rank++] = d < lead ? 0 : value->strides[d - lead];
    }
    adzi_c99_nest_add(&lanes->inner, &inner);
    const int k = adzi_c99_nest_add(&lanes->outer, &outer);
    lanes->outer.operand[k].memory = -1; /* its elements are those of the passes */
    return k;
}

int adzi_c99_lanes_add_reduced(adzi_c99_lanes *lanes, const adzi_c99_value *value)
{
    if (value->rank == lanes->rank) {
        return adzi_c99_lanes_add(lanes, value);
    }
    adzi_c99_value full = *value;
    full.rank = lanes->rank;
    for (int d = 0, from = 0; d < lanes->rank; ++d) {
        const bool gone = lanes->mask >> d & 1u;
        full.sizes[d] = gone ? 1 : value->sizes[from];
        full.strides[d] = gone ? 0 : value->strides[from++];
    }
    return adzi_c99_lanes_add(lanes, &full);
}

void adzi_c99_lanes_open(adzi_c99 *c, adzi_c99_lanes *lanes)
{
    adzi_c99_nest_open(c, &lanes->outer);
    if (lanes->outer.loops == 0) { /* a separate block for the lane's variables */
        adzi_c99_open(c, "{");
    }
    for (int k = 0; k < lanes->outer.n; ++k) {
        memcpy(lanes->inner.operand[k].index, lanes->outer.operand[k].index, ADZI_C99_INDEX);
    }
}

void adzi_c99_lanes_close(adzi_c99 *c, adzi_c99_lanes *lanes)
{
    if (lanes->outer.loops == 0) {
        adzi_c99_close(c);
    }
    adzi_c99_nest_close(c, &lanes->outer);
}

adzi_c99_nest adzi_c99_pass(adzi_c99 *c, const adzi_c99_lanes *lanes)
{
    adzi_c99_nest pass = lanes->inner;
    adzi_c99_nest_open(c, &pass);
    return pass;
}

const char *adzi_c99_lane_element(adzi_c99 *c, adzi_c99_lanes *lanes, int operand)
{
    const adzi_c99_nest *nest = &lanes->inner;
    char *text = lanes->outer.operand[operand].text;
    adzi_c99_element(c, nest->operand[operand].memory, nest->operand[operand].index, text,
        sizeof lanes->outer.operand[operand].text);
    return text;
}

unsigned adzi_c99_dim_mask(const adzi_c99_call *call, const adzi_c99_value *value)
{
    return value->rank > 0 ? 1u << (int)adzi_c99_attr(call, "dim", 0) : 0;
}

void adzi_c99_print_exponentials(
    adzi_c99 *c, const adzi_c99_lanes *lanes, int from, int to, bool limited)
{
    adzi_c99_line(c, "float most = (-1.0f / 0.0f), total = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, lanes);
    adzi_c99_line(
        c, "most = %s > most ? %s : most;", pass.operand[from].text, pass.operand[from].text);
    adzi_c99_nest_close(c, &pass);
    if (limited) {
        adzi_c99_line(c, "most = most - most == 0 ? most : 0;");
    }
    pass = adzi_c99_pass(c, lanes);
    if (to >= 0) {
        adzi_c99_line(c, "const float e = @exp(%s - most);", pass.operand[from].text);
        adzi_c99_line(c, "total += e;");
        adzi_c99_line(c, "%s = e;", pass.operand[to].text);
    } else {
        adzi_c99_line(c, "total += @exp(%s - most);", pass.operand[from].text);
    }
    adzi_c99_nest_close(c, &pass);
}
