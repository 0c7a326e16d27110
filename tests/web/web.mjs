// Proves that the modules of the page compute what the native programs compute, and survive what a page may send them:
// gradients, the bits of a training run, a saved model's answers, the walk's formulas, damaged weights, flat memory.
// Arguments: the folder with modules.js, then the native programs train for the same arithmetic ("": none), generate, gradcheck and explain.
import assert from "node:assert/strict";
import {execFile, execFileSync} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {promisify} from "node:util";
import {RIGHT, WRONG} from "./functions.mjs";

const [built, train, generate, gradcheck, explain] = process.argv.slice(2);
const source = fs.readFileSync(path.join(built, "modules.js"), "utf8") + fs.readFileSync("src/tools/web/worker.js", "utf8");
const {serve, modules} = new Function(source + "\nreturn {serve, modules};")();
const editor = ["exercises", "host"].map(name => fs.readFileSync(`src/tools/web/${name}.js`, "utf8")).join("\n");
const {EXERCISES, programOf, fileOf} = new Function(editor + "\nreturn {EXERCISES, programOf, fileOf};")();
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tapeformer-test-"));

// The worker, in this process. ask returns its answer; made throws if that is an error.
const waiting = new Map(), scope = {
    postMessage: m => m.alive || waiting.get(m.id)(m),
    load: text => import("data:text/javascript," + encodeURIComponent(text)), // Node imports no blob
};
serve(modules, scope);
let asked = 0;
const ask = q => new Promise(done => {
    waiting.set(++asked, done);
    scope.onmessage({data: {id: asked, ...q}});
});
let steps; // of the model that was started last
const made = async q => {
    const answer = await ask(q);
    assert.equal(answer.error, undefined);
    if (q.op === "start") steps = answer.steps;
    return answer;
};
const near = (a, b, most) => assert.ok(Math.abs(a - b) <= most, `found ${a}, want ${b} within ${most}`);

const COPY = "task copy\nmax-length 6\nlayers 1\nd-model 32\nheads 2\ndropout 0\n";
// Trains to the last step; a message ends where an evaluation is due.
const trained = async () => {
    for (let done = false; !done;) {
        const step = await made({op: "step", n: 1000, ms: 1e9});
        if (step.due) await made({op: "evaluate", rows: 8});
        done = step.step >= steps;
    }
};
const answers = async texts => {
    const found = [];
    for (const text of texts) found.push((await made({op: "answer", text})).answer);
    return found;
};

