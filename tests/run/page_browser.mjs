// The pages of runs in Chromium: what is drawn at a step is what the record says, texts cannot
// break a page, and it fits a desk, a phone and paper. Usage: node page_browser.mjs PROGRAMS, the
// folder of train and generate.
import assert from 'node:assert';
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';

import {installed, open} from '../web/chromium.mjs';

const programs = resolve(process.argv[2]), folder = mkdtempSync(join(tmpdir(), 'tapeformer-page-'));
const TINY = [
  '--layers', '2', '--heads', '2', '--d-model', '16', '--batch', '8', '--quiet', '--threads', '1'
];
const HOSTILE =
    '</script><script>window.pwned = 1</script> <!-- & "quoted" \u2028\u2029 \u202e <b>bold</b> ' +
    'x'.repeat(3000) + ' \\u003c %s 花\n';

function go(program, ...options) {
  const done = spawnSync(join(programs, program), options, {cwd: folder, encoding: 'utf8'});
  assert.equal(done.status, 0, done.stderr);
  return done.stdout;
}
function record(run) {
  const lines = readFileSync(join(folder, run, 'run.jsonl'), 'utf8')
                    .trim()
                    .split('\n')
                    .map(line => JSON.parse(line));
  return event => lines.filter(line => line.event === event);
}
const url = path => 'file://' + join(folder, path);
const shown = value => String(+value.toPrecision(4));

// Functions of the page for the tests: a curve in the units of its axes, by the ticks.
const TOOLS = `
  const one = s => document.querySelector(s), all = s => [...document.querySelectorAll(s)];
  const chart = title => all('figure').find(f => f.querySelector('strong')?.textContent === title);
  const value = text => Number(text.textContent.replace(/,/g, ''));
  function axis(figure, name, isLog) {
    const ticks = [...figure.querySelectorAll('text.' + name)];
    const at = t => Number(t.getAttribute(name)) - (name === 'y' ? 4 : 0);
    const scale = isLog ? Math.log : v => v;
    const [a, b] = [ticks[0], ticks.at(-1)];
    const slope = (scale(value(b)) - scale(value(a))) / (at(b) - at(a));
    return place => (isLog ? Math.exp : v => v)(scale(value(a)) + (place - at(a)) * slope);
  }
  function curve(title, series, isLog) {
    const figure = chart(title), x = axis(figure, 'x'), y = axis(figure, 'y', isLog);
    const group = [...figure.querySelectorAll('g')].find(g => g.dataset.series === series);
    return group.querySelector('path').getAttribute('d').slice(1).split('L')
        .map(p => p.split(' ').map(Number))
      .map(([a, b]) => [Math.round(x(a)), y(b)]);
  }`;

