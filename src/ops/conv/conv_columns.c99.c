/* The columns of a row of a convolution. Where its taps meet the padding, a row is divided into
 * segments, whose columns all have the same taps. */
#include "ops/conv/conv.c99.h"

#include <stdio.h>

enum { MOST_TAPS = 16, MOST_TERMS = 8, MOST_SEGMENTS = 24, LONG_PATCH = 16, SHORT_ROW = 18 };

const char *adzi_c99_column(
    const char *name, const char *variable, int64_t step, int64_t from, char text[ADZI_C99_TEXT])
{
    char index[ADZI_C99_INDEX] = "";
    adzi_c99_add_variable(index, variable, step);
    adzi_c99_add_offset(index, from);
    snprintf(text, ADZI_C99_TEXT, "%s[%s]", name, index[0] != '\0' ? index : "0");
    return text;
}

/* The columns phase, phase + step, ... of the result, `count` of them. The tap `tap[i]` takes
 * column q * stride + from[i] of the input to the one with number q, for first[i] <= q < last[i].
 */
typedef struct {
    int n;
    int tap[MOST_TAPS];
    int64_t count, step, stride, from[MOST_TAPS], first[MOST_TAPS], last[MOST_TAPS];
} columns;

/* Columns from `from` to below `end` of those above, which all have the same taps. */
typedef struct {
    const columns *of;
    int64_t phase, from, end;
} segment;

/* Rounds towards minus infinity and plus infinity. `b` is positive. */
static int64_t divide_down(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return -divide_down(-a, b);
}

static columns columns_of(const adzi_c99_convolution *k, int64_t phase)
{
    const adzi_c99_axis *a = &k->column;
    const int64_t width = k->transposed ? a->big : a->small;
    const int64_t read = k->transposed ? a->small : a->big;
    columns s = { .step = k->transposed ? a->stride : 1, .stride = k->transposed ? 1 : a->stride };
    s.count = phase < width ? (width - phase + s.step - 1) / s.step : 0;
    for (int i = 0; i < a->taps;
         ++i) { /* a transposed one meets positions in order from the last tap */
        const int64_t tap = k->transposed ? a->taps - 1 - i : i;
        const int64_t at =
            k->transposed ? phase + a->padding - tap * a->dilation : tap * a->dilation - a->padding;
        if (at % s.step != 0) {
            continue;
        }
        const int64_t from = at / s.step, low = divide_up(-from, s.stride);
        const int64_t high = divide_down(read - 1 - from, s.stride) + 1;
        s.tap[s.n] = (int)tap;
        s.from[s.n] = from;
        s.first[s.n] = low > 0 ? low : 0;
        s.last[s.n] = high < s.count ? high : s.count;
        s.n += s.first[s.n] < s.last[s.n];
    }
    return s;
}

/* The end of the segment that begins at `from`. */
static int64_t end_of_segment(const columns *s, int64_t from)
{
    int64_t end = s->count;
    for (int i = 0; i < s->n; ++i) {
        end = s->first[i] > from && s->first[i] < end ? s->first[i] : end;
        end = s->last[i] > from && s->last[i] < end ? s->last[i] : end;
    }
    return end;
}

/* Adds what the taps give to the columns of the segment that begins at `from`, or to that one
 * column if there is no variable. */
static void print_column(
    adzi_c99 *c, const adzi_c99_convolution *k, const segment *part, int result, const char *q)
{
    const columns *s = part->of;
    const int64_t phase = part->phase, from = part->from;
    char text[ADZI_C99_TEXT];
    adzi_text sum = { 0 };
    const int64_t at = q[0] != '\0' ? 0 : from;
    for (int i = 0; i < s->n; ++i) {
        if (s->first[i] <= from && from < s->last[i]) {
            adzi_text_format(&sum, " + w%d * %s", s->tap[i] + result * MOST_TAPS,
                adzi_c99_column("from", q, s->stride * k->in.column,
                    (at * s->stride + s->from[i]) * k->in.column, text));
        }
    }
    adzi_c99_column(adzi_c99_result_row(result), q, s->step * k->out.column,
        (phase + at * s->step) * k->out.column, text);
    adzi_c99_line(c, "%s = %s%s;", text, text, adzi_text_get(&sum));
    if (sum.failed) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
    }
    adzi_text_free(&sum);
}

