/* Prints the operators that are read from ONNX files, a line for each row of the table: name, first
 * and last opset, most inputs and outputs, inputs without a gradient, attributes. operators.py
 * makes the table of docs/onnx.md of it. */
#include <stdio.h>

#include "onnx/run.h"

int main(void)
{
    const reader_operator *row;
    for (size_t i = 0; (row = adzi_reader_row(i)) != NULL; ++i) {
        printf("%s\t%d\t%d\t%zu\t%zu\t%lu\t%s\n", row->name, row->since, row->until, row->most,
            row->outputs, (unsigned long)row->fixed,
            row->attributes != NULL ? row->attributes : "");
    }
    return 0;
}
