# Reads the assembly of src/core/kernels/gemm_tile.c (x86, as gcc and clang write it) and looks at
# the loop over k of every tile: it must store nothing and read nothing from the stack, or sums have
# been spilled out of their registers. Prints what is wrong and "N loops"; the status is 1 if
# something is wrong or a tile's loop was not found.

function look(from, to,    i) {
    loops++
    seen[name] = 1
    for (i = from; i <= to; i++) {
        if (line[i] ~ /\(%rsp/ || (framed && line[i] ~ /\(%rbp/))
            complain(line[i], "reads the stack")
        else if (line[i] ~ /\)[ \t]*$/ && line[i] !~ /^[ \t]*(prefetch|cmp|test)/)
            complain(line[i], "stores")
    }
}
function complain(instruction, does) {
    gsub(/[ \t]+/, " ", instruction)
    print name ": the loop " does ":" instruction
    wrong = 1
}

/^tile_[a-z0-9_]*:/ {
    name = $1
    sub(/:.*/, "", name)
    tiles[name]
    n = framed = 0
    jump = -1
    delete label
    delete products
}
name == "" { next }
/^[ \t]+\.|^[ \t]*#/ { next } # what the assembler is told
{ sub(/[ \t]*#.*/, "") }
/^\.L[A-Za-z0-9_]*:/ { at = $1; sub(/:.*/, "", at); label[at] = n; next }
{ line[n++] = $0; products[n] = products[n - 1] + ($1 ~ /^v?f?n?m(add|ul)/) }
/movq[ \t]+%rsp, %rbp/ { framed = 1 }
# The loop over k is the one that jumps back over nothing but itself, and multiplies.
$1 ~ /^(j|ret)/ {
    if (($2 in label) && label[$2] > jump && products[n] > products[label[$2]])
        look(label[$2], n - 1)
    jump = n - 1
}

END {
    for (name in tiles)
        if (!(name in seen)) { print name ": no loop found"; wrong = 1 }
    print loops + 0 " loops"
    exit wrong || !loops
}
