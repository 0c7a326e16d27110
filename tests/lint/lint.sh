#!/bin/sh
# Warnings with gcc and clang where present, format, the direction of dependencies, and the register
# tile's machine code. Silent where all is well. COMPILED=gcc: gcc has compiled all files without a
# warning, so that it need not again.
status=0
cd "$(dirname "$0")/../.." || exit 74
say() { echo "lint: $*"; status=1; }

# The directories of src/ from the ground up: each includes only from itself and from those on lines
# above its own.
order='base
formats
text kernels
autograd
ops
nn
tasks
training decoding
run
check/gradcheck
check
check/grading bench explain
programs
web web/port'
level() {
    printf '%s\n' "$order" | tr ' ' '\n' | grep -qx -- "$1" &&
        printf '%s\n' "$order" | grep -nE "(^| )$1( |\$)" | cut -d : -f 1
}
for directory in src/*/*/ src/*/*/*/; do
    ls "$directory" | grep -q '\.[ch]$' || continue
    directory=${directory#src/*/} directory=${directory%/}
    here=$(level "$directory")
    [ -n "$here" ] || { say "src/$directory: not in the order of tests/lint/lint.sh"; continue; }
    while IFS=: read -r file line include; do
        [ -n "$file" ] || continue
        other=$(expr "$include" : '#include "\([a-z_/]*\)/[a-z_0-9.]*"')
        there=$(level "$other")
        if [ "$other" != "$directory" ] && { [ -z "$there" ] || [ "$there" -ge "$here" ]; }; then
            say "$file:$line: $include: $directory may not include from $other"
        fi
    done <<END
$(grep -n '^#include "[a-z_]*/' src/*/"$directory"/*.* /dev/null)
END
done
# Members of an archive have no folder: one name, one file.
twice=$(ls src/*/*/*.c src/*/*/*/*.c | grep -v '^src/tools/programs/' | sed 's#.*/##' |
    sort | uniq -d)
[ -z "$twice" ] || say "more than one file of the library is called" $twice
# The tape names no operation.
if grep -nE 'tape_(add|matmul|softmax|linear|layer_norm|attention)\b' src/core/autograd/*.c; then
    say "src/core/autograd names an operation"
fi

files=$(find src tests train.c -name '*.[ch]' 2>/dev/null)
if command -v clang-format >/dev/null; then
    echo $files | xargs -P 2 -n 50 clang-format --dry-run --Werror 2>&1 | grep -m 20 'error' &&
        say "format: run clang-format -i on these"
else
    echo "lint: clang-format is not installed, format not checked" >&2
fi

if ! echo '#include <cblas.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
    echo "lint: cblas.h is not installed, src/core/kernels/gemm_blas.c not checked" >&2
    files=$(echo "$files" | grep -v gemm_blas)
fi
# Students' files are looked at by ./gradcheck alone, src/tools/web by `make web`.
others='^src/tools/web/|^tests/check/students/|^tests/examples/cube.c'
files=$(echo "$files" | grep -vE "$others")
# tiles PRECISION: the loops of the product's tile for each processor. Status 1 if one is wrong.
tiles() {
    wrong=0
    for arch in native x86-64 x86-64-v3 x86-64-v4; do
        found=$($cc $flags $1 -march=$arch -S src/core/kernels/gemm_tile.c -o - |
            awk -f tests/lint/tile_loops.awk) ||
            { echo "lint: $cc $1 -march=$arch: src/core/kernels/gemm_tile.c: $found"; wrong=1; }
    done
    return $wrong
}
for cc in gcc clang; do
    if ! command -v $cc >/dev/null; then
        echo "lint: $cc is not installed, its warnings not checked" >&2
        continue
    fi
    flags=$(MAKEFLAGS= make -s CC=$cc print-lint-flags)
    for precision in "" -DREAL_DOUBLE; do
        [ "$COMPILED" = $cc ] || echo $files | tr ' ' '\n' | grep '\.c$' |
            xargs -P 2 -n 8 $cc $flags $precision -Werror -fsyntax-only ||
            say "$cc $precision warns"
    done
    [ "$(uname -m)" = x86_64 ] || continue
    tiles "" &
    tiles -DREAL_DOUBLE || status=1
    wait $! || status=1
done
sh tests/lint/structure.sh || status=1
if command -v python3 >/dev/null; then
    sh tests/lint/style.sh || status=1
else
    echo "lint: there is no python3, rules of style not checked" >&2
fi
exit $status
