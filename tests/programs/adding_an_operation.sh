#!/bin/sh
# README's "Adding an operation" on a copy of the tree: one file and one line add the cube of tests/examples, and ./gradcheck
# proves it; with an error in its backward it fails. The copy has the objects of the make that runs the tests, so that only
# what includes ops.def is compiled, in double.
cd "$(dirname "$0")/../.." || exit 74
program='adding an operation'
. tests/check.sh
built=${BUILD:-build} build=$(basename "${BUILD:-build}") tree=$folder/tree

copy() {
    mkdir -p "$tree/$build/double" || return 1
    cp -Rp Makefile train.c src "$tree" && mkdir -p "$tree/tests" && cp -p tests/Makefile "$tree/tests" || return 1
    for part in flags generated double/src; do
        [ ! -e "$built/$part" ] || cp -Rp "$built/$part" "$tree/$build/$part" || return 1
    done
}

# The program at the top, as `make gradcheck` leaves it.
remake_gradcheck() {
    remake BUILD="$build" "$build/double/gradcheck" && cp "$build/double/gradcheck" .
}

add_one_file_and_one_line() {
    cp tests/examples/cube.c "$tree/src/ops"
    echo 'OP(cube, (Tape *t, Tensor *x), "y = x³", "")' >>"$tree/src/ops/ops.def"
    cd "$tree" && remake_gradcheck
}

# verdict STATUS LINE: ./gradcheck cube ends with that status, and prints a line that begins so.
verdict() {
    cd "$tree" || return 1
    ./gradcheck cube >"$folder/verdict"
    status=$?
    cat "$folder/verdict"
    [ $status -eq "$1" ] && grep -q "^$2" "$folder/verdict"
}

listed() {
    cd "$tree" && ./gradcheck --list | grep -A 1 '^cube  *y = x³$' | grep -F '(Tape *t, Tensor *x)'
}

wrong_backward_is_found() {
    sed 's/+= 3/+= 6/' tests/examples/cube.c >"$tree/src/ops/cube.c"
    cd "$tree" && remake_gradcheck && verdict 1 'FAIL cube/matrix, dx: '
}

copy || exit 74
check "one file and one line are enough to build" add_one_file_and_one_line
check "./gradcheck cube proves it" verdict 0 '3 passed, 0 failed, 0 inconclusive$'
check "./gradcheck --list shows it" listed
check "a factor 2 in its backward is found" wrong_backward_is_found
exit $failed
