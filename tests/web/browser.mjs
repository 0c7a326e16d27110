// Uses the page in headless Chromium as a reader does, by pointer and by keyboard, and as an attacker does.
// Arguments: the page, and a part of the names of the tests to run. Without Chromium it prints one line and exits with status 0.
import assert from 'node:assert/strict';
import {mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {installed, open} from './chromium.mjs';

const file = 'file://' + resolve(process.argv[2] ?? 'build/web/tapeformer.html');
const tests = [], test = (name, f) => tests.push([name, f]);

// No request to the worker is open, and nothing waits to be painted.
const still = 'model && !starting && !waiting.size && !ready().length';

// Runs f on a fresh page after its model is ready: at rest and at full pace, unless it is opened `asIs`. Fails on any
// console output and on any request but the file.
async function visit({query = '', asIs, ...options}, f) {
  const page = await open(file + query, options);
  try {
    await page.holds('typeof model !== "undefined" && model && $("answer").textContent && !$("run").disabled', 'no model');
    if (!asIs) {
      await page.run("running && $('run').click(), $('pace').value = $('pace').max, $('reset').click()");
      await page.holds('!state.step && !looping && ' + still);
    }
    await f(page);
    assert.deepEqual(page.console, []);
    assert.deepEqual(page.requests.filter(u => u.split('?')[0] !== file && !u.startsWith('blob:')), []);
  } finally {
    await page.close();
  }
}
const choose = (page, id, value) => page.run(`$(${JSON.stringify(id)}).value = ${JSON.stringify(value)}; $(${JSON.stringify(id)}).dispatchEvent(new Event('change'))`);
const type = (page, text) => page.run(`$('input').value = ${JSON.stringify(text)}; $('input').dispatchEvent(new Event('input'))`);
const trained = page => page.holds('state.step === model.steps && !running', 'the training does not end', 200);
const ENDLESS = '?steps=20000'; // no test is slower than this training

for (const [width, scheme] of [[1280, 'light'], [390, 'dark']])
  test(`the page at ${width} pixels, ${scheme}, in two languages`, () =>
    visit({width, media: {'prefers-color-scheme': scheme, 'prefers-reduced-motion': 'reduce'}}, async page => {
      for (const text of ['A Transformer learns before your eyes', '看着 Transformer 学习']) {
        assert.equal(await page.run("document.querySelector('h1').textContent"), text);
        assert.equal(await page.run('document.documentElement.scrollWidth > innerWidth'), false, 'wider than the window');
        const nameless = `[...document.querySelectorAll('button, a, select, input, textarea, canvas, svg')].filter(x => x.checkVisibility()
          && !x.closest('[aria-hidden=true]') && !(x.getAttribute('aria-label') || x.textContent.trim() || x.labels?.[0]?.textContent.trim())).map(x => x.outerHTML)`;
        await page.until(nameless + '.length === 0', 20);
        assert.deepEqual(await page.run(nameless), []);
        await page.run("$('language').click()");
      }
      assert.equal(await page.run('getComputedStyle(document.documentElement).scrollBehavior'), 'auto');
      assert.deepEqual(await page.run(`Object.entries(TEXTS).filter(([k, v]) => v.length !== 2 || k !== 'mk_says_none' && v.some(x => !x)
        || String(v[0].match(/\\{\\d\\}/g)?.sort()) !== String(v[1].match(/\\{\\d\\}/g)?.sort())).map(([k]) => k)`), [], 'texts of one language');
      await page.send('Emulation.setEmulatedMedia', {media: 'print'});
      assert.deepEqual(await page.run("[...document.querySelectorAll('#run, nav, .switches')].filter(x => getComputedStyle(x).display !== 'none').length"), 0, 'controls on paper');
      assert((await page.send('Page.printToPDF')).data.length > 10000);
    }));

const bottom = id => `$('${id}').getBoundingClientRect().bottom`;
const number = (page, expression) => page.run(expression).then(Number);
const wait = ms => new Promise(go => setTimeout(go, ms));

test('the first screen shows a model that learns by itself, at a pace to watch', () => visit({asIs: true, height: 800}, async page => {
  await page.holds("state.step > 2 && document.querySelectorAll('#maps button').length === 12 && [...document.querySelectorAll('#links path')].some(x => x.getAttribute('d'))");
  await page.holds(`scrollY === 0 && [${['intro', 'run', 'input', 'loss', 'exact', 'lines', 'maps', 'line-says'].map(bottom)}].every(y => y > 0 && y <= 800)`);
  await page.holds("/by itself/.test($('intro').textContent)");
  const looks = `[$('answer').textContent, $('maps').querySelectorAll('canvas')[2].toDataURL(), $('loss').toDataURL()]`;
  await page.run('window.before = ' + looks);
  const from = await number(page, 'state.step'), began = Date.now();
  await wait(6000);
  const rate = (await number(page, 'state.step') - from) / (Date.now() - began) * 1000;
  assert(rate > .5 && rate < 14, rate + ' steps a second: copy takes half a minute at 13'); // a slow machine makes fewer
  await page.holds(looks + '.every((x, i) => x !== before[i])', 'answer, maps or curve stay as they were');
  await page.run("$('pace').focus()");
  await page.key('Home');
  await page.holds('!waiting.size'); // the steps asked for at the pace before are made
  const slow = await number(page, 'state.step'), pressed = Date.now();
  await page.holds(`state.step >= ${slow + 3}`);
  assert(Date.now() - pressed > 1500, 'three steps take two seconds or more: one a second');
  await page.key('End');
  await page.holds("$('pace-says').textContent === 'as fast as it can'");
  await trained(page);
}));

test('no frame paints two heat maps', () => visit({}, async page => {
  await page.run(`$('run').click(), inSight.add('follow'), window.most = 0;
    let painted = 0;
    const {putImageData} = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.putImageData = function(...image) { painted++, putImageData.apply(this, image); };
    (function frame() { most = Math.max(most, painted), painted = 0, requestAnimationFrame(frame); })()`);
  await trained(page), await page.holds(still);
  assert.equal(await page.run('most'), 1);
}));

test('with reduced motion it waits for Start', () => visit({asIs: true, media: {'prefers-reduced-motion': 'reduce'}}, async page => {
  await wait(2500);
  await page.holds("state.step === 0 && !running && /press Start/.test($('intro').textContent)");
}));

test('the address holds the settings', () => visit({query: '?task=sort&heads=2&seed=7&pace=3&ask=3141&layers=9&lr=<b>', asIs: true}, async page => {
  const {task, heads, seed, layers, lr, steps} = await page.run('choice');
  assert.deepEqual({task, heads, seed, layers, lr, steps}, {task: 'sort', heads: '2', seed: '7', layers: '1', lr: '0.005', steps: '800'});
  await page.holds("model.task === 'sort' && model.heads === 2 && $('pace').value === '3' && $('input').value === '3141'");
  await choose(page, 's-seed', '8'), await choose(page, 's-heads', '4'), await choose(page, 's-seed', '-1');
  assert.equal(await page.run('location.search'), '?task=sort&seed=8&pace=3&ask=3141');
  await page.holds('model && model.heads === 4');
  const first = async () => { // the first loss
    await page.run('running = true, start()');
    await page.holds('!starting && trainCurve.y.length');
    return page.run('trainCurve.y[0]');
  };
  const loss = await first();
  await page.run("$('reset').click()");
  assert.equal(await first(), loss, 'the seed stays');
  await choose(page, 's-seed', '9');
  assert.notEqual(await first(), loss);
}));

test('the learning rate changes while it learns', () => visit({query: ENDLESS}, async page => {
  await page.run("$('run').click()");
  await page.holds('state.step > 60');
  await choose(page, 's-lr', '0.5');
  await page.holds('state.step > 120 || !running');
  await page.holds('trainCurve.y.length > 100 && Math.max(...trainCurve.y.slice(80)) > 1', 'the loss does not jump');
  await page.run("running && $('run').click()");
  await page.holds("$('command-part').hidden", 'the command trains with one rate');
}));

test('a head is switched off by a click on its map', () => visit({height: 800}, async page => {
  await page.run("$('run').click()");
  await trained(page);
  await page.run("for (const b of [...document.querySelectorAll('#maps button')].slice(8)) b.click()");
  await page.holds("/Switched off: [^;]*head 1, head 2, head 3, head 4. With all heads: 31415926 ✓, exact (100|9\\d(\\.\\d)?)\\s%. Without: .*✗.*, exact \\d(\\.\\d)?\\s%/.test($('off-says').textContent)");
  await page.holds("/✗/.test($('answer').textContent)", 'the answer is that of all heads');
  await page.run("$('mask').click(), $('positions').click()");
  await page.holds("/Without the mask.*Positions off/.test($('switch-says').textContent) && " + still);
  await page.holds(`scrollY === 0 && ${bottom('switch-says')} <= 800 && ${bottom('off-says')} <= 800`, 'a note is cut');
  await page.run("$('mask').click(), $('positions').click()");
  await page.run("document.querySelectorAll('#maps button')[8].focus()");
  for (let i = 8; i < 12; i++) await page.key('Enter', '\r'), await page.key('Tab');
  await page.holds("!document.querySelectorAll('#maps [aria-checked=false]').length && !$('off-says').textContent");
}));

test('backward: each gradient has its terms, and a number is pushed', () => visit({}, async page => {
  await page.run(`inSight.add('follow'), $('run').click(), new Promise(done => {
    const look = () => state.step < 100 ? setTimeout(look, 5) : done($('run').click());
    look();
  })`);
  await page.holds('!running && !looping && ' + still);
  await page.holds("$('side').value === 'decoder' && document.querySelector('#stages [aria-current=step]')?.textContent === 'S'");
  await choose(page, 'direction', 'backward');
  await page.holds("/^self_attn.in_proj_weight/.test($('push-says').textContent)", 'no weight is chosen');
  const chips = "[...document.querySelectorAll('#stages button')]", click = name => page.run(`${chips}.find(b => b.textContent === ${JSON.stringify(name)}).click()`).then(() => page.holds(still));
  await page.holds(chips + ".some(b => b.textContent === \"d masked S'\")");
  await page.holds(`new Set(${chips}.map(b => b.textContent)).size === ${chips}.length`, 'two gradients of one name');
  const said = "$('cell-says').textContent", figures = "document.querySelectorAll('#equation canvas')";
  for (let i = await page.run(chips + '.length'); i-- > 0;) { // each sum gives its cell
    await page.run(`${chips}[${i}].click(), $('cell-says').textContent = ''`);
    await page.holds(said, 'no sum at step ' + i);
    assert.doesNotMatch(await page.run("$('stage-formula').textContent.split('\\n')[0]"), /\b[a-z_]+ \d/, 'a name of the tape');
    const text = await page.run(said), sum = text.match(/\] = (.*) = (−?[\d.e−]+) /);
    assert(text && !/NaN|undefined/.test(text), text);
    const plain = s => s.replace(/\[[^\]]*\]/g, '').replace(/−/g, '-').replace(/·/g, '*');
    if (sum && !/more/.test(sum[1])) assert(Math.abs(eval(plain(sum[1])) - Number(plain(sum[2]))) < 5e-3, text);
  }
  for (const [name, gap] of [['d LayerNorm across', true], ['d S', false], ['d Y', false], ['d X', true]]) {
    await click(name);
    assert.equal(await page.run("/left out here/.test($('stage-says').textContent)"), gap, name);
  }
  const shows = text => page.holds(`${text}.test(${said})`);
  await click("d masked S'");
  await page.holds(`/mask/.test(${figures}[0].ariaLabel)`);
  await page.run(`${figures}[1].focus()`);
  for (let i = 0; i < 9; i++) await page.key('ArrowUp'), await page.key('ArrowRight'); // the last key of query 1
  await shows('/\\[0 .*= 0 Zero, because the mask hides/');
  await page.holds("/stays as it is/.test($('push-says').textContent)");
  for (let i = 0; i < 9; i++) await page.key('ArrowLeft'); // the first token sees itself only
  await shows("/= 0 Zero, because this token sees one token only.* in the step d A → d masked S'\\./");
  await click('d A');
  await page.run(`${figures}[1].focus()`);
  for (let i = 0; i < 9; i++) await page.key('ArrowUp'), await page.key('ArrowRight');
  await shows('/= 0 Zero, because the mask has set this score to −∞/');
  await page.holds("$('h').disabled && /is −∞, set by the mask/.test($('push-says').textContent)");
  await click('d E source');
  await page.run(`${figures}[1].focus()`);
  for (let i = 0; i < 13; i++) await page.key('ArrowUp');
  for (let i = 0; i < 6; i++) await page.key('ArrowDown'); // the sequence has no 7, its answer may have one
  await shows('/^part 3 of 3: .*6 “7”.* = 0 Zero, because this token does not occur in what is read here. The number is read at 3 places.*: together /');
  await page.run("window.written = [], CanvasRenderingContext2D.prototype.fillText = text => written.push(text), $('h').value = 7");
  await click('d Q K V');
  await page.holds(`/^self_attn.in_proj_weight/.test($('push-says').textContent)`, 'no weight is chosen');
  await page.holds(still);
  await page.holds("$('h').value === '0' && written.includes('h = 0') && written.some(x => /^−0?\\.?\\d/.test(x)) && !written.includes('≈0')");
  await page.holds(`[...${figures}].some(c => /in_proj_weight/.test(c.ariaLabel))`);
  await page.run(`[...${figures}].find(c => /in_proj_weight/.test(c.ariaLabel)).dispatchEvent(new PointerEvent('pointerdown', {clientX: 0, clientY: 0}))`);
  await page.holds("/in_proj_weight\\[.*Its gradient/.test($('push-says').textContent)");
  const [, row, part, head] = (await page.run("$('push-says').textContent")).match(/\[(\d+), \d+\] \(W\^(.) of head (\d)\)/);
  assert.equal(Math.floor(row / 8), 4 * 'QKV'.indexOf(part) + Number(head) - 1); // as in nn.Transformer: Q, K, V of 32 rows, of four heads each
  await page.run("window.before = $('push-curve').toDataURL()");
  await page.run("$('h').focus()");
  await page.key('ArrowRight');
  await page.holds("/Pushed by 0\\.(05|005|0005) the loss is/.test($('push-says').textContent)");
  const [, is, says, unpushed] = (await page.run("$('push-says').textContent")).match(/loss is (.*); the tangent says (.*)\. Unpushed it is (.*)\./).map(Number);
  assert(Math.abs(is - says) < .2 * Math.abs(is - unpushed) + 1e-4, `${is} ${says} ${unpushed}`);
  await page.holds("$('push-curve').toDataURL() !== before", 'the curve has no point of the push');
  await choose(page, 'direction', 'forward');
  await page.holds("$('push').hidden && " + chips + ".some(b => b.textContent === 'A')");
}));