const tests = {
    // Verdicts, and all words of the report; digits beyond the fourth may differ, because the native program fuses products.
    async "20 right and 20 wrong functions have the verdict of ./gradcheck"() {
        const words = text => text.replace(/[-+]?\d+\.\d+(e[-+]?\d+)?|[-+]?\d+e[-+]?\d+|\binf\b/g, "#").replace(/\s+/g, " ").replace(/ in # s /, " ");
        assert.deepEqual([RIGHT.length, WRONG.length], [20, 20]);
        for (const [name, given, said] of [...RIGHT, ...WRONG]) {
            const exercise = EXERCISES.find(e => e.name === name), text = given ?? exercise.start;
            const file = path.join(folder, name + ".mjs");
            fs.writeFileSync(file, fileOf(exercise, text));
            const native = promisify(execFile)(gradcheck, ["--program", `node ${file}`]).catch(e => e);
            const {report, lines, gradients} = await made({op: "judge", program: programOf(exercise, text)});
            const {stdout, code = 0} = await native, fails = lines.filter(l => l.verdict === "FAIL");
            assert.equal(words(report), words(stdout), text);
            assert.deepEqual([code, fails.length > 0], said ? [1, true] : [0, false], text + report);
            assert.match(report + JSON.stringify(fails), RegExp(said ?? ""), text);
            if (!said) for (const {yours, right} of gradients) yours.forEach((x, i) => near(x, right[i], 1e-8 * Math.max(1, Math.abs(x))));
        }
    },

    async "the page in the repository has at most 800 KB"() {
        assert.ok(fs.statSync("data/tapeformer.html").size <= 800_000);
    },

    async "a text that is no program is refused"() {
        for (const text of ["function backward(", "", "const inputs = {x: [2]};"])
            assert.match((await ask({op: "judge", program: programOf(EXERCISES.at(-1), text)})).error ?? "", /Error|not defined/);
    },

    // The module multiplies, rounds and adds, four numbers at a time, as a native build without fused multiply-add does.
    async "a training run has the bits of the native one"() {
        if (!train) return console.log("skip: no native program of the same arithmetic");
        for (const [name, options] of Object.entries({
            copy: "steps 30\ndropout 0.1\nd-model 64\nlayers 2", sort: "steps 12\npositions rotary\noptimizer muon\nd-model 32",
            lm: "steps 12\ndropout 0.1\nlayers 2\nd-model 32\ntokenizer char"})) {
            const run = path.join(folder, name), text = fs.readFileSync("data/chronicle.txt", "utf8");
            const flags = options.split("\n").flatMap(line => ["--" + line.split(" ")[0], line.split(" ")[1]]);
            execFileSync(train, [name, ...(name === "lm" ? ["data/chronicle.txt"] : []), ...flags, "--eval-every", "5", "--threads", "1", "--quiet", "--run", run]);
            await made({op: "start", config: `task ${name}\neval-every 5\n${options}`, text: name === "lm" ? text : undefined});
            await trained();
            const {bytes} = await made({op: "save"});
            assert.ok(fs.readFileSync(path.join(run, "model.safetensors")).equals(bytes), name);
        }
    },

    async "a model saved by the page answers the same in ./generate"() {
        await made({op: "start", config: COPY + "steps 150\nbatch 32"});
        await trained();
        const texts = ["ABC", "x", "123456", "Zz9"], run = path.join(folder, "saved");
        fs.mkdirSync(run);
        fs.writeFileSync(path.join(run, "model.safetensors"), (await made({op: "save"})).bytes);
        const native = execFileSync(generate, [run], {input: texts.join("\n") + "\n"}).toString().trimEnd().split("\n");
        assert.deepEqual(await answers(texts), native);
        const bytes = fs.readFileSync(path.join(run, "model.safetensors"));
        await made({op: "start", config: COPY});
        await made({op: "load", bytes});
        assert.deepEqual(await answers(texts), native);
        assert.equal((await made({op: "answer", text: "ABC"})).wanted, "ABC");
    },

    async "damaged weights are an error, and the model before them stays"() {
        await made({op: "start", config: COPY + "steps 20"});
        await trained();
        const before = await answers(["ABC", "3"]), {bytes} = await made({op: "save"});
        const cases = [new Uint8Array(0), bytes.slice(0, 7), bytes.slice(0, -1), new Uint8Array(1000).fill(255)];
        for (let i = 0; i < 60; i++) {
            const copy = bytes.slice();
            copy[(i * 7919) % copy.length] ^= 1 << i % 8;
            cases.push(copy);
        }
        for (const damaged of cases) {
            const {error, status, lost} = await ask({op: "load", bytes: damaged});
            assert.ok(error && !error.includes("\n"), error);
            assert.equal(lost, undefined);
            assert.equal(status, 65, error);
        }
        assert.deepEqual(await answers(["ABC", "3"]), before);
        assert.equal((await made({op: "step"})).step, 20);
    },

    async "what does not fit is one line, and the module goes on"() {
        await made({op: "start", config: COPY});
        const huge = "<b>&\"'".repeat(200000);
        for (const [q, said] of [
            [{op: "start", config: "task copy\nlayers x"}, /layers: found "x"/], [{op: "start", config: "task nothing"}, /nothing/],
            [{op: "start", config: "task copy\nd-model 65536\nlayers 900"}, /memory/], [{op: "start", config: huge}, /found/],
            [{op: "start", config: "task lm", text: ""}, /found/], [{op: "answer", text: ""}, /found 0 tokens/],
            [{op: "answer", text: huge}, /found/], [{op: "answer", text: "A".repeat(1e6)}, /found 1000000 tokens/],
            [{op: "walk", text: "<script>"}, /found '<'/], [{op: "walk", text: "A", answer: "A".repeat(99)}, /found 99 tokens/],
            [{op: "other"}, /other/]]) {
            const {error, status, lost} = await ask(q);
            assert.match(error ?? "no error", said, JSON.stringify(q).slice(0, 80));
            assert.ok(!error.includes("\n") && error.length < 600 && status && !lost);
        }
        assert.equal((await made({op: "step"})).step, 1);
    },

    async "a model of a text is loaded, and its continuation followed"() {
        await made({op: "start", config: "task lm\nlayers 1\nsteps 1", text: fs.readFileSync("data/chronicle.txt", "utf8")});
        await made({op: "load", bytes: (await made({op: "save"})).bytes});
        const {target} = await made({op: "walk", text: "Wren sat"}), more = await made({op: "walk", text: "Wren sat", more: 5});
        assert.ok(more.all.some(r => r.axes?.at(-1) === "vocabulary"));
        assert.equal(more.target.length, target.length + 5);
    },

    async "after a crash the next request gets a new module"() {
        await made({op: "start", config: COPY});
        const {now} = performance;
        performance.now = () => { throw new Error("broken clock"); };
        const answer = await ask({op: "step"});
        performance.now = now;
        assert.ok(answer.lost && /broken clock/.test(answer.error), answer.error);
        assert.match((await ask({op: "step"})).error, /need start/);
        await made({op: "start", config: COPY});
        assert.equal((await made({op: "step"})).step, 1);
    },

    async "without mask or positions"() {
        await made({op: "start", config: COPY});
        const shares = async more => (await made({op: "walk", text: "ABCABC", answer: "ABCABC", ...more})).all.filter(r => r.name === "A");
        for (const mask of [true, false]) {
            const maps = await shares({mask});
            assert.equal(maps.length, 3);
            for (const {module, shape: [heads, rows, columns], values} of maps)
                for (let i = 0; i < heads * rows; i++) {
                    near(values.slice(i * columns, (i + 1) * columns).reduce((a, b) => a + b), 1, 1e-12);
                    for (let j = i % rows + 1; /decoder.*self/.test(module) && j < columns; j++)
                        assert.equal(values[i * columns + j] > 0, !mask);
                }
        }
        const [{values}] = await shares({positions: false});
        values.slice(0, 3).forEach((x, i) => near(x, values[3 * 6 + 3 + i], 1e-12)); // an A is like any other A
        await made({op: "start", config: COPY + "steps 200\nbatch 32"});
        await trained();
        const answer = async (text, switches) => (await made({op: "answer", text, ...switches})).answer;
        assert.equal(await answer("ABC", {positions: false}), await answer("CAB", {positions: false}));
        const whole = await answer("ABC");
        assert.notEqual(whole, await answer("CAB"));
        assert.equal(await answer("ABC", {mask: false}), whole); // nothing is to the right while it is written
        await made({op: "start", config: COPY, mask: false, positions: false});
        const one = (await made({op: "step"})).losses[0];
        await made({op: "start", config: COPY});
        assert.notEqual((await made({op: "step"})).losses[0], one);
    },

    // Judged by a file, without its checksum, whose columns of W^O are zero.
    async "heads that are switched off are heads whose output is multiplied by zero"() {
        await made({op: "start", config: COPY + "steps 60\nbatch 32"});
        await trained();
        const saved = async () => Buffer.from((await made({op: "save"})).bytes), file = await saved();
        const size = Number(file.readBigUInt64LE()), header = JSON.parse(file.subarray(8, 8 + size)), data = Buffer.from(file.subarray(8 + size));
        const off = ["decoder.layers.0.multihead_attn 1", "encoder.layers.0.self_attn 0", "encoder.layers.0.self_attn 0"];
        for (const [name, head] of off.map(line => line.split(" ")))
            for (let i = 0; i < 32; i++) {
                const at = header[name + ".out_proj.weight"].data_offsets[0] + 4 * (32 * i + 16 * head);
                data.fill(0, at, at + 4 * 16);
            }
        delete header.__metadata__.crc32;
        const text = Buffer.from(JSON.stringify(header)), length = Buffer.alloc(8);
        length.writeBigUInt64LE(BigInt(text.length));

        const whole = await made({op: "evaluate", rows: 64}), part = await made({op: "evaluate", rows: 64, off});
        assert.ok(part.loss > whole.loss + .01, `${part.loss}, with all heads ${whole.loss}`);
        const looked = await made({op: "walk", text: "ABCA", off}), {answer} = await made({op: "answer", text: "ABCA", off});
        assert.ok(file.equals(await saved()), "they are not on again");
        await made({op: "load", bytes: Buffer.concat([length, text, data])});
        const again = await made({op: "walk", text: "ABCA"}), numbers = ({all}) => all.map(r => r.values);
        assert.deepEqual(numbers(again), numbers(looked));
        assert.equal((await made({op: "answer", text: "ABCA"})).answer, answer);
    },

    async "the learning rate changes from one step to the next"() {
        const loss = async () => (await made({op: "evaluate", rows: 8})).loss;
        await made({op: "start", config: COPY + "steps 100"});
        await made({op: "rate", rate: 1e-30}), await made({op: "step", n: 5, ms: 1e9});
        const still = await loss();
        await made({op: "step"});
        assert.equal(await loss(), still);
        await made({op: "rate", rate: .1}), await made({op: "step"});
        assert.notEqual(await loss(), still);
        assert.match((await ask({op: "rate", rate: 0})).error, /need more than 0/);
    },

    // NumPy judges the walk of ./explain: tests/explain/numpy_walk.py.
    async "each record of the walk, forward and back, is that of ./explain"() {
        const run = path.join(folder, "walked");
        fs.mkdirSync(run);
        for (const [config, text] of [[COPY, "ABCA"], [COPY + "layers 2\nnorm pre", "ABCA"], [COPY + "positions rotary\nqk-norm true", "ABCA"],
            [COPY + "activation gelu", "AB"], ["task add\nlayers 1\nd-model 16\nheads 2", "12+3"], [COPY + "attention additive", "AB"]]) {
            await made({op: "start", config: config.replace("layers 1\n", config.includes("layers 2") ? "" : "layers 1\n")});
            fs.writeFileSync(path.join(run, "model.safetensors"), (await made({op: "save"})).bytes);
            const {all} = await made({op: "walk", text}), of = new Map(all.map(r => [r.index, r]));
            for (const way of [[], ["--backward"]]) {
                const native = execFileSync(explain, ["--model", run, "--text", text, "--json", ...way], {maxBuffer: 1e9});
                const records = native.toString().trim().split("\n").map(line => JSON.parse(line)).filter(d => d.record >= 0);
                assert.ok(records.length >= 20, config);
                for (const {record, formula, gradient, values = gradient} of records) {
                    const r = of.get(record), found = way.length ? r.grad : r.values;
                    assert.equal(r.formula, formula), assert.equal(found.length, values.length);
                    values.forEach((x, i) => assert.ok(x === null ? found[i] === -Infinity : Math.abs(x - found[i]) < 1e-9, r.id));
                }
            }
            for (const r of all.filter(r => r.index >= 0)) { // a cell that is a sum has its terms
                const element = (37 * r.index) % r.values.length, {value, rest, terms} = await made({op: "sum", index: r.index, element});
                const sum = terms.reduce((sum, [, , x, slope]) => sum + x * slope, rest);
                assert.ok(Number.isFinite(r.values[element]) ? value === r.values[element] : value === null);
                if (terms.length) near(sum, value, 1e-9 * Math.max(1, Math.abs(value)));
            }
        }
    },

    // The sum of the terms is what the step adds, and the losses of a pushed number rise as its gradient says.
    async "backward: every sum has its terms, and the loss moves as the gradient says"() {
        let cells = 0, weights = 0, bent = 0;
        for (const [config, text, answer] of [[COPY, "ABCA", "ABCA"], [COPY + "norm pre\nqk-norm true\npositions rotary", "ABCA", ""],
            [COPY + "activation gelu", "AB", "AB"]]) {
            await made({op: "start", config});
            const {all} = await made({op: "walk", text, answer}), of = new Map(all.map(r => [r.index, r]));
            for (const {index, operation, reads, view} of all.filter(r => r.index >= 0 && r.grad)) {
                const operands = reads.map(k => of.get(k)), {parts} = await made({op: "parts", index, shapes: operands.map(x => x?.shape)});
                for (const [input, x] of operands.entries()) {
                    if (!parts[input] || view) continue;
                    const element = (37 * cells++) % x.values.length, {added, terms} = await made({op: "sum", index, operand: input, element});
                    near(terms.reduce((sum, [, dy, slope]) => sum + dy * slope, 0), added, 1e-12);
                    assert.equal(parts[input][element], added);
                    const {value, gradient, range, losses} = await made({op: "push", index, operand: input, element});
                    assert.equal(gradient, x.grad[element]);
                    const difference = (8 * (losses[21] - losses[19]) - losses[22] + losses[18]) / (12 * .05 * range);
                    const close = d => Math.abs(d - gradient) <= 2e-3 + .05 * Math.abs(gradient);
                    const beside = [losses[21] - losses[20], losses[20] - losses[19]].map(d => d / (.05 * range));
                    bent += !close(difference); // a ReLU bends the loss: the gradient is the slope of one side
                    assert.ok(close(difference) || beside.some(close), `${operation}: ${gradient}, ${difference}, ${beside}`);
                    const ends = [losses[0], losses[40]].map(loss => Math.abs(loss - losses[20])); // its tangent is seen to rise
                    assert.ok(range === .01 || !gradient || Math.max(...ends) <= 4 * Math.abs(gradient) * range, `${operation}: ${ends}`);
                    assert.ok((x.name === "masked S'" || Number.isFinite(value)) && losses.length === 41);
                    weights += Boolean(x.parameter) && gradient !== 0;
                }
            }
        }
        assert.ok(cells > 200 && weights > 60 && bent <= 3, `${cells} cells, ${weights} weights, ${bent} bent`);
        for (const q of [{op: "push", index: 999}, {op: "push", index: 0, operand: 99}, {op: "push", index: 3, element: 1e9},
            {op: "sum", index: 999}, {op: "sum", index: 0, operand: 9}, {op: "parts", index: -1}])
            assert.match((await ask({element: 0, ...q})).error, /need one of the walk/);
    },

    async "memory stays flat"() {
        const round = async () => {
            await made({op: "start", config: COPY + "steps 100000"});
            for (let i = 0; i < 4; i++) {
                await made({op: "step", n: 100, ms: 1e9}), await made({op: "evaluate", rows: 16});
                await made({op: "walk", text: "ABC"}), await made({op: "parts", index: 1, shapes: [[3, 32], [96, 32], [96]]});
                await made({op: "load", bytes: (await made({op: "save"})).bytes.slice(0, 100 * i)}).catch(() => {});
                await made({op: "judge", program: programOf(EXERCISES[0], EXERCISES[0].start)});
            }
            return (await made({op: "memory"})).bytes;
        };
        await round();
        const before = await round();
        for (let i = 0; i < 3; i++) assert.equal(await round(), before);
    },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
    try {
        await test();
        console.log("ok web: " + name);
    } catch (error) {
        failed++;
        console.log("FAIL web: " + name + "\n" + error.stack);
    }
}
fs.rmSync(folder, {recursive: true});
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
