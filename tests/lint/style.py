"""Prints each place that breaks a rule of style that clang-tidy lacks; status 1 if one does."""
import pathlib, re, sys

LONG = ["texts.js"]  # a text of the page is a line
SKIP = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^#(?:\\\n|[^\n])*'
ASSIGN = r"(?<![=!<>])=(?!=)|<<=|>>="
HEADERS = r"[\s}]*((for|if|else|while|switch|do|default:|case [^:]*:)\s+)*"

def faults(kind, text):  # a statement or a pair of brackets; inner brackets are ~, their `?` is \0
    first, condition, step = text.split(";") if kind == "for" else (text, text, "")
    declares = re.match(r"\s*(?!return )(\w+ )*\w+[ *]+(const )?\w", first)
    terms = [set(re.findall(r"\w+", term)) for term in condition.split("&&")]
    counters = set(re.findall(r"(\w+)(?: [-+*/]?=|\+\+|--|,|;)", first + ";" + step + ";"))
    if kind in "for group statement" and "," in first and not declares or "," in step:
        yield "comma operator"
    if any(re.search(r"\?.*[?\0]|\0.*\?", part) for part in text.split(",")):
        yield "?: inside ?:"
    if kind in "for if while switch" and re.search(ASSIGN, condition):
        yield "assignment inside a condition"
    if kind == "for" and (len(re.findall(ASSIGN, first)) > 1 or re.search(r"~.*(\+\+|--)", step)):
        yield "for: assigns more than its counter"
    if kind == "for" and len(terms) > 1 and not all(counters & term for term in terms):
        yield "for: one of its conditions is an `if`"

def check(code, say):
    stack, calls = [["block", ""]], {}  # open brackets with their texts; calls in `ok = ok && f()`
    for token in re.split(r"([][(){};\n])", code):
        kind, text = stack[-1]
        if token in ("(", "[", "{"):
            header = re.search(r"\b(for|if|while|switch) $", text)
            listed = kind != "block" or re.search(r"([=,(]\s*|~)$|\benum [^;]*$", text)
            called = token != "(" or re.search(r"[\w~]$", text)
            opened = "call" if called else header[1] if header else "group"
            stack.append(["block" if token == "{" and not listed else opened, ""])
        elif token in (")", "]", "}", ";") and (token != ";" or kind == "block"):
            statement = re.sub(HEADERS, "", text, count=1)
            broken = faults("statement", statement) if kind == "block" else faults(kind, text)
            own = re.match(r"(\w+) = \1 && ", statement)
            if own: calls[own[1]] = calls.get(own[1], 0) + statement.count("&&")
            if own and calls[own[1]] > 2: say("`ok = ok && f()` over more than two calls")
            for fault in broken: say(fault)
            if token != ";": stack.pop()
            hidden = "~" + re.sub("[,;&]", " ", text).replace("?", "\0") + "~"
            hidden = hidden if kind in ("call", "group") else ""
            stack[-1][1] = "" if kind == "block" else stack[-1][1] + hidden
            if len(stack) == 1 and token == "}": calls = {}
        else:
            stack[-1][1] += token.replace("\n", " ")
            say.line += token == "\n"

class Say:
    count = line = 0

    def __call__(self, what):
        self.count += 1
        print(f"{self.path}:{self.line}: {what}")


def blank(skipped):
    return "S" * (skipped[0][0] in "\"'") + "\n" * skipped[0].count("\n")


say = Say()
tops = [pathlib.Path(name) for name in sys.argv[1:]]
for say.path in sorted(path for top in tops for path in [top, *top.rglob("*")]):
    if not re.search(r"\.([ch]|py|sh|awk|js|mjs|css)$|Makefile$|\.ci/run$", str(say.path)): continue
    text = say.path.read_text()
    for say.line, row in enumerate(text.split("\n"), 1):
        if len(row) > 100 and say.path.name not in LONG: say("longer than 100 columns")
    say.line = 1
    code = re.sub(r"\n[ \t]+", "\n", re.sub(SKIP, blank, text, flags=re.S | re.M))
    if say.path.suffix in (".c", ".h"): check(re.sub(r"([{,]\s*)(\.[\w.]+ = )+", r"\1", code), say)
sys.exit(say.count > 0)
