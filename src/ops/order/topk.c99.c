#include <stdio.h>
#include <string.h>

#include "export/c99/printer.h"

/* Prints the condition that one expression comes before another among the selected elements. NaN
 * counts as the largest. */
static void before_text(
    char to[ADZI_C99_TEXT], const adzi_c99_value *x, bool largest, const char *a, const char *b)
{
    if (adzi_is_float(x->dtype)) {
        snprintf(to, ADZI_C99_TEXT, "@above(%s, %s)", largest ? a : b, largest ? b : a);
    } else {
        snprintf(to, ADZI_C99_TEXT, "%s %c %s", a, largest ? '>' : '<', b);
    }
}

/* Prints one round of a selection: `best` and its `position` among the elements of the slice that
 * come after `before`, the result of the round before it, which stood at position_before. Equal
 * elements come in the order of their positions. */
static void print_round(
    adzi_c99 *c, const adzi_c99_slices *from, int element, const adzi_c99_value *x, bool largest)
{
    char passed[ADZI_C99_TEXT], ahead[ADZI_C99_TEXT], better[ADZI_C99_TEXT];
    adzi_c99_line(c, "%s best = 0;", adzi_c99_type(x->dtype));
    adzi_c99_line(c, "int32_t position = -1, at = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, from);
    adzi_c99_line(c, "const %s e = %s;", adzi_c99_type(x->dtype), pass.operand[element].text);
    before_text(passed, x, largest, "before", "e");
    before_text(ahead, x, largest, "e", "before");
    before_text(better, x, largest, "e", "best");
    adzi_c99_line(c,
        "const int left = position_before < 0 || %s || (!(%s) && at > position_before);", passed,
        ahead);
    adzi_c99_open(c, "if (left && (position < 0 || %s)) {", better);
    adzi_c99_line(c, "best = e;");
    adzi_c99_line(c, "position = at;");
    adzi_c99_close(c);
    adzi_c99_line(c, "++at;");
    adzi_c99_nest_close(c, &pass);
}

/* The k largest or smallest elements of each slice, sorted, and their positions. */
ADZI_C99_PRINTER(topk)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    const unsigned mask = adzi_c99_dim_mask(call, x);
    adzi_c99_slices from = adzi_c99_slices_of(x, mask);
    adzi_c99_value best = *y, position = *adzi_c99_out(c, call, 1);
    int64_t strides[2] = { 0, 0 };
    for (int d = 0; d < x->rank; ++d) { /* the results' own dimension is walked by hand */
        if (mask >> d & 1u) {
            strides[0] = best.strides[d];
            strides[1] = position.strides[d];
            best.sizes[d] = position.sizes[d] = 1;
        }
    }
    const int element = adzi_c99_slices_add(&from, x);
    const int to = adzi_c99_slices_add(&from, &best), at = adzi_c99_slices_add(&from, &position);
    adzi_c99_slices_open(c, &from);
    char k[4], texts[2][ADZI_C99_TEXT];
    adzi_c99_line(c, "%s before = 0;", adzi_c99_type(x->dtype));
    adzi_c99_line(c, "int32_t position_before = -1;");
    adzi_c99_loop(c, (int64_t)adzi_c99_attr(call, "k", 1), k);
    const int operands[] = { to, at }, memories[] = { best.memory, position.memory };
    for (int i = 0; i < 2; ++i) {
        char index[ADZI_C99_INDEX];
        memcpy(index, from.inner.operand[operands[i]].index, sizeof index);
        adzi_c99_index(index, sizeof index, k, strides[i]);
        adzi_c99_element(c, memories[i], index, texts[i], sizeof texts[i]);
    }
    print_round(c, &from, element, x, adzi_c99_attr(call, "largest", 1) != 0);
    adzi_c99_line(c, "%s = before = best;", texts[0]);
    adzi_c99_line(c, "%s = position_before = position;", texts[1]);
    adzi_c99_end(c);
    adzi_c99_slices_close(c, &from);
}