async function visit(path, options, test) {
  const page = await open(url(path), options);
  try {
    await page.holds('document.readyState === "complete" && !!document.querySelector("h1")');
    await page.until(
        '!document.querySelector("svg.chart") || !!document.querySelector("svg.chart path")', 20);
    await page.run(
        `globalThis.test = (() => { ${TOOLS}; return {one, all, chart, curve}; })(); undefined`);
    await test(page);
    assert.deepEqual(page.console, []);
    assert.deepEqual(page.requests.filter(request => !request.startsWith('file://')), []);
    assert.equal(page.requests.length, 1, 'the page loads another file');
  } finally {
    await page.close();
  }
}
const fits = async page => assert(
    await page.run('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
    'wider than the window');
function near(found, want, why) {
  assert.equal(found.length, want.length, why);
  found.forEach(([step, y], i) => {
    assert.equal(step, want[i][0], why);
    assert(
        Math.abs(y - want[i][1]) <= .01 * Math.abs(want[i][1]) + 1e-3,
        `${why}: step ${step}: ${y}, want ${want[i][1]}`);
  });
}
// Moves the mouse over a chart's step.
async function point(page, title, step, type = 'mouseMoved') {
  const at = await page.run(`(() => {
    const figure = test.chart(${JSON.stringify(title)}), svg = figure.querySelector('svg');
    figure.scrollIntoView({block: 'center'});
    const ticks = [...figure.querySelectorAll('text.x')].map(
        t => [Number(t.textContent.replace(/,/g, '')), Number(t.getAttribute('x'))]);
    const [a, b] = [ticks[0], ticks.at(-1)], x = a[1] + (${
      step} - a[0]) * (b[1] - a[1]) / (b[0] - a[0]);
    const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    return [box.left + x * scale, box.top + box.height / 2];
  })()`);
  const button = type === 'mouseMoved' ? 'none' : 'left';
  await page.send(
      'Input.dispatchMouseEvent',
      {type, x: at[0], y: at[1], button, buttons: type === 'mouseReleased' ? 0 : 1, clickCount: 1});
}

const tests = {
  async 'a run of copy at a desk'() {
    const of = record('copy');
    await visit('copy/report.html', {}, async page => {
      await fits(page);
      near(
          await page.run('test.curve("Loss", "held-out")'),
          of('evaluation').map(l => [l.step, l.val_loss]), 'held-out');
      near(
          await page.run('test.curve("Loss", "training")'), of('step').map(l => [l.step, l.loss]),
          'training');
      near(
          await page.run('test.curve("Learning rate", "learning rate")'),
          of('step').map(l => [l.step, l.learning_rate]), 'rate');
      await page.run('test.chart("Loss").querySelector("button").click()');
      near(
          await page.run('test.curve("Loss", "held-out", true)'),
          of('evaluation').map(l => [l.step, l.val_loss]), 'log scale');
      await page.run('test.chart("Loss").querySelector("button").click()');
      for (const step of [7, 20, 33]) {
        await point(page, 'Loss', step);
        const loss = of('step').find(l => l.step === step).loss;
        await page.holds(`test.chart('Loss').querySelector('output').textContent.startsWith('step ${
            step} · training ${shown(loss)} ')`);
      }
      await point(page, 'Loss', 10);
      await point(page, 'Loss', 10, 'mousePressed');
      await point(page, 'Loss', 15);
      await point(page, 'Loss', 20, 'mouseReleased');
      const steps = (await page.run('test.curve("Loss", "training")')).map(p => p[0]);
      assert(
          Math.abs(steps[0] - 10) <= 1 && Math.abs(steps.at(-1) - 20) <= 1, `zoomed to ${steps}`);
      await page.run(
          `[...test.chart('Loss').querySelectorAll('button')]
            .find(b => b.textContent === 'whole run').click()`);
      assert.equal((await page.run('test.curve("Loss", "training")')).length, of('step').length);
      // Answers, and maps at the first and the last step.
      const last = of('answer').filter(l => l.step === of('step').at(-1).step);
      const texts = await page.run(
          'test.all(".answers table").map(t => [t.caption.textContent, ' +
          't.rows[t.rows.length - 1].cells[1].textContent])');
      assert.deepEqual(
          texts,
          last.map(l => [`${l.given}  →  ${l.wanted}`, (l.answer || '–') + (l.right ? ' ✓' : '')]));
      for (const first of [false, true]) {
        await page.run(
            first ?
                `(() => { const s = test.all('section')
          .find(x => x.querySelector('h2').textContent === 'Attention').querySelector('input');
          s.value = 0; s.dispatchEvent(new Event('input')); })()` :
                '0');
        const step = of('attention').at(first ? 0 : -1).step;
        const name = await page.run('test.one(".maps h3").textContent');
        const [, side, layer, kind, head] = name.match(/^(\w+) layer (\d): (\S+), head (\d)$/);
        const module = `${side}.layers.${layer - 1}.${
            kind === 'cross-attention' ? 'multihead_attn' : 'self_attn'}`;
        const want = of('attention')
                         .find(l => l.step === step && l.example === 0 && l.module === module)
                         .weights[head - 1];
        const cells =
            await page.run(`[...test.one('.maps svg').querySelectorAll('rect:not(.frame)')].map(r =>
          ['y', 'x', 'fill-opacity'].map(n => Number(r.getAttribute(n))))`);
        const found = want.map(row => row.map(() => 0));
        for (const [i, k, w] of cells) found[i][k] = w;
        assert.deepEqual(found, want, `${name} at step ${step}`);
      }
    });
  },
  async 'on a phone in the dark, and on paper'() {
    const dark = {width: 390, media: {'prefers-color-scheme': 'dark'}};
    await visit('copy/report.html', dark, async page => {
      await fits(page);
      assert.equal(
          await page.run('getComputedStyle(document.body).backgroundColor'), 'rgb(21, 23, 27)');
      await page.send(
          'Emulation.setEmulatedMedia',
          {media: 'print', features: [{name: 'prefers-color-scheme', value: 'dark'}]});
      assert.equal(
          await page.run('getComputedStyle(document.body).backgroundColor'), 'rgb(255, 255, 255)');
      assert(await page.run(
          'test.all(".controls, button").every(x => x.closest(".heads") || ' +
              'getComputedStyle(x).display === "none")'));
      await fits(page);
    });
  },
  async 'a hostile text'() {
    const of = record('lm');
    for (const width of [1280, 390]) {
      await visit('lm/report.html', {width}, async page => {
        await fits(page);
        assert.equal(await page.run('typeof window.pwned'), 'undefined');
        const sample = of('sample').at(-1);
        assert.equal(
            await page.run('test.one(".sample").textContent'), sample.prompt + sample.text);
        assert.equal(await page.run('test.one("section h2").textContent'), 'Generated text');
        for (const text of ['.sample', '.costs'])  // it has indented lines
          assert.match(
              await page.run(`getComputedStyle(test.one('${text}')).fontFamily`), /monospace/);
        const costs = of('costs').filter(l => l.step === of('costs').at(-1).step);
        assert.equal(
            await page.run('test.all(".costs span").length'),
            costs.flatMap(l => l.nats.filter(n => n !== null)).length);
        const factor = of('run')[0].characters_per_token,
              ofTraining = of('run')[0].training_characters_per_token;
        assert(Math.abs(factor - ofTraining) > .1);
        near(
            await page.run('test.curve("Loss", "held-out")'),
            of('evaluation').map(l => [l.step, (l.curve_loss ?? l.val_loss) / factor]), 'held-out');
        near(
            await page.run('test.curve("Loss", "training")'),
            of('step').map(l => [l.step, l.loss / ofTraining]), 'training');
        // The axis is that of the model's own losses; a yardstick beyond it is named at its edge.
        const highest = Math.max(
            ...of('step').map(l => l.loss / ofTraining),
            ...of('evaluation').map(l => (l.curve_loss ?? l.val_loss) / factor));
        const beyond = Object.entries(of('run')[0].yardsticks)
                           .filter(([, y]) => y / factor > highest * 1.1)
                           .map(([name]) => name);
        const edge = await page.run('test.all("text.beyond").map(t => t.textContent).join()');
        assert(beyond.every(name => edge.includes(name)), `${beyond} are not in ${edge}`);
      });
    }
  },
  async 'two runs compared'() {
    const [a, b] = ['lm', 'other'].map(run => record(run)('run')[0].settings);
    await visit('compare.html', {width: 390}, async page => {
      await fits(page);
      const rows =
          await page.run('test.all("tbody tr").map(r => [...r.cells].map(c => c.textContent))');
      const results = [
        'held-out nats per character', 'held-out bits per character', 'held-out accuracy',
        'parameters', 'steps', 'training tokens', 'time'
      ];
      const settings = rows.filter(row => !results.includes(row[0]));
      const differing =
          [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(key => a[key] !== b[key]);
      assert.deepEqual(settings.map(row => row[0]).sort(), differing.sort());
      for (const [key, left, right] of settings)
        assert.deepEqual([left, right], [String(a[key] ?? '–'), String(b[key] ?? '–')]);
      const written = await page.run('test.all("p.text").map(p => p.textContent)');
      assert.deepEqual(
          written,
          ['lm', 'other'].map(run => record(run)('sample').at(-1)).map(l => l.prompt + l.text));
      for (const run of ['lm', 'other'])
        near(
            await page.run(`test.curve('Held-out loss', '${run}')`),
            record(run)('evaluation').map(
                l => [l.step,
                      (l.curve_loss ?? l.val_loss) / record(run)('run')[0].characters_per_token]),
            run);
    });
  },
};

if (!installed()) {
  console.log('skip tests/run/page_browser.mjs: there is no chromium');
  process.exit(0);
}
let failed = 0;
try {
  writeFileSync(
      join(folder, 'text'), (HOSTILE + '  the cat sat on the mat, \n'.repeat(40)).repeat(3));
  go('train', 'copy', ...TINY, '--symbols', '6', '--max-length', '5', '--held-out', '30', '--steps',
     '40', '--eval-every', '8', '--run', 'copy');
  const text = [
    'lm', '--text', 'text', '--tokenizer', 'bpe', '--context', '16', ...TINY, '--steps', '30',
    '--eval-every', '10'
  ];
  go('train', ...text, '--run', 'lm');
  go('train', ...text, '--run', 'other', '--lr', '0.0001', '--dropout', '0.2');
  go('train', '--compare', 'lm', 'other', '--run', '.');
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test();
      console.log(`ok   page_browser: ${name}`);
    } catch (error) {
      failed++;
      console.log(`FAIL page_browser: ${name}\n${error.stack}`);
    }
  }
} finally {
  rmSync(folder, {recursive: true, force: true});
}
process.exit(failed ? 1 : 0);
