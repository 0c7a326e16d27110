"""train, generate and gradcheck under failures: of an allocation or a system call, by a kill, on a
full disk. They end with a documented status and one line. The earlier model or the one saved by the
new run is there, whole, and nothing else is left. The next run does what it would have done. A
training with a checkpoint is resumed, and ends in the bits of an undisturbed one.

    BUILD=build [ALL=1] python3 tests/faults/faults.py [WORD...]

With words, only tests whose line has one of them run. Without ALL a sample of the places fails;
with ALL every place, and allocations of other commands too. System calls fail by strace, if it is
installed; the full disk needs the right to mount one. Prints `ok   …` or `FAIL …` for each
test, as the test programs do."""
import collections
import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
HERE = os.path.dirname(os.path.abspath(__file__))
SHIM, SUPPORT = HERE + "/shim.c", HERE + "/../support"
CORE = HERE + "/../../src/core"
ALL = bool(os.environ.get("ALL"))
STATUSES = {0, 1, 2, 3, 4, 65, 66, 71, 73, 74, 78}
TEXT = "the cat sat on the mat, and the dog sat on the cat.\n" * 20
TRAIN = [
    "float/train", "lm", "--text", "text", "--context", "8", "--d-model", "8", "--heads", "2",
    "--layers", "1", "--batch", "4", "--steps", "6", "--eval-every", "3", "--checkpoint-every", "2",
    "--threads", "2", "--quiet", "--force", "--run", "run"
]
RESUME = ["float/train", "--resume", "run", "--quiet"]
OLD = TRAIN[:-2] + ["--seed", "9", "--run", "run"]
JOBS = {
    "train": TRAIN,
    "tune": [*TRAIN, "--from", "../old/run", "--train", "*norm*"],
    "generate": ["float/generate", "run", "--prompt", "the", "--length", "20"],
    "gradcheck": ["double/gradcheck", "model", "lm", "--samples", "0", "--out", "gradients"],
}
# With ALL, where allocations fail.
MORE = {
    "copy": [
        "float/train", "copy", *TRAIN[6:14], "--symbols", "5", "--max-length", "4", "--held-out",
        "9", "--steps", "2", "--threads", "2", "--force", "--quiet", "--run", "other"
    ],
    "resume": [*RESUME, "--steps", "7"],
    "pages": ["double/explain", "run", "--text", "the cat"],
    "walk": ["double/explain", "--model", "run", "--text", "the cat", "--json"],
    "words": ["double/explain", "--text", "the cat", "--backward", "--json"],
    "modern": ["double/explain", "--modern", "--text", "low low", "--json"],
    "graph": ["double/explain", "graph", "--json"],
    "check": ["double/gradcheck", "neg", "--reports", "lines", "--gradescope", "g.json"],
    "save": ["double/gradcheck", "model", "seq2seq", "--save", "saved"],
}
MODEL, CHECKPOINT, GRADIENTS = "run/model.safetensors", "run/checkpoint.safetensors", "gradients"
RESULTS_JSON = "g.json"
BEST = "run/best.safetensors"
RESULTS = (MODEL, CHECKPOINT, BEST, GRADIENTS)


def command(job):
    return [os.path.join(BUILD, job[0]), *job[1:]]


def run(arguments, env=None):
    done = subprocess.run(arguments, capture_output=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(env or {})}, timeout=120)
    return done.returncode, timeless(done.stdout), done.stderr.decode(errors="replace")


def timeless(out):
    return re.sub(rb"in \d+\.\d s", b"", out)


def digest(path):
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except FileNotFoundError:
        return None


def state():
    return [digest(path) for path in RESULTS]


def figures():
    """What the record's steps and evaluations say, but for times."""
    with open("run/run.jsonl") as file:
        lines = [json.loads(line) for line in file]
    return [{
        key: value
        for key, value in line.items() if key not in ("seconds", "tokens_per_second")
    } for line in lines if line["event"] in ("step", "evaluation")]


def files():
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(".") for name in names)


