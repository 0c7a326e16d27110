# Makes one header of src/tapeformer.h and the headers that it includes: of those the types, macros
# and inline functions, each once and where it is needed first; lists of names, *.def, wherever they
# are included; of functions what src/tapeformer.h itself lists.
#
#     awk -f src/tools/install/header.awk src/tapeformer.h >tapeformer.h
function take(path, listed, line, file) {
    file = path ~ /^src\// ? path : "src/core/" path
    if ((getline line <file) < 0) file = "src/tools/" path
    close(file)
    while ((getline line <file) > 0) {
        if (line ~ /^#include "/) {
            end_part(listed)
            split(line, word, "\"")
            if (!(word[2] in taken)) {
                if (word[2] !~ /\.def$/) taken[word[2]]
                take(word[2], word[2] ~ /\.def$/)
            }
        } else if (listed) {
            print line
        } else {
            hold(line)
        }
    }
    close(file)
    end_part(listed)
}

# Lines of a part, up to an empty line outside of braces; a statement that is a function's or a
# variable's prototype is left out, and a part of which nothing else remains with it.
function hold(line) {
    if (line == "" && depth <= 0 && !dropping) {
        end_part(0)
        return
    }
    if (line == "#pragma once") return
    if (!in_comment && depth <= 0 && !macro && line ~ /^[A-Za-z_]/ &&
        line !~ /^(typedef|enum|struct|static|extern|OP|ALL_)/) dropping = 1
    if (dropping) dropped = 1
    else part = part line "\n"
    if (!dropping && !in_comment && line !~ /^\/\*/) substance = 1
    code = line
    gsub(/"[^"]*"/, "", code)
    gsub(/\/\*.*\*\//, "", code)
    if (code ~ /\/\*/) in_comment = 1
    if (!in_comment) depth += gsub(/[{]/, "{", code) - gsub(/[}]/, "}", code)
    if (code ~ /\*\//) in_comment = 0
    macro = line ~ /\\$/
    if (dropping && code ~ /; *$/) dropping = 0
}

function end_part(listed) {
    if (listed || part == "") return
    if (substance || !dropped) printf "%s\n", part
    part = ""
    substance = dropped = dropping = 0
}

BEGIN {
    FS = "\n"
}
FNR == 1 {
    take(FILENAME, 1)
    exit
}
