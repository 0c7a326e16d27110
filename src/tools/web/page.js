// The page: language, the worker, training, the address. The files that follow add the other parts.
'use strict';
// Set by figure.js and step.js: draw anew what is looked at, open a step, go to the next one.
let renewFigure, arrangeFigure, markFigure, renewStep, openStep, stepBy;

// ---- Language ----

const LANGUAGES = ['en', 'zh'];
let language = LANGUAGES.indexOf(new URLSearchParams(location.search).get('lang'));
if (language < 0) language = (navigator.language || '').toLowerCase().startsWith('zh') ? 1 : 0;
const t = (key, ...values) => {
  const text = TEXTS[key];
  return (text ? text[language] : key).replace(/\{(\d)\}/g, (_, i) => values[i]);
};
const translators = [];
function translate() {
  document.documentElement.lang = language ? 'zh-Hans' : 'en';
  document.title = t('title');
  for (const x of document.querySelectorAll('[data-t]')) x.textContent = t(x.dataset.t);
  for (const x of document.querySelectorAll('[data-label]'))
    attributes(x, {'aria-label': t(x.dataset.label)});
  $('language').textContent = language ? 'English' : '中文';
  $('language').lang = language ? 'en' : 'zh-Hans';
  translators.forEach(f => f());
  repaint();
}
$('language').addEventListener('click', () => { language = 1 - language; translate(), moved(); });

// Each part of the page has a link at the top; those below the figure have a title and a lead.
for (const part of document.querySelectorAll('main > section')) {
  const {id} = part, title = make('h2', {id: 'h-' + id, 'data-t': id + '_title'});
  if (!TEXTS[id]) continue;
  document.querySelector('nav').append(make('a', {href: '#' + id, 'data-t': id}));
  if (id === 'figure') continue;
  part.setAttribute('aria-labelledby', title.id);
  part.prepend(title, make('p', {'data-t': id + '_lead'}));
}
// Fills a select with [value, text] pairs and chooses one.
function fill(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => make('option', {value}, text)));
  select.value = chosen;
}

// ---- The worker ----

const waiting = new Map(), REPLACED = 'replaced';
let worker = null, requests = 0;
// Asks the worker. An answer for a model that has been replaced is an error that is not shown; of
// null: for any model.
function ask(op, more = {}, of = model) {
  if (!worker) {
    worker = openWorker();
    worker.onmessage = ({data}) => {
      heard = true;
      if (data.lost) return lose(t('lost', data.error));
      const w = waiting.get(data.id);
      waiting.delete(data.id);
      if (w.of && w.of !== model) w.fail(new Error(REPLACED));
      else data.error === undefined ? w.done(data) : w.fail(new Error(data.error));
    };
    worker.onerror = e => { e.preventDefault(); lose(t('no_worker', e.message || '')); };
  }
  const id = ++requests;
  worker.postMessage({id, op, ...more});
  return new Promise((done, fail) => waiting.set(id, {done, fail, of}));
}

// Gives up a worker that has crashed: pending requests fail, and the next request opens a new one.
function lose(why) {
  worker.terminate();
  worker = model = null, running = false;
  waiting.forEach(w => w.fail(new Error(w.of ? REPLACED : why)));
  waiting.clear();
  say(why);
  show();
}

// Wraps f so that one run is active at a time. Calls during a run cause one more run after it.
function latest(f) {
  let busy = false, again = false;
  return async () => {
    again = true;
    if (busy) return;
    busy = true;
    while (again) {
      again = false;
      await f().catch(tell);
    }
    busy = false;
  };
}

// As latest, of what needs the model and the reader's text.
const reading = f => latest(async () => {
  const text = model && typed();
  if (text) await f(text);
});

function tell({message}) { if (message !== REPLACED) say(t('error', message)); }
// Shows a message; '' hides it.
function say(text) {
  $('message').textContent = text.slice(0, 400);
  $('message').hidden = !text;
}

