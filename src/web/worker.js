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

        read(name) {
            return this.bytes(this.exports.file_data(this.path(name)), this.exports.file_size(this.path(name))).slice();
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

    const compiled = {}, running = {};
    async function module(name) {
        const packed = new Blob([Uint8Array.from(atob(modules[name]), c => c.charCodeAt(0))]).stream();
        const bytes = () => new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
        compiled[name] ??= await WebAssembly.compile(await bytes());
        return running[name] ??= new Module(compiled[name]);
    }

    /* ---- Requests of the page ---- */

    const number = (x, otherwise, most = 1e9) => Number.isFinite(x) ? Math.min(x, most) : otherwise;
    const result = (m, ...call) => JSON.parse(m.call(...call));
    const reading = (q, m) => (m.write("text", String(q.text)), m);

    const training = {
        start(q, m) {
            let settings = String(q.config ?? "");
            for (const name of ["text", "pairs"].filter(name => q[name] !== undefined)) {
                m.write("your " + name, String(q[name]));
                settings += `\n${name} your ${name}`;
            }
            m.write("settings", settings);
            return result(m, "start", q.mask !== false, q.positions !== false);
        },
        step: (q, m) => result(m, "step", number(q.n, 1), number(q.ms, 50), Boolean(q.more)),
        evaluate: (q, m) => result(m, "evaluate", number(q.rows, 0)),
        answer: (q, m) => result(reading(q, m), "answer", number(q.more, 100, 10000)),
        attention(q, m) {
            const found = result(reading(q, m), "attention", q.mask !== false, q.positions !== false);
            found.maps = found.maps.flatMap(({name, rows, columns, values}) => {
                const [side, , layer, last] = name.split("."), size = rows * columns;
                const kind = found.lm ? "decoder" : last === "multihead_attn" ? "cross" : side;
                return Array.from({length: values.length / size}, (_, head) => ({kind, layer: +layer, head, rows, columns,
                    values: Float32Array.from(values.slice(head * size, (head + 1) * size))}));
            });
            return found;
        },
        walk(q, m) {
            const {side = "encoder", layer = 1, head = 1} = q, sides = ["encoder", "decoder", "cross"];
            const lines = reading(q, m).call("walk", sides.indexOf(side), number(layer, 1), number(head, 1)).trim();
            return walked(lines.split("\n").map(line => JSON.parse(line)), side, layer, head);
        },
        save: (q, m) => (m.call("save"), {bytes: m.read("saved/model.safetensors")}),
        load(q, m) {
            m.write("upload/model.safetensors", new Uint8Array(q.bytes));
            return result(m, "load");
        },
    };

    const checking = {
        operations: (q, m) => result(m, "operations"),
        check(q, m) {
            m.write("operation", String(q.operation)), m.write("mistake", String(q.mistake));
            const found = result(m, "check", number(q.case, 0), number(q.input, 0), number(q.seed, 1));
            const {plus, minus, backward = [], h, inputs} = found;
            found.elements = backward.map((backward, index) => ({index, backward, value: inputs[q.input ?? 0].values[index],
                plus: plus[index], minus: minus[index], difference: (plus[index] - minus[index]) / (2 * h)}));
            return found;
        },
        /* Bytes of memory of both modules. */
        memory: () => ({bytes: Object.values(running).reduce((sum, m) => sum + m.view().byteLength, 0)}),
    };

    /* ---- The operands of each matrix of a walk ---- */

    /* Rows [from, from + count) of a weight, transposed: `x W` in place of `x Wᵀ`. */
    function part(name, {shape: [rows, columns = 1], shape, values}, from = 0, count = rows) {
        const out = new Float32Array(count * columns);
        for (let i = 0; i < count; i++)
            for (let j = 0; j < columns; j++) out[j * count + i] = values[(from + i) * columns + j];
        return {name, shape: shape.length > 1 ? [columns, count] : [count], values: out};
    }

    function walked(lines, side, layer, head) {
        const weight = Object.fromEntries(lines.filter(l => l.weight).map(l => [l.weight, l]));
        const matrices = lines.filter(l => l.formula), weights = [], cross = side === "cross";
        const there = (...names) => names.find(name => matrices.some(m => m.name === name));
        const width = name => matrices.find(m => m.name === name).shape[1], d = width("X"), d_k = width("Q");
        const formula = start => matrices.some(m => m.formula.startsWith(start));
        const gelu = formula("H = gelu"), decoder = side !== "encoder" && weight["decoder.layers.0.norm3.weight"];
        const pre = !there("LayerNorm of it", "RMSNorm of it"), norm = there("LayerNorm", "RMSNorm");
        const first = cross ? (pre ? "norm3" : "norm2") : pre ? "norm2" : "norm1", last = decoder ? "norm3" : "norm2";
        const prefix = `${decoder ? "decoder" : "encoder"}.layers.${layer - 1}.`;
        const add = (name, of, ...rows) => weight[of] && weights.push(part(name, weight[of], ...rows));
        const pair = (w, b, of) => (add(w, prefix + of + ".weight"), add(b, prefix + of + ".bias"));
        ["Q", "K", "V"].forEach((name, i) => {
            const attention = prefix + (cross ? "multihead_attn" : "self_attn") + ".in_proj_";
            add("W^" + name, attention + "weight", i * d + (head - 1) * d_k, d_k);
            add("b^" + name, attention + "bias", i * d + (head - 1) * d_k, d_k);
        });
        pair("W^O", "b^O", (cross ? "multihead_attn" : "self_attn") + ".out_proj");
        pair("W_1", "b_1", "linear1"), pair("W_2", "b_2", "linear2");
        pair("gain", "bias", first), pair("last gain", "last bias", last);
        const {shape, values} = weight["embedding.weight"];
        weights.push({name: "W", shape, values: Float32Array.from(values)});

        const product = (a, b, more) => ({kind: "product", a, b, transposed: false, ...more});
        const sum = (...of) => ({kind: "sum", of}), scaled = there("S / sqrt(d_k)", "S");
        const from = {
            source: {kind: "id"}, x: {kind: "id"}, PE: {kind: "position"}, "E + PE": sum("E", "PE"),
            E: {kind: "row", of: "W", by: formula("E_i = sqrt") ? Math.sqrt(d) : 1},
            Q: product("X", "W^Q", {plus: "b^Q"}), K: product(cross ? "M" : "X", "W^K", {plus: "b^K"}),
            V: product(cross ? "M" : "X", "W^V", {plus: "b^V"}),
            S: !formula("S_ij") && product(there("Q turned", "Q normalised", "Q"), there("K turned", "K normalised", "K"),
                                           {transposed: true}),
            "S / sqrt(d_k)": {kind: "scaled", of: "S", by: Math.sqrt(d_k)}, masked: {kind: "mask", of: scaled},
            A: {kind: "softmax", of: "masked"}, Z: product("A", "V"),
            "S of all heads": {kind: "heads", of: "S"}, "A of all heads": {kind: "heads", of: "A"},
            "Z of all heads": {kind: "beside", of: "Z"}, "Z W^O": product("Z of all heads", "W^O", {plus: "b^O"}),
            "X + Y": pre ? !cross && layer === 1 && sum(there("E + PE", "E"), "Z W^O") : sum("X", "Z W^O"),
            LayerNorm: {kind: "norm", of: "X + Y", gain: "gain", bias: "bias"},
            "LayerNorm of it": {kind: "norm", of: "N + F", gain: "last gain", bias: "last bias"},
            /* The decoder's feed-forward network follows another attention. */
            hidden: (cross || !decoder) && (gelu || formula("H = max")) && product(norm, "W_1", {plus: "b_1", then: gelu ? "gelu" : "relu"}),
            projected: product("hidden", "W_2", {plus: "b_2"}),
            "N + F": (cross || !decoder) && sum(pre ? "X + Y" : norm, "projected"),
        };
        const known = new Set([...matrices, ...weights].map(m => m.name));
        for (const m of matrices) {
            const f = from[m.name] || {kind: "copy"};
            if (!known.has(f.plus)) delete f.plus; /* a layer without bias */
            const parts = [f.of, f.a, f.b, f.gain, f.bias].flat().filter(Boolean);
            m.from = parts.every(name => known.has(name)) ? f : {kind: "copy"};
            m.values = Float32Array.from(m.values, x => x ?? -Infinity);
        }
        return {matrices, weights};
    }

    /* ---- Messages, one after another ---- */

    async function answer(q) {
        const name = Object.hasOwn(training, q.op) ? "float" : "double", table = name === "float" ? training : checking;
        if (!Object.hasOwn(table, q.op)) return {error: `found no operation "${q.op}"`, status: 2};
        try {
            return table[q.op](q, running[name] ?? await module(name));
        } catch (error) {
            if (error.status) return {error: error.message, status: error.status};
            const said = running[name]?.output[2].trim().split("\n").pop();
            delete running[name]; /* after a crash the next request gets a new module; a check has no model to lose */
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
