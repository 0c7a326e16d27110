"use strict";
/* Runs the modules in a worker: `serve` answers messages {id, op, …} with {id, …result} or {id, error, status}. It uses
 * no name from outside, because the worker is made from its text, so that the page needs no second file. `modules` are
 * the two modules, compressed, as base64. */
function serve(modules, scope) {
    /* An error after which the module is still usable. */
    const refusal = (error, status) => Object.assign(new Error(error), {status});

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

    const running = {};
    async function open(name) {
        const packed = new Blob([Uint8Array.from(atob(modules[name]), c => c.charCodeAt(0))]).stream();
        const bytes = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
        return running[name] = new Module(await WebAssembly.compile(bytes));
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
        attention(q, m) {
            const found = switched(q, m, () => result(reading(q, m), "attention"));
            found.maps = found.maps.flatMap(({name, rows, columns, values}) => {
                const [side, , layer, last] = name.split("."), size = rows * columns;
                const kind = {multihead_attn: "cross"}[last] ?? (found.lm ? "decoder" : side);
                return Array.from({length: values.length / size}, (_, head) => ({name, kind, layer: +layer, head, rows, columns,
                    values: Float32Array.from(values.slice(head * size, (head + 1) * size))}));
            });
            return found;
        },
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

    const studying = {
        /* The walk of ./explain through the model of the other module. Each matrix gets its operands. */
        walk(q, m) {
            const {side = "encoder", layer = 1, head = 1, backward = false} = q, sides = ["encoder", "decoder", "cross"];
            if (running.float) m.write("saved/model.safetensors", training.save(q, running.float).bytes);
            m.write("answer", String(q.answer ?? ""));
            const lines = reading(q, m).call("walk", sides.indexOf(side), number(layer, 1), number(head, 1), Boolean(backward));
            const found = lines.trim().split("\n").map(line => JSON.parse(line)), all = found.filter(m => m.formula !== undefined);
            for (const m of all.concat(all.flatMap(m => m.adds ?? [])))
                m.values = Float64Array.from(m.values, x => x ?? -Infinity);
            if (backward) return {steps: all, others: found.filter(m => m.formula === undefined)};
            const names = new Set(all.map(m => m.name));
            for (const m of all) {
                const [, kind, operands] = m.from.match(/^(\w*) ?(.*)/), of = operands.split(", ").filter(Boolean);
                const there = of.filter(name => names.has(name.replace(/\^T$/, ""))); /* a layer may have no bias */
                m.from = there.length < of.length - (of.length > 2) ? {kind: "copy", of: []} : {kind, of: there};
            }
            return {matrices: all.filter(m => m.step !== "weights"), weights: all.filter(m => m.step === "weights")};
        },
        push: (q, m) => result(m, "push", number(q.index, -1), number(q.input, -1), number(q.element, -1)),
        operations: (q, m) => result(m, "operations"),
        check(q, m) {
            m.write("operation", String(q.operation));
            const numbers = [number(q.case, 0), number(q.input, 0), number(q.seed, 1), number(q.mistake, -1)];
            return {elements: [], ...result(m, "check", ...numbers)};
        },
        /* Bytes of memory of both modules. */
        memory: () => ({bytes: Object.values(running).reduce((sum, m) => sum + m.view().byteLength, 0)}),
    };

    /* ---- Messages, one after another ---- */

    async function answer(q) {
        const name = Object.hasOwn(training, q.op) ? "float" : "double", table = name === "float" ? training : studying;
        if (!Object.hasOwn(table, q.op)) return {error: `found no operation "${q.op}"`, status: 2};
        try {
            return table[q.op](q, running[name] ?? await open(name));
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