// ---- The settings ----

const SETTINGS = [
  ['task', ['copy', 'reverse', 'sort', 'add', 'lm'], 'copy'],
  ['layers', ['1', '2', '3', '4'], '1'],
  ['heads', ['1', '2', '4', '8'], '4'],
  ['d-model', ['16', '32', '64', '128'], '32'],
  ['positions', ['sinusoidal', 'learned', 'rotary', 'none'], 'sinusoidal'],
  ['mask', ['on', 'off'], 'on'],
  ['optimizer', ['adamw', 'muon', 'sgd'], 'adamw'],
  ['lr', '0.0005 0.001 0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5'.split(' '), '0.005'],
  ['seed', /^[1-9]\d{0,8}$/, '1'],
  ['steps', ['200', '400', '600', '800', '1200', '2000', '5000', '20000'], '400'],
];
// Steps that reach 99 % with the other defaults.
const STEPS = {copy: '400', reverse: '600', sort: '800', add: '2000', lm: '400'};
const RATES = {adamw: '0.005', muon: '0.005', sgd: '0.1'};
const choice = Object.fromEntries(SETTINGS.map(([name, , preset]) => [name, preset]));
const preset = name => {
  const follows = {steps: STEPS[choice.task], lr: RATES[choice.optimizer]};
  return follows[name] ?? SETTINGS.find(s => s[0] === name)[2];
};
const allowed = (values, value) =>
  Array.isArray(values) ? values.includes(value) : values.test(value);
const MAX_TEXT = 200000; // the field takes one more, which tells that there is more
const own = make('textarea', {
  id: 'own', maxLength: MAX_TEXT + 1, spellcheck: false, dir: 'auto', onchange: () => start(),
});
const EXAMPLES = {copy: '31415926', reverse: '31415926', sort: '31415926', add: '47+85'};
const example = () =>
  choice.task === 'lm' ? [...own.value].slice(0, language ? 3 : 8).join('') : EXAMPLES[choice.task];

// What one changes stands beside what it changes: these settings are not in the form.
const ELSEWHERE = {task: 'quick', layers: 'quick', heads: 'quick', lr: 'rate'};
function buildSettings() {
  const text = (tag, key) => make(tag, {'data-t': key});
  for (const [name, values] of SETTINGS) {
    const id = 's-' + name, many = Array.isArray(values);
    const type = many ? {} : {type: 'number', min: 1, max: 999999999};
    const field = make(many ? 'select' : 'input', {name, id, ...type});
    field.addEventListener('change', () =>
      allowed(values, field.value) ? change(name, field.value) : nameSettings());
    const label = make('label', {}, text('span', 's_' + name), ' ', field);
    $(ELSEWHERE[name] ?? 'settings').append(label);
  }
  const label = make('label', {className: 'own', hidden: true}, text('span', 'own_text'), own);
  $('settings').prepend(label);
  $('settings').append(make('p', {id: 'hint'}), make('p', {id: 'model-says', className: 'faint'}),
                       make('details', {}, text('summary', 'words'), text('p', 'glossary')));
  $('settings').addEventListener('submit', e => e.preventDefault());
}
function nameSettings() {
  for (const [name, values] of SETTINGS)
    if (!Array.isArray(values)) $('s-' + name).value = choice[name];
    else fill($('s-' + name), values.map(v => [v, textOr('o_' + v, v)]), choice[name]);
}
// Sets a choice, and what follows from it.
function set(name, value) {
  choice[name] = value;
  if (name === 'optimizer') choice.lr = preset('lr');
  if (name !== 'task') return;
  own.parentElement.hidden = value !== 'lm';
  choice.steps = preset('steps');
  if (value === 'lm' && !own.value) own.value = t('poem');
  $('input').value = example();
}
function change(name, value) {
  set(name, value);
  nameSettings(), moved();
  if (name !== 'lr' || !model || !model.steps) return start();
  if (state.step) model.steady = false;
  ask('rate', {rate: +value}).catch(tell);
  show();
}

