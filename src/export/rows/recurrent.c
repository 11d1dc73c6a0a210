/* How exports write operators: recurrent layers. */
#include "export/c99/c99.h"
#include "export/onnx.h"

const adzi_row adzi_rows_recurrent[] = {
    { .op = "gru_layer",
        .onnx = { adzi_onnx_print_recurrent, adzi_onnx_carry_recurrent, "GRU", NULL } },
    { .op = "lstm_layer",
        .c = { .print = adzi_c99_lstm },
        .onnx = { adzi_onnx_print_recurrent, adzi_onnx_carry_recurrent, "LSTM", NULL } },
    { .op = "rnn_layer",
        .onnx = { adzi_onnx_print_recurrent, adzi_onnx_carry_recurrent, "RNN", NULL } },
    { .op = NULL },
};
