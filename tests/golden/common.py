"""What all golden files need: fixed random numbers, a writer whose bytes repeat, and a strict comparison."""
import json
import zlib

import numpy as np

DTYPES = {np.dtype("<f8"): "F64", np.dtype("<i8"): "I64"}


def stream(name):
    """Random numbers fixed by name alone: another case added or removed leaves this one as it is."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def single(x):
    """Rounded to single precision, stored in double: the float and the double build read the same numbers."""
    return np.asarray(x, np.float32).astype(np.float64)


def normal(rng, *shape):
    return single(rng.standard_normal(shape))


def write(path, tensors, metadata=None):
    """A safetensors file. The safetensors package writes __metadata__ in an order that differs from run to
    run; here names are sorted and the header is padded with spaces to a multiple of 8."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = dict(sorted(metadata.items()))
    for name in sorted(tensors):
        x = np.asarray(tensors[name])
        raw = x.tobytes()
        header[name] = {
            "dtype": DTYPES[x.dtype],
            "shape": list(x.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def agree(what, found, want, tolerance):
    """Stops unless shapes are equal and all elements are within tolerance times max(1, largest magnitude)."""
    found, want = np.asarray(found), np.asarray(want)
    if found.shape != want.shape:
        raise SystemExit(f"{what}: found shape {found.shape}, need {want.shape}")
    error = np.max(np.abs(found - want), initial=0) / max(1, np.max(np.abs(want), initial=0))
    if not error <= tolerance:
        raise SystemExit(f"{what}: found a difference of {error:.3g}, need at most {tolerance:.3g}")


def agree_along(what, f, x, dx, rng, step=1e-6, tolerance=1e-7):
    """Holds the gradient dx of the scalar function f at the array x against a central difference of f along a
    random direction. f must read x anew at each call: x is moved in place and put back."""
    direction = rng.standard_normal(x.shape)
    at = x.copy()
    x[...] = at + step * direction
    above = f()
    x[...] = at - step * direction
    below = f()
    x[...] = at
    slope = np.sum(dx * direction)
    scale = max(1e-2, np.sum(np.abs(dx * direction)))
    agree(what, (above - below) / (2 * step) / scale, slope / scale, tolerance)
