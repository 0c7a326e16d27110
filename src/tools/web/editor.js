// Write backward here: the visitor's functions, judged by ./gradcheck in a worker that is ended if it does not answer.
'use strict';
(() => {
  const LIMIT = 2000, PAUSE = 500, box = $('editor'), part = {};
  const add = (key, tag, more = {}, ...children) => part[key] = make(tag, more, ...children);
  const text = (tag, key, more = {}) => make(tag, {'data-t': key, ...more});
  let exercise = EXERCISES[0], result = null, judging = null;

  // What a visitor wrote survives a reload, where the browser keeps it.
  const key = name => 'tapeformer ' + name;
  function kept(name) { try { return localStorage.getItem(key(name)); } catch { return null; } }
  function keep(name, value) { try { localStorage.setItem(key(name), value); } catch { /* not here */ } }

  // ---- The judge ----

  // The answer to a program: {report, lines, gradients}, {error} or {endless}. Signs of life come while it is judged.
  function judge(program) {
    return new Promise(done => {
      const worker = judging ??= openWorker();
      let timer;
      const end = answer => { clearTimeout(timer), done(answer); };
      worker.onmessage = ({data}) => {
        clearTimeout(timer);
        if (!data.alive) return end(data);
        timer = setTimeout(() => { worker.terminate(), judging = null, end({endless: true}); }, LIMIT);
      };
      worker.onerror = e => { e.preventDefault(), judging = null, end({error: e.message || ''}); };
      worker.postMessage({op: 'judge', program});
    });
  }
  let pause = 0;
  const renewVerdict = latest(async () => {
    const of = exercise, {value} = part.code;
    part.verdict.textContent = t('ed_judging');
    const answer = await judge(programOf(of, value));
    if (of === exercise && value === part.code.value) result = answer, paint('editor');
  });
  function typed() {
    keep(exercise.name, part.code.value);
    number();
    clearTimeout(pause), pause = setTimeout(renewVerdict, PAUSE);
  }

  // ---- Elements of the page ----

  box.append(
    make('div', {className: 'switches'}, make('label', {}, text('span', 'exercise'), ' ', add('exercise', 'select', {id: 'exercise'})),
         button('', () => write(exercise.start), {'data-t': 'ed_again'}), button('', take, {'data-t': 'ed_take'})),
    add('formula', 'p', {className: 'formula'}),
    make('div', {id: 'editor-columns'},
         make('div', {}, make('div', {id: 'code-box'}, add('numbers', 'pre', {ariaHidden: 'true'}),
                   add('code', 'textarea', {id: 'code-text', spellcheck: false, wrap: 'off', autocapitalize: 'off', autocomplete: 'off'})),
              add('given', 'details', {}, text('summary', 'ed_given'), add('forward', 'pre', {tabIndex: 0})),
              text('p', 'ed_rules', {className: 'faint'}), add('command', 'p', {className: 'note', role: 'status'})),
         make('div', {}, add('verdict', 'p', {className: 'verdict', role: 'status'}), add('pattern', 'p'), add('next', 'p'),
              add('maps', 'div'), add('smallest', 'div', {}, text('h4', 'ed_smallest'), add('least', 'pre', {tabIndex: 0})),
              add('all', 'details', {}, text('summary', 'ed_report'), add('report', 'pre', {tabIndex: 0})))));
  part.code.setAttribute('data-label', 'ed_code');

  function number(bad = 0) {
    const count = part.code.value.split('\n').length, line = i => i + 1 === bad ? make('mark', {}, bad + '\n') : i + 1 + '\n';
    part.numbers.replaceChildren(...Array.from({length: count}, (_, i) => line(i)));
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
    const url = URL.createObjectURL(new Blob([fileOf(exercise, part.code.value)], {type: 'text/javascript'}));
    make('a', {href: url, download: name}).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    part.command.textContent = t('ed_taken', `./gradcheck --program "node ${name}"`);
  }
  part.code.addEventListener('input', typed);
  part.code.addEventListener('keydown', e => { // a new line begins as deep as the one before; Tab leaves the field
    if (e.key !== 'Enter' || e.isComposing) return;
    e.preventDefault();
    const before = part.code.value.slice(0, part.code.selectionStart), line = before.slice(before.lastIndexOf('\n') + 1);
    document.execCommand('insertText', false, '\n' + line.match(/^ */)[0] + (/[{(]$/.test(line) ? '  ' : ''));
  });
  part.exercise.addEventListener('change', () => { choose(part.exercise.value), renewVerdict(); });

  // ---- What it says ----

  const differ = (a, b) => !(Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a), Math.abs(b)));
  // A gradient as a table: each element as it is, and below a wrong one the right one.
  function map({name, shape, yours, right}) {
    const {rows, columns} = grid({shape, values: yours}), wrong = yours.map((x, i) => differ(x ?? NaN, right[i]));
    const cell = i => make('td', wrong[i] ? {className: 'wrong'} : {},
      make('span', {}, yours[i] === null ? 'NaN' : figure(yours[i], 4)), ...(wrong[i] ? [make('b', {}, figure(right[i] ?? NaN, 4))] : []));
    const row = (_, i) => make('tr', {}, ...Array.from({length: columns}, (_, j) => cell(i * columns + j)));
    const count = wrong.filter(Boolean).length;
    return make('figure', {className: 'scroll'}, make('figcaption', {}, `d${name} [${shape.join(' × ')}]: ` +
      t(count ? 'all_wrong' : 'all_right', ...(count ? [count, wrong.length] : [wrong.length]))),
      make('table', {className: 'map'}, make('tbody', {}, ...Array.from({length: rows}, row))));
  }
  painter('editor', () => {
    fill(part.exercise, EXERCISES.map(e => [e.name, e.name === 'own' ? t('ed_own') : e.name]), exercise.name);
    const {lines = [], gradients = [], report = '', endless, error} = result ?? {};
    const worst = ['FAIL', 'INCONCLUSIVE', 'PASS'].find(v => lines.some(l => l.verdict === v)) ?? 'FAIL';
    const first = lines.find(l => l.verdict === worst) ?? {}, cases = new Set(lines.map(l => l.case)).size;
    const trouble = error ?? (first.part ? '' : first.reason ?? ''), {pattern} = first;
    part.verdict.className = 'verdict ' + (!result ? '' : worst === 'PASS' ? 'right' : 'wrong');
    part.verdict.textContent = !result ? '' : endless ? t('ed_endless') : t('ed_' + worst, cases);
    part.pattern.textContent = !result || worst === 'PASS' ? '' :
      [first.part && pattern && t('ed_pattern', first.part, t('pt_' + pattern)), first.part && first.reason && t('ed_says'), first.part && first.reason, trouble]
        .filter(Boolean).map(s => s[0].toUpperCase() === s[0] || /^d\w+[:：]/.test(s) ? s : s[0].toUpperCase() + s.slice(1) + '.').join(' ');
    number(+(trouble.match(/, line (\d+)$/)?.[1] ?? 0));
    const after = EXERCISES[EXERCISES.indexOf(exercise) + 1];
    part.next.replaceChildren(...(result && worst === 'PASS' && after
      ? [button(t('ed_next', after.name === 'own' ? t('ed_own') : after.name), () => {
          choose(after.name), renewVerdict(), part.code.focus();
        }, {className: 'first'})] : []));
    part.maps.replaceChildren(...gradients.map(map));
    part.least.textContent = report.match(/The smallest case that fails[^]*?:\n([^]*?)\n(?! {7})/)?.[1].replace(/^ {7}/gm, '') ?? '';
    part.smallest.hidden = !part.least.textContent, part.all.hidden = !report;
    part.report.textContent = report;
  }, 'editor');
  translators.push(() => paint('editor'));
  viewers.push({section: 'editor', renew: () => { if (!result) renewVerdict(); }});
  $('editor').addEventListener('exercise', e => { choose(e.detail), renewVerdict(); }); // a scene chooses one
  choose(kept('exercise'));
})();
