"""The forms of what `check` can judge: functions, layers, classes with ctx, torch and jax. Each has

    forward(case, values) -> outputs, state, arrays that it had before (each with its copy)
    backward(case, dy, state, values) -> what the function's backward returns
    gradients(case, got) -> {name: gradient} of this"""
import copy, functools, inspect, os, random, sys, traceback, types
import numpy as np

LIBRARIES = "numpy", "torch", "jax"
OPTIONS = "low", "high", "constant", "flat"


# ---- Values of NumPy, torch and jax. A library is recognized by the modules that are loaded.

@functools.cache
def modules_of(kind):
    return [c.__module__ for c in kind.__mro__]


def is_of(v, library):
    if library not in sys.modules:
        return False
    names = [*modules_of(v if isinstance(v, type) else type(v)),
             *(getattr(v, n, "") for n in ("__module__", "__name__")),
             getattr(v, "__globals__", {}).get("__name__")]
    return any(str(name).split(".")[0] in (library, library + "lib") for name in names)


def is_shape(v):
    return isinstance(v, tuple) and all(isinstance(n, (int, np.integer)) for n in v)


def is_array(v):
    known = isinstance(v, (np.ndarray, np.floating, list))
    return known or hasattr(v, "shape") and (is_of(v, "torch") or is_of(v, "jax"))


def listed(y):
    return list(y) if isinstance(y, (tuple, list)) else [y]


def plain(v, what="an input"):
    """A NumPy array of real numbers."""
    if hasattr(v, "detach"):
        v = v.detach().cpu()
        v = (v.float() if str(v.dtype) == "torch.bfloat16" else v).numpy()
    a = np.asarray(v)
    if isinstance(v, np.matrix):
        raise TypeError(f"{what} is a numpy.matrix, need an array: numpy.asarray(…) is one")
    if a.dtype.kind not in "biuf":
        found = "complex numbers" if a.dtype.kind == "c" else f"{type(v).__name__} of {a.dtype}"
        raise TypeError(f"{what}: found {found}, need real numbers")
    single = a.dtype in (np.float16, np.float32)
    return np.asarray(a, np.float32 if single else np.float64, order="C")


def outside(run, point, wanted):
    """The run of a point beyond forward's domain, such as an array's end: it gives no numbers."""
    run = copy.copy(run)
    run.y = [np.full(v.shape, np.nan) for v in run.y]
    run.backward = lambda dy: [point[name] * np.nan for name in wanted]
    return run


def is_integer(v):
    if not isinstance(v, np.ndarray) and is_of(v, "torch"):
        return not v.is_floating_point() and not v.is_complex()
    return is_array(v) and np.asarray(v).dtype.kind in "iub"


def maker(given, library):
    """A function from an array in double to a value like the given one; a shape's is in double."""
    if not is_array(given):
        given = np.float64(0)
    if library == "torch" or is_of(given, "torch"):
        torch = sys.modules["torch"]
        dtype = torch.as_tensor(given).dtype
        return lambda a: torch.tensor(a, dtype=dtype)
    dtype = np.asarray(given).dtype
    if library == "jax" or is_of(given, "jax"):
        return lambda a: sys.modules["jax"].numpy.asarray(a, dtype)
    return lambda a: a.astype(dtype)


def arrays_in(value):
    """The NumPy arrays in an object, each with a copy."""
    memo = {}
    copy.deepcopy(value, memo)
    return [(a, memo[id(a)]) for a in memo.get(id(memo), ()) if isinstance(a, np.ndarray)]


def name_of(a, v, name, depth=5):
    """What an array in v is called, as cache['work'] or cache.w; None: it is not there."""
    if v is a:
        return name
    parts = [(f"{name}.{k}", w) for k, w in getattr(v, "__dict__", {}).items()]
    if isinstance(v, dict):
        parts = [(f"{name}[{k!r}]" if name else k, w) for k, w in v.items()]
    elif isinstance(v, (list, tuple)):
        parts = [(f"{name}[{k}]" if len(v) > 1 or depth < 5 else name, w) for k, w in enumerate(v)]
    found = (name_of(a, w, called, depth - 1) for called, w in parts if depth)
    return next(filter(None, found), None)


# ---- Words about errors

