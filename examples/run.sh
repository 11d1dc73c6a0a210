#!/bin/sh
# Installs what is missing, builds the programs that README names, and trains the feed-forward regression.
# Arguments are handed on: sh examples/run.sh --data concrete.csv --target y
# What it writes (model.safetensors, history.csv, the loss curve) lands where you stand. Git ignores these
# names in a checkout.
set -eu
here=$(pwd)
cd "$(dirname "$0")/.."
top=$(pwd)
. tools/setup.sh

set_up
compile ffn-regression uci-regression glu-variants char-lm text-classifier digits forecast
cd "$here"
exec "$top/build/examples/ffn-regression" "$@"