test('copy is learnt, looked at, followed, saved and loaded', async () => {
  const downloads = mkdtempSync(join(tmpdir(), 'tapeformer-web-'));
  await visit({downloads}, async page => {
    await page.run("$('run').click()");
    await trained(page);
    await page.holds('state.exact >= .99');
    await type(page, '2718');
    await page.holds("$('answer').textContent === '→ 2718 ✓'");
    await page.holds("document.querySelectorAll('#maps button').length === 12 && [...document.querySelectorAll('#links path')].some(x => x.getAttribute('d')) && " + still);
    await page.run("document.querySelectorAll('#lines g[tabindex]')[4].focus()"); // ▷ before 2
    await page.holds("/^At position 0 the decoder reads “▷” and writes “2”: it looks back at itself \\(0\\) 100\\s%; looks across at “2” \\(0\\) \\d\\d/.test($('line-says').textContent)");
    await page.run("$('mask').click()");
    await page.holds("/Without the mask/.test($('switch-says').textContent) && ![...document.querySelectorAll('#row-target .writes')].map(x => x.textContent).join('').startsWith('→ 2→ 7→ 1→ 8→ ■')");
    await page.holds("$('answer').textContent === '→ 2718 ✓' && /answer at the top stays/.test($('switch-says').textContent)");
    await page.run("$('positions').click()");
    await page.holds("/✗/.test($('answer').textContent)", 'the answer is that with positions');
    await page.run("$('positions').click(), $('follow').scrollIntoView()");
    await page.holds("document.querySelectorAll('#stages button').length > 15");
    for (const side of ['encoder', 'decoder', 'cross']) { // each cell's sum gives the cell
      await choose(page, 'side', side);
      await page.holds(still);
      for (let i = await page.run("document.querySelectorAll('#stages button').length"); i-- > 0;) {
        await page.run(`document.querySelectorAll('#stages button')[${i}].click()`);
        await page.holds(still);
        const said = await page.run("$('cell-says').textContent"), sum = said.match(/= ([^=]*) = (−?[\d.]+)$/);
        assert(said && !/NaN|undefined/.test(said), said);
        if (sum && /^[−\d.()·+\/ ]+$/.test(sum[1]))
          assert(Math.abs(eval(sum[1].replace(/−/g, '-').replace(/·/g, '*')) - Number(sum[2].replace('−', '-'))) < 1e-2, said);
      }
    }
    await page.run("$('save').click()");
    const name = join(downloads, 'model.safetensors');
    await page.holds("/bytes/.test($('take-says').textContent)");
    for (let i = 0; i < 100 && !readdirSync(downloads).includes('model.safetensors'); i++) await wait(50);
    await page.run("$('reset').click()");
    await page.holds('state.step === 0');
    const {root} = await page.send('DOM.getDocument'), {nodeId} = await page.send('DOM.querySelector', {nodeId: root.nodeId, selector: '#load'});
    const load = async path => { await page.send('DOM.setFileInputFiles', {nodeId, files: [path]}); };
    await load(name);
    await page.holds("/Loaded/.test($('take-says').textContent) && $('answer').textContent === '→ 2718 ✓'");
    writeFileSync(join(downloads, 'broken.safetensors'), '<img src=x onerror=alert(1)>');
    await load(join(downloads, 'broken.safetensors'));
    await page.holds("/could not be loaded/.test($('take-says').textContent)");
    await type(page, '27');
    await page.holds("$('answer').textContent === '→ 27 ✓'", 'the model before it is gone');
  });
  rmSync(downloads, {recursive: true});
});

