# The names that a preprocessed header declares, functions and variables, a line each. What stands before the header's
# first line marker, and what other files brought along, is left out.
#
#     cc -E tapeformer.h | awk -v header=tapeformer.h -f src/install/exports.awk
/^# [0-9]/ {
    own = index($0, "\"" header "\"") > 0
    next
}
own && NF {
    statement = statement " " $0
    depth += gsub(/[{]/, "{") - gsub(/[}]/, "}")
    if (depth > 0 || $0 !~ /[;}] *$/) next
    # Several prototypes may share a line: those that operations are given by.
    while (match(statement, /[;}]/) && depth == 0) {
        part = statement
        if (statement !~ /[{]/) sub(/;.*/, "", part)
        statement = substr(statement, length(part) + 2)
        sub(/^ */, "", part)
        if (part ~ /^(typedef|enum|struct|static)/ || part == "") continue
        sub(/ *[([].*/, "", part)
        sub(/.*[ *]/, "", part)
        print part
    }
    statement = ""
}
