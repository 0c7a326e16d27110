#!/bin/sh
# sh tests/lint/style.sh [DIR...]: the rules of style in style.py, for these directories or all.
exec python3 -B "$(dirname "$0")/style.py" "$@"