/* Adds what the taps of a segment give to its columns. */
static void print_segment(adzi_c99 *c, const adzi_c99_convolution *k, const segment *part)
{
    const columns *s = part->of;
    const int64_t from = part->from, end = part->end;
    char q[4] = "";
    const bool loop = end - from > 1;
    int taps = 0;
    for (int i = 0; i < s->n; ++i) {
        taps += s->first[i] <= from && from < s->last[i];
    }
    if (taps == 0) {
        return;
    }
    if (loop) {
        char bounds[2][24];
        snprintf(bounds[0], sizeof bounds[0], "%lld", (long long)from);
        snprintf(bounds[1], sizeof bounds[1], "%lld", (long long)end);
        adzi_c99_range(c, bounds[0], bounds[1], 1, q);
    }
    for (int result = 0; result < k->block; ++result) {
        print_column(c, k, part, result, q);
    }
    if (loop) {
        adzi_c99_end(c);
    }
}

/* Prints the segments of a row, or with c NULL only counts them. Returns more than MOST_SEGMENTS if
 * there are too many taps, and sets the bits of the taps that add something. */
static int print_segments(adzi_c99 *c, const adzi_c99_convolution *k, unsigned *taps)
{
    const int64_t phases = k->transposed ? k->column.stride : 1;
    int segments = k->column.taps > MOST_TAPS || phases > MOST_SEGMENTS ? MOST_SEGMENTS + 1 : 0;
    *taps = 0;
    for (int64_t phase = 0; phase < phases && segments <= MOST_SEGMENTS; ++phase) {
        const columns s = columns_of(k, phase);
        segments = s.n > MOST_TERMS ? MOST_SEGMENTS + 1 : segments;
        for (int i = 0; i < s.n; ++i) {
            *taps |= 1u << s.tap[i];
        }
        for (int64_t from = 0, end; from < s.count && segments <= MOST_SEGMENTS; from = end) {
            end = end_of_segment(&s, from);
            ++segments;
            if (c != NULL) {
                print_segment(c, k, &(segment){ &s, phase, from, end });
            }
        }
    }
    return segments;
}

/* The weights of the taps get names: the compiler then knows that the sums do not change them. */
static void print_weights(adzi_c99 *c, const adzi_c99_convolution *k, unsigned taps)
{
    for (int result = 0; result < k->block; ++result) {
        adzi_text line = { 0 };
        for (int i = 0; i < MOST_TAPS; ++i) {
            if (taps >> i & 1u) {
                adzi_text_format(&line, "%s w%d = w[%lld]", line.length == 0 ? "const float" : ",",
                    i + result * MOST_TAPS,
                    (long long)(i * k->weight.column + result * k->weight.result));
            }
        }
        adzi_c99_line(c, "%s;", adzi_text_get(&line));
        adzi_text_free(&line);
    }
}

void adzi_c99_name_tap(
    const adzi_c99_convolution *k, const adzi_c99_axis *a, const char *i, char tap[32])
{
    if (k->transposed) {
        snprintf(tap, 32, "(%lld - %s)", (long long)a->taps - 1, i);
    } else {
        snprintf(tap, 32, "%s", i);
    }
}

