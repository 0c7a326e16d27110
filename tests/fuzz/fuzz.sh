#!/bin/sh
# `make fuzz`: builds tests/fuzz/fuzz.c with clang's libFuzzer and sanitizers, and feeds the READERS
# what it makes of their seeds, for SECONDS each or, with RUNS, as many inputs. An input that
# crashes, takes 5 seconds (of a machine that may be busy), or has a reader allocate more than 64
# MiB at once is kept in build-fuzz/float/found. Two readers run at a time; the argument is one of
# them. The last line is `N passed, N failed`.
cd "$(dirname "$0")/../.." || exit 74
folder=build-fuzz/float reader=$1
if [ -z "$reader" ]; then
    if ! echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null; then
        echo "skip fuzz: there is no clang with libFuzzer"
        echo "0 passed, 0 failed"
        exit
    fi
    case $CC in ccache*) launcher=ccache ;; esac
    ${MAKE:-make} -s CC="$launcher clang" BUILD=build-fuzz SAN=1 EXTRA=-fsanitize=fuzzer-no-link \
        LDFLAGS=-fsanitize=fuzzer build-fuzz/float/tests/fuzz/fuzz || exit
    all=$(sed -n 's/^    {"\([a-z]*\)", read_.*/\1/p' tests/fuzz/readers.h)
    echo ${READERS:-$all} | xargs -P 2 -n 1 sh "$0" | tee "$folder/said"
    passed=$(grep -c '^ok ' "$folder/said") failed=$(grep -c '^FAIL ' "$folder/said")
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
fi
limit=-max_total_time=${SECONDS_EACH:-60}
[ -z "$RUNS" ] || limit=-runs=$RUNS
mkdir -p "$folder/found" "$folder/corpus/$reader"
ln -sf tests/fuzz/fuzz "$folder/$reader"
ASAN_OPTIONS=quarantine_size_mb=16:clear_shadow_mmap_threshold=100000000 \
    "$folder/$reader" -verbosity=1 -print_final_stats=1 -timeout=5 \
    -malloc_limit_mb=64 -rss_limit_mb=512 -max_len="${LONGEST:-8192}" \
    -artifact_prefix="$folder/found/$reader-" "$limit" \
    "$folder/corpus/$reader" "tests/fuzz/$reader" >"$folder/$reader.log" 2>&1
status=$?
number() { sed -n "s/^stat::$1: *//p" "$folder/$reader.log"; }
if [ $status -eq 0 ]; then
    echo "ok   fuzz: $reader: $(number number_of_executed_units) inputs," \
        "at most $(number peak_rss_mb) MB and $(number slowest_unit_time_sec) s"
else
    grep -E 'ERROR|SUMMARY|broken|Test unit written' "$folder/$reader.log"
    echo "FAIL fuzz: $reader: status $status, see $folder/$reader.log"
fi
