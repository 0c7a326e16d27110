#!/bin/sh
# sh tests/lint/style.sh [DIR...]: the rules of style in style.py, for these directories or for all
# but those that follow. Later work rebuilds the rooms of this list, and the rules hold there then.
outside='src/tools/check
    tests/check tests/web tests/interop tests/golden tests/fixtures'
cd "$(dirname "$0")/../.." || exit 74
if [ $# -eq 0 ]; then
    set -- src/tapeformer.h train.c Makefile tests/Makefile .ci tests/check.sh tests/run.sh
    for room in src/*/*/ tests/*/; do
        echo $outside | grep -qw "${room%/}" || set -- "$@" "${room%/}"
    done
    set -- "$@" src/tools/check/grading/ src/tools/check/*.[ch] src/tools/check/*.py
fi
exec python3 -B tests/lint/style.py "$@"
