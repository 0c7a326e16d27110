// Check: one gradient, element by element: move it, take the difference, compare with backward.
'use strict';
(() => {
  const MISTAKES = ['none', 'sign', 'factor', 'order', 'edge', 'overwrites'];
  let operations = null, result = null, input = 0, element = 0;
  const body = $('check-body'), part = {};
  const add = (key, tag, more, ...children) => part[key] = make(tag, more, ...children);
  const heat = key => make('figure', {}, make('figcaption'), add(key, 'canvas', {role: key === 'x' ? 'application' : 'img'}));
  const grids = (...all) => make('div', {className: 'grids'}, ...all);
  body.append(add('formula', 'p', {className: 'formula'}), add('inputs', 'div', {className: 'switches'}),
              grids(heat('x'), make('span', {className: 'sign'}, '→'), heat('y'), heat('c')),
              add('list', 'ol', {ariaLive: 'polite'}), add('says', 'p'), grids(heat('difference'), heat('backward')),
              add('verdict', 'p', {className: 'verdict', role: 'status'}), add('report', 'pre', {tabIndex: 0}));
  const moved = () => result ? grid(result.inputs[input]) : {rows: 1, columns: 1};
  const set = choosable(part.x, moved, (i, j) => { if (result) element = i * moved().columns + j, paint('check'); }, true);

  const renewCheck = latest(async () => {
    if (!operations) {
      operations = (await ask('operations', {}, null)).operations;
      fill($('operation'), operations.map(o => [o.name, o.name]), 'square');
    }
    const o = operations.find(x => x.name === $('operation').value), mistake = MISTAKES.indexOf($('mistake').value) - 1;
    result = null;
    const r = await ask('check', {operation: o.name, case: o.shown, input, mistake}, null);
    result = Object.assign(r, {formula: o.formula, operation: o.name}), input = r.input;
    const wrong = r.elements.findIndex(differs); // show an element that is wrong
    element = wrong >= 0 ? wrong : Math.min(element, r.elements.length - 1);
    paint('check');
  });
  $('operation').addEventListener('change', () => { input = element = 0; renewCheck(); });
  $('mistake').addEventListener('change', renewCheck);
  viewers.push({section: 'check', renew: () => { if (!result) renewCheck(); }});
  translators.push(() => {
    fill($('mistake'), MISTAKES.map(m => [m, t('mk_' + m)]), $('mistake').value || 'none');
    paint('check');
  });

  // A right backward agrees with the difference to about eight digits.
  function differs({difference: a, backward: b}) {
    return Math.abs(a - b) > 1e-6 * Math.max(1, Math.abs(a), Math.abs(b));
  }

  painter('check', () => {
    $('mistake-says').textContent = t('mk_says_' + $('mistake').value);
    if (!result || !result.elements.length) return;
    const r = result, x = r.inputs[input], e = r.elements[element];
    const draw = (key, tensor, name, more = {}) => {
      const cells = grid(tensor), cell = Math.min(56, (body.clientWidth - 20) / cells.columns), {shape} = tensor;
      heatMap(part[key], cells, {name, shape, cell, high: 32, numbers: cell > 26 ? small : null, ...more})();
    };
    part.formula.textContent = r.formula;
    const names = r.inputs.map(i => i.name || 'x');
    if (part.inputs.children.length !== names.length || part.inputs.dataset.of !== r.operation + language) {
      part.inputs.dataset.of = r.operation + language;
      const move = i => { input = i, element = 0, renewCheck(); };
      part.inputs.replaceChildren(...names.map((name, i) =>
        button(t('gradient_of', name), () => move(i), {disabled: !r.inputs[i].moves})));
    }
    [...part.inputs.children].forEach((b, i) => b.setAttribute('aria-pressed', i === input));
    part.inputs.hidden = names.length < 2;
    const {columns} = grid(x), cell = [Math.floor(element / columns), element % columns];
    draw('x', x, names[input], {mark: {cell}});
    set(...cell);
    draw('y', r.output, 'y');
    draw('c', {shape: r.output.shape, values: r.cotangent}, 'c');
    const at = `${names[input]}[${x.shape.length < 2 ? element : cell}]`, bad = differs(e);
    const lines = [t('step_take', at, figure(e.value, 6)), t('step_up', at, figure(r.h, 3), figure(e.plus, 10)),
                   t('step_down', at, figure(e.minus, 10)), t('step_difference', figure(e.difference, 8)),
                   t(bad ? 'step_wrong' : 'step_right', figure(e.backward, 8))];
    const verdict = bad ? 'wrong' : 'right', line = (text, i) => make('li', {className: i < 4 ? '' : verdict}, text);
    part.list.replaceChildren(...lines.map(line));
    const wrong = new Set(r.elements.filter(differs).map(k => k.index));
    const of = key => ({shape: x.shape, values: Float64Array.from(r.elements, k => k[key])});
    const top = Math.max(...r.elements.map(k => Math.max(Math.abs(k.difference), Math.abs(k.backward))));
    draw('difference', of('difference'), t('by_difference'), {top, mark: {cell}});
    draw('backward', of('backward'), t('by_backward'), {top, wrong, mark: {cell}});
    const count = r.elements.length;
    part.says.textContent = wrong.size ? t('all_wrong', wrong.size, count) : t('all_right', count);
    const harmless = r.verdict === 'PASS' && $('mistake').value !== 'none';
    part.verdict.textContent = t('verdict_' + (harmless ? 'harmless' : r.verdict));
    part.verdict.className = 'verdict ' + (r.verdict === 'FAIL' ? 'wrong' : 'right');
    part.report.textContent = r.report;
  }, 'check');
})();
