"use strict";
/* Runs the modules in a worker: `serve` answers messages {id, op, …} with {id, …result} or {id, error, status}. It uses
 * no name from outside, because the worker is made from its text, so that the page needs no second file. `modules` are
 * the two modules, compressed, as base64. */
function serve(modules, scope) {
    /* An error after which the module is still usable. */
    const refusal = (error, status) => Object.assign(new Error(error), {status}), LEFT = new Error("left");

    /* ---- A module: WebAssembly with the few system calls that its C library makes ---- */

    class Module {
        output = ["", "", ""]; /* by file descriptor */
        decoder = [0, 1, 2].map(() => new TextDecoder());

        constructor(compiled) {
            const system = {
                fd_write: (fd, list, count, written) => {
                    let sum = 0;
                    for (let at = list; at < list + 8 * count; at += 8) {
                        const size = this.view().getUint32(at + 4, true), from = this.view().getUint32(at, true);
                        this.output[fd] += this.decoder[fd].decode(this.bytes(from, size), {stream: true});
                        sum += size;
                    }
                    this.view().setUint32(written, sum, true);
                    return 0;
                },
                clock_time_get: (id, precision, out) =>
                    (this.view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true), 0),
                /* There are no variables. Without this function the C library ends the module at the first getenv. */
                environ_sizes_get: (count, bytes) =>
                    (this.view().setUint32(count, 0, true), this.view().setUint32(bytes, 0, true), 0),
                fd_prestat_get: () => 8, /* EBADF: no directory is open */
                proc_exit: status => { throw new Error("exit " + status); },
                /* The functions that editor.c imports: a job that leaves ends like one that returns. */
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
            const imports = {};
            for (const {module, name} of WebAssembly.Module.imports(compiled))
                (imports[module] ??= {})[name] = system[name] ?? (() => 52);
            this.exports = new WebAssembly.Instance(compiled, imports).exports;
            this.exports._initialize();
        }

        view() { return new DataView(this.exports.memory.buffer); }
        bytes(at, size) { return new Uint8Array(this.exports.memory.buffer, at, size); }

        path(name) {
            this.bytes(this.exports.path(), name.length + 1).set(new TextEncoder().encode(name + "\0"));
            return this.exports.path();
        }

        write(name, contents) {
            const bytes = typeof contents === "string" ? new TextEncoder().encode(contents) : contents;
            const at = bytes.length <= 64 << 20 && this.exports.file_write(this.path(name), bytes.length);
            if (!at) throw refusal(`${name}: found ${bytes.length} bytes, need fewer`, 65);
            this.bytes(at, bytes.length).set(bytes);
        }

        /* Calls an entry point and returns its output. An error stands behind a form feed. */
        call(name, ...numbers) {
            this.output.fill("");
            this.exports[name](...numbers), this.exports.end();
            const [result, failure] = this.output[1].split("\f");
            if (!failure) return result;
            const {error, status} = JSON.parse(failure);
            throw refusal(error, status);
        }
    }

    const running = {}, compiled = {};
    async function open(name) {
        if (compiled[name]) return running[name] = new Module(compiled[name]);
        const packed = new Blob([Uint8Array.from(atob(modules[name]), c => c.charCodeAt(0))]).stream();
        const bytes = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
        compiled[name] = await WebAssembly.compile(bytes);
        return open(name);
    }

    /* ---- Requests of the page ---- */

    const number = (x, otherwise, most = 1e9) => Number.isFinite(x) ? Math.min(x, most) : otherwise;
    const result = (m, ...call) => JSON.parse(m.call(...call));
    const reading = (q, m) => (m.write("text", String(q.text)), m);
    /* f() without what is switched off: the heads of q.off, ["encoder.layers.0.self_attn 2", …], mask, positions */
    function switched(q, m, f) {
        const flip = () => m.call("flip", q.mask !== false, q.positions !== false);
        m.write("off", (q.off ?? []).join("\n"));
        flip();
        try { return f(); } finally { flip(); }
    }

    const training = {
        start(q, m) {
            if (q.text !== undefined) m.write("your text", String(q.text));
            m.write("settings", String(q.config) + (q.text === undefined ? "" : "\ntext your text"));
            return result(m, "start", q.mask !== false, q.positions !== false);
        },
        step: (q, m) => result(m, "step", number(q.n, 1), number(q.ms, 50), Boolean(q.more)),
        rate: (q, m) => ({said: m.call("rate", number(q.rate, 0))}),
        evaluate: (q, m) => switched(q, m, () => result(m, "evaluate", number(q.rows, 128), Boolean(q.off))),
        answer: (q, m) => switched(q, m, () => result(reading(q, m), "answer", number(q.more, 100, 10000))),
        save(q, m) {
            m.call("save");
            const path = m.path("saved/model.safetensors");
            return {bytes: m.bytes(m.exports.file_data(path), m.exports.file_size(path)).slice()};
        },
        load(q, m) {
            m.write("upload/model.safetensors", new Uint8Array(q.bytes));
            return result(m, "load");
        },
    };

    /* The numbers of a tensor in row-major order, copied out of the module. */
    function copied(m, {shape, stride, data}) {
        const all = new Float64Array(m.exports.memory.buffer), count = shape.reduce((a, b) => a * b, 1), out = new Float64Array(count);
        const index = shape.map(() => 0);
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
    const contiguous = shape => shape.map((_, k) => shape.slice(k + 1).reduce((a, b) => a * b, 1));
    const filled = (m, shape, data) => data ? copied(m, {shape, stride: contiguous(shape), data}) : null;

    const studying = {
        /* Both passes of the other module's model over the text: its tokens, and the records of the tape. */
        walk(q, m) {
            const {float} = running;
            if (!float) throw refusal("found no model, need start or load first", 66);
            float.write("answer", String(q.answer ?? ""));
            const {lm, begin, end, source, answer} = result(reading(q, float), "tokens", number(q.more, 0, 1000));
            m.write("saved/model.safetensors", switched(q, float, () => training.save(q, float)).bytes);
            const target = lm ? source : [begin, ...answer], next = lm ? [...source.slice(1), -1] : [...answer, end];
            for (const [name, ids] of Object.entries({source, target, next})) m.write(name, new Uint8Array(Int32Array.from(ids).buffer));
            const lines = m.call("walk", q.mask !== false, q.positions !== false).trim().split("\n");
            const all = lines.map(line => JSON.parse(line));
            for (const x of all) x.values = copied(m, x), x.grad = filled(m, x.shape, x.grad);
            return {lm, source: lm ? [] : source, target, next, all};
        },
        parts(q, m) {
            const {parts} = result(m, "parts", number(q.index, -1));
            return {parts: parts.map((at, k) => filled(m, q.shapes[k] ?? [], at))};
        },
        cell: (q, m) => result(m, "cell", number(q.index, -1), number(q.element, -1)),
        addition: (q, m) => result(m, "addition", number(q.index, -1), number(q.input, -1), number(q.element, -1)),
        push: (q, m) => result(m, "push", number(q.number, -1), number(q.element, -1)),
        /* Judges q.program, a module whose default is (read, write) => a function that answers a message (host.js). */
        async judge(q, m) {
            let told, at, answer, said, seen = 0;
            const alive = () => {
                if (performance.now() - seen > 100) scope.postMessage({id: q.id, alive: true}), seen = performance.now();
            };
            const loaded = scope.load ?? (text => import(URL.createObjectURL(new Blob([text], {type: "text/javascript"}))));
            alive();
            const {default: open} = await loaded(String(q.program)).catch(e => { throw refusal(String(e), 65); });
            const read = n => told.subarray(at, at += n);
            m.host = {
                start: () => { said = [], answer = open(read, bytes => { if (bytes.length) said.push(bytes); }); },
                tell: bytes => { for (alive(), told = bytes, at = 0; at < told.length;) answer(); },
                hear(size) {
                    const bytes = said.shift() ?? new Uint8Array(0);
                    if (bytes.length > size) said.unshift(bytes.subarray(size));
                    return bytes.subarray(0, size);
                },
            };
            m.output.fill("");
            delete running.double; /* its memory goes with it */
            m.exports.judge(), m.exports.end();
            const [report, lines, gradients] = m.output[1].split("\f"), all = text => text.trim().split("\n").filter(Boolean);
            return {report, lines: all(lines).map(line => JSON.parse(line)), gradients: all(gradients).map(line => JSON.parse(line))};
        },
        /* Bytes of memory of both modules. */
        memory: () => ({bytes: Object.values(running).reduce((sum, m) => sum + m.view().byteLength, 0)}),
    };

    /* ---- Messages, one after another ---- */

    async function answer(q) {
        const name = Object.hasOwn(training, q.op) ? "float" : "double", table = name === "float" ? training : studying;
        if (!Object.hasOwn(table, q.op)) return {error: `found no operation "${q.op}"`, status: 2};
        try {
            return await table[q.op](q, running[name] ?? await open(name));
        } catch (error) {
            if (error.status) return {error: error.message, status: error.status};
            const said = running[name]?.output[2].trim().split("\n").pop();
            delete running[name]; /* after a crash the next request gets a new module; the other module has no model to lose */
            return {error: said || String(error.message), status: 70, lost: name === "float"};
        }
    }

    let queue = Promise.resolve();
    scope.onmessage = ({data}) => {
        queue = queue.then(async () => scope.postMessage({id: data.id, ...await answer(data)}));
    };
}

/* A worker for the page. */
function openWorker() {
    const text = `(${serve})(${JSON.stringify(modules)}, self);`;
    return new Worker(URL.createObjectURL(new Blob([text], {type: "text/javascript"})));
}
