// A program for ./gradcheck --program "node tests/examples/softmax.mjs": softmax over the last
// axis, as src/tools/check/PROTOCOL.md says.
import {readSync, writeFileSync} from "node:fs";

function read(size, bytes = Buffer.alloc(size)) {
  for (let at = 0; at < size;) at += readSync(0, bytes, at, size - at) || process.exit(0);
  return bytes;
}
function readArray() {
  const header = read(read(10).readUInt16LE(8)).toString();
  const shape = header.match(/\(([^)]*)\)/)[1].split(",").filter((n) => n.trim()).map(Number);
  const {buffer} = read(8 * shape.reduce((a, b) => a * b, 1));
  return {
    shape,
    data: Array.from(
        header.includes("<i8") ? new BigInt64Array(buffer) : new Float64Array(buffer), Number)
  };
}
function answer(shape, data) {
  const header =
      `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`.padEnd(117) +
      "\n";
  const start = Buffer.from("ok 1\n\x93NUMPY\x01\x00\x76\x00" + header, "latin1");
  writeFileSync(1, Buffer.concat([start, Buffer.from(new Float64Array(data).buffer)]));
}
const sum = (x) => x.reduce((a, b) => a + b, 0);
const normalized = (x) => x.map((v) => v / sum(x));
const softmax = (x) => normalized(x.map((v) => Math.exp(v - Math.max(...x))));
const rows = (x, n, f) => x.flatMap((_, i) => (i % n ? [] : f(x.slice(i, i + n), i)));

writeFileSync(
    1, '{"cases": [{"function": "softmax", "inputs": [{"name": "x", "shape": [3, 5]}]}]}\n');
for (let line = "", shape, y;; line = "") {
  for (let c; (c = read(1).toString()) !== "\n";) line += c;
  const [word, runs, changes] = line.split(" ");
  if (word === "case") writeFileSync(1, "ok 0\n");
  if (word === "forward") {
    const x = readArray(), all = Array(+runs).fill(x.data).flat();
    const [places, values] = +changes ? [readArray().data, readArray().data] : [[], []];
    values.forEach((v, i) => (all[places[3 * i] * x.data.length + places[3 * i + 2]] = v));
    [shape, y] = [[+runs, ...x.shape], rows(all, x.shape.at(-1), softmax)];
    answer(shape, y);
  }
  if (word !== "backward") continue;
  const {data: dy} = readArray();
  answer(
      shape,
      rows(
          y, shape.at(-1),
          (p, at) => p.map((v, k) => v * (dy[at + k] - sum(p.map((w, j) => w * dy[at + j]))))));
}
