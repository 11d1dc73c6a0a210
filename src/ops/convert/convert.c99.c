/* Conversions between dtypes. */
#include <stdio.h>
#include <string.h>

#include "export/c99/printer.h"

adzi_c99_text_function adzi_c99_convert_text;

/* The expression of `to` and `copy`: y has another dtype than the last input. Everything but 0 is
 * true, NaN included. A float beyond the integers must not reach a cast, whose result C leaves
 * undefined. */
const char *adzi_c99_convert_text(
    const adzi_c99 *c, const adzi_c99_call *call, double numbers[2], char room[ADZI_C99_ROOM])
{
    (void)numbers;
    const int last = call->n_in - 1;
    const adz_dtype from = adzi_c99_in(c, call, last)->dtype, to = adzi_c99_out(c, call, 0)->dtype;
    const char x = (char)('a' + last), *type = adzi_c99_type(to);
    const char *cast = to == ADZ_U8 ? "(unsigned char)" : "";
    if (to == ADZ_BOOL) {
        snprintf(room, ADZI_C99_ROOM, from == ADZ_BOOL ? "$%c" : "$%c != 0", x);
    } else if (adzi_is_float(from) && !adzi_is_float(to)) {
        snprintf(room, ADZI_C99_ROOM, "%s@%s($%c)", cast,
            from == ADZ_F64 ? "wide_truncate" : "truncate", x);
    } else if (strcmp(type, adzi_c99_type(from)) != 0) {
        snprintf(room, ADZI_C99_ROOM, "(%s)$%c", type, x);
    } else {
        snprintf(room, ADZI_C99_ROOM, "$%c", x);
    }
    return room;
}
