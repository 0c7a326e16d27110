#!/bin/sh
# Runs test programs and prints, last, the line `N passed, N failed`. Status 1 if any test failed or a program died.
passed=0 failed=0
out=$(mktemp) || exit 74
trap 'rm -f "$out"' EXIT
for program in "$@"; do
    "$program" >"$out" 2>&1
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
