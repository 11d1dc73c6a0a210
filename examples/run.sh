#!/bin/sh
# Installs what is missing, builds an example program and runs it. Without a name it is the feed-forward
# regression. Further arguments are handed on:
#   sh examples/run.sh --data concrete.csv --target y        sh examples/run.sh digits --help
# What a program writes (model.safetensors, history.csv, pictures) lands where you stand. Git ignores these
# names in a checkout.
set -eu
here=$(pwd)
cd "$(dirname "$0")/.."
top=$(pwd)
. tools/setup.sh

programs='ffn-regression uci-regression glu-variants char-lm text-classifier digits forecast'
program=ffn-regression
case ${1-} in
'' | -*) ;;
*)
    case " $programs " in
    *" $1 "*) program=$1 ;;
    *)
        say "There is no program $1. There are: $programs"
        exit 2
        ;;
    esac
    shift
    ;;
esac

with_tests=false
set_up -Dtests=false -Dkernels=native # a third less to compile; tests/run.sh adds the rest
compile "$program"
cd "$here"
exec "$top/build/examples/$program" "$@"