// The address holds what differs from the presets, and what is looked at:
// ?task=sort&heads=2&at=decoder.layers.0.multihead_attn+A&cell=2,2&way=backward&step=200&lang=zh
let wanted = 0; // the step to train to at once
function readAddress() {
  const query = new URLSearchParams(location.search);
  const pace = query.get('pace'), at = query.get('at');
  const whole = name => /^\d{1,6}$/.test(query.get(name) ?? '') ? +query.get(name) : 0;
  for (const [name, values] of SETTINGS)
    if (query.has(name) && allowed(values, query.get(name))) set(name, query.get(name));
  if (/^\d+$/.test(pace || '')) $('pace').value = pace;
  if (query.get('ask')) $('input').value = query.get('ask').slice(0, 500);
  view.backward = query.get('way') === 'backward';
  view.head = whole('head'), view.layer = whole('layer'), wanted = whole('step');
  const cell = (query.get('cell') ?? '').match(/^(\d{1,4}),(\d{1,4})$/);
  view.asked = at && {at: at.slice(0, 100), cell: cell && [+cell[1], +cell[2]],
                      operand: query.has('operand') ? whole('operand') : null};
  showScene(whole('scene'));
}
let writing = 0;
function writeAddress() {
  const query = new URLSearchParams();
  const hold = (name, value, when) => { if (when) query.set(name, value); };
  for (const [name] of SETTINGS) hold(name, choice[name], choice[name] !== preset(name));
  hold('pace', $('pace').value, $('pace').value !== PACE);
  hold('ask', $('input').value, $('input').value !== example());
  hold('step', state.step, state.step && !running && model?.steps);
  hold('at', view.open, view.open), hold('cell', String(view.cell), view.open && view.cell);
  hold('operand', view.operand, view.open && view.operand >= 0);
  hold('way', 'backward', view.backward);
  for (const name of ['head', 'layer']) hold(name, view[name], view[name]);
  hold('scene', scene, scene), hold('lang', LANGUAGES[language], true);
  history.replaceState(null, '', location.pathname + '?' + query + location.hash);
}
// After a change of what is looked at. A browser allows few changes of the address a second.
function moved() {
  clearTimeout(writing);
  writing = setTimeout(writeAddress, 150);
}

// A step back leads to an older address: it gets the settings of now.
addEventListener('popstate', writeAddress);

// The options of ./train for the same training. After `steps` the learning rate stays at its
// minimum.
function options() {
  const text = choice.task === 'lm';
  const o = {...choice, dropout: 0, schedule: 'cosine', warmup: 50, 'min-lr': choice.lr / 10,
             'eval-every': choice.steps < 1000 ? 20 : 50, batch: 32, 'label-smoothing': 0};
  if (choice.positions === 'none') o.positions = 'sinusoidal';
  delete o.mask;
  if (text) Object.assign(o, {preset: 'gpt', context: 48, tokenizer: 'char', tail: 0, batch: 12});
  else if (choice.task === 'add') o.digits = 2;
  else Object.assign(o, {symbols: 9, 'max-length': 8});
  return o;
}

// ---- The model ----

let model = null;      // the worker's answer to `start` or `load`
let running = false, starting = false;
let trainCurve, heldCurve, exactCurve, state, answers;
let ghost = null;      // the curves of the run before
const viewers = [];    // {section, renew}: parts that show the model

function clearCurves() {
  if (trainCurve?.count > 20) ghost = {train: trainCurve, exact: exactCurve};
  trainCurve = new Curve(), heldCurve = new Curve(), exactCurve = new Curve();
  state = {step: 0, loss: null, exact: null, measured: 0}, answers = [];
}
clearCurves();

