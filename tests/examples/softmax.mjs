// A program for ./gradcheck --program "node tests/examples/softmax.mjs": softmax over the last axis, as src/check/PROTOCOL.md says.
import { readSync, writeSync } from "node:fs";

function read(size) {
    const bytes = Buffer.alloc(size);
    for (let at = 0, n; at < size; at += n)
        if ((n = readSync(0, bytes, at, size - at)) === 0) process.exit(0);
    return bytes;
}
function line() {
    let text = "";
    for (let c; (c = read(1).toString("latin1")) !== "\n"; ) text += c;
    return text;
}
function readArray() {
    const header = read(read(10).readUInt16LE(8)).toString("latin1");
    const shape = header.match(/\(([^)]*)\)/)[1].split(",").filter((n) => n.trim()).map(Number);
    const bytes = read(8 * shape.reduce((a, b) => a * b, 1));
    const wide = header.includes("<i8") ? BigInt64Array : Float64Array;
    return { shape, data: Array.from(new wide(bytes.buffer, bytes.byteOffset, bytes.length / 8), Number) };
}
function write(bytes) {
    for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}
function answer(shape, data) {
    const text = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`.padEnd(117) + "\n";
    const head = Buffer.concat([Buffer.from("ok 1\n\x93NUMPY\x01\x00\x76\x00", "latin1"), Buffer.from(text)]);
    write(Buffer.concat([head, Buffer.from(new Float64Array(data).buffer)]));
}
const rows = (x, f) => x.data.flatMap((_, i) => (i % x.shape.at(-1) ? [] : f(x.data.slice(i, i + x.shape.at(-1)), i)));
const softmax = (row) => {
    const e = row.map((v) => Math.exp(v - Math.max(...row)));
    return e.map((v) => v / e.reduce((a, b) => a + b, 0));
};

write(Buffer.from('{"cases": [{"function": "softmax", "inputs": [{"name": "x", "shape": [3, 5]}]}]}\n'));
for (let y; ; ) {
    const [word, runs, changes] = line().split(" ");
    if (word === "case") {
        write(Buffer.from("ok 0\n"));
    } else if (word === "forward") {
        const x = readArray(), all = { shape: [+runs, ...x.shape], data: Array(+runs).fill(x.data).flat() };
        const [places, values] = +changes ? [readArray().data, readArray().data] : [[], []];
        values.forEach((v, i) => (all.data[places[3 * i] * x.data.length + places[3 * i + 2]] = v));
        y = { shape: all.shape, data: rows(all, softmax) };
        answer(y.shape, y.data);
    } else {
        const dy = readArray().data;
        answer(y.shape, rows(y, (p, i) => {
            const dot = p.reduce((sum, v, k) => sum + v * dy[i + k], 0);
            return p.map((v, k) => v * (dy[i + k] - dot));
        }));
    }
}
