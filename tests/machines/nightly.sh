#!/bin/sh
# `make nightly`: what takes too long for every change. The last line is `N passed, N failed`.
cd "$(dirname "$0")/../.." || exit 74
make=${MAKE:-make} passed=0 failed=0
log=$(mktemp) || exit 74
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# part COMMAND...: adds the counts of its last line; a command without that line is one test.
part() {
    echo "== $*"
    "$@" >"$log" 2>&1
    status=$?
    grep -vE '^(ok|CC|AR|LD) ' "$log"
    line=$(tail -n 1 "$log" | grep -E '^[0-9]+ passed, [0-9]+ failed$') ||
        line="$((!status)) passed, $((!!status)) failed"
    passed=$((passed + ${line%% *}))
    line=${line#*, }
    failed=$((failed + ${line%% *}))
}

# The tests of the core once more, in double.
in_double() {
    rooms='autograd|kernels|ops|nn|decoding|formats|training'
    programs=$(ls tests/*/*.c | sed -nE "s#^(tests/($rooms)/.*)\.c\$#build/double/\1#p")
    # shellcheck disable=SC2086
    $make -s $programs && sh tests/run.sh $programs
}

export ALL=1
part $make test
part in_double
part sh tests/run.sh tests/faults/faults.py tests/kernels/cache_misses.sh tests/programs/adding.sh \
    tests/interop/check.py tests/interop/differential.py tests/interop/hf.py
part ./gradcheck --seeds 20
part $make tidy
part $make fuzz
part $make machines
for way in CC=clang OPT=-O0 SAN=1 SAN=thread; do
    part $make "$way" BUILD="build-$way" test
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
