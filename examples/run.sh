#!/bin/sh
# Installs what is missing, builds the programs that README names, and trains the feed-forward regression.
# Arguments are handed on: sh examples/run.sh --data concrete.csv --target y
# What it writes (model.safetensors, history.csv, the loss curve) lands where you stand.
set -eu
here=$(pwd)
cd "$(dirname "$0")/.."
top=$(pwd)
. tools/setup.sh

set_up
say 'Building ...'
quietly meson compile -C build ffn-regression uci-regression glu-variants char-lm \
    text-classifier
cd "$here"
exec "$top/build/examples/ffn-regression" "$@"