test('the loss of an addition is that of the right sum, and its gradients have the names of their tokens', () => visit({query: '?task=add&ask=9%2B4'}, async page => {
  await page.holds("/learns by itself, .* to add two numbers\\./.test($('intro').textContent)");
  await page.run("$('follow').scrollIntoView()");
  await choose(page, 'direction', 'backward');
  const shown = (chip, k, names) => `[...$('stages').children].${chip}.click(), String(document.querySelectorAll('#equation canvas')[${k}]?.shows?.${names})`;
  await page.holds(shown('at(0)', 1, 'row') + " === '<begin>,3,1'", 'not 13, its units first');
  await page.holds(shown("find(b => b.textContent === 'd S')", 2, 'column') + " === '<begin>,3,1'");
  await page.holds(shown('at(-1)', 1, 'row') + ' === String(model.tokens)');
}));

test('while it trains, the sum of a gradient and its use beside the curve are of one moment', () => visit({}, async page => {
  await page.run("$('follow').scrollIntoView()");
  await choose(page, 'direction', 'backward');
  await page.holds("/gradient is/.test($('push-says').textContent)");
  await page.run("$('pace').value = 11, $('run').click()");
  const seen = new Set();
  for (const end = Date.now() + 60000; seen.size < 4 && Date.now() < end;) {
    const [sum, gradient] = await page.run("[/ = (\\S+) Each/.exec($('cell-says').textContent)[1], /gradient is (\\S+):/.exec($('push-says').textContent)[1]]");
    assert.equal(sum, gradient);
    seen.add(sum);
  }
  assert(seen.size === 4, 'the walk stays as it is');
}));

