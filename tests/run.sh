#!/bin/sh
# Runs test programs and prints, last, the line `N passed, N failed`. Status 1 if any test failed or a program died.
# A program in Python wants NumPy too; where that is missing it is skipped, with a line that says so, and counts neither
# as passed nor as failed.
passed=0 failed=0
out=$(mktemp) || exit 74
trap 'rm -f "$out"' EXIT
for program in "$@"; do
    case $program in
    *.py)
        if ! python3 -c 'import numpy' >/dev/null 2>&1; then
            echo "skip $program: there is no python3 with numpy"
            continue
        fi
        python3 "$program" >"$out" 2>&1
        ;;
    *) "$program" >"$out" 2>&1 ;;
    esac
    status=$?
    cat "$out"
    ok=$(grep -c '^ok   ' "$out")
    bad=$(grep -c '^FAIL ' "$out")
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        echo "FAIL $program: exit status $status"
        bad=1
    elif [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ]; then
        echo "FAIL $program: ran no test"
        bad=1
    fi
    passed=$((passed + ok)) failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