class Job:
    """A program in a folder where an old run is: how it goes undisturbed, and then how it goes."""

    def __init__(self, name):
        self.name, self.command = name, command({**JOBS, **MORE}[name])
        self.reset()
        self.old = state()
        status, self.out, err = run(self.command)
        if status:
            raise SystemExit(f"{name}: status {status}: {err}")
        self.new, self.files, self.figures = state(), files(), figures()

    @staticmethod
    def reset():
        """The old run, with the old weights."""
        if not os.path.exists("../old"):
            status, _, err = run(command(OLD))
            if status:
                raise SystemExit(f"train: status {status}: {err}")
            shutil.copytree(".", "../old")
        for path in files():
            os.remove(path)
        shutil.copytree("../old", ".", dirs_exist_ok=True)

    def check(self, where, status, out, err, killed=False):
        """The promises; raises where one is broken."""
        if not (killed and status == -signal.SIGKILL):
            lines = err.splitlines()
            assert status in STATUSES, f"{where}: status {status}: {err}"
            # Said when it happens, and gone on: a checkpoint, the best model, and the record.
            lines = [
                line for line in lines
                if not re.match(r"no (checkpoint|best model) at step |no record: ", line)
            ]
            found = f"status {status}, found {len(lines)} lines: {err}"
            assert len(lines) == (status != 0), f"{where}: {found}"
            if os.path.exists(RESULTS_JSON):
                json.load(open(RESULTS_JSON))
            done = status or (self.as_undisturbed("no best model" in err) and out == self.out)
            assert done, f"{where}: done, and it is not"
            left = [path for path in files() if "tmp" in path]
            assert not left or "unlink" in where, f"{where}: {left} left"
        for path, index in ((MODEL, 0), (GRADIENTS, 3)):
            old, new = self.old[index], self.new[index]
            # An error in the middle of training keeps what was learned until then, with a
            # checkpoint of it.
            early = path == MODEL and status > 0 and digest(CHECKPOINT) not in (self.old[1], None)
            is_known = early or digest(path) in (old, new, None)
            assert is_known, f"{where}: {path} is neither old nor new"
        if state() != self.old or any("tmp" in path for path in files()):
            self.recover(where, "run/run.jsonl: " in err, "no best model" in err)
            self.reset()

    def as_undisturbed(self, without_best):
        """Results are those of a run where nothing fails; `without_best` excepts the best model."""
        but = (BEST, CHECKPOINT) if without_best else ()
        return all(found == want for path, found, want in zip(RESULTS, state(), self.new)
                   if path not in but)

    def recover(self, where, lost_row, lost_best):
        """A run that replaces another leaves the old model, or what the new one learned."""
        if self.name != "train":
            return
        if digest(CHECKPOINT) in (self.old[1], None):
            has_model = digest(MODEL) in (self.old[0], self.new[0])
            kept = has_model or digest(BEST) not in (self.old[2], None)
            assert kept, f"{where}: the old run is gone, and nothing of the new one is there"
            return
        status, _, err = run(command(RESUME))
        assert status == 0, f"{where}: gone on with: status {status}: {err}"
        assert self.as_undisturbed(lost_best), f"{where}: gone on with, it ends in other bits"
        assert lost_row or figures() == self.figures, f"{where}: gone on with, it has other figures"

    def goes_again(self, where):
        """Nothing that is left keeps the next run from what it does."""
        status, out, err = run(self.command)
        is_same = status == 0 and state() == self.new and out == self.out
        assert is_same, f"behind {where}: status {status}: {err}"
        assert files() == self.files, f"behind {where}: {set(files()) ^ set(self.files)}"
        self.reset()