/* One tap after the other, for long kernels. */
static void print_taps(adzi_c99 *c, const adzi_c99_convolution *k)
{
    const adzi_c99_axis *a = &k->column;
    char i[4], q[4], tap[32], bounds[2][24], text[ADZI_C99_INDEX] = "", to[ADZI_C99_INDEX] = "";
    char from[ADZI_C99_INDEX] = "", w[ADZI_C99_INDEX] = "";
    adzi_c99_loop(c, a->taps, i);
    adzi_c99_name_tap(k, a, i, tap);
    adzi_c99_print_tap_range(c, a, tap, bounds);
    adzi_c99_add_variable(w, tap, k->weight.column);
    adzi_c99_line(c, "const float weight = w[%s];", w);
    adzi_c99_range(c, bounds[0], bounds[1], 1, q);
    adzi_c99_add_meeting(text, a, q, tap, k->transposed ? k->out.column : k->in.column);
    adzi_c99_add_variable(to, q, k->out.column);
    adzi_c99_add_variable(from, q, k->in.column);
    adzi_c99_line(c, "into[%s] += weight * from[%s];", k->transposed ? text : to,
        k->transposed ? from : text);
    adzi_c99_end(c);
    adzi_c99_end(c);
}

/* True if a patch is long and contiguous, and a row has too few columns for a loop over them. */
static bool has_dots(const adzi_c99_convolution *k)
{
    const adzi_c99_axis *a = &k->column;
    return !k->transposed && k->in.column == 1 && k->weight.column == 1 && a->dilation == 1 &&
           a->taps >= LONG_PATCH && (a->stride > 1 || a->small < SHORT_ROW);
}

/* The dot product of a row of the kernel and the patch of each column. */
static void print_dots(adzi_c99 *c, const adzi_c99_convolution *k)
{
    const adzi_c99_axis *a = &k->column;
    const bool inside = adzi_c99_axis_inside(a);
    char q[4], text[ADZI_C99_TEXT], at[ADZI_C99_INDEX] = "";
    const bool loop = adzi_c99_loop_over(c, a->small, q);
    adzi_c99_column(adzi_c99_result_row(0), q, k->out.column, 0, text);
    adzi_c99_add_meeting(at, a, q, "", 1);
    if (inside) {
        adzi_c99_line(c, "%s += @dot(w, from%s%s, %lld);", text, at[0] != '\0' ? " + " : "", at,
            (long long)a->taps);
    } else {
        if (!loop) {
            adzi_c99_open(c, "{");
        }
        adzi_c99_line(c, "const int at = %s;", at[0] != '\0' ? at : "0");
        adzi_c99_line(c,
            "const int first = at < 0 ? -at : 0, last = at + %lld > %lld ? %lld - at : %lld;",
            (long long)a->taps, (long long)a->big, (long long)a->big, (long long)a->taps);
        adzi_c99_open(c, "if (first < last) {");
        adzi_c99_line(c, "%s += @dot(w + first, from + at + first, last - first);", text);
        adzi_c99_close(c);
        if (!loop) {
            adzi_c99_close(c);
        }
    }
    if (loop) {
        adzi_c99_end(c);
    }
}

/* ---- a row ---------------------------------------------------------------------------------- */

/* Compilers unroll a loop over few columns, and then do not use vectors any more, unless much is
 * done for each column. */
int adzi_c99_results_at_once(const adzi_c99_convolution *k)
{
    unsigned taps;
    const int64_t width = k->transposed ? k->column.big / k->column.stride : k->column.small;
    if (width > SHORT_ROW || has_dots(k) || print_segments(NULL, k, &taps) > MOST_SEGMENTS) {
        return 1;
    }
    return k->results % 4 == 0 ? 4 : k->results % 2 == 0 ? 2 : 1;
}

const char *adzi_c99_result_row(int result)
{
    static const char *const names[] = { "into", "into1", "into2", "into3" };
    return names[result];
}

bool adzi_c99_all_padding(const adzi_c99_convolution *k)
{
    unsigned taps;
    return print_segments(NULL, k, &taps) <= MOST_SEGMENTS && taps == 0;
}

void adzi_c99_print_columns(adzi_c99 *c, const adzi_c99_convolution *k)
{
    unsigned taps;
    if (has_dots(k)) {
        print_dots(c, k);
    } else if (print_segments(NULL, k, &taps) <= MOST_SEGMENTS) {
        print_weights(c, k, taps);
        print_segments(c, k, &taps);
    } else {
        print_taps(c, k);
    }
}
