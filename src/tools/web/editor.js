// Write backward here: the visitor's functions, judged by ./gradcheck in a worker that is ended if
// it does not answer.
'use strict';
(() => {
  const LIMIT = 2000, PAUSE = 500, part = {};
  const add = (key, tag, more = {}, ...children) => part[key] = make(tag, more, ...children);
  const text = (tag, key, more = {}) => make(tag, {'data-t': key, ...more});
  let exercise = EXERCISES[0], result = null, judging = null;

  // What a visitor wrote survives a reload, where the browser keeps it.
  const key = name => 'tapeformer ' + name;
  function kept(name) { try { return localStorage.getItem(key(name)); } catch { return null; } }
  function keep(name, value) {
    try { localStorage.setItem(key(name), value); } catch { /* not here */ }
  }

  // ---- The judge ----

  // The answer to a program: {report, lines, gradients}, {error} or {endless}. Signs of life come
  // while it is judged.
  const judge = program => new Promise(done => {
    const worker = judging ??= openWorker();
    let timer;
    const end = (answer, lost) => {
      clearTimeout(timer);
      if (lost) worker.terminate(), judging = null;
      done(answer);
    };
    worker.onmessage = ({data}) => {
      clearTimeout(timer);
      if (!data.alive) return end(data);
      timer = setTimeout(() => end({endless: true}, true), LIMIT);
    };
    worker.onerror = e => { e.preventDefault(), end({error: e.message || ''}, true); };
    worker.postMessage({op: 'judge', program});
  });
  let pause = 0;
  const renewVerdict = latest(async () => {
    const of = exercise, {value} = part.code;
    part.verdict.textContent = t('ed_judging'), part.verdict.parentNode.ariaBusy = true;
    const answer = await judge(programOf(of, value));
    part.verdict.parentNode.ariaBusy = false;
    if (of === exercise && value === part.code.value) result = answer, paint('editor');
  });
  function typed() {
    keep(exercise.name, part.code.value);
    number();
    clearTimeout(pause), pause = setTimeout(renewVerdict, PAUSE);
  }

  // ---- Elements of the page ----

  const plain = {spellcheck: false, wrap: 'off', autocapitalize: 'off', autocomplete: 'off'};
  add('exercise', 'select', {id: 'exercise'}), add('formula', 'p', {className: 'formula'});
  add('numbers', 'pre', {ariaHidden: 'true'});
  add('code', 'textarea', {id: 'code-text', 'data-label': 'ed_code', ...plain});
  for (const key of ['forward', 'least', 'report']) add(key, 'pre', {tabIndex: 0});
  add('given', 'details', {}, text('summary', 'ed_given'), part.forward);
  add('command', 'p', {className: 'note', role: 'status'});
  add('verdict', 'p', {className: 'verdict', role: 'status'});
  add('pattern', 'p'), add('next', 'p'), add('maps', 'div');
  add('smallest', 'div', {}, text('h4', 'ed_smallest'), part.least);
  add('all', 'details', {}, text('summary', 'ed_report'), part.report);
  $('editor').append(
    make('div', {className: 'switches'},
         make('label', {}, text('span', 'exercise'), ' ', part.exercise),
         button('', () => write(exercise.start), {'data-t': 'ed_again'}),
         button('', take, {'data-t': 'ed_take'})),
    part.formula,
    make('div', {id: 'editor-columns'},
         make('div', {}, make('div', {id: 'code-box'}, part.numbers, part.code), part.given,
              text('p', 'ed_rules', {className: 'faint'}), part.command),
         make('div', {}, part.verdict, part.pattern, part.next, part.maps, part.smallest,
              part.all)));

  function number(bad = 0) {
    const count = part.code.value.split('\n').length;
    const line = i => i === bad ? make('mark', {}, i + '\n') : i + '\n';
    part.numbers.replaceChildren(...Array.from({length: count}, (_, i) => line(i + 1)));
    part.code.rows = Math.max(8, count + 1);
  }
  function write(value) {
    part.code.value = value;
    typed();
  }
  function choose(name) {
    exercise = EXERCISES.find(e => e.name === name) ?? EXERCISES[0];
    part.exercise.value = exercise.name, keep('exercise', exercise.name);
    result = null, part.given.hidden = !exercise.given, part.given.open = innerWidth > 899;
    part.forward.textContent = exercise.given.trim(), part.formula.textContent = exercise.formula;
    part.code.value = kept(exercise.name) ?? exercise.start;
    part.command.textContent = '';
    number(), paint('editor');
  }
  function take() {
    const name = exercise.name + '.mjs';
    download(name, fileOf(exercise, part.code.value), 'text/javascript');
    part.command.textContent = t('ed_taken', `./gradcheck --program "node ${name}"`);
  }
  part.code.addEventListener('input', typed);
  // A new line begins as deep as the one before; Tab leaves the field.
  part.code.addEventListener('keydown', e => {
    if (e.key !== 'Enter' || e.isComposing) return;
    e.preventDefault();
    const {value, selectionStart} = part.code;
    const line = value.slice(0, selectionStart).split('\n').at(-1);
    const deeper = /[{(]$/.test(line) ? '  ' : '';
    document.execCommand('insertText', false, '\n' + line.match(/^ */)[0] + deeper);
  });
  part.exercise.addEventListener('change', () => { choose(part.exercise.value), renewVerdict(); });

  // ---- What it says ----

  const differ = (a, b) => !(Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a), Math.abs(b)));
  // A gradient as a table: each element as it is, and below a wrong one the right one.
  function map({name, shape, yours, right}) {
    const columns = shape.at(-1) ?? 1, wrong = yours.map((x, i) => differ(x ?? NaN, right[i]));
    const cell = (x, i) => make('td', {className: wrong[i] ? 'wrong' : ''},
      make('span', {}, x === null ? 'NaN' : figure(x, 4)),
      ...wrong[i] ? [make('b', {}, figure(right[i] ?? NaN, 4))] : []);
    const cells = yours.map(cell), table = make('table', {className: 'map'});
    while (cells.length) table.append(make('tr', {}, ...cells.splice(0, columns)));
    const count = wrong.filter(Boolean).length, title = `d${name} [${shape.join(' × ')}]: `;
    const says = count ? t('all_wrong', count, wrong.length) : t('all_right', wrong.length);
    return make('figure', {className: 'scroll'}, make('figcaption', {}, title + says), table);
  }
  const nameOf = e => e.name === 'own' ? t('ed_own') : e.name;
  // Begins with a capital, unless with the name of a gradient.
  const sentence = s => /^(d\w+[:：]|[^a-z])/.test(s) ? s : s[0].toUpperCase() + s.slice(1) + '.';
  painter('editor', () => {
    fill(part.exercise, EXERCISES.map(e => [e.name, nameOf(e)]), exercise.name);
    const {lines = [], gradients = [], report = '', endless, error} = result ?? {};
    const judged = verdict => lines.some(l => l.verdict === verdict);
    const worst = ['FAIL', 'INCONCLUSIVE', 'PASS'].find(judged) ?? 'FAIL';
    const passes = result && worst === 'PASS', cases = new Set(lines.map(l => l.case)).size;
    const {part: of, pattern, reason} = lines.find(l => l.verdict === worst) ?? {};
    const trouble = error ?? (of ? '' : reason ?? '');
    part.verdict.className = 'verdict ' + (!result ? '' : passes ? 'right' : 'wrong');
    const verdict = endless ? 'ed_endless' : result ? 'ed_' + worst : 'ed_judging';
    part.verdict.textContent = t(verdict, cases);
    const says = [of && pattern && t('ed_pattern', of, t('pt_' + pattern)),
                  of && reason && t('ed_says'), of && reason, trouble];
    const told = says.filter(Boolean).map(sentence).join(' ');
    part.pattern.textContent = !result || passes ? '' : told;
    number(+(trouble.match(/, line (\d+)$/)?.[1] ?? 0));
    const next = passes && EXERCISES[EXERCISES.indexOf(exercise) + 1];
    const go = () => { choose(next.name), renewVerdict(), part.code.focus(); };
    part.next.replaceChildren(...next
      ? [button(t('ed_next', nameOf(next)), go, {className: 'first'})] : []);
    part.maps.replaceChildren(...gradients.map(map));
    const smallest = report.match(/The smallest case that fails[^]*?:\n([^]*?)\n(?! {7})/);
    part.least.textContent = smallest?.[1].replace(/^ {7}/gm, '') ?? '';
    part.smallest.hidden = !smallest, part.all.hidden = !report;
    part.report.textContent = report;
  }, 'editor');
  translators.push(() => paint('editor'));
  viewers.push({section: 'editor', renew: () => { if (!result) renewVerdict(); }});
  // A scene chooses an exercise.
  $('editor').addEventListener('exercise', e => { choose(e.detail), renewVerdict(); });
  choose(kept('exercise'));
})();