const start = latest(async () => {
  let text = choice.task === 'lm' ? own.value : undefined;
  starting = true;
  say('');
  if (text && text.length > MAX_TEXT) {
    say(t('text_cut', number(MAX_TEXT)));
    text = text.slice(0, MAX_TEXT);
  }
  const config = Object.entries(options()).map(o => o.join(' ')).join('\n');
  try {
    const positions = choice.positions !== 'none';
    took(await ask('start', {config, text, mask: choice.mask === 'on', positions}, null));
  } catch (e) {
    model = null, running = false;
    say(t('no_start', e.message));
    show();
  }
  starting = false;
  if (running) loop();
});

// Shows a new or loaded model.
function took(m) {
  model = m;
  // What a model was trained without it has not.
  for (const id of ['mask', 'positions']) {
    $(id).disabled = m.steps > 0 && /off|none/.test(choice[id]);
    $(id).checked = !$(id).disabled;
  }
  clearCurves();
  fitInput();
  show();
  viewers.forEach(v => v.shape?.());
  answered(), moved();
}
// Replaces a text in the field that does not fit the model's alphabet or context.
function fitInput() {
  const letters = model.tokens.filter(x => [...x].length === 1);
  const fits = text => text && [...text].every(c => letters.includes(c));
  let text = $('input').value;
  if (ofCharacters()) text = [text, example()].find(fits) || letters.slice(0, 5).join('');
  $('input').value = [...text].slice(0, mostTyped()).join('');
}

// Steps a second: from 1 to all that the processor gives.
const PACE = '11', LOOK = 200;
const pace = () => $('pace').value === $('pace').max ? Infinity : 10 ** ($('pace').value / 10);
$('pace').value = PACE;
$('pace').addEventListener('input', () => { paint('state'), moved(); });
const rest = ms => new Promise(done => setTimeout(done, ms));

// Trains at the pace, and shows answer and maps every LOOK milliseconds.
let looping = false;
async function loop() {
  if (looping) return;
  looping = true;
  let owed = 1, then = performance.now(), looked = 0;
  try {
    // A step asked for during a start would be the new model's first.
    while (running && model && !starting) {
      const rate = state.step < wanted ? Infinity : pace(), now = performance.now();
      const more = rate === Infinity ? 1000 : rate * (now - then) / 1000;
      owed = Math.min(owed + more, Math.max(1, rate), 1000);
      then = now;
      const most = state.step < wanted ? wanted - state.step : owed;
      if (owed >= 1) owed -= await advance(Math.floor(Math.min(owed, most)), 40);
      if (wanted && state.step >= wanted) running = false, wanted = 0;
      if (performance.now() - looked > LOOK) {
        await answered();
        looked = performance.now();
      }
      if (owed < 1) await rest(Math.min(100, (1 - owed) / rate * 1000));
    }
  } catch (e) {
    running = false;
    tell(e);
  } finally {
    looping = false;
    if (model && state.measured !== state.step) await measureNow().catch(tell);
    show();
    answered(), moved();
  }
}

// Trains up to n steps in about ms milliseconds, and evaluates if that is due. Returns the number
// of steps.
async function advance(n, ms) {
  const left = model.steps - state.step;
  const r = await ask('step', {n: left > 0 ? Math.min(n, left) : n, ms, more: true});
  r.losses.forEach((loss, i) => trainCurve.add(r.step - r.losses.length + 1 + i, loss));
  state.step = r.step, state.loss = r.losses[r.losses.length - 1] ?? state.loss;
  if (!Number.isFinite(state.loss)) running = false, say(t('not_finite'));
  const end = r.step === model.steps;
  paint('state'), paint('loss');
  if (r.due || end || state.step - state.measured >= options()['eval-every']) await measureNow();
  if (end) running = false, show();
  return r.losses.length;
}

// Measures the model of now: what is shown belongs to the step shown.
async function measureNow() {
  const held = await ask('evaluate', {rows: 128});
  state.exact = held[measure()], state.measured = held.step;
  heldCurve.add(held.step, held.loss), exactCurve.add(held.step, state.exact);
  show();
}