def line_of(e):
    """The last line of code that belongs to no library, as ", line 7"; "" if there is none."""
    others = os.path.dirname(os.__file__), os.path.dirname(np.__file__), "<", \
        __file__[:-len("_forms.py")]
    at = [f.lineno for f in traceback.extract_tb(e.__traceback__)
          if not f.filename.startswith(others) and "site-packages" not in f.filename][-1:]
    if isinstance(e, SyntaxError):
        at = [e.lineno]
    return "".join(f", line {n}" for n in at)


def described(e):
    """The error in one line."""
    text = str(getattr(e, "msg", None) or e).strip().split("\n")[0]
    return f"{type(e).__name__}: {text}".rstrip(": ") + line_of(e)


# ---- What a function reaches: its library, and generators of random numbers

def names_in(code):
    inner = [n for c in code.co_consts if inspect.iscode(c) for n in names_in(c)]
    return [*code.co_names, *inner]


def reachable(v, found, depth=5):
    """Collects v and what its code, closure and attributes name."""
    if not depth or id(v) in found:
        return found
    found[id(v)] = v
    parts = [getattr(v, n, None) for n in ("__func__", "__self__", "__wrapped__", "func")]
    if inspect.isfunction(v):
        parts += [v.__globals__[n] for n in names_in(v.__code__) if n in v.__globals__]
        parts += [c.cell_contents for c in v.__closure__ or () if c != types.CellType()]
    elif not isinstance(v, types.ModuleType) and not any(is_of(v, n) for n in LIBRARIES):
        parts += [*getattr(v, "__dict__", {}).values(), type(v)]
    for part in parts:
        reachable(part, found, depth - 1)
    return found


def generators(values):
    """Those of the values that draw random numbers."""
    torch = sys.modules.get("torch")
    kinds = np.random.Generator, np.random.RandomState, random.Random
    kinds += (torch.Generator,) if torch else ()
    return [v for v in values if isinstance(v, kinds)]


def reseed(generators, seed):
    """Whatever is random starts from this seed."""
    torch = sys.modules.get("torch")
    np.random.seed(seed)
    random.seed(seed)
    np.random.bit_generator.randbits = lambda bits: seed  # seeds generators that are given none
    for g in [*generators, *([torch.default_generator] if torch else [])]:
        if isinstance(g, np.random.Generator):
            g.bit_generator.state = type(g.bit_generator)(seed).state
        else:
            getattr(g, "manual_seed", g.seed)(seed)


def parameters_of(f):
    """{name: parameter}; None if a function in C does not tell."""
    try:
        return inspect.signature(f).parameters
    except (ValueError, TypeError):
        return None


# ---- What is judged, and the forms that it has

class Case:
    """Names of inputs and of wanted gradients, values of arguments, and the order of all."""
    def __init__(self, form, given, inputs, wanted, arguments=()):
        self.inputs, self.wanted, self.known = inputs, wanted, {}
        self.arguments = {k: v for k, v in given.items() if k not in inputs} | dict(arguments)
        names = [*given, *(n for n in (*inputs, *self.arguments) if n not in given)]
        self.names = [n for n in names if n not in form.parameters]
        self.makers = {n: maker(given.get(n), form.library) for n in inputs}

    def arrange(self, f, skip, strict=True):
        """The names of the values that f gets after its first parameters: in order, and by keyword.
        A parameter gets the value of its name, or the next that has no parameter."""
        key = getattr(f, "__func__", f), skip
        if key not in self.known:
            self.known[key] = self.arranged(f, skip, strict)
        return self.known[key]

    def arranged(self, f, skip, strict):
        parameters = parameters_of(f)
        if parameters is None:
            return self.names, {}
        parameters = list(parameters.values())[skip:]
        rest = [n for n in self.names if n not in {p.name for p in parameters}]
        row, keywords, gap = [], {}, False
        for p in parameters:
            if p.kind == p.VAR_POSITIONAL:
                row += [n for n in rest if n in self.inputs]
                rest = [n for n in rest if n not in self.inputs]
            elif p.kind == p.VAR_KEYWORD:
                keywords, rest = keywords | {n: n for n in rest}, []
            else:
                fit = [n for n in rest if p.default is p.empty or strict and n in self.inputs]
                name = p.name if p.name in self.names else fit[0] if fit else None
                rest = [n for n in rest if n != name]
                gap |= name is None or p.kind == p.KEYWORD_ONLY
                if name is not None and gap:
                    keywords[p.name] = name
                elif name is not None:
                    row.append(name)
        if rest and strict:
            raise TypeError(f"{getattr(f, '__name__', 'forward')} takes no {', '.join(rest)}")
        return row, keywords

    def needs(self, b):
        """Parameters that backward needs besides arguments, and whether it takes any number."""
        key = getattr(b, "__func__", b)
        if key not in self.known:
            named = [p for p in (parameters_of(b) or {}).values()
                     if p.default is p.empty and p.name not in self.arguments]
            self.known[key] = ([p.name for p in named if p.kind <= p.POSITIONAL_OR_KEYWORD],
                               any(p.kind == p.VAR_POSITIONAL for p in named))
        return self.known[key]

    def call(self, f, values, *first, strict=True):
        row, keywords = self.arrange(f, len(first), strict)
        return f(*first, *(values[n] for n in row), **{k: values[n] for k, n in keywords.items()})

    def by_name(self, f, skip, got):
        """{name: gradient} of what backward returned."""
        if isinstance(got, dict):
            return {n: got.get(n, got.get("d" + n)) for n in self.inputs}
        row, keywords = self.arrange(f, skip)
        order, got = [*row, *keywords.values()], listed(got)
        inputs = [n for n in order if n in self.inputs]
        wanted = [n for n in order if n in self.wanted]
        names = next((names for names in (order, inputs, wanted) if len(names) == len(got)), wanted)
        return dict(zip(names, got))


