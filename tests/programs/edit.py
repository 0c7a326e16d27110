"""edit.py FROM TO NAME [VALUE]: copies a safetensors file, without our checksum, and gives a key of
its metadata this value, or leaves it out. The tensor NAME is left out or becomes `F64`, `I32`, of
another `shape`, or begins with VALUE. NAME `more` adds a tensor, `*` makes all weights 9e17."""
import json
import struct
import sys

source, target, name, value = (sys.argv[1:] + [None])[:4]
with open(source, "rb") as file:
    data = file.read()
start = 8 + int.from_bytes(data[:8], "little")
header = json.loads(data[8:start])
notes = header.pop("__metadata__")
notes.pop("crc32", None)
parts = {n: data[start:][slice(*tensor["data_offsets"])] for n, tensor in header.items()}
if name == "*":
    parts = {n: struct.pack("<f", 9e17) * (len(part) // 4) for n, part in parts.items()}
elif name == "more":
    header[name], parts[name] = {"dtype": "F32", "shape": [1]}, bytes(4)
elif name not in header:
    notes.pop(name, None)
    notes.update({name: value} if value is not None else {})
elif value is None:
    del header[name]
elif value == "shape":
    header[name]["shape"] = [header[name]["shape"][0] * 2, header[name]["shape"][1] // 2]
elif value in ("F64", "I32"):
    header[name]["dtype"] = value
    parts[name] = parts[name] * (2 if value == "F64" else 1)
else:
    parts[name] = struct.pack("<f", float(value)) + parts[name][4:]
body = b""
for n, tensor in header.items():
    tensor["data_offsets"] = [len(body), len(body) + len(parts[n])]
    body += parts[n]
text = json.dumps({"__metadata__": notes, **header}, separators=(",", ":")).encode()
with open(target, "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text + body)