const stepOnce = latest(async () => {
  if (model) await advance(1, 0);
  if (model && state.measured !== state.step) await measureNow();
  await answered();
  show();
});

$('run').addEventListener('click', () => {
  running = !running;
  say('');
  if (running && !starting) model && model.steps ? loop() : start();
  show();
});
$('step-once').addEventListener('click', () => { running = false; say(''); show(); stepOnce(); });
$('reset').addEventListener('click', () => { running = false; start(); });

// ---- The reader's sequence ----

let said = null; // beside the field: {fault}, or the worker's answer
// The typed text; null, with a message beside the field, if the model cannot read it.
function typed() {
  const text = $('input').value, most = mostTyped(), known = new Set(model.tokens);
  const odd = ofCharacters() ? [...text.slice(0, 500)].find(c => !known.has(c)) : undefined;
  let fault = [...text].length > most ? t('long', most) : '';
  if (odd !== undefined) fault = t('odd', odd);
  if (!text) fault = t('empty');
  if (fault) said = {fault}, paint('answer');
  return fault ? null : text;
}
// False for byte pairs, whose tokens can spell any text.
const ofCharacters = () => model.tokens.every(x => [...x].length === 1 || /^<\w+>$/.test(x));
const mostTyped = () => Math.min(model.maxSource, 24);

// The model's answer and, as `wanted`, the right one if there is one.
async function askAnswer(request) {
  const r = await ask('answer', request);
  const sum = model?.task === 'add' && request.text.match(/^(\d+)\+(\d+)$/);
  return sum ? {...r, wanted: [...String(+sum[1] + +sum[2])].reverse().join('')} : r;
}
const answer = reading(async text => {
  const all = switches(), whole = all.mask && all.positions && !off.size;
  const r = await askAnswer({text, more: 60, ...all});
  if (text !== $('input').value) return;
  said = r;
  paint('answer');
  if (!whole) return;
  const last = answers[0];
  if (last && last.text === text && last.r.answer === r.answer) last.to = state.step;
  else answers.unshift({from: state.step, to: state.step, text, r});
  answers.length = Math.min(answers.length, 12);
  paint('answers');
});

// The answer with its wrong characters marked and a tick or a cross; with `whole`, also the right
// answer.
function marked(r, whole) {
  const answer = r.answer.replace(/\n/g, '⏎').replace(/\ufffd/g, '·'); // a dot: no character
  if (r.wanted === null || r.wanted === undefined) return [answer];
  if (answer === r.wanted) return [make('span', {className: 'right'}, answer + ' ✓')];
  const want = [...r.wanted], got = [...answer], wrong = i => got[i] !== want[i], shown = [];
  got.forEach((c, i) => {
    if (i && wrong(i) === wrong(i - 1)) shown[shown.length - 1].textContent += c;
    else shown.push(make('span', {className: wrong(i) ? 'wrong' : ''}, c));
  });
  const right = make('span', {className: 'wanted'}, whole ? ' ' + t('wanted', r.wanted) : '');
  const verdict = make('span', {className: 'faint'}, ' ✗', right);
  return [...shown, got.length ? '' : t('nothing'), verdict];
}

async function answered() { await answer(); renew(); }
let typing = 0;
$('input').addEventListener('input', () => {
  if ($('input').value.length > 500) $('input').value = $('input').value.slice(0, 500);
  clearTimeout(typing);
  typing = setTimeout(() => { answered(), moved(); }, 120);
});
$('ask').addEventListener('submit', e => { e.preventDefault(); answered(); });

// ---- Showing ----

new ResizeObserver(([{target}]) =>
  document.documentElement.style.setProperty('--dock', target.offsetHeight + 'px'))
  .observe($('dock'));

document.querySelectorAll('main > section').forEach(s => watch.observe(s));
// During training only visible parts are renewed.
function renew() {
  for (const v of viewers) if (model && (!running || inSight.has(v.section))) v.renew();
}

