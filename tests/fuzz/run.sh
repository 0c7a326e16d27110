#!/bin/sh
# Feeds the readers in the folder $1 (links to the fuzzer, each named as the reader that it is) what libFuzzer makes of
# their seeds, of at most LONGEST bytes, for SECONDS each or, with RUNS, as many inputs. An input that crashes, takes 5
# seconds (of a machine that may be busy), or has a reader allocate more than 64 MiB at once is kept in $1/found. Two readers
# run at a time; the second argument is one of them. The last line is `N passed, N failed`.
folder=$1 reader=$2
if [ -z "$reader" ]; then
    echo ${READERS:-safetensors npy json model batch text vocabulary pairs config recipe checkpoint} |
        xargs -P 2 -n 1 sh "$0" "$folder" | tee "$folder/said"
    passed=$(grep -c '^ok ' "$folder/said") failed=$(grep -c '^FAIL ' "$folder/said")
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
fi
mkdir -p "$folder/found" "$folder/corpus/$reader"
ln -sf fuzz "$folder/$reader"
ASAN_OPTIONS=quarantine_size_mb=16:clear_shadow_mmap_threshold=100000000 "$folder/$reader" -verbosity=1 -print_final_stats=1 -timeout=5 \
    -malloc_limit_mb=64 -rss_limit_mb=512 -max_len=${LONGEST:-8192} -artifact_prefix="$folder/found/$reader-" \
    ${RUNS:+-runs=$RUNS} ${SECONDS_EACH:+-max_total_time=$SECONDS_EACH} \
    "$folder/corpus/$reader" "tests/fuzz/$reader" >"$folder/$reader.log" 2>&1
status=$?
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$reader.log")
peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "$folder/$reader.log")
slowest=$(sed -n 's/^stat::slowest_unit_time_sec: *//p' "$folder/$reader.log")
if [ $status -eq 0 ]; then
    echo "ok   fuzz: $reader: $runs inputs, at most $peak MB and $slowest s"
else
    grep -E 'ERROR|SUMMARY|broken|Test unit written' "$folder/$reader.log"
    echo "FAIL fuzz: $reader: status $status, see $folder/$reader.log"
fi