def sample(count, most):
    """1 … count; without ALL the first, the last and some between."""
    if ALL or count <= most:
        return range(1, count + 1)
    return sorted({1 + i * (count - 1) // (most - 1) for i in range(most)})


# ---- Allocations ----


def shim_env(shim, at, sticky=False):
    env = {"LD_PRELOAD": shim, "FAULT_AT": str(at), "FAULT_COUNT": os.path.abspath("../count")}
    return {**env, "FAULT_STICKY": "1"} if sticky else env


def test_memory(job, shim):
    """Every allocation fails, once and from there on."""
    run(job.command, shim_env(shim, 0))
    count = int(open("../count").read())
    job.reset()
    some = sample(count, 12)
    for sticky in (False, True):
        for at in some:
            where = f"allocation {at} of {count}{' and all behind' if sticky else ''}"
            status, out, err = run(job.command, shim_env(shim, at, sticky))
            job.check(where, status, out, err)
    job.goes_again("allocations")
    return f"{2 * len(some)} of {2 * count} allocations"


# ---- System calls ----

CALLS = [
    "open", "openat", "read", "pread64", "write", "pwrite64", "writev", "close", "fsync",
    "fdatasync", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "flock", "fcntl",
    "fstat", "newfstatat", "lseek", "readlink", "faccessat2", "fchmod", "ftruncate", "fallocate",
    "mmap"
]
ERRORS = ["EIO", "ENOSPC", "EINTR", "ENOMEM"]


def known(calls):
    """Those that this machine has."""
    return [
        c for c in calls if run(["strace", "-o", "/dev/null", "-e", f"trace={c}", "true"])[0] == 0
    ]


def traced(job, *options):
    return run(["strace", "-f", "-qq", "-o", "../trace", *options, *job.command])


def count_calls(job, calls):
    """The calls of each function; those of the loader before main are not the program's."""
    traced(job, "-e", "trace=" + ",".join(calls))
    names = [re.match(r"\d+ +(\w+)\(", line) for line in open("../trace", errors="replace")]
    names = [m.group(1) for m in names if m]
    loading = run([
        "strace", "-f", "-qq", "-o", "../trace", "-e", "trace=" + ",".join(calls), job.command[0],
        "--nonsense"
    ])
    loaded = [re.match(r"\d+ +(\w+)\((.*)", line) for line in open("../trace", errors="replace")]
    before = collections.Counter()
    for m in loaded:
        if m and m.group(1) == "write":
            break
        if m:
            before[m.group(1)] += 1
    assert loading[0] == 2, loading
    job.reset()
    return collections.Counter(names), before


def places(job, calls, most):
    """(call, n) for the program's calls."""
    counts, before = count_calls(job, calls)
    everywhere = [(c, n) for c in calls for n in range(before[c] + 1, counts[c] + 1)]
    return [everywhere[i - 1] for i in sample(len(everywhere), most)], len(everywhere)


def test_system_calls(job, calls):
    """Every one of them fails, in four ways."""
    some, count = places(job, calls, 12)
    for i, (call, n) in enumerate(some):
        for error in ERRORS if ALL else [ERRORS[i % len(ERRORS)]]:
            where = f"{call} {n}: {error}"
            status, out, err = traced(job, "-e", f"trace={call}", "-e",
                                      f"inject={call}:error={error}:when={n}")
            job.check(where, status, out, err)
    job.goes_again("system calls")
    return f"{len(some) * (len(ERRORS) if ALL else 1)} of {count * len(ERRORS)} failing calls"


def test_kills(job, calls):
    """Killed at every one of them."""
    some, count = places(job, calls, 12)
    for call, n in some:
        where = f"killed at {call} {n}"
        status, out, err = traced(job, "-e", f"trace={call}", "-e",
                                  f"inject={call}:signal=KILL:when={n}")
        job.check(where, status, out, err, killed=True)
        job.goes_again(where)
    return f"{len(some)} of {count} calls"


# ---- Places that hold nothing ----


def test_full_disk(job, _):
    """Disks with room for more and more of what is written."""
    os.makedirs("../disk", exist_ok=True)
    used = sum(-(-os.path.getsize(path) // 4096) * 4
               for path in files()) + 16  # KB, about, and there is some room
    here, sizes = os.getcwd(), [
        used + more for more in (range(0, 80, 4) if ALL else (0, 8, 24, 48))
    ]
    if run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "../disk"])[0]:
        return None
    run(["umount", "../disk"])
    full = 0
    for kilobytes in sizes:
        assert run(
            ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,nr_inodes=40", "tmpfs",
             "../disk"])[0] == 0
        try:
            os.chdir("../disk")
            try:
                shutil.copytree(here, ".", dirs_exist_ok=True)
            except (OSError, shutil.Error):
                continue
            status, out, err = run(job.command)
            full += status in (73, 74)
            assert status in (0, 73, 74), f"{kilobytes} KB: status {status}: {err}"
            assert len([x for x in err.splitlines() if not x.startswith("no ")]) == (status
                                                                                     != 0), err
            assert status == 0 or digest(MODEL) in (job.old[0], job.new[0],
                                                    None), f"{kilobytes} KB: the old model is gone"
            if status and digest(MODEL) is None and job.name == "train":
                assert digest(CHECKPOINT) or digest(BEST), f"{kilobytes} KB: all is gone"
            assert not [path for path in files() if "tmp" in path], files()
        finally:
            os.chdir(here)
            run(["umount", "../disk"])
    assert full > 0 or job.name == "generate", "no disk was full"
    return f"{len(sizes)} sizes, {full} full"


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "here"))
        os.chdir(os.path.join(folder, "here"))
        with open("text", "w") as file:
            file.write(TEXT)
        shim = os.path.join(folder, "shim.so")
        subprocess.run(os.environ.get("CC", "cc").split() +
                       ["-shared", "-fPIC", "-D_GNU_SOURCE", "-I" + SUPPORT, "-I" + CORE, SHIM,
                        "-o", shim],
                       check=True)
        calls = known(CALLS) if shutil.which("strace") and run(["strace", "true"])[0] == 0 else None
        tests = [(test_memory, shim), (test_system_calls, calls), (test_kills, calls),
                 (test_full_disk, True)]
        job = None
        more = itertools.product(MORE if ALL else [], tests[:1])
        for name, (test, argument) in itertools.chain(itertools.product(JOBS, tests), more):
            line = f"faults: {name}: {test.__name__[5:].replace('_', ' ')}"
            if not any(word in line for word in sys.argv[1:] or [""]):
                continue
            try:
                job = job if job and job.name == name else Job(name)
                job.reset()
                said = test(job, argument) if argument else None
                print(
                    f"skip {line}" if said is None else f"ok   {line}{': ' if said else ''}{said}",
                    flush=True)
            except AssertionError as e:
                failed += 1
                print(f"  {e}\nFAIL {line}", flush=True)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
