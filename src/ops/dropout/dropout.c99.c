/* Dropout that draws nothing. */
#include "export/c99/printer.h"

ADZI_C99_PRINTER(dropout)
{
    if (adzi_c99_drops_nothing(c, adzi_c99_attr(call, "p", 0))) {
        adzi_c99_map(c, adzi_c99_out(c, call, 0), "= $a", adzi_c99_in(c, call, 0));
    }
}
