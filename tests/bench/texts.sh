#!/bin/sh
# The tokens that ./train lm chooses for eleven texts, beside characters and three vocabularies of
# byte pairs: held-out loss in nats a character after 600 steps (STEPS=…). The choice is to be the
# best or within 0.02 of it on ten of them.
#
# sh tests/bench/texts.sh [TEXT...] of: kjv english russian german chinese tang song headers dna
# motifs names
#
# Texts come from packages (bible-kjv, fortunes, fortunes-ru, fortunes-de, fortunes-zh, C headers)
# and from awk; one that is not installed is left out. NAMES=FILE is a list of names, a line each.
# One thread; a loss does not depend on speed.
set -u
cd "$(dirname "$0")/../.."
train=$PWD/train steps=${STEPS:-600} folder=$(mktemp -d) fortunes=/usr/share/games/fortunes
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

plain() {
    find "$@" -type f ! -name '*.dat' ! -name '*.u8' 2>/dev/null |
        LC_ALL=C sort | tr '\n' '\0' | xargs -0 cat 2>/dev/null
}
letters() { awk -v n="$1" -v motifs="$2" 'BEGIN { srand(1); split("A C G T", base, " ")
    for (i = 1; i <= motifs; i++)
        for (k = 6 + int(9 * rand()); k > 0; k--) motif[i] = motif[i] base[1 + int(4 * rand())]
    while (length(line) + written < n) {
        if (motifs && rand() < 0.4) line = line motif[1 + int(motifs * rand())]
        else for (k = 3 + int(18 * rand()); k > 0; k--) line = line base[1 + int(4 * rand())]
        while (length(line) >= 80) {
            print substr(line, 1, 80)
            line = substr(line, 81)
            written += 80
        }
    } }'; }

make_text() {
    case $1 in
    kjv) bible -f gen1:1-rev22:21 2>/dev/null ;;
    english) plain $fortunes -maxdepth 1 ! -name 'tang300*' ! -name 'song100*' ! -name 'chinese*' ;;
    russian) plain $fortunes/ru ;;
    german) plain $fortunes/de ;;
    chinese) cat $fortunes/chinese 2>/dev/null ;;
    tang) cat $fortunes/tang300 2>/dev/null ;;
    song) cat $fortunes/song100 2>/dev/null ;;
    headers) plain /usr/include -name '*.h' | head -c 1500000 | iconv -c -f UTF-8 -t UTF-8 ;;
    dna) letters 480000 0 ;;
    motifs) letters 480000 40 ;;
    names) cat "${NAMES:-/dev/null}" ;;
    esac
}

# Prints the loss with these options, and the tokens that were chosen.
loss() {
    nice -n 19 "$train" lm --text text --steps "$steps" --threads 1 --json --force "$@" 2>said |
        sed -n 's/.*"final": true.*"val_nats_per_char": \([0-9.]*\).*/\1/p
            s/.*"val_nats_per_char": \([0-9.]*\).*"final": true.*/\1/p'
}

# beside TOKENS OPTIONS: the loss with these tokens, which is that of the choice if they were
# chosen.
beside() {
    case $tokens in
    "$1 "*) echo "$chosen" ;;
    *) shift && loss "$@" ;;
    esac
}

printf '%-8s %8s %8s %8s %8s %8s  %s\n' text chosen char 512 2048 8192 tokens
for text in ${*:-kjv english russian german chinese tang song headers dna motifs names}; do
    make_text "$text" >text
    [ -s text ] || continue
    chosen=$(loss) tokens=$(sed -n 's/^text: .*different; \([^;]*\);.*/\1/p' said)
    printf '%-8s %8s %8s' "$text" "$chosen" "$(beside char --tokenizer char)"
    for size in 512 2048 8192; do
        printf ' %8s' "$(beside "bpe $size" --tokenizer bpe --vocab-size $size)"
    done
    printf '  %s\n' "$tokens"
done
