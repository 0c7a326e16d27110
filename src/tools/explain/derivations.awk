# Prints a row for each operation from the header comments of src/core/ops/*.c: name, formulas of
# forward, those of backward, and the sentence that says what forward keeps. A formula is a line
# that begins with " *   | ". Its columns stand three blanks apart; a last column "when no b" is its
# condition, which follows a tab.
FNR == 1 {
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.c$/, "", name)
    header = 1
    keeping = 0
    part = "forward"
    split("", formula)
    keeps = ""
}
header && /Backward[.:,]/ { part = "backward" }
header && /^ \*   \| / {
    line = substr($0, 8)
    condition = ""
    if (match(line, /   +when /)) {
        condition = "\\t" substr(line, RSTART + RLENGTH)
        line = substr(line, 1, RSTART - 1)
    }
    if (part == "backward") gsub(/   +d/, "\\nd", line)
    gsub(/   +/, ", ", line)
    formula[part] = formula[part] (formula[part] == "" ? "" : "\\n") line condition
}
header && (/Forward keeps/ || keeping) {
    line = substr($0, 4)
    if (!keeping) line = substr(line, index(line, "Forward keeps"))
    end = match(line, /[.;:](\*\/|[ ]|$)/)
    keeping = end == 0
    keeps = keeps (keeps == "" ? "" : " ") (end ? substr(line, 1, end - 1) "." : line)
}
header && /\*\// {
    header = 0
    if (formula["forward"] != "")
        printf "{\"%s\", {\"%s\", \"%s\"}, \"%s\"},\n", name, formula["forward"],
            formula["backward"], keeps
}
