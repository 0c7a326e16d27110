#!/bin/sh
# The tests once more, built and watched in other ways, a line each:
#
#     sh tests/machines/ways.sh                             all of them: part of `make test-all`
#     sh tests/machines/ways.sh valgrind thread             these
#     TESTS="pool model" sh tests/machines/ways.sh thread   with these tests
#
#     gcc-O0 gcc-O2 clang-O0 clang-O2   compilers, without optimization and with
#     address                           under AddressSanitizer and UndefinedBehaviorSanitizer
#     thread                            under ThreadSanitizer, those that start threads
#     valgrind                          those that take no hour there
#
# In float; what judges gradients, in double, is in `make test`. A way whose compiler or tool is missing is skipped.
cd "$(dirname "$0")/../.." || exit 74
[ $# -gt 0 ] || set -- gcc-O0 gcc-O2 clang-O0 clang-O2 address thread valgrind
threaded='pool gemm rows tape memory model fused training resume decoding'
quick='json npy safetensors utf8 tokenizer corpus random options rows tape tape_memory pool file model_file trace pictures page'
passed=0 failed=0
log=$(mktemp) || exit 74
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for way; do
    compiler=${CC:-cc} options='' wanted=$TESTS under=''
    case $way in
    *-O?) compiler=${way%-*} options="OPT=-${way#*-} EXTRA=-DSLOWER=10" ;;
    address) options=SAN=1 ;;
    thread) options="SAN=thread EXTRA=-DSLOWER=10" wanted=${TESTS:-$threaded} ;;
    valgrind) # which knows no AVX-512
        options="ARCH=x86-64-v3 OPT=-O1 EXTRA=-DSLOWER=40" wanted=${TESTS:-$quick}
        under='valgrind -q --error-exitcode=99 --leak-check=full'
        under="$under --show-leak-kinds=definite --errors-for-leak-kinds=definite"
        ;;
    *) echo "ways: found '$way', need one of the names in $0" >&2; exit 2 ;;
    esac
    case $CC in ccache\ *) compiler="ccache ${compiler#ccache }" ;; esac
    if ! command -v ${compiler#ccache } >/dev/null || { [ "$under" ] && ! command -v valgrind >/dev/null; }; then
        echo "skip ways: $way: not here"
        continue
    fi
    # shellcheck disable=SC2086
    MAKEFLAGS='' UNDER=$under TSAN_OPTIONS=die_after_fork=0 ${MAKE:-make} -s ${JOBS:+-j$JOBS} CC="$compiler" $options \
        BUILD="build-$way" PRECISIONS=float ${wanted:+TESTS="$wanted"} run-tests >"$log" 2>&1
    said=$(tail -n 1 "$log")
    case $said in
    [1-9]*' passed, 0 failed')
        echo "ok   ways: $way: $said"
        passed=$((passed + 1))
        ;;
    *)
        grep -vE '^(ok|CC|AR|LD) ' "$log"
        echo "FAIL ways: $way: $said"
        failed=$((failed + 1))
        ;;
    esac
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
