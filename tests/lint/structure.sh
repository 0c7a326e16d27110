#!/bin/sh
# Checks the structure of the source: sizes of files and functions, circles between files, comments
# of public functions, headers that need no other before them, and unused code. A line with /* long:
# WHY */ excuses its file or function. Prints one line for each fault.
cd "$(dirname "$0")/../.." || exit 74
status=0
say() { echo "lint: $*"; status=1; }

# limit LINES FILES...: none of the files, which are one, has more lines.
limit() {
    most=$1 what=$2
    shift 2
    lines=$(cat "$@" | wc -l)
    [ "$lines" -le "$most" ] || say "$what: found $lines lines, need at most $most"
}
for file in src/*/*/*.[ch] src/*/*/*/*.[ch] train.c; do
    grep -q '/\* long: ' "$file" || limit 500 "$file" "$file"
done
limit 1099 src/core/autograd src/core/autograd/*.[ch]
limit 179 src/core/autograd/tape.c src/core/autograd/tape.c
limit 179 train.c train.c

found=$(awk '
    FNR == 1 { start = 0 }
    /^[a-z].*\{$/ && !/^(typedef|struct|enum|union)/ && !/=/ { start = FNR; name = $0; excused = 0 }
    /\/\* long: / { excused = 1 }
    /^}$/ && start {
        if (FNR - start + 1 > 70 && !excused)
            print FILENAME ":" start ": a function of " FNR - start + 1 " lines, need at most 70"
        start = 0
    }' src/*/*/*.[ch] src/*/*/*/*.[ch] train.c)
[ -z "$found" ] || say "$found"

# Two files, each a .c with its .h, do not include each other's headers. A line with /* circle:
# ROOM/FILE WHY */ excuses its file and that one.
found=$(awk '
    FNR == 1 { file = FILENAME; sub(/^src\/(core|tools)\//, "", file); sub(/\.[ch]$/, "", file) }
    /^#include "[a-z_\/]*\// {
        other = $2
        gsub(/^"|\.h"$/, "", other)
        includes[file, other] = FILENAME
    }
    /^\/\* circle: / { excused[file, $3] = excused[$3, file] = 1 }
    END {
        for (pair in includes) {
            split(pair, name, SUBSEP)
            if (name[1] < name[2] && (name[2], name[1]) in includes && !(pair in excused))
                print includes[pair] " and " includes[name[2], name[1]] " include each other"
        }
    }' src/*/*/*.[ch] src/*/*/*/*.[ch])
[ -z "$found" ] || say "$found"

# A prototype stands in a paragraph with a comment, beside or above it; what frees or closes needs
# none.
found=$(awk '
    function end_part() { if (bare && !comment) print bare; bare = ""; comment = 0 }
    FNR == 1 { end_part() }
    NF == 0 { end_part() }
    /\/\*/ { comment = 1 }
    /^(typedef|static|extern|OP)/ || /_(free|close)\(/ { next }
    /^[A-Za-z_][^#=(]* \**[a-z_0-9]+\(.*;/ && !bare { bare = FILENAME ":" FNR ": no comment: " $0 }
    END { end_part() }' src/*/*/*.h src/*/*/*/*.h)
[ -z "$found" ] || say "$found"

# A function that a header declares (but for those that the compiler calls, __NAME) has a use beside
# its definition: in src, in src/tapeformer.h, or
# in the tests, which may look at what programs have no need to.
found=$(awk '
    FILENAME ~ /\.h$/ && FILENAME != "src/tapeformer.h" {
        if ($0 ~ /^[A-Za-z_][^#=(]* \**[a-z_0-9]+\(/ && $0 !~ /^(typedef|static|extern|OP)/) {
            name = $0
            sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
            place[name] = FILENAME
            next
        }
    }
    {
        line = $0
        while (match(line, /[A-Za-z_][A-Za-z_0-9]*/)) {
            uses[substr(line, RSTART, RLENGTH)]++
            line = substr(line, RSTART + RLENGTH)
        }
    }
    END {
        for (name in place)
            if (uses[name] < 2 && name !~ /^__/) print place[name] ": nobody calls " name
    }
' src/*/*/*.[ch] src/*/*/*/*.[ch] src/*/*/*.def src/tapeformer.h train.c tests/*/*.[ch] | sort)
[ -z "$found" ] || say "$found"

for name in $(grep -o '^    STATUS_[A-Z_]*' src/core/base/error.h); do
    grep -qw "$name" $(ls src/*/*/*.c src/*/*/*/*.c) train.c ||
        say "src/core/base/error.h: nobody returns $name"
done

# Only src/core/base/system.[ch] and src/tools/check/sandbox*.[ch] ask on which system they are, or
# want more than POSIX.1-2017, except <getopt.h>. <semaphore.h> and <threads.h> are left out: macOS
# lacks parts of them. gemm_blas.c has a library's header.
standard='assert complex ctype dirent dlfcn errno fcntl fenv float fnmatch ftw getopt glob inttypes
    langinfo libgen limits locale math poll pthread pwd regex sched search setjmp signal spawn
    stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings sys/mman
    sys/resource sys/select sys/socket sys/stat sys/statvfs sys/time sys/times sys/types sys/uio
    sys/un sys/utsname sys/wait termios tgmath time unistd utime wchar wctype'
found=$(ls src/*/*/*.[ch] src/*/*/*/*.[ch] train.c |
    grep -v -e '^src/core/base/system\.' -e '^src/tools/check/sandbox' -e gemm_blas |
    xargs awk -v standard="$(echo $standard)" '
    function say(what) { print FILENAME ":" FNR ": " what ": src/core/base/system.h" }
    BEGIN {
        count = split(standard, names, " ")
        for (i = 1; i <= count; i++) known["<" names[i] ".h>"]
        systems = "__(linux|gnu_linux|APPLE|(Free|Net|Open)BSD|DragonFly|sun|GLIBC|CYGWIN)__"
    }
    /^ *# *include </ && !($2 in known) { say($2 " is not in POSIX") }
    /^ *# *define +_[A-Z_]*(SOURCE|VISIBLE)/ { say("wants more than POSIX") }
    /^ *# *(if|elif)/ && $0 ~ systems { say("asks on which system it is") }')
[ -z "$found" ] || say "$found"

flags=$(MAKEFLAGS= make -s print-lint-flags)
ls src/*/*/*.h src/*/*/*/*.h src/tapeformer.h |
    xargs -P 2 -I HEADER ${CC:-cc} $flags -Werror -fsyntax-only -include HEADER -x c /dev/null ||
    say "these headers do not stand alone"
exit $status