def is_upstream(name):
    """Whether a parameter is called like an upstream gradient: dy, grad, g, upstream."""
    return name[0] in "dgu"


class Functions:
    """forward(x, …), and backward(dy, …, cache), backward(dy, …, x, …) or the gradient df(x)."""
    parameters = {}
    declares = False  # a gradient of None means that there is none
    is_layer, holds = False, "cache"  # holds: what the state is called

    def others(self):
        """Other forms that a function alone may have."""
        forms = {"torch": Torch, "jax": Jax}
        return [] if self.b else [forms[name](self.f) for name in forms if name in sys.modules]

    def __init__(self, f, b=None, library="numpy"):
        self.f, self.b, self.library = f, b, library

    def forward(self, case, values):
        y = case.call(self.f, values)
        return *self.split(case, y, self.b), ()

    def split(self, case, y, b):
        """Outputs and cache: none if backward takes the inputs too, or a layer's a dy for each."""
        if not b:
            if not isinstance(y, tuple) or len(y) < 2:
                raise TypeError("the function returned no gradient beside its value: "
                                "give a backward")
            return [y[0]], y[1:]
        if not isinstance(y, tuple):
            return listed(y), ()
        needs, more = case.needs(b)
        is_output = is_array(y[-1]) or isinstance(y[-1], (int, float))
        as_many = len(needs) == len(y) and (more or self.is_layer and is_upstream(needs[-1]))
        no_cache = is_output and (len(needs) > len(y) or as_many)
        return (list(y), ()) if no_cache else (list(y[:-1]), y[-1:])

    def backward(self, case, dy, state, values):
        if not self.b:
            return times(state[0] if len(state) == 1 else state, dy[0])
        needs, more = case.needs(self.b)
        row, _ = case.arrange(self.f, 0)
        upstream = more or len(needs) > len(row) or needs and needs[0] not in case.names and \
            needs[0] not in (parameters_of(self.f) or ()) and is_upstream(needs[0])
        if state or upstream:
            return case.call(self.b, values, *dy, *state, strict=False)
        return times(case.call(self.b, values), dy[0])

    def gradients(self, case, got):
        return case.by_name(self.f, 0, got)


def times(g, dy):
    if isinstance(g, dict):
        return {k: np.asarray(v) * dy for k, v in g.items()}
    return [np.asarray(v) * dy for v in listed(g)]


class Layer(Functions):
    """An object that keeps what backward needs, or its class. Each forward runs on a copy of it."""
    is_layer, holds = True, "self"

    def __init__(self, f, forward, backward, library):
        super().__init__(f, backward, library)
        try:
            self.made = f() if isinstance(f, type) else f
        except TypeError as e:
            raise TypeError(f"check: {f.__name__} needs arguments ({e}): give an object") from None
        self.name, self.f = forward, getattr(self.made, forward)

    def forward(self, case, values):
        op = copy.deepcopy(self.made)
        arrays = arrays_in(op)
        y = case.call(getattr(op, self.name), values)
        outputs, cache = self.split(case, y, getattr(op, self.b))
        return outputs, (op, cache), arrays

    def backward(self, case, dy, state, values):
        op, cache = state
        if self.b == "gradient":
            inputs = [values[n] for n in case.inputs]
            return op.gradient(dy[0], types.SimpleNamespace(inputs=inputs, op=op))
        return case.call(getattr(op, self.b), values, *dy, *cache, strict=False)


