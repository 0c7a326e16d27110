// A program for ./gradcheck --program "node tests/examples/softmax.mjs": softmax over the last axis, as src/check/PROTOCOL.md says.
import { readSync, writeSync } from "node:fs";

function read(size, bytes = Buffer.alloc(size)) {
    for (let at = 0, n; at < size; at += n)
        if ((n = readSync(0, bytes, at, size - at)) === 0) process.exit(0);
    return bytes;
}
function readLine(text = "") {
    for (let c; (c = read(1).toString()) !== "\n"; ) text += c;
    return text;
}
function readArray() {
    const header = read(read(10).readUInt16LE(8)).toString();
    const shape = header.match(/\(([^)]*)\)/)[1].split(",").filter((n) => n.trim()).map(Number);
    const { buffer } = read(8 * shape.reduce((a, b) => a * b, 1));
    return { shape, data: Array.from(header.includes("<i8") ? new BigInt64Array(buffer) : new Float64Array(buffer), Number) };
}
function answer(shape, data) {
    const header = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`.padEnd(117) + "\n";
    const start = Buffer.from("ok 1\n\x93NUMPY\x01\x00\x76\x00" + header, "latin1");
    const bytes = Buffer.concat([start, Buffer.from(new Float64Array(data).buffer)]);
    for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}
const sum = (x) => x.reduce((a, b) => a + b, 0);
const rows = (x, n, f) => x.flatMap((_, i) => (i % n ? [] : f(x.slice(i, i + n), i)));
const softmax = (x) => {
    const e = x.map((v) => Math.exp(v - Math.max(...x)));
    return e.map((v) => v / sum(e));
};

writeSync(1, '{"cases": [{"function": "softmax", "inputs": [{"name": "x", "shape": [3, 5]}]}]}\n');
for (let shape, y; ; ) {
    const [word, runs, changes] = readLine().split(" ");
    if (word === "case") {
        writeSync(1, "ok 0\n");
    } else if (word === "forward") {
        const x = readArray(), all = Array(+runs).fill(x.data).flat();
        const [places, values] = +changes ? [readArray().data, readArray().data] : [[], []];
        values.forEach((v, i) => (all[places[3 * i] * x.data.length + places[3 * i + 2]] = v));
        [shape, y] = [[+runs, ...x.shape], rows(all, x.shape.at(-1), softmax)];
        answer(shape, y);
    } else {
        const dy = readArray().data;
        const dx = (p, at) => p.map((v, k) => v * (dy[at + k] - sum(p.map((w, j) => w * dy[at + j]))));
        answer(shape, rows(y, shape.at(-1), dx));
    }
}