test('a right gradient passes and each planted mistake is caught', () => visit({}, async page => {
  await page.run("$('check').scrollIntoView()");
  await page.holds("$('operation').value");
  await choose(page, 'operation', 'softmax');
  for (const mistake of ['sign', 'factor', 'order', 'edge', 'overwrites', 'none']) {
    await choose(page, 'mistake', mistake);
    await page.holds(`/${mistake === 'none' ? 'PASS' : 'FAIL'}/.test(document.querySelector('#check-body .verdict').textContent)`, mistake);
    await page.run("document.querySelector('#check-body pre').textContent = document.querySelector('.verdict').textContent = ''");
  }
}));

test('hostile texts and 10,000 clicks', () => visit({query: ENDLESS}, async page => {
  const markup = '<img src=x onerror="document.title = 1"><script>document.title = 1</script>';
  await type(page, markup);
  await page.holds("/not in its alphabet/.test($('answer').textContent)");
  await type(page, '1'.repeat(1e6));
  await page.holds("/At most 8/.test($('answer').textContent)");
  await choose(page, 's-task', 'lm');
  await page.run('own.focus()');
  await page.send('Input.insertText', {text: markup.repeat(14000)}); // of one line, a browser takes 20 seconds to arrange it
  await page.run("own.value.length === 200001 && $('run').focus()");
  await page.holds("/first 200/.test($('message').textContent) && model && model.lm && !$('run').disabled");
  await type(page, markup.slice(0, 20));
  await page.holds("$('answer').textContent.startsWith('→')");
  await page.run("own.value = ''; own.dispatchEvent(new Event('change'))");
  await page.holds("/No model could be made/.test($('message').textContent)");
  await choose(page, 's-task', 'copy');
  await page.holds("model && model.task === 'copy'");
  await page.run("for (let i = 0; i < 2500; i++) for (const id of ['run', 'step', 'reset', 'next']) $(id).click()");
  await page.run("$('run').click()");
  await page.holds('running && state.step > 10', 'it does not go on');
  assert.equal(await page.run('document.title'), 'A Transformer learns before your eyes');
  assert.equal(await page.run("document.querySelectorAll('img').length"), 0);
}));

