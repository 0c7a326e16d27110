# Writes all planted mistakes as one file of C: awk -f mutants.awk mutants.def src/core/ops/*.c
# A mutant is a copy of its operation's file in which a piece of text is replaced, and in which each
# name that the file defines ends in the mutant's number. A switch at the end gives the operation.
BEGIN {
    print "#pragma GCC system_header" # without warnings
    common = "forward backward branches build last_axis first_axis middle_axis all_axes"
}
FILENAME ~ /\.def$/ { table = table $0 "\n"; next }
FILENAME ~ /ops\/ops\.c$/ { next }
FNR == 1 { file = FILENAME; sub(/.*\//, "", file); sub(/\.c$/, "", file) }
/^#include/ { if (!($0 in included)) print; included[$0]; next }
{ source[file] = source[file] $0 "\n"; find_names(file, $0) }

# Adds each match of the pattern in the text, without what is not a name at its end.
function add(file, text, pattern,   name) {
    while (match(text, pattern)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        sub(/^[ *]/, "", name)
        sub(/[^A-Za-z_0-9].*/, "", name)
        names[file] = names[file] " " name
    }
}
# Notes the names that a line at the left margin defines.
function find_names(file, line) {
    if (line ~ /^BUILD_CASE\(/) add(file, substr(line, 12), "^[a-z_0-9]+")
    if (line !~ /^[a-z}T]/) return
    if (line ~ /^(typedef )?enum/) {
        gsub(/typedef|enum|\/\*.*/, "", line)
        gsub(/=[^,}]*/, "", line)
        add(file, line, "[A-Za-z_0-9]+")
    } else if (line ~ /^typedef struct/) add(file, substr(line, 16), "^[A-Za-z]+")
    else if (line ~ /^typedef/) add(file, line, "[A-Za-z]+(\\[\\])?;")
    else if (line ~ / =/) add(file, line, "[ *][a-z_0-9]+(\\[[^]]*\\])* =")
    else if (match(line, /[a-z_0-9]+\(/)) add(file, substr(line, RSTART), "^[a-z_0-9]+")
}

# The next string of the table with its neighbors; "" for NULL.
function next_string(   text, piece) {
    sub(/^[^"N]*/, "", table)
    if (sub(/^NULL/, "", table)) return ""
    while (match(table, /^[ \n]*"([^"\\]|\\.)*"/)) {
        piece = substr(table, RSTART, RLENGTH)
        table = substr(table, RLENGTH + 1)
        sub(/^[ \n]*"/, "", piece)
        text = text substr(piece, 1, length(piece) - 1)
    }
    return text
}
# The text with a piece replaced wherever it stands, or "" where it does not. Any white space is
# alike.
function replaced(text, from, to,   done) {
    gsub(/[][\\^$.|?*+(){}\/]/, "[&]", from)
    gsub(/[ \n]+/, "[ \n]+", from)
    while (match(text, from)) {
        done = done substr(text, 1, RSTART - 1) to
        text = substr(text, RSTART + RLENGTH)
        found = 1
    }
    return done text
}
# The text with `ending` after each of the names, other than members.
function renamed(text, is_name, ending,   done, word, before) {
    while (match(text, /[A-Za-z_][A-Za-z_0-9]*/)) {
        done = done substr(text, 1, RSTART - 1)
        word = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        before = done
        sub(/.*\n/, "", before)
        done = done word ((word in is_name) && before !~ /(\.|->)$/ ? ending : "")
    }
    return done text
}
function write_mutant(operation, from, to, ending,
                      text, n, i, name, is_name, define, undefine, line, lines, open) {
    found = 0
    text = replaced(source[operation], from, to)
    if (!found) print "#error src/core/ops/" operation ".c has no " from
    n = split(names[operation], name, " ")
    for (i = 1; i <= n; i++) is_name[name[i]]
    n = split(common " op_" operation " tape_" operation, name, " ")
    for (i = 1; i <= n; i++) {
        is_name[name[i]]
        define = define "#define " name[i] " " name[i] ending "\n"
        undefine = undefine "#undef " name[i] "\n"
    }
    print "extern __typeof__(op_" operation ") op_" operation ending ";"
    print "extern __typeof__(tape_" operation ") tape_" operation ending ";"
    # A macro of a header defines or uses such names inside.
    lines = split(text, line, "\n")
    for (i = 1; i <= lines; i++) {
        if (line[i] ~ /^[A-Z_]+\(|CASES_|_CASES/ && !open) printf "%s", define
        if (line[i] ~ /^[A-Z_]+\(|CASES_|_CASES/ || open) {
            open += gsub(/\(/, "(", line[i]) - gsub(/\)/, ")", line[i])
            print renamed(line[i], is_name, ending)
            if (!open) printf "%s", undefine
        } else print renamed(line[i], is_name, ending)
    }
}
END {
    while (match(table, /(^|\n)MUTANT\(/)) {
        table = substr(table, RSTART + RLENGTH)
        operation = next_string()
        next_string()
        from = next_string()
        write_mutant(operation, from, next_string(), "_" ++count)
        list = list "    case " count ": return &op_" operation "_" count ";\n"
    }
    print "static const Op *mutant_op(int i) {\n    switch (i) {"
    print list "    }\n    return NULL;\n}"
}
