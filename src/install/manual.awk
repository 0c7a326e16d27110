# A manual page of what a program prints for --help, as it is printed: its headings become sections.
#
#     train --help | awk -v page=tapeformer-train -v version=0.1.0 -f src/install/manual.awk
#
# `page` is the name under which it is installed. With -v command=COMMAND a section for the end of the page: the help of
# one of the program's commands, without the options that all have.
function plain(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text ~ /^[.']/ ? "\\&" text : text
}

{ # ./NAME is the program in the source tree
    while (match($0, /\.\/[a-z]/)) $0 = substr($0, 1, RSTART - 1) "tapeformer-" substr($0, RSTART + 2)
}
NR == 1 { # Usage: PROGRAM [COMMAND] [OPTION]... OPERANDS
    sub(/^Usage: [^ ]+ /, "")
    usage = $0
    next
}
!described && NF {
    purpose = purpose (purpose ? " " : "") $0
    next
}
!described {
    described = 1
    short = purpose
    sub(/[.:;] .*|\.$/, "", short)
    if (command) {
        printf ".SH %s\n.B %s %s\n.PP\n%s\n.nf\n", toupper(command), plain(page), plain(usage), plain(purpose)
    } else {
        printf ".TH %s 1 \"\" \"tapeformer %s\"\n", toupper(page), version
        printf ".SH NAME\n%s \\- %s\n", plain(page), plain(tolower(substr(short, 1, 1)) substr(short, 2))
        printf ".SH SYNOPSIS\n.B %s\n%s\n.SH DESCRIPTION\n%s\n.nf\n", plain(page), plain(usage), plain(purpose)
    }
}
/^[^ ].*[^.:;,]$/ && was_empty && length($0) < 40 {
    common = command && /^(Common|Exit status)$/
    if (!common) printf ".fi\n.%s %s\n.nf\n", command ? "SS" : "SH", plain(command ? $0 : toupper($0))
    was_empty = 0
    next
}
!common {
    line = plain($0)
    if (/^  --/) sub(/\\-\\-[^ ]+/, "\\fB&\\fR", line)
    print line
}
{
    was_empty = NF == 0
}