const show = () => ['state', 'about', 'command', 'loss', 'exact', 'answers'].forEach(paint);
painter('state', () => {
  const begin = state.step ? 'go_on' : 'start';
  write($('run'), t(running ? 'pause' : begin));
  $('run').disabled = $('reset').disabled = !model && running;
  $('step-once').disabled = !model || !model.steps;
  $('save').disabled = !model;
  const rate = pace().toFixed(pace() < 10 ? 1 : 0);
  write($('pace-says'), pace() < Infinity ? t('pace_says', rate) : t('pace_all'));
  attributes($('pace'), {'aria-valuetext': $('pace-says').textContent});
  for (const id of ['answer', 'figure-says'])
    attributes($(id), {'aria-live': running ? 'off' : 'polite'});
  const ended = state.step && state.step === model?.steps && state.measured === state.step;
  write($('done'), ended ? t('done', number(state.step), t(measure()), percent(state.exact)) : '');
  const {step, loss, exact, measured} = state;
  let share = exact === null ? '–' : percent(exact);
  if (exact !== null && measured !== step) share = t('measured_at', share, number(measured));
  const figures = {step: number(step), loss: loss?.toFixed(3) ?? '–', [measure()]: share};
  Object.entries(figures).forEach(([key, value], i) => {
    const {firstChild: name, lastChild: b} = $('state').children[i];
    write(name, t(key) + ' '), write(b, value);
  });
});
painter('answer', () => {
  if (!said) return;
  const fault = make('span', {className: 'wrong'}, said.fault ?? '');
  const shows = said.fault ? [fault] : ['→ ', ...marked(said, true)];
  const wanted = make('output', {}, ...shows);
  if ($('answer').innerHTML !== wanted.innerHTML) $('answer').replaceChildren(...shows);
  attributes($('answer'), {title: wanted.textContent});
});
painter('about', () => {
  if (!model) return;
  const alphabet = model.tokens.filter(x => [...x].length === 1).join('');
  const rule = 'rule_' + model.task;
  write($('rule'), t(TEXTS[rule] ? rule : 'rule', mostTyped(), alphabet));
  let hint = model.lm ? '' : 'hint_' + choice.positions;
  if (choice.mask === 'off') hint = 'hint_off';
  write($('model-says'), t('size', number(model.parameters)));
  write($('hint'), TEXTS[hint] && model.steps ? t(hint) : '');
  write($('h-train').nextSibling, t(model.lm ? 'train_lead_text' : 'train_lead'));
});
painter('command', () => {
  if (!model) return;
  const o = model.steps ? options() : {};
  const words = [`./train ${o.task}`, ...Object.entries(o).slice(1).map(([k, v]) => `--${k} ${v}`),
                 ...(model.lm ? ['--text FILE'] : []), '--run runs/mine'];
  $('command').replaceChildren(...words.flatMap(w => [make('span', {}, w), ' ']));
  const other = choice.mask === 'off' || choice.positions === 'none'; // ./train has neither
  $('command-part').hidden = !model.steps || model.steady === false || other;
}, 'take');
const measure = () => model?.lm ? 'accuracy' : 'exact';
const percent = x => (x === 1 ? 100 : Math.floor(x * 1000) / 10) + '\u00a0%';

