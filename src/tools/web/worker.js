'use strict';
// Runs the modules in a worker: `serve` answers messages {id, op, …} with {id, …result} or
// {id, error, status}. It uses no name from outside, because the worker is made from its text, so
// that the page needs no second file. `modules` are the two modules, compressed, as base64.
function serve(modules, scope) {
  // An error after which the module is still usable.
  const refusal = (error, status) => Object.assign(new Error(error), {status});
  const LEFT = new Error('left');

  // ---- A module: WebAssembly with the few system calls that its C library makes ----

  class Module {
    output = ['', '', '']; // by file descriptor
    decoder = [0, 1, 2].map(() => new TextDecoder());

    constructor(compiled) {
      const imports = {};
      for (const {module, name} of WebAssembly.Module.imports(compiled))
        (imports[module] ??= {})[name] = this.system[name] ?? (() => 52);
      this.exports = new WebAssembly.Instance(compiled, imports).exports;
      this.exports._initialize();
    }

    system = {
      fd_write: (fd, list, count, written) => {
        let sum = 0;
        for (let at = list; at < list + 8 * count; at += 8) {
          const [from, size] = [at, at + 4].map(at => this.view().getUint32(at, true));
          const bytes = this.bytes(from, size);
          this.output[fd] += this.decoder[fd].decode(bytes, {stream: true});
          sum += size;
        }
        return this.put(written, sum);
      },
      clock_time_get: (id, precision, out) => {
        this.view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
      },
      // There are no variables. Without this function the C library ends the module at the first
      // getenv.
      environ_sizes_get: (count, bytes) => this.put(count, 0) + this.put(bytes, 0),
      fd_prestat_get: () => 8, // EBADF: no directory is open
      proc_exit: status => { throw new Error('exit ' + status); },
      // The functions that editor.c imports: a job that leaves ends like one that returns.
      start: () => this.host.start(),
      tell: (at, size) => this.host.tell(this.bytes(at, size).slice()),
      hear: (at, size) => {
        const heard = this.host.hear(size);
        this.bytes(at, heard.length).set(heard);
        return heard.length;
      },
      leave: () => { throw LEFT; },
      attempt: () => {
        const {attempted, __stack_pointer: stack} = this.exports, top = stack.value;
        try { attempted(); } catch (error) { if (error !== LEFT) throw error; }
        stack.value = top;
      },
    };

    view() { return new DataView(this.exports.memory.buffer); }
    put(at, value) { this.view().setUint32(at, value, true); return 0; }
    bytes(at, size) { return new Uint8Array(this.exports.memory.buffer, at, size); }

    path(name) {
      const bytes = new TextEncoder().encode(name + '\0');
      this.bytes(this.exports.path(), bytes.length).set(bytes);
      return this.exports.path();
    }

    // Makes a file of a text or of bytes.
    write(name, contents) {
      const text = typeof contents === 'string';
      const bytes = text ? new TextEncoder().encode(contents) : contents, {length} = bytes;
      const at = length <= 64 << 20 && this.exports.file_write(this.path(name), length);
      if (!at) throw refusal(`${name}: found ${length} bytes, need fewer`, 65);
      this.bytes(at, length).set(bytes);
    }

    // Calls an entry point and returns its output. An error stands behind a form feed.
    call(name, ...numbers) {
      this.output.fill('');
      this.exports[name](...numbers), this.exports.end();
      const [result, failure] = this.output[1].split('\f');
      if (!failure) return result;
      const {error, status} = JSON.parse(failure);
      throw refusal(error, status);
    }
    ask(...call) { return JSON.parse(this.call(...call)); }
  }

  const running = {}, compiled = {};
  async function open(name) {
    if (!compiled[name]) {
      const packed = Uint8Array.from(atob(modules[name]), c => c.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
      compiled[name] = await WebAssembly.compile(await new Response(stream).arrayBuffer());
    }
    return running[name] = new Module(compiled[name]);
  }

  // ---- Requests of the page ----

  const number = (x, otherwise = -1, most = 1e9) =>
    Number.isFinite(x) ? Math.min(x, most) : otherwise;
  // f(m) without what is switched off: mask, positions, the heads of q.off,
  // ['encoder.layers.0.self_attn 2', …]. The module has the text of q in a file.
  function switched(q, m, f) {
    const flip = () => m.call('flip', q.mask !== false, q.positions !== false);
    if (q.text !== undefined) m.write('text', String(q.text));
    m.write('off', (q.off ?? []).join('\n'));
    flip();
    try { return f(m); } finally { flip(); }
  }

  const training = {
    start(q, m) {
      const own = q.text !== undefined;
      if (own) m.write('your text', String(q.text));
      m.write('settings', String(q.config) + (own ? '\ntext your text' : ''));
      return m.ask('start', q.mask !== false, q.positions !== false);
    },
    step: (q, m) => m.ask('step', number(q.n, 1), number(q.ms, 50), Boolean(q.more)),
    rate: (q, m) => ({said: m.call('rate', number(q.rate, 0))}),
    evaluate: (q, m) =>
      switched(q, m, () => m.ask('evaluate', number(q.rows, 128), Boolean(q.off))),
    answer: (q, m) => switched(q, m, () => m.ask('answer', number(q.more, 100, 10000), false)),
    save(q, m) {
      m.call('save');
      const path = m.path('saved/model.safetensors'), {file_data, file_size} = m.exports;
      return {bytes: m.bytes(file_data(path), file_size(path)).slice()};
    },
    load(q, m) {
      m.write('upload/model.safetensors', new Uint8Array(q.bytes));
      return m.ask('load');
    },
  };

  // The numbers of a tensor in row-major order, copied out of the module. stride undefined: they
  // are in that order.
  function copied(m, shape, data, stride) {
    const count = shape.reduce((a, b) => a * b, 1), {buffer} = m.exports.memory;
    if (!data) return null;
    if (!stride) return new Float64Array(buffer, data, count).slice();
    const all = new Float64Array(buffer), out = new Float64Array(count), index = shape.map(() => 0);
    for (let i = 0, at = data / 8; i < count; i++) {
      out[i] = all[at];
      for (let k = shape.length - 1; k >= 0; at -= stride[k] * shape[k--]) {
        at += stride[k];
        if (++index[k] < shape[k]) break;
        index[k] = 0;
      }
    }
    return out;
  }

  const studying = {
    // Both passes of the other module's model over the text: its tokens, and the records of the
    // tape.
    walk(q, m) {
      const {float} = running;
      if (!float) throw refusal('found no model, need start or load first', 66);
      float.write('answer', String(q.answer ?? '')), float.write('text', String(q.text));
      const {lm, begin, end, ...read} = float.ask('answer', number(q.more, 0, 1000), true);
      m.write('saved/model.safetensors', switched(q, float, () => training.save(q, float)).bytes);
      const source = lm ? [] : read.source, target = lm ? read.source : [begin, ...read.ids];
      const next = lm ? [...target.slice(1), -1] : [...read.ids, end];
      for (const [name, ids] of Object.entries({source, target, next}))
        m.write(name, new Uint8Array(Int32Array.from(ids).buffer));
      const lines = m.call('walk', q.mask !== false, q.positions !== false).trim().split('\n');
      const records = lines.map(line => JSON.parse(line)), leaves = new Map();
      for (const r of records) {
        // A name of its own is not one that is made of a number or of another.
        Object.assign(r, {index: r.record, named: !/( \d+|\^T)$/.test(r.name), reads: []});
        // What no record makes is a leaf, with a number below zero; it is found where it is read.
        for (const {operand, record, ...x} of r.operands) {
          const leaf = {index: -1 - leaves.size, read: [r.record, operand], parameter: '', ...x};
          if (record === undefined && !leaves.has(x.data)) leaves.set(x.data, leaf);
          r.reads[operand] = record ?? leaves.get(x.data).index;
        }
        r.reads = Array.from(r.reads, k => k ?? null);
      }
      const all = [...leaves.values(), ...records], reached = records.some(x => x.grad);
      for (const x of all) {
        x.values = copied(m, x.shape, x.data, x.stride);
        // Where nothing is predicted, there is no loss, and no number has a gradient.
        x.grad = reached ? copied(m, x.shape, x.grad) : new Float64Array(x.values.length);
      }
      return {lm, source, target, next, all};
    },
    parts(q, m) {
      const {parts} = m.ask('parts', number(q.index));
      return {parts: parts.map((at, k) => copied(m, q.shapes[k] ?? [], at))};
    },
    sum: (q, m) => m.ask('sum', number(q.index), number(q.operand), number(q.element)),
    push: (q, m) => m.ask('push', number(q.index), number(q.operand), number(q.element)),
    // Judges q.program, a module whose default is (read, write) => a function that answers a
    // message (host.js).
    async judge(q, m) {
      let told, at, answer, said, seen = 0;
      const alive = () => {
        if (performance.now() - seen < 100) return;
        scope.postMessage({id: q.id, alive: true}), seen = performance.now();
      };
      const urlOf = text => URL.createObjectURL(new Blob([text], {type: 'text/javascript'}));
      const load = scope.load ?? (text => import(urlOf(text)));
      alive();
      const refuse = e => { throw refusal(String(e), 65); };
      const {default: open} = await load(String(q.program)).catch(refuse);
      const read = n => told.subarray(at, at += n);
      const write = bytes => { if (bytes.length) said.push(bytes); };
      m.host = {
        start: () => { said = [], answer = open(read, write); },
        tell: bytes => { for (alive(), told = bytes, at = 0; at < told.length;) answer(); },
        hear(size) {
          const bytes = said.shift() ?? new Uint8Array(0);
          if (bytes.length > size) said.unshift(bytes.subarray(size));
          return bytes.subarray(0, size);
        },
      };
      m.output.fill('');
      delete running.double; // its memory goes with it
      m.exports.judge(), m.exports.end();
      const [report, ...parts] = m.output[1].split('\f');
      const linesOf = text => text.trim().split('\n').filter(Boolean).map(line => JSON.parse(line));
      const [lines, gradients] = parts.map(linesOf);
      return {report, lines, gradients};
    },
    // Bytes of memory of both modules.
    memory() {
      const sizes = Object.values(running).map(m => m.view().byteLength);
      return {bytes: sizes.reduce((a, b) => a + b, 0)};
    },
  };

  // ---- Messages, one after another ----

  async function answer(q) {
    const trains = Object.hasOwn(training, q.op), name = trains ? 'float' : 'double';
    const table = trains ? training : studying;
    if (!Object.hasOwn(table, q.op)) return {error: `found no operation "${q.op}"`, status: 2};
    try {
      return await table[q.op](q, running[name] ?? await open(name));
    } catch (error) {
      if (error.status) return {error: error.message, status: error.status};
      const said = running[name]?.output[2].trim().split('\n').pop();
      // After a crash the next request gets a new module; only one module has a model to lose.
      delete running[name];
      return {error: said || String(error.message), status: 70, lost: trains};
    }
  }

  let queue = Promise.resolve();
  scope.onmessage = ({data}) => {
    queue = queue.then(async () => scope.postMessage({id: data.id, ...await answer(data)}));
  };
}

// A worker for the page.
function openWorker() {
  const text = `(${serve})(${JSON.stringify(modules)}, self);`;
  return new Worker(URL.createObjectURL(new Blob([text], {type: 'text/javascript'})));
}