test('a crash of the module loses neither the page nor what waits', () => visit({query: ENDLESS}, async page => {
  await page.run(`worker.terminate(), worker = null, window.whole = openWorker;
    openWorker = () => new Worker(URL.createObjectURL(new Blob(["let calls = 0; const {now} = performance;" +
      "performance.now = () => { if (++calls > 300) throw new Error('broken clock'); return now.call(performance); };" +
      "(" + serve + ")(" + JSON.stringify(modules) + ", self)"])));
    start(), $('look').scrollIntoView({behavior: 'instant'})`);
  await page.holds("worker && model && state.step === 0");
  await page.run("$('run').click()");
  await page.holds("!running && !model && /broken clock/.test($('message').textContent) && !$('run').disabled");
  await type(page, '27');
  await wait(400);
  await page.holds("/broken clock/.test($('message').textContent)", 'the message is gone');
  await page.run("openWorker = whole");
  await page.run("$('run').click()");
  await page.holds("running && state.step > 3 && $('message').hidden", 'it does not start anew');
  await page.holds("$('answer').textContent.startsWith('→') && inSight.size", 'it does not answer');
}));

test('another model, another text: what was chosen before does no harm', () => visit({}, async page => {
  await page.run("inSight.add('look'), inSight.add('follow')");
  await choose(page, 's-layers', '4');
  await page.holds("model && model.layers[0] === 4 && $('layer').options.length === 4");
  await page.run("$('layer').value = '4'");
  for (const layers of ['1', '4', '1']) { // the walk asked for runs after the start
    await choose(page, 's-layers', layers), await choose(page, 'layer', '4');
    await page.holds(`model && model.layers[0] === ${layers}`);
  }
  await page.holds("document.querySelectorAll('#stages button').length > 15");
  assert.equal(await page.run("$('message').textContent"), '');
  await choose(page, 's-task', 'lm');
  for (const text of ['שלום עולם. '.repeat(5), '😀🎉🔥'.repeat(40), '床前明月光'.repeat(9), 'ab', 'abc', '12345678', 'aaaa']) { // no longer than the context
    await page.run(`own.value = '${text}'; own.dispatchEvent(new Event('change'))`);
    await page.holds(`model && model.lm && model.tokens.length === new Set('${text}').size
      && '${text}'.startsWith($('input').value) && $('answer').textContent.startsWith('→') && $('maps').querySelector('button')`, text);
    assert.equal(await page.run("$('message').textContent"), '', text);
    if (text[0] === 'ש') await page.holds("$('cell-says').textContent.includes('“ש\u200e”')", 'the sum runs to the left');
  }
  await choose(page, 's-task', 'copy');
  assert(await page.until("model && model.task === 'copy' && " + still));
  await page.run("window.written = [], CanvasRenderingContext2D.prototype.fillText = text => written.push(text)");
  await type(page, '1'), await choose(page, 'side', 'encoder');
  assert(await page.until("[...document.querySelectorAll('#equation figcaption')].some(c => c.textContent === 'S [1 × 1]') && " + still));
  assert.deepEqual(await page.run('written.filter(x => /\\.\\d{4}/.test(x))'), [], 'a score is longer than its cell');
}));

