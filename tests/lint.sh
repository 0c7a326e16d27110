#!/bin/sh
# Warnings with gcc and clang where present, format, the direction of dependencies, and the register tile's machine
# code. Silent where all is well.
status=0
cd "$(dirname "$0")/.." || exit 74
say() { echo "lint: $*"; status=1; }

# base <- tensor <- kernels <- autograd <- ops <- nn <- tasks <- training, decoding <- checking, report <- programs
level() {
    case $1 in
    base) echo 0 ;; tensor) echo 1 ;; kernels) echo 2 ;; autograd) echo 3 ;; ops) echo 4 ;; nn) echo 5 ;;
    tasks) echo 6 ;; training) echo 7 ;; decoding) echo 7.5 ;; checking) echo 8 ;; report) echo 8 ;; programs) echo 9 ;; *) echo none ;;
    esac
}
for file in src/*/*.c src/*/*.h src/*/*.def; do
    [ -e "$file" ] || continue
    room=${file#src/}; room=${room%%/*}
    here=$(level "$room")
    for other in $(sed -n 's|^#include "\([a-z_]*\)/.*|\1|p' "$file" | sort -u); do
        there=$(level "$other")
        [ "$there" = none ] && say "$file: includes from $other, which is no room of the house"
        [ "$other" = "$room" ] && continue
        if awk "BEGIN { exit !(int($there) >= int($here)) }"; then
            say "$file: includes from $other, but $other does not come before $room"
        fi
    done
done
# Members of an archive have no folder: one name, one file.
twice=$(for file in src/*/*.c; do case $file in src/programs/*) ;; *) basename "$file" ;; esac; done | sort | uniq -d)
[ -z "$twice" ] || say "more than one file of the library is called" $twice
# The tape names no operation.
if grep -nE 'tape_(add|matmul|softmax|linear|layer_norm|attention)\b' src/autograd/*.c; then
    say "src/autograd names an operation"
fi

files=$(find src tests train.c -name '*.[ch]' 2>/dev/null)
if command -v clang-format >/dev/null; then
    clang-format --dry-run --Werror $files 2>&1 | grep -m 20 'error' && say "format: run clang-format -i on these"
else
    echo "lint: clang-format is not installed, format not checked" >&2
fi

flags=$(make -s print-lint-flags)
if ! echo '#include <cblas.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
    echo "lint: cblas.h is not installed, src/kernels/gemm_blas.c not checked" >&2
    files=$(echo "$files" | grep -v gemm_blas)
fi
for cc in gcc clang; do
    command -v $cc >/dev/null || { echo "lint: $cc is not installed, its warnings not checked" >&2; continue; }
    for precision in "" -DREAL_DOUBLE; do
        echo $files | tr ' ' '\n' | grep '\.c$' |
            xargs -P 2 -n 8 $cc $flags $precision -Werror -fsyntax-only || say "$cc $precision warns"
        case $(uname -m) in x86_64) for arch in native x86-64 x86-64-v3 x86-64-v4; do
            found=$($cc $flags $precision -march=$arch -S src/kernels/gemm_tile.c -o - | awk -f tests/tile_loops.awk) ||
                say "$cc $precision -march=$arch: src/kernels/gemm_tile.c: $found"
        done ;; esac
    done
done
exit $status
