"""Reference vectors of recurrent networks, for generate.py. Sequences of different lengths are PyTorch's
packed sequences."""

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def recurrent(tools, name, kind, width, hidden, lengths="", batch=2, **options):
    """`lengths` has a digit for each sequence of the batch."""
    tools.seed(name)
    module = getattr(torch.nn, kind.upper())(width, hidden, **options)
    rows = module.num_layers * (2 if module.bidirectional else 1)
    given = {"x": tools.leaf(4, batch, width), "h0": tools.leaf(rows, batch, hidden)}
    states = given["h0"]
    if kind == "lstm":
        given["c0"] = tools.leaf(rows, batch, hidden)
        states = (given["h0"], given["c0"])
    x = given["x"]
    if module.batch_first:
        x = given["x"] = tools.leaf(batch, 4, width)
    if lengths:
        x = pack_padded_sequence(x, [int(n) for n in lengths], module.batch_first,
                                 enforce_sorted=False)
    y, states = module(x, states)
    if lengths:
        y, _ = pad_packed_sequence(y, module.batch_first, total_length=4)
    outputs = {"y": y, "h": states[0], "c": states[1]} if kind == "lstm" else {"y": y, "h": states}
    config = {"op": kind, "input_size": width, "hidden_size": hidden, "num_layers": module.num_layers,
              "bias": module.bias, "batch_first": module.batch_first,
              "bidirectional": module.bidirectional}
    if kind == "rnn":
        config["nonlinearity"] = module.nonlinearity
    if lengths:
        config["lengths"] = lengths
    tools.case(name, "ops", "torch nn." + kind.upper(), config,
               tools.with_gradients(given, dict(module.named_parameters()), outputs))


def sequences(tools):
    recurrent(tools, "gru_of_two", "gru", 3, 2, num_layers=2, bidirectional=True)
    recurrent(tools, "gru_without_bias", "gru", 2, 3, bias=False, batch_first=True)
    recurrent(tools, "rnn_of_two", "rnn", 3, 2, num_layers=2, bidirectional=True)
    recurrent(tools, "rnn_relu", "rnn", 2, 3, nonlinearity="relu")
    recurrent(tools, "lstm_packed", "lstm", 3, 2, "2413", 4, num_layers=2, bidirectional=True)
    recurrent(tools, "gru_packed", "gru", 3, 2, "2413", 4, num_layers=2, bidirectional=True,
              batch_first=True)
    recurrent(tools, "rnn_packed", "rnn", 3, 2, "3241", 4, num_layers=2, bidirectional=True)