test('what is done while a model or a walk is replaced does no harm', () => visit({query: ENDLESS}, async page => {
  const quiet = async () => {
    await page.holds(still);
    assert.equal(await page.run("$('message').textContent"), '');
  };
  await page.run("inSight.add('follow')");
  await choose(page, 'direction', 'backward');
  await page.holds("$('push-says').textContent && " + still);
  await page.run("window.click = () => old.dispatchEvent(new PointerEvent('pointerdown')), window.old = document.querySelectorAll('#equation canvas')[1]");
  await page.run("$('direction').value = 'forward', $('direction').dispatchEvent(new Event('change')), click()");
  await quiet(), await page.run('click()'), await quiet();
  await page.run('viewers.forEach(v => v.shape?.()), click()');
  await quiet();
  for (let i = 0; i < 5; i++) { // the worker has the loaded model before the page
    await page.run("$('run').click()");
    await page.holds('running && state.step > 20');
    await page.run("ask('save').then(({bytes}) => { running = false, ask('load', {bytes}).then(took), change('lr', '0.01'); })");
    await page.holds('!model.steps');
    await quiet();
    await page.run("$('reset').click()");
    await page.holds('model.steps');
  }
  await page.run("location.hash = '#train'");
  await choose(page, 's-heads', '2');
  await page.run('history.back()');
  await page.holds("/heads=2/.test(location.search) && !location.hash");
}));

