#!/bin/sh
# README's "Adding an operation, a choice, a task" on a copy of the tree. One file and one line
# add the cube of tests/examples, and ./gradcheck proves it; with an error in its backward it
# fails. The activation that src/core/nn/README.md shows and one line give a model that passes its
# check; another file and line give a task that is learnt. The copy has the objects of the make
# that runs the tests, so that only what includes the lists is compiled.
cd "$(dirname "$0")/../.." || exit 74
program='adding'
. tests/check.sh
built=${BUILD:-build} build=$(basename "${BUILD:-build}") tree=$folder/tree

copy() {
    mkdir -p "$tree/$build/float" "$tree/$build/double" "$tree/tests" || return 1
    cp -Rp Makefile train.c src "$tree" && cp -p tests/Makefile "$tree/tests" || return 1
    for part in flags generated float/src double/src; do
        [ ! -e "$built/$part" ] || cp -Rp "$built/$part" "$tree/$build/$part" || return 1
    done
}

# The program at the top, as `make gradcheck` leaves it.
remake_gradcheck() {
    remake BUILD="$build" "$build/double/gradcheck" && cp "$build/double/gradcheck" .
}

add_one_file_and_one_line() {
    cp tests/examples/cube.c "$tree/src/core/ops"
    echo 'OP(cube, (Tape *t, Tensor *x), "y = x³", "")' >>"$tree/src/core/ops/ops.def"
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
    sed 's/+= 3/+= 6/' tests/examples/cube.c >"$tree/src/core/ops/cube.c"
    cd "$tree" && remake_gradcheck && verdict 1 'FAIL cube/matrix, dx: '
}

# The two lines of C that the README of the model shows, and its name in choices.h.
choice_is_checked() {
    sed -n '/^static Tensor \*squared/p; /^const ActivationKind activation_relu2/p' \
        src/core/nn/README.md >>"$tree/src/core/nn/activations.c" &&
        sed -i 's/KIND(relu)/& KIND(relu2)/' "$tree/src/core/nn/choices.h" && cd "$tree" &&
        remake_gradcheck &&
        ./gradcheck model --activation relu2 | tee "$folder/verdict" &&
        grep -q ', 0 failed, 0 inconclusive$' "$folder/verdict"
}

task_is_learnt() {
    cat >"$tree/src/core/tasks/vowels.c" <<'END'
/* vowels: a word of up to four letters -> its vowels. */
#include "base/random.h"
#include "tasks/written_task.h"
#include <string.h>

static uint64_t draw(uint64_t key, long most, char *source, char *target) {
    uint64_t number = 0;
    for (long i = 0, n = 1 + random_below(key, 9, most); i < n; i++) {
        *source = "aebc"[random_below(key, (uint64_t)i, 4)];
        number = 5 * number + (uint64_t)(*source - '`');
        if (strchr("ae", *source)) *target++ = *source;
        source++;
    }
    *source = *target = 0;
    return number;
}

bool task_vowels_open(Task **out, const TaskKind *kind, const TaskOptions *o, Error *e) {
    return task_written_open(out, kind, &(Writing){draw, "abce", 4, 4, 4}, o, e);
}
END
    echo 'TASK(vowels, "held-out", "keeps the vowels", task_vowels_open, NULL, false)' \
        >>"$tree/src/core/tasks/tasks.def"
    cd "$tree" && remake BUILD="$build" "$build/float/train" "$build/float/generate" &&
        "$build/float/train" vowels --steps 250 --held-out 50 --d-model 32 --layers 1 --quiet &&
        printf 'bace\n' | "$build/float/generate" runs/vowels | tee "$folder/answer" &&
        grep -q 'ae$' "$folder/answer"
}

copy || exit 74
check "one file and one line are enough to build" add_one_file_and_one_line
check "./gradcheck cube proves it" verdict 0 '3 passed, 0 failed, 0 inconclusive$'
check "./gradcheck --list shows it" listed
check "a factor 2 in its backward is found" wrong_backward_is_found
check "a choice is one file and one line" choice_is_checked
check "a task is one file and one line" task_is_learnt
exit $failed
