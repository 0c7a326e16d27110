#!/bin/sh
# Packing: how often a product with A transposed misses an 8-way first-level cache of 32 KB, beside
# one whose A is read by rows. Rows that are a power of two apart, or columns that cross pages,
# would show here on any machine: valgrind simulates the cache. (It knows no AVX-512, so that the
# tile is AVX2's.) The product is a sixteenth of 2048x1536x384, with the same distances between
# rows.
say() { echo "skip cache misses: $*"; exit 0; }
cd "$(dirname "$0")/../.." || exit 74
command -v valgrind >/dev/null || say "there is no valgrind"
[ "$(uname -m)" = x86_64 ] || say "needs an x86-64 processor"
folder=$(mktemp -d) || exit 74
trap 'rm -rf "$folder"' EXIT

cat >"$folder/product.c" <<'END'
#include "base/pool.h"
#include "kernels/gemm.h"
#include <stdlib.h>

int main(int count, char **argument) {
    enum { M = 2048, N = 1536, K = 384, ROWS = M / 16 };
    static real a[M * K], b[K * N], c[ROWS * N];
    (void)argument;
    pool_set_threads(1);
    Gemm g = {count > 1 ? GEMM_TN : GEMM_NN, ROWS, N, K, a, b, c, .ldb = N, .ldc = N};
    g.lda = count > 1 ? M : K;
    gemm(&g);
}
END
sources="$(ls src/core/kernels/gemm*.c src/core/base/*.c | grep -v gemm_blas)"
${CC:-cc} $(make -s print-lint-flags) -march=x86-64-v3 "$folder/product.c" $sources -lm \
    -o "$folder/product" || exit 1

misses() {
    valgrind --tool=cachegrind --cache-sim=yes --D1=32768,8,64 --LL=1048576,16,64 \
        --cachegrind-out-file=/dev/null \
        "$folder/product" "$@" 2>&1 | awk '/D1 +misses/ { gsub(",", ""); print $4 }'
}
by_rows=$(misses) transposed=$(misses transposed)
[ -n "$by_rows" ] && [ -n "$transposed" ] || {
    echo "FAIL cache misses: valgrind counted none"
    exit 1
}
if [ $((transposed * 2)) -le $((by_rows * 3)) ]; then
    echo "ok   cache misses: a transposed operand misses at most 1.5 times as often"
else
    echo "FAIL cache misses: found $transposed with A transposed, need at most 1.5 times $by_rows"
    exit 1
fi
