#!/bin/sh
# Builds for other compilers, C libraries and processors than this machine's, runs what was built
# (other processors' by qemu-user), and prints README's tables, a row each, and who reads whose
# checkpoints:
#
#     sh tests/machines/machines.sh                        all of them: `make machines`
#     sh tests/machines/machines.sh clang musl aarch64     these
#     QUICK=1 sh tests/machines/machines.sh musl           without ulps and tests, which take long
#
#     gradcheck   ./gradcheck, in double
#     ulps        the float results of all operations, computed there and judged here
#     tests       those of $quick, in float, and of $long where no emulator makes minutes of them
#     weights     after 20 steps of ./train the file of the weights is that of the native build, to
#                 the bit
#
# Equal checkpoints of these trainings share a row of the second table. Every machine goes on from
# each for a step: with a fused multiply-add, to the files of the native build, by their sha256, and
# to the same answers.
#
# The last line counts rows of both; a machine whose compiler or emulator is missing counts as
# neither. CC="ccache gcc" runs every compiler by ccache, JOBS=1 one at a time.
cd "$(dirname "$0")/../.." || exit 74
quick='formats/json check/npy base/random kernels/rows formats/safetensors autograd/tape
    text/tokenizer'
long='kernels/gemm nn/model kernels/vector_math'
folder=$(mktemp -d) || exit 74
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
[ $# -gt 0 ] || set -- native clang O1 least x86-64 x86-64-v3 musl aarch64 armhf i686
passed=0 failed=0 launcher= trained=native
here=${CC:-cc}
case $here in ccache\ *) launcher='ccache ' here=${here#ccache } ;; esac

# Sets what a machine is: compiler, processor, options of make, emulator, and whether it has a fused
# multiply-add.
describe() {
    name=$1 compiler=$here arch=native options= emulator= fused=yes
    case $name in
    native) ;;
    clang) compiler=clang ;;
    O1) options=OPT=-O1 ;;
    least) options=EXTRA=-DLEAST_SYSTEM ;;
    x86-64) arch=x86-64 fused=no ;;
    x86-64-v3) arch=x86-64-v3 ;;
    musl) compiler=musl-gcc options=OPT=-O1 ;; # the native row judges this compiler's optimizations
    aarch64) compiler=aarch64-linux-gnu-gcc arch=armv8-a emulator=qemu-aarch64 ;;
    armhf) compiler=arm-linux-gnueabihf-gcc arch=armv7-a+neon-vfpv4 emulator=qemu-arm ;;
    i686)
        compiler=i686-linux-gnu-gcc arch=i686 fused=no
        # The kernel of an x86-64 runs it as it is, with the libraries that came with the compiler.
        libraries=/usr/i686-linux-gnu/lib
        if [ "$(uname -m)" = x86_64 ]; then
            options=EXTRA=-Wl,--dynamic-linker=$libraries/ld-linux.so.2,-rpath,$libraries
        else
            emulator=qemu-i386
        fi
        ;;
    *) echo "machines: found '$name', need one of the names in $0" >&2; exit 2 ;;
    esac
    at=build-machines/$name
    [ $name != native ] || at=build
    QEMU_LD_PREFIX=/usr/$($compiler -dumpmachine 2>/dev/null)
    export QEMU_LD_PREFIX
}

# Those of the commands that are not here.
missing() {
    for command in "$compiler" $emulator; do
        command -v "$command" >/dev/null || echo "$command"
    done
}

build() {
    wanted="$at/float/train $at/float/generate $at/double/gradcheck"
    [ "$QUICK" ] ||
        wanted="$wanted $at/float/tests/check/ulps $(printf "$at/float/tests/%s " $quick $long)"
    [ "$QUICK" ] || [ $name != native ] || wanted="$wanted $at/double/tests/check/ulps"
    # shellcheck disable=SC2086
    MAKEFLAGS='' ${MAKE:-make} -s ${JOBS:+-j$JOBS} CC="$launcher$compiler" ARCH=$arch \
        $options BUILD=$at $wanted
}

gradcheck() {
    $emulator "$at/double/gradcheck" --time-limit 100 | tee "$folder/log" |
        tail -n 1 | sed 's/^[1-9][0-9]* passed,.*/pass/'
    ! grep -E '^(FAIL|INCONCLUSIVE)' "$folder/log"
}