test('everything is reached with the keyboard, in sight', () => visit({query: ENDLESS}, async page => {
  await page.run("document.body.scrollIntoView(); $('look').scrollIntoView(); $('check').scrollIntoView()");
  // Until each part has been shown once, buttons are disabled that will be enabled.
  await page.holds("document.querySelector('#lines g[tabindex]') && document.querySelector('#stages button') && document.querySelector('#check-body .verdict').textContent && " + still);
  await page.run("document.activeElement.blur(); scrollTo(0, 0); window.left = new Set([...document.querySelectorAll('button, a, select, input, textarea, summary, [tabindex]')].filter(x => x.checkVisibility() && !x.disabled))");
  for (let i = 0; i < 250 && await page.run('left.size'); i++) {
    await page.key('Tab');
    const dull = await page.run(`(() => {
      const x = document.activeElement, shown = getComputedStyle(x.id === 'load' ? x.nextElementSibling : x.tagName === 'g' ? x.firstChild : x);
      left.delete(x);
      return x === document.body || shown.outlineStyle !== 'none' || shown.strokeWidth === '2px' ? '' : x.outerHTML.slice(0, 100);
    })()`);
    assert.equal(dull, '', 'the focus is not seen');
  }
  assert.deepEqual(await page.run('[...left].map(x => x.outerHTML.slice(0, 100))'), []);
  await page.run("$('run').focus()");
  await page.key(' ', ' ');
  await page.holds('running && state.step > 3');
  await page.key(' ', ' ');
  await page.holds('!running && ' + still);
  await choose(page, 'side', 'encoder'); // whose tokens do not depend on what has been learnt
  await page.holds('!looping && ' + still);
  await page.run("[...document.querySelectorAll('#stages button')].find(b => b.textContent === 'Q').click()");
  await page.holds("/^Q/.test($('cell-says').textContent)");
  await page.run("document.querySelector('#equation figure:last-child canvas').focus()");
  await page.key('ArrowRight'), await page.key('ArrowDown');
  await page.holds("/^Q\\[1 “1”, 1\\] =/.test($('cell-says').textContent)");
}));

// Two at a time: a test also waits.
let failed = 0;
const chosen = installed() ? tests.filter(([name]) => name.includes(process.argv[3] ?? '')) : [], left = [...chosen];
if (!installed()) console.log('skip browser: there is no chromium');
await Promise.all([1, 2].map(async () => {
  for (let next; (next = left.shift());)
    try {
      await next[1]();
      console.log('ok browser: ' + next[0]);
    } catch (error) {
      failed++;
      console.log('FAIL browser: ' + next[0] + '\n' + error.stack);
    }
}));
console.log(`${chosen.length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
