# Prints a row for each operation from the comments of src/core/ops/*.c: {"softmax", "formulas", "Forward keeps only y."},
# the formulas of forward, and the lines of the derivation that end in dx += or begin with "with".
FNR == 1 {
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.c$/, "", name)
    header = 1
    after = 0
    formula = keeps = ""
}
header && /Backward[.:,]/ { after = 1 }
header && /^ \*     / && (after ? /[-+]= |   with / : / = / && !/: \[/) {
    line = substr($0, 8)
    if (after) gsub(/   +d/, "\\nd", line)
    gsub(/   +/, ", ", line)
    formula = formula (formula == "" ? "" : "\\n") line
}
header && (/Forward keeps/ || keeping) {
    line = substr($0, 4)
    if (!keeping) line = substr(line, index(line, "Forward keeps"))
    end = match(line, /[.;:](\*\/|[ ]|$)/)
    keeping = end == 0
    keeps = keeps (keeps == "" ? "" : " ") (end ? substr(line, 1, end - 1) "." : line)
}
header && /\*\// {
    header = keeping = 0
    if (formula != "") printf "{\"%s\", \"%s\", \"%s\"},\n", name, formula, keeps
}
