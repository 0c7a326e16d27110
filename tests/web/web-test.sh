#!/bin/sh
# `make web-test`: Node runs the modules of the web page. On x86-64 a run has the bits of a native
# one without fused multiply-add and with vectors of 16 bytes, as the modules have them.
cd "$(dirname "$0")/../.." || exit 74
if ! command -v node >/dev/null; then
    echo "skip web-test: Node is not installed"
    echo "0 passed, 0 failed"
    exit
fi
make=${MAKE:-make} web=${BUILD:-build}/web twin=
$make -s web generate gradcheck explain || exit
if [ "$(uname -m)" = x86_64 ]; then
    twin=$web/native/float/train
    $make -s BUILD="$web/native" ARCH=x86-64-v2 "$twin" || exit
fi
node tests/web/web.mjs "$web" "$twin" ./generate ./gradcheck ./explain
