#!/bin/sh
# Coverage-guided fuzzing for so many seconds each: run.sh BUILD_FOLDER SECONDS [TARGET...], by default every target.
# What is found stays in BUILD_FOLDER/corpus; a crash ends the run and leaves its input there. A few small inputs of each
# target are kept in core/fuzz/corpus, which `make test` replays.
set -eu
build=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- counting training encoding strange_model model_file normalizing spill_files evaluating \
    pre_tokenizing extending byte_level_training byte_level_encoding parity_training
kept=$(dirname "$0")/corpus
for target in "$@"; do
    work=$build/corpus/$target
    mkdir -p "$work" "$kept/$target"
    ln -sf core_fuzz_coverage "$build/fuzz_$target"
    echo "== $target"
    "$build/fuzz_$target" -max_total_time="$seconds" -max_len=1024 -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="$work/" "$work" "$kept/$target" 2> "$build/$target.log" || {
        tail -40 "$build/$target.log"
        echo "$target failed; the input is in $work"
        exit 1
    }
    grep -E "number_of_executed_units|average_exec_per_sec" "$build/$target.log"
done
