# Prints a row for each operation: {"softmax", "the lines of its derivation that end in dx +=", "Forward keeps only y."}, from
# the header comments of src/ops/*.c.
FNR == 1 {
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.c$/, "", name)
    header = 1
    formula = keeps = ""
}
header && /^ \*     .*[-+]= / {
    line = substr($0, 3)
    sub(/^ +/, "", line)
    gsub(/    +/, "   ", line)
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
