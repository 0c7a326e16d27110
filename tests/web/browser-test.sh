#!/bin/sh
# `make browser-test`: Chromium opens the page. DELAY=300: all of it late, by up to 300 ms.
cd "$(dirname "$0")/../.." || exit 74
if ! command -v node >/dev/null; then
    echo "skip browser-test: Node is not installed"
    echo "0 passed, 0 failed"
    exit
fi
# The page that is built, and the one of the repository, which is renewed when what it does changes.
${MAKE:-make} -s web && node tests/web/browser.mjs "${BUILD:-build}/web/tapeformer.html" &&
    node tests/web/browser.mjs data/tapeformer.html &&
    ${MAKE:-make} -s train generate && node tests/run/page_browser.mjs .
