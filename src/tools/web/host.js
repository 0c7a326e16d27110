// A visitor's functions as a program for ./gradcheck --program, in the page and in a file for Node.
'use strict';
// Answers messages of src/tools/check/PROTOCOL.md: read(n) returns the next n bytes, write(bytes)
// sends some. `name` and `inputs`, {x: [3, 5], labels: {shape, values}}, are listed at once; each
// call of the result answers one message. An error in one of the first `lines` lines of the program
// is told with its line.
function host({name, inputs, forward, backward, lines}, read, write) {
  const text = s => write(new TextEncoder().encode(s + '\n'));
  const size = shape => shape.reduce((a, b) => a * b, 1);
  const tensor = (numbers, shape) => Object.assign(Float64Array.from(numbers), {shape});
  const names = Object.keys(inputs), shapes = names.map(k => inputs[k].shape ?? inputs[k]);
  const constant = names.map(k => !Array.isArray(inputs[k]));

  function readArray() {
    const start = read(10), header = String.fromCharCode(...read(start[8] | start[9] << 8));
    const shape = header.match(/\(([^)]*)\)/)[1].split(',').filter(n => n.trim()).map(Number);
    const {buffer} = read(8 * size(shape)).slice();
    const whole = header.includes('<i8');
    const numbers = new (whole ? BigInt64Array : Float64Array)(buffer);
    return tensor(Array.from(numbers, Number), shape);
  }
  function writeArray(shape, numbers) {
    const sizes = shape.map(n => n + ',').join(' ');
    const header = `{'descr': '<f8', 'fortran_order': False, 'shape': (${sizes}), }`;
    const text = '\x93NUMPY\x01\x00v\x00' + header.padEnd(117) + '\n';
    write(Uint8Array.from(text, c => c.charCodeAt(0)));
    write(new Uint8Array(Float64Array.from(numbers).buffer));
  }
  // What a function returned, as a tensor. An array without a shape has that of `like`, if it has
  // as many elements.
  function taken(x, what, like) {
    if (typeof x === 'number') return tensor([x], []);
    if (!x || x.length === undefined) throw new Error(`${what} is ${x}, need an array`);
    return tensor(x, x.shape ?? (like && size(like) === x.length ? like : [x.length]));
  }
  // Arrays of all runs, put together.
  function together(runs, what) {
    const {shape} = runs[0];
    if (runs.some(x => x.length !== runs[0].length))
      throw new Error(`${what} has another size in another run`);
    const all = new Float64Array(runs.length * runs[0].length);
    runs.forEach((x, i) => all.set(x, i * x.length));
    return [[runs.length, ...shape], all];
  }
  function unchanged(who, before, after) {
    const same = before.every((x, k) => x.every((v, i) => Object.is(v, after[k][i])));
    if (!same) throw new Error(who);
  }

  let kept = [], watched; // of each run: its inputs x and its output y
  const answers = {
    case: () => () => [],
    forward(runs, changes, watch) {
      const x = names.map(readArray);
      const [places, values] = +changes ? [readArray(), readArray()] : [[], []];
      watched = Boolean(watch);
      return () => {
        kept = Array.from({length: +runs}, () => ({x: x.map(v => tensor(v, v.shape))}));
        values.forEach((v, i) => {
          const [run, input, element] = places.slice(3 * i);
          kept[run].x[input][element] = v;
        });
        for (const run of kept) {
          const before = watched ? run.x.map(v => v.slice()) : [];
          run.y = taken(forward(...run.x), 'y');
          unchanged('forward changed its inputs', before, run.x);
        }
        return [together(kept.map(run => run.y), 'y')];
      };
    },
    backward() {
      const dy = readArray();
      return () => {
        const all = kept.map(({x, y}, i) => {
          const before = watched ? [...x, y].map(v => v.slice()) : [];
          const mine = dy.subarray(i * y.length, (i + 1) * y.length);
          const dx = backward(tensor(mine, y.shape), y, ...x);
          unchanged('backward changed its inputs or what forward returned', before, [...x, y]);
          const list = Array.isArray(dx) && typeof dx[0] !== 'number' ? dx : [dx];
          return names.map((k, i) => constant[i] || taken(list[i], 'd' + k, x[i].shape))
            .filter((_, i) => !constant[i]);
        });
        return all[0].map((_, k) => together(all.map(run => run[k]), 'a gradient'));
      };
    },
  };

  const fixed = {values: 1, constant: 1};
  const list = names.map((name, i) => ({name, shape: shapes[i], ...constant[i] && fixed}));
  text(JSON.stringify({cases: [{function: name, inputs: list}]}));
  names.forEach((k, i) => { if (constant[i]) writeArray(shapes[i], inputs[k].values); });
  return () => {
    let line = '';
    for (let c; (c = String.fromCharCode(read(1)[0])) !== '\n';) line += c;
    const [word, ...words] = line.split(' '), answer = answers[word](...words);
    let arrays;
    try {
      arrays = answer();
    } catch (error) {
      const places = [...String(error.stack).matchAll(/:(\d+):\d+\)?$/gm)].map(m => +m[1]);
      const at = places.find(n => n <= lines), said = String(error).replace(/\s+/g, ' ');
      return text(`error ${said.slice(0, 800)}${at ? ', line ' + at : ''}`);
    }
    text('ok ' + arrays.length);
    arrays.forEach(a => writeArray(...a));
  };
}

// A tensor of zeros.
function zeros(shape) {
  return Object.assign(new Float64Array(shape.reduce((a, b) => a * b, 1)), {shape});
}

// The text of a module around the visitor's text, which stands first, so that lines keep their
// numbers. Its default is (read, write) => host.
function programOf(exercise, text) {
  return `${moduleOf(exercise, text)}
export default (read, write) => host(functions, read, write);
`;
}

// The same as a file for ./gradcheck --program "node NAME.mjs".
function fileOf(exercise, text) {
  return `${moduleOf(exercise, text)}
import {readSync, writeFileSync} from 'node:fs';
function read(n) {
  const bytes = new Uint8Array(n);
  for (let at = 0; at < n;) at += readSync(0, bytes, at, n - at) || process.exit(0);
  return bytes;
}
console.log = console.error; // standard output belongs to the answers
for (const answer = host(functions, read, bytes => writeFileSync(1, bytes));;) answer();
`;
}
function moduleOf({name, given}, text) {
  const functions = `const functions = {
  name: '${name}', inputs, forward, backward, lines: ${text.split('\n').length},
};`;
  const parts = [text, '// ---- given ----', given, zeros, host, functions];
  return parts.filter(Boolean).join('\n\n');
}
