#!/bin/sh
# Runs test programs, one more at once than there are processors (or JOBS), because some wait.
# Prints what they print in the order given, and last the line `N passed, N failed`. Status 1 if any
# test failed or a program died. A program in Python needs NumPy (tests/faults: nothing;
# tests/interop: PyTorch and safetensors as well). Without them it is skipped with a line that says
# so, and counts neither as passed nor as failed; python3 may be a script that looks for a Python,
# so that it is asked once for its place. UNDER="valgrind -q": test programs run under that.
# TIMES=20: then the twenty that took most processor time, in seconds. Tests write to memory if the
# system has a folder there with 1 GB that allows programs: no test waits for a disk. Otherwise they
# write to the first of /tmp, /var/tmp and this folder that allows programs.
runs_programs() {
    try=$(mktemp "$1/try.XXXXXX" 2>/dev/null) || return 1
    printf '#!/bin/sh\n' >"$try" && chmod 700 "$try" && "$try" 2>/dev/null
    set -- $?
    rm -f "$try"
    return "$1"
}
room=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ -z "$TMPDIR" ]; then
    for TMPDIR in $([ "${room:-0}" -lt 1000000 ] || echo /dev/shm) /tmp /var/tmp "$PWD"; do
        runs_programs "$TMPDIR" && break
    done
    export TMPDIR
fi
[ -n "$PYTHON" ] || PYTHON=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
[ -n "$PYTHON" ] && export PYTHON
jobs=${JOBS:-$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 1))}
folder=$(mktemp -d) || exit 74
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Runs program $3, the $2th; what it prints goes to a file in folder $1. Says its number when it has
# ended.
run='
    case $3 in
    *.py | *.console)
        case $3 in
        tests/interop/hf.py) modules="gguf, safetensors, torch, transformers" ;;
        tests/interop/*) modules="numpy, safetensors, torch" ;;
        tests/faults/* | tests/programs/*) modules=subprocess ;;
        *) modules=numpy ;;
        esac
        if python3 -c "import $modules" >/dev/null 2>&1; then
            case $3 in
            *.console) python3 -B tests/programs/console.py "$3" ;;
            *) PYTHONPATH=tests/support python3 -B "$3" ;;
            esac
        else
            echo "skip $3: there is no python3 with $modules"
        fi
        ;;
    *.sh) sh "$3" ;;
    *) $UNDER "$3" ;;
    esac >"$1/$2.out" 2>&1
    echo $? >"$1/$2.status"
    { echo "$3" && times; } >"$1/$2.times"
    echo "$2"
'

# Shows what program $1, the $2th, printed, and counts.
show() {
    out=$folder/$2.out
    status=$(cat "$folder/$2.status")
    cat "$out"
    ok=$(grep -c '^ok   ' "$out")
    bad=$(grep -c '^FAIL ' "$out")
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        echo "FAIL $1: exit status $status"
        bad=1
    elif [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ] && ! grep -q '^skip ' "$out"; then
        echo "FAIL $1: ran no test"
        bad=1
    fi
    passed=$((passed + ok)) failed=$((failed + bad))
}

number=0
for program in "$@"; do
    number=$((number + 1))
    printf '%s\n' "$number" "$program"
done >"$folder/programs"

xargs -n 2 -P "$jobs" sh -c "$run" run "$folder" <"$folder/programs" | {
    number=1 passed=0 failed=0
    while read -r _; do
        while [ $# -gt 0 ] && [ -e "$folder/$number.status" ]; do
            show "$1" $number
            number=$((number + 1))
            shift
        done
    done
    for program in "$@"; do
        echo "FAIL $program: did not end"
        failed=$((failed + 1))
    done
    [ -z "$TIMES" ] || awk -F '[ms ]+' 'FNR == 1 { program = $0 }
        FNR == 3 { printf "%.1f %s\n", 60 * ($1 + $3) + $2 + $4, program }' "$folder"/*.times |
        sort -rn | head -n "$TIMES"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
