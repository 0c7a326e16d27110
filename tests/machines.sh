#!/bin/sh
# Builds for other compilers, C libraries and processors than this machine's, runs what was built (other processors' by
# qemu-user), and prints README's table, a row each:
#
#     sh tests/machines.sh                        all of them: `make machines`
#     sh tests/machines.sh clang musl aarch64     these
#     QUICK=1 sh tests/machines.sh musl           without the columns ulps and tests, which take the longest
#
#     gradcheck   ./gradcheck, in double
#     ulps        `gradcheck ulps`: the float side computed there, judged here
#     tests       those of $quick, in float, and of $long where no emulator makes minutes of them
#     weights     after 20 steps of ./train the file of the weights is that of the native build, to the bit
#     files       a run of either side, read by the other and written again, has the same sha256 and gives the same answers
#
# The last line counts rows; a machine whose compiler or emulator is missing counts as neither. CC="ccache gcc" runs every
# compiler by ccache, JOBS=1 one at a time.
cd "$(dirname "$0")/.." || exit 74
quick='json npy random rows safetensors tape tokenizer'
long='gemm model vector_math'
folder=$(mktemp -d) || exit 74
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
[ $# -gt 0 ] || set -- native clang O1 x86-64 x86-64-v3 musl aarch64 armhf i686 s390x
passed=0 failed=0 launcher=
here=${CC:-cc}
case $here in ccache\ *) launcher='ccache ' here=${here#ccache } ;; esac

# Sets what a machine is: compiler, processor, options of make, emulator, and whether it has a fused multiply-add.
describe() {
    name=$1 compiler=$here arch=native options= emulator= fused=yes
    case $name in
    native) ;;
    clang) compiler=clang ;;
    O1) options=OPT=-O1 ;;
    x86-64) arch=x86-64 fused=no ;;
    x86-64-v3) arch=x86-64-v3 ;;
    musl) compiler=musl-gcc ;;
    aarch64) compiler=aarch64-linux-gnu-gcc arch=armv8-a emulator=qemu-aarch64 ;;
    armhf) compiler=arm-linux-gnueabihf-gcc arch=armv7-a+neon-vfpv4 emulator=qemu-arm ;;
    i686) compiler=i686-linux-gnu-gcc arch=i686 emulator=qemu-i386 fused=no ;;
    s390x) compiler=s390x-linux-gnu-gcc arch=z13 emulator=qemu-s390x ;;
    *) echo "machines: found '$name', need one of the names in $0" >&2; exit 2 ;;
    esac
    at=build-machines/$name
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
    [ "$QUICK" ] || wanted="$wanted $at/float/gradcheck $(printf "$at/float/tests/%s " $quick $long)"
    # shellcheck disable=SC2086
    MAKEFLAGS='' ${MAKE:-make} -s ${JOBS:+-j$JOBS} CC="$launcher$compiler" ARCH=$arch $options BUILD=$at $wanted
}

gradcheck() {
    $emulator "$at/double/gradcheck" | tee "$folder/log" | tail -n 1 | sed 's/,.*//'
    ! grep -E '^(FAIL|INCONCLUSIVE)' "$folder/log"
}

ulps() {
    $emulator "$at/float/gradcheck" ulps --write "$folder/ulps" &&
        build-machines/native/double/gradcheck ulps --read "$folder/ulps" >"$folder/log" || return 1
    tail -n 1 "$folder/log" | sed 's/,.*//'
}

tests() {
    count=0
    for test in $quick $([ "$emulator" ] || echo "$long"); do
        $emulator "$at/float/tests/$test" >"$folder/log" 2>&1 || { echo "$test"; cat "$folder/log"; return 1; }
        count=$((count + $(grep -c '^ok ' "$folder/log")))
    done
    echo "$count passed"
}

# Trains 20 steps, and leaves the run in the folder.
train() {
    $emulator "$at/float/train" copy --steps 20 --d-model 32 --layers 1 --batch 8 --held-out 50 --quiet \
        --run "$folder/$name"
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

sums() {
    (cd "$1" && sha256sum model.safetensors checkpoint.safetensors)
}

# Reads a run and writes it again: the sums of what was written, and what it answers.
rewrite() {
    rm -rf "$folder/copy"
    cp -r "$1" "$folder/copy" && rm "$folder/copy/model.safetensors" &&
        $emulator "$at/float/train" --resume "$folder/copy" --quiet >/dev/null && sums "$folder/copy" &&
        printf 'abc\nHello\n' | $emulator "$at/float/generate" "$folder/copy"
}

# Both sides write what they have read, and answer alike.
files() {
    for run in native "$name"; do
        rewrite "$folder/$run" >"$folder/there" && (describe native && rewrite "$folder/$run") >"$folder/here" &&
            cmp "$folder/there" "$folder/here" && sums "$folder/$run" | diff - "$folder/here" | grep '^<' && return 1
    done
    echo same
}

# Prints a cell: the last line that the function printed, or what went wrong; its row fails with it.
cell() {
    if "$1" >"$folder/said" 2>&1; then
        printf ' %s |' "$(tail -n 1 "$folder/said")"
    else
        printf ' FAIL: %s |' "$(grep -m 1 -E 'FAIL|rror:' "$folder/said" || tail -n 1 "$folder/said")"
        row=failed
    fi
}

describe native
if ! build >"$folder/said" 2>&1 || ! train >>"$folder/said" 2>&1; then
    tail -n 20 "$folder/said" >&2
    exit 1
fi
columns='gradcheck ulps tests weights files'
[ "$QUICK" ] && columns='gradcheck weights files'
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
    else
        row=failed
        echo " FAIL: $(grep -m 1 -E 'error:|\*\*\*' "$folder/said") |"
    fi
    if [ $row = passed ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
