#!/bin/sh
# Builds the fuzzers and runs each for a while, from the corpus that the tests replay. What they
# find stays under build-fuzz/found.
#   tests/fuzz/run.sh [SECONDS]
set -eu
seconds=${1:-60}
cd "$(dirname "$0")/../.."
top=$(pwd)
[ -d build-fuzz ] || CC=clang meson setup build-fuzz -Dfuzz=true -Db_lundef=false \
    -Dbuildtype=plain -Doptimization=1 -Ddebug=true -Dthreads=pool -Dexamples=false -Dbench=false
for target in safetensors npy csv tokenizer pretrained_tokenizer pretrained gguf; do
    meson compile -C build-fuzz "fuzz_$target"
done
failed=0
for target in safetensors npy csv tokenizer pretrained_tokenizer pretrained gguf; do
    mkdir -p "build-fuzz/grown/$target" "build-fuzz/found/$target"
    echo "==== $target"
    (cd "build-fuzz/found/$target" && "$top/build-fuzz/tests/fuzz/fuzz_$target" -print_final_stats=1 \
        -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
        "$top/build-fuzz/grown/$target" "$top/tests/fuzz/corpus/$target") || failed=1
done
exit "$failed"
