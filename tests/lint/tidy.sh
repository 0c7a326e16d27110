#!/bin/sh
# `make tidy`: clang-tidy with the checks of .clang-tidy.
cd "$(dirname "$0")/../.." || exit 74
command -v clang-tidy >/dev/null || { echo "skip tidy: clang-tidy is not installed"; exit 0; }
flags=$(${MAKE:-make} -s CC=clang print-lint-flags) || exit
find src train.c -name '*.c' ! -name gemm_blas.c ! -path 'src/tools/web/*' |
    xargs -P 2 -n 8 sh -c 'clang-tidy --quiet "$@" -- '"$flags"' 2>/dev/null' tidy