const steps = () => ({from: 0, to: round(Math.max(model.steps || 200, state.step)), text: number});
painter('loss', () => {
  if (!model) return;
  const training = {...trainCurve, colour: 'accent', width: 1}, guess = model.uniform;
  const unseen = {...heldCurve, colour: 'ink', width: 1.5, dots: true};
  const old = ghost ? [{...ghost.train, colour: 'ghost', width: 3}] : [];
  const up = {from: 0, to: round(guess * 1.05), text: y => +y.toFixed(2)};
  drawChart($('loss'), [...old, training, unseen], steps(), up, guess);
  const now = [state.loss || guess, guess].map(x => figure(x, 3));
  attributes($('loss'), {'aria-label': t('loss_label', number(state.step), ...now)});
  const caption = model.lm ? 'loss_caption_text' : 'loss_caption';
  write(document.querySelector('[data-t^=loss_caption]'), t(caption));
}, 'figure');
painter('exact', () => {
  if (!model) return;
  const curve = {...exactCurve, colour: 'accent', width: 2, dots: true};
  const old = ghost ? [{...ghost.exact, colour: 'ghost', width: 3}] : [];
  drawChart($('exact'), [...old, curve], steps(), {from: 0, to: 1, text: percent}, .99);
  write($('exact-caption'), t(measure() + '_caption') + (ghost ? ' ' + t('ghost_caption') : ''));
  const label = t('exact_label', percent(state.exact || 0), number(state.step));
  attributes($('exact'), {'aria-label': label});
}, 'figure');
painter('answers', () => {
  if (!model) return;
  for (const h of answers) {
    const text = h.text.replace(/\n/g, '⏎'), to = h.from === h.to ? '' : ' – ' + number(h.to);
    h.row ??= make('tr', {}, make('th', {scope: 'row'}), make('td', {}, text),
                   make('td', {}, ...marked(h.r)));
    write(h.row.firstChild, t('at_step', number(h.from) + to));
  }
  const body = $('answers').tBodies[0], rows = answers.map(h => h.row);
  body.prepend(...rows.filter(row => !row.parentNode));
  [...body.rows].slice(rows.length).forEach(row => row.remove());
}, 'train');

// ---- Take along: saves the model to a file and loads one ----

$('save').addEventListener('click', latest(async () => {
  const {bytes} = await ask('save');
  download('model.safetensors', bytes, 'application/octet-stream');
  $('take-says').textContent = t('saved', number(bytes.byteLength));
}));
$('load').addEventListener('change', async () => {
  const file = $('load').files[0];
  if (!file) return;
  running = false;
  try {
    took(await ask('load', {bytes: await file.arrayBuffer()}, null));
    say('');
    $('take-says').textContent = t('loaded', file.name.slice(0, 80), number(model.parameters));
  } catch (e) {
    $('take-says').textContent = t('not_loaded', file.name.slice(0, 80), e.message);
  }
  $('load').value = '';
  show();
});

addEventListener('load', () => {
  buildSettings();
  translators.push(nameSettings, show, () => { arrangeFigure(), renewStep(); });
  $('input').value = EXAMPLES.copy;
  readAddress();
  translate();
  running = wanted > 0 || scene !== 1 && !calm.matches;
  start();
});

// ---- Direction, switches, large type ----

function turn(backward) {
  view.backward = backward, view.operand = -1, view.cell = null;
  paint('way'), moved(), arrangeFigure(), renewFigure();
}
for (const way of ['forward', 'backward'])
  $(way).addEventListener('click', () => turn(way === 'backward'));
for (const id of ['mask', 'positions']) $(id).addEventListener('change', answered);
painter('way', () => {
  for (const way of ['forward', 'backward'])
    attributes($(way), {'aria-pressed': view.backward === (way === 'backward')});
});
function enlarge() {
  const large = document.documentElement.classList.toggle('large');
  attributes($('large'), {'aria-pressed': large});
  repaint(), arrangeFigure();
}
$('large').addEventListener('click', enlarge);
addEventListener('keydown', e => {
  const busy = /^(INPUT|TEXTAREA|SELECT|CANVAS|PRE)$/.test(document.activeElement.tagName);
  if (busy || e.ctrlKey || e.metaKey || e.altKey) return;
  const act = {
    l: enlarge, L: enlarge, Escape: () => openStep(null),
    ArrowRight: () => showScene(scene + 1), ArrowLeft: () => showScene(scene - 1),
  }[e.key];
  if (act) e.preventDefault(), act();
});
