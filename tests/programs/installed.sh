#!/bin/sh
# Uses an installation as others do: from an empty folder, with only a compiler and pkg-config.
cd "$(dirname "$0")/../.." || exit 74
program=installed
. tests/check.sh
tree=$PWD cc=${CC:-cc} to=$folder/usr packaged="$folder/a 'package' & more"

install_all() {
    remake install PREFIX="$to" && [ -x "$to/bin/tapeformer-train" ]
}

# Only system.o may use functions outside POSIX.1-2017; tests/lint/posix.txt lists those inside it.
# glibc appends 64 to names for offsets of 64 bits. A name with two underscores is the C library's
# own for such a function; gcc makes sincos of sin and cos.
only_posix_is_wanted() {
    library=${BUILD:-build}/float/libtapeformer.a
    nm --defined-only "$library" | awk 'NF == 3 { print $3 }' >"$folder/own"
    nm -A -u "$library" | awk -v OFS=': ' '
        FILENAME != "-" { for (i = 1; i <= NF; i++) known[$i]; next }
        { split($1, place, ":"); name = $NF; if (!(name in known)) sub(/64$/, "", name) }
        name ~ /^__|^_GLOBAL_OFFSET_TABLE_$|^_setjmp$|^sincosf?$/ { next }
        place[2] !~ /system.o$/ && !(name in known) {
            print place[2], name " is not in tests/lint/posix.txt"
            bad = 1
        }
        END { exit bad }' "$folder/own" tests/lint/posix.txt -
}

header_stands_alone() {
    for flag in '' -DREAL_DOUBLE; do
        $cc -std=c11 -Wall -Wextra -Wpedantic -Werror $flag \
            -fsyntax-only "$to/include/tapeformer.h" || return 1
    done
}

flags_of() {
    PKG_CONFIG_PATH=$to/lib/pkgconfig pkg-config --cflags --libs "$1"
}

# example NAME PACKAGE EXPECTED ARGUMENTS...: compiles it, runs it, and looks for a line.
example() {
    name=$1 package=$2 expected=$3
    shift 3
    rm -rf "$folder/empty" && mkdir "$folder/empty" && cd "$folder/empty" || return 1
    cp "$tree/tests/examples/$name.c" .
    # shellcheck disable=SC2046
    $cc -Wall -Wextra -Wno-missing-field-initializers -Werror $name.c $(flags_of $package) \
        -o $name || return 1
    LD_LIBRARY_PATH=$to/lib ./$name "$@" >out || { cat out; return 1; }
    cat out
    grep -q -- "$expected" out
}

# Skipped without a C++ compiler.
from_cpp() {
    command -v "${CXX:-c++}" >/dev/null || return 0
    cd "$folder/empty" || return 1
    cat >square.cc <<'END'
#include <tapeformer.h>
int main() {
    Tape *t = tape_new();
    Tensor *x = tape_constant(t, shape_broadcast("square", Shape{1, {1}}, Shape{1, {3}}));
    x->data[2] = 2;
    real y = tape_sum(t, tape_square(t, x), ALL_AXES)->data[0];
    tape_free(t);
    return y != 4;
}
END
    # shellcheck disable=SC2046
    "${CXX:-c++}" -Wall -Wextra -Werror square.cc $(flags_of tapeformer) -o square || return 1
    LD_LIBRARY_PATH=$to/lib ./square
}

static_library_links() {
    cd "$folder/empty" && cp "$tree/tests/examples/regression.c" . &&
        $cc -I"$to/include" regression.c "$to/lib/libtapeformer.a" -lm -pthread -o still && ./still
}

from_python() {
    python3 tests/examples/gradient.py "$to/lib"
}

train_a_little() {
    cp data/chronicle.txt "$folder" && cd "$folder" &&
        "$to/bin/tapeformer-train" lm --text chronicle.txt --steps 2 --context 16 --d-model 16 \
            --run run --quiet
}

# README leads to the complete operation of tests/examples/cube.c.
readme_shows_cube() {
    grep -q 'tests/examples/cube.c' README.md && [ -s tests/examples/cube.c ]
}

# A packager's folder, whose name means something to a shell, by a superuser who lets nobody read.
into_a_package() {
    (umask 077 && remake install PREFIX=/usr DESTDIR="$packaged") || return 1
    find "$packaged/usr" ! -type d ! -perm -444 -o -type d ! -perm -555 | grep . && return 1
    [ "$(cd "$packaged/usr" && find . | sort)" = "$(cd "$to" && find . | sort)" ]
}

# A distribution's flags, from the environment or after make, are added to the project's own.
distributions_flags() {
    CPPFLAGS=-DTHEIRS LDFLAGS=-Wl,-z,now remake -n V=1 BUILD="$folder/other" \
        CFLAGS="-DWORD='\"a b\"'" LDLIBS=-lc "$folder/other/float/train" \
        >"$folder/commands" || return 1
    grep -e "-DTHEIRS -DWORD='\"a b\"' -std=c11 .* -c train.c" "$folder/commands" &&
        grep -e "-DWORD.* -Wl,-z,now .*-lm -pthread -ldl *-lc -o .*/train$" "$folder/commands"
}

# Flags with which no gradient could be checked.
fast_math_is_refused() {
    for flag in -ffast-math -Ofast -ffinite-math-only; do
        $cc -std=c11 $flag -Isrc/core -fsyntax-only src/core/ops/exp.c 2>"$folder/refused" &&
            return 1
        grep -q 'build without -ffast-math' "$folder/refused" || return 1
    done
}

# Where Python looks for modules below PREFIX it finds gradcheck, from any folder.
python_imports_gradcheck() {
    python3 -m venv --without-pip --system-site-packages "$folder/py" || return 1
    (PATH=$folder/py/bin:$PATH && remake install PREFIX="$folder/py" && cd / && python3 -c '
from gradcheck import check
assert check(lambda x: x * x, lambda x: 2 * x, x=1.5)') || return 1
    (PATH=$folder/py/bin:$PATH && remake uninstall PREFIX="$folder/py" && cd / &&
        ! python3 -c 'import gradcheck')
}

nothing_stays() {
    remake uninstall PREFIX="$to" && remake uninstall PREFIX=/usr DESTDIR="$packaged" || return 1
    ! find "$to" "$packaged" ! -type d | grep .
}

check "make install fills a folder" install_all
check "make install fills a package" into_a_package
check "a distribution's flags stand beside the project's" distributions_flags
check "fast math is refused" fast_math_is_refused
check "of the system the library wants what POSIX has" only_posix_is_wanted
check "the header stands alone" header_stands_alone
if command -v pkg-config >/dev/null; then
    check "example: linear regression" example regression tapeformer '^y = 3.00 x0 -2.00 x1 +0.50$'
    check "example: an operation of one's own" \
        example operation tapeformer-double 'softsign/strided .* PASS$'
    check "example: a task of one's own" example task tapeformer '^1907 -> 8102$'
    check "tapeformer-train trains" train_a_little
    check "example: text from a trained run" example text tapeformer '^It .' "$folder/run" "It "
    check "an example with the static library" static_library_links
    check "C++ may call it" from_cpp
    command -v python3 >/dev/null && check "example: from Python" from_python
else
    echo "skip installed: there is no pkg-config"
fi
python3 -c 'import numpy' 2>/dev/null && check "Python imports gradcheck" python_imports_gradcheck
check "README leads to cube.c" readme_shows_cube
check "make uninstall takes all away" nothing_stays
exit $failed
