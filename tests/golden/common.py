"""Fixed random numbers, and a writer whose bytes repeat."""
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