ulps() {
    $emulator "$at/float/tests/check/ulps" --write "$folder/ulps" &&
        build/double/tests/check/ulps --read "$folder/ulps" >"$folder/log" || return 1
    tail -n 1 "$folder/log"
}

tests() {
    for test in $quick $([ "$emulator" ] || echo "$long"); do
        $emulator "$at/float/tests/$test" >"$folder/log" 2>&1 || {
            echo "$test"
            cat "$folder/log"
            return 1
        }
    done
    echo pass
}

# Trains 20 steps, and leaves the run in the folder.
train() {
    $emulator "$at/float/train" copy --steps 20 --d-model 32 --layers 1 --batch 8 \
        --held-out 50 --quiet --run "$folder/$name"
}

weights() {
    [ $name = native ] || train || return 1
    if cmp -s "$folder/$name/model.safetensors" "$folder/native/model.safetensors"; then
        echo "as native"
    else
        echo "other bits"
        [ $fused = no ]
    fi
}

# sha256sum, or shasum on macOS.
sha256() {
    if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

# Goes on with a run for one step on machine $1: the sums of what it writes, and what it answers.
go_on() {
    describe "$1"
    rm -rf "$folder/copy"
    cp -R "$2" "$folder/copy" &&
        $emulator "$at/float/train" --resume "$folder/copy" --steps 21 --quiet >/dev/null &&
        (cd "$folder/copy" && sha256 checkpoint.safetensors model.safetensors) &&
        printf 'abc\nHello\n' | $emulator "$at/float/generate" "$folder/copy"
}

# A row of the second table: the run that the machines $1 have written is read by all.
read_by_all() {
    run=$folder/${1%% *} refused=
    sum=$(cd "$run" && sha256 checkpoint.safetensors)
    go_on native "$run" >"$folder/expected" 2>&1
    for reader in $trained; do
        go_on "$reader" "$run" >"$folder/said" 2>&1 &&
            { [ $fused = no ] || cmp -s "$folder/said" "$folder/expected"; } ||
            refused="$refused $reader"
    done
    if [ "$refused" ]; then
        failed=$((failed + 1))
        echo "| $1 | $(printf %.8s "$sum")… | FAIL: not by$refused |"
    else
        passed=$((passed + 1))
        echo "| $1 | $(printf %.8s "$sum")… | all $(echo $trained | wc -w | tr -d ' ') |"
    fi
}

# Prints a cell: the last line that the function printed, or what went wrong; its row fails with it.
cell() {
    if "$1" >"$folder/said" 2>&1; then
        printf ' %s |' "$(tail -n 1 "$folder/said")"
    else
        why=$(grep -m 1 -E 'FAIL|rror:' "$folder/said" || tail -n 1 "$folder/said")
        printf ' FAIL: %s |' "$why"
        row=failed
    fi
}

describe native
if ! build >"$folder/said" 2>&1 || ! train >>"$folder/said" 2>&1; then
    tail -n 20 "$folder/said" >&2
    exit 1
fi
columns='gradcheck ulps tests weights'
[ "$QUICK" ] && columns='gradcheck weights'
printf '| machine |'
printf ' %s |' $columns
printf '\n|---|'
printf -- '---|%.0s' $columns
echo
for machine; do
    describe "$machine"
    if [ "$(missing)" ]; then
        echo "skip $machine: there is no $(missing | tr '\n' ' ')"
        continue
    fi
    row=passed
    printf '| %s |' "$machine"
    if build >"$folder/said" 2>&1; then
        for column in $columns; do cell "$column"; done
        echo
        [ $name = native ] || [ ! -e "$folder/$name/checkpoint.safetensors" ] ||
            trained="$trained $name"
    else
        row=failed
        echo " FAIL: $(grep -m 1 -E 'error:|\*\*\*' "$folder/said") |"
    fi
    if [ $row = passed ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done

printf '\n| checkpoint written by | sha256 | continued by |\n|---|---|---|\n'
left=$trained
while [ "$left" ]; do
    first=${left%% *} same= others=
    for name in $left; do
        if cmp -s "$folder/$first/checkpoint.safetensors" \
            "$folder/$name/checkpoint.safetensors"; then
            same="$same$name "
        else
            others="$others$name "
        fi
    done
    read_by_all "${same% }"
    left=${others% }
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
