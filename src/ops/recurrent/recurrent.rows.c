/* How exports write operators: recurrent layers. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_recurrent;
adzi_onnx_printer adzi_onnx_print_recurrent;
adzi_onnx_batch_rule adzi_onnx_batch_recurrent;

const adzi_row adzi_rows_recurrent[] = {
    { .op = "forget_mult" },
    { .op = "gru_layer", .decomposed = true, C99(recurrent), ONNX(recurrent, recurrent, "GRU") },
    { .op = "linear_recurrence" },
    { .op = "lstm_layer", .decomposed = true, C99(recurrent), ONNX(recurrent, recurrent, "LSTM") },
    { .op = "rnn_layer", .decomposed = true, C99(recurrent), ONNX(recurrent, recurrent, "RNN") },
    { .op = NULL },
};
