# The beginning of the test scripts, read by `. tests/check.sh` with $program set. Defines $folder,
# which is removed at the end, `check`, `remake` and $failed, for the last line `exit $failed`.
folder=$(mktemp -d) || exit 74
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
failed=0

# check NAME COMMAND...: one test, which passes if the command does; what it printed is shown if
# not.
check() {
    name=$1
    shift
    if ("$@") >"$folder/log" 2>&1; then
        echo "ok   $program: $name"
    else
        sed 's/^/  /' "$folder/log"
        echo "FAIL $program: $name"
        failed=1
    fi
}

# make without the jobs of the make that runs this.
remake() {
    MAKEFLAGS=$(printf '%s' "$MAKEFLAGS" | sed 's/--jobserver-[a-z]*=[^ ]*//; s/ -j[0-9]*//') \
        ${MAKE:-make} -s "$@"
}