class Context(Functions):
    """forward(ctx, x, …) saves in ctx what backward(ctx, dy, …) needs."""
    declares, holds = True, "ctx"

    def __init__(self, f, library):
        super().__init__(f.forward, f.backward, library)

    def forward(self, case, values):
        row, keywords = case.arrange(self.f, 1)
        wanted = tuple(n in case.wanted for n in [*row, *keywords.values()])
        ctx = types.SimpleNamespace(needs_input_grad=wanted)
        ctx.save_for_backward = lambda *v: ctx.__dict__.update(saved_values=v, saved_tensors=v)
        return listed(case.call(self.f, values, ctx)), ctx, ()

    def backward(self, case, dy, state, values):
        return self.b(state, *dy)

    def gradients(self, case, got):
        return case.by_name(self.f, 1, got)


def depending(y, inputs):
    """A plain number that a function of tensors returned, as a tensor whose gradients are 0."""
    return y + 0 * sum(x.sum() for x in inputs) if isinstance(y, (int, float)) else y


class Torch:
    """A function of tensors, a Module with its parameters, or a Function: PyTorch runs backward."""
    library, others = "torch", lambda self: []

    def __init__(self, f):
        torch = sys.modules["torch"]
        self.f, self.declares, self.parameters = f, isinstance(f, type), {}
        if isinstance(f, torch.nn.Module):
            self.f = copy.deepcopy(f).double()
            self.parameters = {n: p.detach() for n, p in self.f.named_parameters()}

    def call(self, case, values):
        if self.declares:
            own = "setup_context" in vars(self.f)
            return self.f.apply(*(values[n] for n in case.arrange(self.f.forward, not own)[0]))
        if not self.parameters:
            return case.call(self.f, values)
        row, keywords = case.arrange(self.f.forward, 0)
        own = {n: values[n] for n in self.parameters}
        return sys.modules["torch"].func.functional_call(
            self.f, own, tuple(values[n] for n in row), {k: values[n] for k, n in keywords.items()})

    def forward(self, case, values):
        if self.parameters:  # which are double
            values = {n: v.double() if v.is_floating_point() else v for n, v in values.items()}
        x = {n: values[n].requires_grad_() for n in case.wanted}
        y = [depending(v, x.values()) for v in listed(self.call(case, values | x))]
        return y, (y, x), ()

    def backward(self, case, dy, state, values):
        y, x = state
        taken = [(a, d.to(a.dtype)) for a, d in zip(y, dy) if a.requires_grad]
        if not taken:
            raise ValueError("the output takes no gradient: it is no function of the inputs")
        ends, upstream = zip(*taken)
        grad = sys.modules["torch"].autograd.grad
        got = grad(ends, [*x.values()], upstream, retain_graph=True, allow_unused=True)
        got = dict(zip(x, got))
        if self.declares:
            return got
        return {n: x[n].detach() * 0 if g is None else g for n, g in got.items()}

    def gradients(self, case, got):
        return got


class Jax:
    """A function of jax: jax.vjp runs backward."""
    library, parameters, declares, others = "jax", {}, False, lambda self: []

    def __init__(self, f):
        self.f = f

    def forward(self, case, values):
        return listed(case.call(self.f, values)), None, ()

    def backward(self, case, dy, state, values):
        x = [values[n] for n in case.wanted]
        def function(*x):
            return depending(case.call(self.f, values | dict(zip(case.wanted, x))), x)
        y, vjp = sys.modules["jax"].vjp(function, *x)
        return dict(zip(case.wanted, vjp(type(y)(dy) if isinstance(y, (tuple, list)) else dy[0])))

    def gradients(self, case, got):
        return got


