/* How exports write operators: recurrent layers. */
#include "export/c99/c99.h"
#include "export/onnx.h"

const adzi_row adzi_rows_recurrent[] = {
    { .op = "gru_layer",
        .onnx = { .print = adzi_onnx_print_recurrent,
            .carry = adzi_onnx_carry_recurrent,
            .type = "GRU" } },
    { .op = "lstm_layer",
        .c = { .print = adzi_c99_lstm },
        .onnx = { .print = adzi_onnx_print_recurrent,
            .carry = adzi_onnx_carry_recurrent,
            .type = "LSTM" } },
    { .op = "rnn_layer",
        .onnx = { .print = adzi_onnx_print_recurrent,
            .carry = adzi_onnx_carry_recurrent,
            .type = "RNN" } },
    { .op = NULL },
};
