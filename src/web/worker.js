"use strict";
/* Runs the modules in a worker: `serve` answers messages {id, op, …} with {id, …result} or {id, error, status}. It is a
 * function without names from outside, because the worker is made from its text, so that the page needs no second file.
 * `modules` has the two modules, compressed, as base64. */
function serve(modules, scope) {
    /* ---- A module: WebAssembly with the few system calls that its C library makes ---- */

    async function unpack(base64) {
        const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
        return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    }

    class Module {
        constructor(compiled) {
            this.output = {1: "", 2: ""};
            this.decoder = {1: new TextDecoder(), 2: new TextDecoder()};
            const fail = () => 52, system = {
                fd_write: (fd, list, count, written) => {
                    const view = this.view();
                    let sum = 0;
                    for (let i = 0; i < count; i++) {
                        const at = view.getUint32(list + 8 * i, true), size = view.getUint32(list + 8 * i + 4, true);
                        this.output[fd] += this.decoder[fd].decode(this.bytes(at, size), {stream: true});
                        sum += size;
                    }
                    view.setUint32(written, sum, true);
                    return 0;
                },
                clock_time_get: (id, precision, out) => {
                    this.view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
                    return 0;
                },
                fd_fdstat_get: (fd, out) => (this.bytes(out, 24).fill(0), 0),
                environ_sizes_get: (count, size) => (this.view().setUint32(count, 0, true),
                                                     this.view().setUint32(size, 0, true), 0),
                environ_get: () => 0,
                proc_exit: status => { throw new Error("exit " + status); },
            };
            const imports = {};
            for (const {module, name} of WebAssembly.Module.imports(compiled))
                (imports[module] ??= {})[name] = system[name] ?? fail;
            this.exports = new WebAssembly.Instance(compiled, imports).exports;
            this.exports._initialize();
        }

        view() { return new DataView(this.exports.memory.buffer); }
        bytes(at, size) { return new Uint8Array(this.exports.memory.buffer, at, size); }

        path(name) {
            const at = this.exports.path(), bytes = new TextEncoder().encode(name + "\0");
            this.bytes(at, bytes.length).set(bytes);
            return at;
        }

        write(name, contents) {
            const bytes = typeof contents === "string" ? new TextEncoder().encode(contents) : contents;
            const at = this.exports.file_write(this.path(name), bytes.length);
            if (!at) throw new Refusal(name + ": no memory for its " + bytes.length + " bytes", 71);
            this.bytes(at, bytes.length).set(bytes);
        }

        read(name) {
            return this.bytes(this.exports.file_data(this.path(name)), this.exports.file_size(this.path(name))).slice();
        }

        remove(name) { this.exports.file_remove(this.path(name)); }

        /* Calls an entry point and returns its output. An error stands behind a form feed. */
        call(name, ...numbers) {
            this.output[1] = this.output[2] = "";
            this.exports[name](...numbers);
            const [result, error] = this.output[1].split("\f");
            this.output[1] = "";
            if (!error) return result;
            const {error: text, status} = JSON.parse(error);
            throw new Refusal(text, status);
        }
    }

    /* An error that leaves the module as it was. */
    class Refusal extends Error {
        constructor(text, status) {
            super(text);
            this.status = status;
        }
    }

    const compiled = {}, running = {};
    async function module(name) {
        compiled[name] ??= WebAssembly.compile(await unpack(modules[name]));
        return running[name] ??= new Module(await compiled[name]);
    }

    /* ---- What the page asks for ---- */

    const MOST = 64 << 20; /* bytes of a text or file */
    function limited(what, contents) {
        const size = contents.length ?? contents.byteLength;
        if (size > MOST) throw new Refusal(what + ": found " + size + " bytes, need at most " + MOST, 65);
        return contents;
    }
    const number = (x, otherwise) => Number.isFinite(x) ? x : otherwise;
    const asked = (q, m) => m.write("text", limited("text", String(q.text ?? "")));

    const training = {
        start(q, m) {
            let lines = String(q.config ?? "");
            for (const name of ["text", "pairs"]) {
                if (q[name] === undefined) continue;
                m.write(name + " of the page", limited(name, String(q[name])));
                lines += "\n" + name + " " + name + " of the page";
            }
            m.write("settings", limited("settings", lines));
            const result = JSON.parse(m.call("start", q.mask !== false, q.positions !== false));
            for (const name of ["text", "pairs"]) m.remove(name + " of the page");
            return result;
        },
        step: (q, m) => JSON.parse(m.call("step", number(q.n, 1), number(q.ms, 50), Boolean(q.more))),
        evaluate: (q, m) => JSON.parse(m.call("evaluate", number(q.rows, 0))),
        answer(q, m) {
            asked(q, m);
            return JSON.parse(m.call("answer", number(q.more, 100), number(q.temperature, 0), number(q.seed, 1)));
        },
        attention(q, m) {
            asked(q, m);
            const result = JSON.parse(m.call("attention", q.mask !== false, q.positions !== false));
            for (const map of result.maps) map.values = Float32Array.from(map.values);
            return result;
        },
        walk(q, m) {
            const side = ["encoder", "decoder", "cross"].indexOf(q.side ?? "encoder"), head = number(q.head, 1);
            asked(q, m);
            const lines = m.call("walk", side < 0 ? 0 : side, number(q.layer, 1), head).trim().split("\n");
            return walked(lines.map(line => JSON.parse(line)), q, head);
        },
        save(q, m) {
            m.call("save");
            return {bytes: m.read("saved/model.safetensors")};
        },
        load(q, m) {
            m.write("upload/model.safetensors", new Uint8Array(limited("model.safetensors", q.bytes)));
            try {
                return JSON.parse(m.call("load"));
            } finally {
                m.remove("upload/model.safetensors");
            }
        },
    };

    const checking = {
        operations: (q, m) => JSON.parse(m.call("operations")),
        check(q, m) {
            m.write("operation", String(q.operation ?? "")), m.write("mistake", String(q.mistake ?? ""));
            const result = JSON.parse(m.call("check", number(q.case, 0), number(q.input, 0), number(q.seed, 1)));
            for (const matrix of [...result.inputs, result.output]) matrix.values = Float64Array.from(matrix.values);
            return result;
        },
        checkAll: (q, m) => JSON.parse(m.call("checkAll")),
    };

    /* Bytes of memory of all modules. */
    const memory = () => ({bytes: Object.values(running).reduce((sum, m) => sum + m.view().byteLength, 0)});

    /* ---- How the cells of a walk come about ---- */

    /* The transposed rows [from, from + count) of a matrix, or that part of a vector. */
    function part(name, w, from, count) {
        const columns = w.shape[1] ?? 1, values = new Float32Array(count * columns);
        for (let i = 0; i < count; i++)
            for (let j = 0; j < columns; j++) values[j * count + i] = w.values[(from + i) * columns + j];
        return {name, shape: w.shape.length > 1 ? [columns, count] : [count], values};
    }

    function walked(lines, q, head) {
        const weight = {}, matrices = [], weights = [];
        for (const line of lines)
            if (line.weight) weight[line.weight] = line;
            else if (line.formula) matrices.push(line);
        const shape = name => matrices.find(m => m.name === name).shape, width = shape("X")[1], d_k = shape("Q")[1];
        const decoder = weight["decoder.layers.0.norm3.weight"] && q.side !== "encoder" && q.side !== undefined;
        const cross = q.side === "cross", layer = (decoder ? "decoder" : "encoder") + ".layers." + ((q.layer ?? 1) - 1) + ".";
        const attention = layer + (cross ? "multihead_attn." : "self_attn."), last = decoder ? "norm3" : "norm2";
        const pre = !matrices.some(m => m.name.endsWith("Norm of it"));
        const first = cross ? (pre ? "norm3" : "norm2") : pre ? "norm2" : "norm1";
        const add = (name, of, from, count) => {
            if (weight[of]) weights.push(part(name, weight[of], from ?? 0, count ?? weight[of].shape[0]));
        };
        ["Q", "K", "V"].forEach((name, i) => {
            add("W^" + name, attention + "in_proj_weight", i * width + (head - 1) * d_k, d_k);
            add("b^" + name, attention + "in_proj_bias", i * width + (head - 1) * d_k, d_k);
        });
        add("W^O", attention + "out_proj.weight"), add("b^O", attention + "out_proj.bias");
        add("W_1", layer + "linear1.weight"), add("b_1", layer + "linear1.bias");
        add("W_2", layer + "linear2.weight"), add("b_2", layer + "linear2.bias");
        add("gain", layer + first + ".weight"), add("bias", layer + first + ".bias");
        add("last gain", layer + last + ".weight"), add("last bias", layer + last + ".bias");

        const product = (a, b, more) => ({kind: "product", a, b, transposed: false, ...more}), other = cross ? "M" : "X";
        const there = (...names) => names.find(name => matrices.some(m => m.name === name));
        const q_read = there("Q turned", "Q normalised", "Q"), k_read = there("K turned", "K normalised", "K");
        const input = pre ? there("E + PE", "E") : "X"; /* of the residual connection */
        const gelu = matrices.some(m => m.formula.startsWith("H = gelu"));
        const from = {
            source: {kind: "id"}, x: {kind: "id"},
            E: {kind: "row", by: matrices.find(m => m.name === "E")?.formula.includes("sqrt") ? Math.sqrt(width) : 1},
            PE: {kind: "position"}, "E + PE": {kind: "sum", of: ["E", "PE"]}, X: {kind: "copy"}, M: {kind: "copy"},
            Q: product("X", "W^Q", {plus: "b^Q"}), K: product(other, "W^K", {plus: "b^K"}),
            V: product(other, "W^V", {plus: "b^V"}), S: product(q_read, k_read, {transposed: true}),
            "S / sqrt(d_k)": {kind: "scaled", of: "S", by: Math.sqrt(d_k)},
            masked: {kind: "mask", of: there("S / sqrt(d_k)", "S")}, A: {kind: "softmax", of: "masked"}, Z: product("A", "V"),
            "S of all heads": {kind: "heads", of: "S"}, "A of all heads": {kind: "heads", of: "A"},
            "Z of all heads": {kind: "beside", of: "Z"}, "last row of X and of Z": {kind: "copy", of: "Z of all heads"},
            "Z W^O": product("Z of all heads", "W^O", {plus: "b^O"}), "X + Y": pre && (cross || q.layer > 1) ? {kind: "copy"} : {kind: "sum", of: [input, "Z W^O"]},
            LayerNorm: {kind: "norm", of: "X + Y", gain: "gain", bias: "bias"},
            hidden: product("LayerNorm", "W_1", {plus: "b_1", then: gelu ? "gelu" : "relu"}),
            projected: product("hidden", "W_2", {plus: "b_2"}),
            "N + F": {kind: "sum", of: [pre ? "X + Y" : there("LayerNorm", "RMSNorm"), "projected"]},
            "LayerNorm of it": {kind: "norm", of: "N + F", gain: "last gain", bias: "last bias"},
        };
        /* The decoder's feed-forward network follows another attention; scores may be additive. */
        if (decoder && !cross) from.hidden = from["N + F"] = {kind: "copy"};
        if (matrices.some(m => m.formula.startsWith("S_ij"))) from.S = {kind: "copy"};
        const known = new Set([...matrices, ...weights].map(m => m.name));
        for (const m of matrices) {
            const f = from[m.name], parts = f ? [f.of, f.a, f.b].flat().filter(Boolean) : [];
            m.from = f && parts.every(name => known.has(name)) ? f : {kind: "copy"};
            m.values = Float32Array.from(m.values, x => x ?? -Infinity);
        }
        return {matrices, weights};
    }

    /* ---- Messages, one after another ---- */

    async function answer(q) {
        const name = q.op in training ? "float" : "double", table = {...training, ...checking, memory};
        if (!Object.hasOwn(table, q.op)) return {error: "found no operation \"" + q.op + "\"", status: 2};
        try {
            return table[q.op](q, await module(name));
        } catch (error) {
            if (error instanceof Refusal) return {error: error.message, status: error.status};
            const said = running[name]?.output[2].trim().split("\n").pop();
            delete running[name]; /* after a crash the next request gets a new module */
            return {error: said || String(error.message), status: 70, lost: true};
        }
    }

    let queue = Promise.resolve();
    scope.onmessage = ({data}) => {
        queue = queue.then(async () => scope.postMessage({id: data.id, ...await answer(data)}));
    };
}

/* A worker for the page. */
function openWorker() {
    const text = "(" + serve + ")(" + JSON.stringify(modules) + ", self);";
    return new Worker(URL.createObjectURL(new Blob([text], {type: "text/javascript"})));
}