def convention(f, b=None, given=()):
    """The form of what check is given."""
    values = [*reachable(f, {}).values(), *dict(given).values()]
    library = next((n for n in ("torch", "jax") if any(is_of(v, n) for v in values)), "numpy")
    torch = sys.modules.get("torch")
    if callable(f) and callable(b):
        own = getattr(f, "__self__", None)
        if inspect.ismethod(f) and own is getattr(b, "__self__", None):
            return Layer(own, f.__name__, b.__name__, library)
        return Functions(f, b, library)
    if b is None and torch and (isinstance(f, torch.nn.Module) or
                                isinstance(f, type) and issubclass(f, torch.autograd.Function)):
        return Torch(f)
    names = [n for n in ("forward", "backward", "compute", "gradient")
             if callable(getattr(f, n, None))]
    if b is None and len(names) >= 2:
        first = list(inspect.signature(getattr(f, names[0])).parameters)[:2]
        if "ctx" in first:
            return Context(f if first[0] == "ctx" else f(), library)
        if isinstance(inspect.getattr_static(f, names[0]), staticmethod):
            return Functions(getattr(f, names[0]), getattr(f, names[1]), library)
        return Layer(f, *names[:2], library)
    if b is None and callable(f) and not isinstance(f, type):
        return {"torch": Torch, "jax": Jax}.get(library, Functions)(f)
    wrong = b if callable(f) and not isinstance(f, type) and b is not None else f
    found = f"class {f.__name__}" if isinstance(f, type) else f"object {type(wrong).__name__}"
    raise TypeError(f"check: found the {found}, takes two functions, a class or object with "
                    "forward and backward, or a function of torch or jax")


class Judged:
    """A function's name, its form, and what check is given."""
    def __init__(self, name, form, given):
        self.name, self.form = name, form
        own = form and parameters_of(form.f) or {}
        self.options = {k: given[k] for k in OPTIONS if k in given and k not in own}
        self.given = {k: v for k, v in given.items() if k not in self.options}
        self.given |= form.parameters if form else {}
        if not any(is_shape(v) or is_array(v) for v in self.given.values()):
            self.given = {k: np.float64(v) if isinstance(v, float) else v
                          for k, v in self.given.items()}
        self.inputs = [k for k, v in self.given.items() if is_shape(v) or is_array(v)]
        self.constants = {k for k in self.inputs
                          if self.option("constant", k) or is_integer(self.given[k])}

    def option(self, option, name):
        v = self.options.get(option)
        if isinstance(v, dict):
            return v.get(name)
        if isinstance(v, str):
            return v == name
        return name in v if isinstance(v, (list, tuple, set)) else v

    def try_out(self):
        """Runs once; the judge meets the same errors. A function alone without a gradient in NumPy
        may be one of tensors. An array whose gradient is None takes none, and any input beside
        ctx."""
        for form in [self.form, *self.form.others()]:
            try:
                got = self.gradients_of(form)
            except Exception:
                continue
            self.form = form
            self.constants |= {n for n, g in got.items()
                               if g is None and (is_array(self.given[n]) or form.declares)}
            return

    def gradients_of(self, form):
        wanted = [n for n in self.inputs if n not in self.constants]
        case, values = Case(form, self.given, self.inputs, wanted), {}
        for n, make in case.makers.items():
            v = self.given[n]
            values[n] = make(np.random.uniform(0.5, 1, v) if is_shape(v) else plain(v))
        values |= case.arguments
        y, state, _ = form.forward(case, values)
        dy = [maker(None, form.library)(np.ones(np.shape(plain(a)))) for a in y]
        return form.gradients(case, form.backward(case, dy, state, values))

    @functools.cache
    def generators(self):
        """Those of random numbers that its functions reach."""
        return generators(reachable(self.form, {}).values())

    def about(self, name):
        v = self.given[name]
        low, high = self.option("low", name), self.option("high", name)
        about = {"name": name, "shape": [int(n) for n in (v if is_shape(v) else plain(v).shape)]}
        if low is not None or high is not None:
            about["low"] = float(min(-2, high - 2) if low is None else low)
            about["high"] = float(max(2, low + 2) if high is None else high)
        if is_array(v):
            about["values"] = 1
        if name in self.constants:
            about["constant"] = 1
        return about

    def listed(self):
        """The case in the first line of the protocol, and its arrays."""
        case = {"function": self.name, "inputs": [self.about(n) for n in self.inputs]}
        if any(self.option("flat", n) for n in self.inputs):
            case["flat"] = 1
        return case, [plain(self.given[n]) for n in self.inputs if is_array(self.given[n])]
