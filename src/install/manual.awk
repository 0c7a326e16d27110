# A manual page of what a program prints for --help.
#
#     train --help | awk -v page=tapeformer-train -v version=0.1.0 -f src/install/manual.awk
#
# `page` is the name under which it is installed. With -v command=COMMAND a section for the end of the page: the help of
# one of the program's commands.
function plain(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/) text = "\\&" text
    return text
}

{ # ./NAME is the program in the source tree
    while (match($0, /\.\/[a-z]/)) $0 = substr($0, 1, RSTART - 1) "tapeformer-" substr($0, RSTART + 2)
}
NR == 1 { # Usage: PROGRAM [COMMAND] [OPTION]... OPERANDS
    sub(/^Usage: [^ ]+/, "")
    usage = $0
    purposeful = 1
    next
}
purposeful && NF {
    purpose = purpose (purpose ? " " : "") $0
    next
}
purposeful {
    if (command) {
        printf ".SH %s\n.B %s %s\n.PP\n%s\n", toupper(command), plain(page), plain(substr(usage, 2)), plain(purpose)
    } else {
        short = purpose
        sub(/[.:;] .*|\.$/, "", short)
        printf ".TH %s 1 \"\" \"tapeformer %s\"\n", toupper(page), version
        printf ".SH NAME\n%s \\- %s\n", plain(page), plain(tolower(substr(short, 1, 1)) substr(short, 2))
        printf ".SH SYNOPSIS\n.B %s\n%s\n", plain(page), plain(substr(usage, 2))
        printf ".SH DESCRIPTION\n%s\n", plain(purpose)
    }
    purposeful = 0
    was_empty = 1
    next
}
/^[^ ].*[^.:;,]$/ && was_empty && length($0) < 40 {
    common = command && /^(Common|Exit status)$/
    if (command && !common) printf ".SS %s\n", $0
    if (!command) printf ".SH %s\n", toupper($0)
    was_empty = 0
    next
}
common { # stands in the program's own help
    was_empty = NF == 0
    next
}
/^  --/ {
    label = substr($0, 3)
    text = ""
    if (match(label, /  +/)) {
        text = substr(label, RSTART + RLENGTH)
        label = substr(label, 1, RSTART - 1)
    }
    option = label
    sub(/ .*/, "", option)
    printf ".TP\n\\fB%s\\fR%s\n", plain(option), plain(substr(label, length(option) + 1))
    if (text) print plain(text)
    next
}
/^ *[0-9]+  / {
    number = $1
    sub(/^ *[0-9]+ +/, "")
    printf ".TP\n%s\n%s\n", number, plain($0)
    next
}
substr($0, 1, 20) == sprintf("%20s", "") && NF { # goes on with the text above
    sub(/^ +/, "")
    print plain($0)
    next
}
/^  [^ ]/ { # a table of words and what they mean
    label = substr($0, 3)
    match(label "  ", /  +/)
    printf ".TP\n%s\n%s\n", plain(substr(label, 1, RSTART - 1)), plain(substr(label, RSTART + RLENGTH))
    next
}
NF == 0 {
    was_empty = 1
    next
}
{
    printf "%s%s\n", was_empty ? ".PP\n" : "", plain($0)
    was_empty = 0
}
