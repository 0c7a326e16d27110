// The step that a click on a box opens: operands, result, the sum of a cell, the loss while a number
// is pushed, and the lines of C that computed it.
'use strict';
(() => {
  let told = null;   // the worker's answers for the chosen number: {of, slopes | terms, parts, push}

  const record = () => walk?.shown.find(r => r.id === view.open);
  const RESULT = -1; // the number of the result among the operands

  // ---- Which matrices a step shows ----

  // {r, name, rows, columns, values, grad, row, column, element(i, j), cells: Map} of a tensor or a part.
  function shown(r, name, rows, columns, at, row = [], column = []) {
    const values = new Float64Array(rows * columns), grad = r.grad && new Float64Array(rows * columns);
    const place = new Map();
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        const e = at(i, j);
        place.set(e, [i, j]), values[i * columns + j] = r.values[e];
        if (grad) grad[i * columns + j] = r.grad[e];
      }
    return {r, name, rows, columns, values, grad, at, place, row, column};
  }
  function whole(r, name = nameOf(r)) {
    const m = matrix(r), of = m.heads > 1 ? `${name}, ${t('only_head', view.head + 1)}` : name;
    return shown(r, of, m.rows, m.columns, (i, j) => m.first + i * m.columns + j, m.row, m.column);
  }

  // Result and operands. Of a product only the rows of its matrix appear that make the result; the
  // matrix is transposed, so that a row meets a column.
  function parted(r) {
    const base = made(r), result = whole(r);
    const elements = [...result.place.keys()], columns = base.shape.at(-1) || 1;
    const origins = new Map(elements.map(e => [origin(r, e), result.place.get(e)]));
    const made_ = [...new Set([...origins.keys()].map(e => e % columns))].sort((a, b) => a - b);
    const operands = base.of.map((x, k) => {
      if (!x) return null;
      if (base.operation !== 'linear' || k === 0 || k === 3) return whole(x);
      const head = base !== r && r.rank > 2 ? ', ' + t('only_head', view.head + 1) : '';
      const name = base === r ? nameOf(x) : nameOf(x)[0] + '^' + r.name[0];
      if (k === 2) return shown(x, name + head, 1, made_.length, (i, j) => made_[j]);
      const input = x.shape[1], vocabulary = x.axes[0] === 'vocabulary' ? model.tokens : [];
      return shown(x, name + 'ᵀ' + head, input, made_.length, (i, j) => made_[j] * input + i, [], vocabulary);
    });
    return {base, result, operands, origins};
  }
  const SIGN = {linear: ['×', '+', '+'], matmul: ['×'], residual: ['+'], add: ['+'], mul: ['×']};

  // ---- Asking the worker ----

  // The number that is chosen: of the open step, or else a weight that makes queries.
  function chosen() {
    let r = record(), {operand, cell} = view;
    if (!r) {
      r = walk?.shown.findLast(r => r.name === 'Q') ?? walk?.shown.find(r => r.box.weights.length);
      operand = r ? made(r).of.findIndex(x => x?.index < 0 && x.grad && x.rank > 1) : 0, cell = null;
    }
    if (!r) return null;
    const p = parted(r), of = operand < 0 ? p.result : p.operands[operand] ?? p.result;
    cell ??= largest(of, of.grad);
    cell = [Math.min(cell[0], of.rows - 1), Math.min(cell[1], of.columns - 1)];
    const key = [r.id, view.open, view.backward, operand, cell, view.head].join();
    return {r, ...p, of, operand, cell, element: of.at(...cell), key};
  }

  const askNow = latest(async () => {
    const c = chosen(), mine = walk, found = {walk: mine};
    if (!c) return;
    const {base, operand: input, element} = c, {index} = base;
    if (view.open && view.backward) {
      found.parts = (await ask('parts', {index, shapes: base.of.map(x => x?.shape)})).parts;
      if (found.parts[input]) Object.assign(found, await ask('addition', {index, input, element}));
    } else if (view.open && input < 0)
      Object.assign(found, await ask('cell', {index, element: origin(c.r, element)}));
    found.push = await ask('push', {number: c.of.r.index, element});
    if (mine !== walk) return;
    told = Object.assign(found, {key: c.key});
    paint('step');
  });
  renewStep = () => { view.open === 'softmax' ? paint('step') : askNow(); };

  // Opens a step: of a record, or of a weight beside the operation that reads it.
  openStep = (id, cell = null, operand = null) => {
    view.open = id, view.cell = cell, view.operand = operand ?? RESULT, $('h').value = 0;
    const leaf = walk?.leaves.find(x => x.id === id);
    const r = leaf ? walk.shown.find(r => made(r).of.includes(leaf)) : record();
    if (r) {
      view.open = r.id;
      if (r.layer !== null && r.layer !== view.layer) view.layer = r.layer, arrangeFigure();
      const {operands, result, base} = parted(r);
      if (leaf) view.operand = base.of.indexOf(leaf);
      else if (operand === null && view.backward) view.operand = Math.max(0, operands.findIndex(o => o?.r.index < 0 && o.grad));
      view.cell ??= largest(view.operand < 0 ? result : operands[view.operand] ?? result);
    } else if (id === 'softmax') view.cell ??= [0, 0];
    else view.open = null;
    moved(), markFigure(), renewStep();
    if (view.open && innerWidth < 900) requestAnimationFrame(() => $('panel').scrollIntoView());
  };
  // The cell that is looked at first: of the largest number, or backward of the largest gradient.
  const largest = ({grad, values, columns}, by = view.backward && grad || values) => {
    const k = by.reduce((k, x, i) => Math.abs(x) > Math.abs(by[k]) ? i : k, 0);
    return [Math.floor(k / columns), k % columns];
  };
  function choose(operand, i, j) {
    view.operand = operand, view.cell = [i, j], $('h').value = 0;
    moved(), askNow(), paint('step');
  }
  stepBy = by => {
    const all = [...walk?.shown ?? [], {softmax: true}], at = all.findIndex(r => r.softmax ? view.open === 'softmax' : r.id === view.open);
    const to = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
    if (to) openStep(to.softmax ? 'softmax' : to.id);
  };
  $('previous').addEventListener('click', () => stepBy(view.backward ? 1 : -1));
  $('next').addEventListener('click', () => stepBy(view.backward ? -1 : 1));
  $('close').addEventListener('click', () => openStep(null));
  $('h').addEventListener('input', () => paint('step'));
  $('temperature').addEventListener('input', () => paint('step'));
  $('head').addEventListener('change', () => {
    view.head = +$('head').value;
    markFigure(), moved(), renewStep(), paint('step');
  });
  $('switch-head').addEventListener('click', () => {
    const id = headId(record(), view.head);
    off.has(id) ? off.delete(id) : off.add(id);
    answered(), compare(), paint('step');
  });
  // Answer and exact share with all heads, and without those that are switched off.
  const compare = reading(async text => {
    const says = off.size ? [t('off', off.size)] : [];
    for (const without of off.size ? [[], [...off]] : []) {
      const {answer, wanted} = await askAnswer({text, more: 30, ...switches(), off: without});
      const r = model.steps ? await ask('evaluate', {rows: 128, ...switches(), off: without}) : {};
      says.push(' ', t(without.length ? 'off_without' : 'off_with'), ' ', ...marked({answer, wanted}));
      if (r[measure()] !== undefined) says.push(`, ${t(measure())} ${percent(r[measure()])}.`);
    }
    $('off-says').replaceChildren(...says);
  });

  // ---- Painting ----

  painter('step', () => {
    const softmax = view.open === 'softmax', c = softmax ? null : chosen(), open = softmax || c && record();
    $('step').hidden = !open, $('overview').hidden = Boolean(open);
    $('equation').hidden = $('push').hidden = softmax;
    $('code-part').hidden = !open || softmax, $('bars').hidden = !softmax;
    if (!walk || !model) return;
    if (softmax) $('head').hidden = true;
    $('switch-head').hidden = !open || softmax || !attends(c.r);
    if (softmax) return paintBars();
    const now = c && told && told.walk === walk && told.key === c.key ? told : null;
    if (open) paintOpen(c, now);
    if (now) paintPush(c, now);
  }, 'figure');
  function paintOpen(c, now) {
    const {base, r} = c;
    write($('step-title'), view.backward ? gradientOf(nameOf(r)) : nameOf(r));
    const path = t('step_path', boxTitle(r.box), base.operation, r.module, base.index);
    write($('step-path'), path), attributes($('step-path'), {title: path});
    const heads = matrix(r).heads;
    $('head').hidden = heads < 2;
    if ($('head').options.length !== heads || $('head').dataset.of !== LANGUAGES[language]) {
      $('head').dataset.of = LANGUAGES[language];
      fill($('head'), Array.from({length: heads}, (_, h) => [String(h), t('only_head', h + 1)]));
    }
    $('head').value = view.head;
    const lines = pretty(view.backward ? base.derivative : base.formula);
    write($('step-formula'), lines.replace(/,? +(in matrices|over i, j along).*/gm, ''));
    write($('step-says'), sentenceOf(r));
    if (attends(r)) write($('switch-head'), t(off.has(headId(r, view.head)) ? 'head_on' : 'head_off', view.head + 1));
    paintEquation(c, now);
    if (now) paintCell(c, now);
    paintCode(base);
  }


  const part = (o, k, now) => {
    const all = now?.parts?.[k];
    if (!all) return null;
    return Float64Array.from({length: o.rows * o.columns}, (_, n) => all[o.at(Math.floor(n / o.columns), n % o.columns)]);
  };
  function paintEquation({r, base, result, operands, origins, operand, cell}, now) {
    const box = $('equation'), signs = SIGN[base.operation] ?? [], room = box.clientWidth;
    const list = operands.flatMap((o, k) => o ? [[k, o]] : []).filter(([k, o]) => !view.backward || o.r.grad);
    const key = [r.id, view.backward, language, view.head].join();
    if (box.dataset.key !== key) {
      box.dataset.key = key;
      const figure_ = k => matrixFigure((i, j) => choose(k, i, j));
      const sign = s => make('span', {className: 'sign'}, s);
      const left = list.flatMap(([k], n) => n ? [sign(view.backward ? '' : signs[n - 1] ?? ','), figure_(k)] : [figure_(k)]);
      box.replaceChildren(...view.backward ? [figure_(-1), sign('→'), ...left] : [...left, sign(signs.length ? '=' : '→'), figure_(-1)]);
    }
    const all = [...box.querySelectorAll('figure')];
    const order = view.backward ? [[-1, result], ...list] : [...list, [-1, result]];
    const lit = litCells({base, operands, origins, cell}, now);
    order.forEach(([k, o], n) => {
      const values = view.backward ? k < 0 ? o.grad : part(o, k, now) ?? o.grad : o.values;
      const mark = k === operand ? {cell} : marked_(lit.get(k) ?? []);
      const name = view.backward ? t(k < 0 ? 'arrives' : 'adds', gradientOf(short_(o))) : short_(o);
      drawMatrix(all[n], {...o, values}, name, mark, cellOf(order, room), attends(r) && k < 0 && !view.backward ? 1 : 0);
      if (k === operand) all[n].set(...cell);
    });
  }
  // Without the head, which stands above.
  const short_ = o => o.name.replace(/, .*/, '');
  // Cells of each matrix that the chosen number is made of.
  function litCells({base, operands, origins, cell}, now) {
    const lit = new Map(), add = (k, cell) => { if (cell) lit.set(k, [...lit.get(k) ?? [], cell]); };
    for (const term of now?.terms ?? [])
      if (view.backward) add(-1, origins.get(term[0]));
      else add(term[0], operands[term[0]]?.place.get(term[1]));
    // A product's other factors: the column that makes the cell.
    if (!view.backward && now?.terms?.length && /^(linear|matmul)$/.test(base.operation))
      operands.forEach((o, k) => { if (k && k < 3 && o) lit.set(k, Array.from({length: o.rows}, (_, i) => [i, cell[1]])); });
    return lit;
  }
  function marked_(cells) {
    const rows = new Set(cells.map(c => c[0])), columns = new Set(cells.map(c => c[1]));
    if (cells.length === 1) return {cell: cells[0]};
    if (rows.size === 1) return {row: [...rows][0]};
    return columns.size === 1 ? {column: [...columns][0]} : {};
  }

  function matrixFigure(act) {
    const canvas = make('canvas', {role: 'application'}), box = make('figure', {}, make('figcaption'), canvas);
    box.set = choosable(canvas, () => canvas.shows, act, true);
    return box;
  }
  // The width of a cell with which all matrices of a step stand side by side.
  const cellOf = (list, room) => {
    const columns = list.reduce((sum, [, x]) => sum + x.columns, 0);
    return clamp(3, Math.floor((room - 56 * list.length) / columns), 34);
  };
  // With numbers, if there is room for them.
  function drawMatrix(box, x, name, mark_, cell, top) {
    const few = cell >= 23 && x.rows <= 16, high = few ? 16 : clamp(3, Math.floor(140 / x.rows), Math.min(18, cell * 2));
    const names = list => list.length ? list.map(name => mark(name, 6)) : null;
    const size = x.values.reduce((m, v) => Number.isFinite(v) ? Math.max(m, Math.abs(v)) : m, 0);
    const power = size > 0 && size < .1 ? Math.floor(Math.log10(size)) : 0;
    const numbers = few ? v => small(v / 10 ** power) : null;
    const unit = numbers && power ? ' · 10' + [...String(power)].map(c => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)]).join('') : '';
    heatMap(box.lastChild, x, {name: pretty(name), shape: [x.rows, x.columns], unit, cell, high,
      mark: mark_, labels: {rows: names(x.row), columns: names(x.column)}, top, numbers})();
  }

  const v = x => x ? figure(x, 3) : '0', par = x => x < 0 ? `(${v(x)})` : v(x);
  // "Q, row “3” (2), column 5": what a number is.
  function numberName(o, [i, j]) {
    const one = (labels, k, key, n) => n < 2 ? [] : [labels[k] === undefined ? t(key, k) : t(key + '_of', mark(labels[k], 6), k)];
    return [pretty(o.name), ...one(o.row, i, 'row', o.rows), ...one(o.column, j, 'column', o.columns)].join(', ');
  }

  function paintCell({base, result, operands, of, operand, cell}, now) {
    const [i, j] = cell, name = numberName(of, cell), value = of.values[i * of.columns + j];
    if (!view.backward) {
      const sum = operand < 0 ? sumOf(base, operands, cell, now, value) : '';
      const how = hidden(sum) ? `${v(value)} (${sum})` : `${sum ? sum + ' = ' : ''}${v(value)}`;
      return $('cell-says').replaceChildren(make('span', {className: 'how'}, `${name} = ${how}`));
    }
    if (operand < 0) return $('cell-says').replaceChildren(make('span', {className: 'how'}, `${gradientOf(name)} = ${v(of.grad[i * of.columns + j])}`));
    const terms = now.terms ?? [], added = part(of, operand, now)?.[i * of.columns + j] ?? 0;
    const strong = [...terms].sort((a, b) => Math.abs(b[1] * b[2]) - Math.abs(a[1] * a[2])).slice(0, 3);
    const text = strong.map(([, dy, slope]) => `${par(dy)}·${par(slope)}`);
    if (terms.length > 3) text.push(t('more_products', terms.length - 3));
    const total = of.grad[i * of.columns + j], others = Math.abs(total - added) > 1e-9 * Math.abs(total);
    let why = terms.length ? t('terms', gradientOf(short_(result))) : '';
    const end = walk.by.get(now.end);
    if (end) why = spoken('zero_' + end.operation, t('zero')) + (end === base ? '' : ' ' + t('since', nameOf(end)));
    const how = `${gradientOf(name)} += ${text.length ? text.join(' + ') + ' = ' : ''}${v(added)}`;
    $('cell-says').replaceChildren(make('span', {className: 'how'}, how), ' ', why, others ? ' ' + t('total', v(total)) : '');
  }

  const hidden = sum => sum === t('is_masked');
  // The sum that gives a cell, of some operands' elements, each times its slope.
  function sumOf(base, operands, [i, j], {terms, rest}, value) {
    const own = HOW[base.operation]?.(base, operands, i, j, value);
    if (own || !terms?.length) return own ?? '';
    const text = terms.slice(0, 4).map(([, , x, slope]) => slope === 1 ? par(x) : `${par(x)}·${par(slope)}`);
    if (terms.length > 5) text.splice(3, 1, t('more_products', terms.length - 4));
    const last = terms.at(-1), constant = base.of.find(x => x?.index < 0 && !x.grad);
    if (terms.length > 4) text.push(last[3] === 1 ? par(last[2]) : `${par(last[2])}·${par(last[3])}`);
    if (Math.abs(rest) > 1e-12) text.push(par(rest) + (constant ? ` (${nameOf(constant)})` : ''));
    return text.join(' + ');
  }
  const HOW = {
    softmax(base, [a], i, j) {
      const row = [...a.values.subarray(i * a.columns, (i + 1) * a.columns)], powers = row.filter(x => x > -Infinity).map(x => 'e^' + par(x));
      if (powers.length > 3) powers.splice(3, powers.length, '…');
      return row[j] > -Infinity ? `e^${par(row[j])} / (${powers.join(' + ')})` : t('is_masked');
    },
    layer_norm(base, [x, gain, bias], i, j) {
      const row = [...x.values.subarray(i * x.columns, (i + 1) * x.columns)], mean = row.reduce((a, b) => a + b) / row.length;
      const deviation = Math.sqrt(row.reduce((a, b) => a + (b - mean) ** 2, 0) / row.length + 1e-5);
      return `${v(gain.values[j])} · (${v(row[j])} − ${par(mean)}) / ${v(deviation)} + ${par(bias.values[j])}`;
    },
    masked_fill: (base, [a], i, j, value) => value > -Infinity ? par(a.values[i * a.columns + j]) : t('is_masked'),
    linear: (base, operands, i, j, value) => value === 0 ? t('clipped') : '',
  };

  // The change of the loss while the chosen number is pushed by -range … range, and the tangent.
  function paintPush({of, cell}, {push}) {
    const {range, value} = push;
    drawPush($('push-curve'), push, $('h').value);
    write($('push-label'), t('push', numberName(of, cell)));
    write($('push-says'), pushSays(push, $('h').value));
    attributes($('push-curve'), {'aria-label': t('push_label') + '. ' + $('push-says').textContent});
    $('h').disabled = value === null;
    attributes($('h'), {'aria-valuetext': 'h = ' + $('h').value / 20 * range});
  }

  // ---- The lines of C ----

  function paintCode(base) {
    const box = $('code'), way = view.backward ? 'backward' : 'forward', key = base.operation + way;
    write($('code-says'), t('code', `src/core/ops/${base.operation}.c`, way));
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    box.replaceChildren(...linesOf(base.operation, way).map(([text, on]) => on ? make('mark', {}, text + '\n') : text + '\n'));
    const first = box.querySelector('mark');
    box.scrollTop = first ? first.offsetTop - box.offsetTop - 40 : 0;
  }
  // Lines that compute numbers of the formula: that store into an array, or call a kernel.
  const COMPUTES = new RegExp([/\w\[[^\]]*\] *[-+*/]?=[^=]/, /^(FORWARD|BACKWARD)_/,
    /\b(gemm|product_\w+|products|kernel_\w+|tensor_copy_out|axis_\w*sum|norm_row_sums|row_moments)\(/]
    .map(x => x.source).join('|'));
  // The function of a direction, then those that it calls: lines, and whether they compute.
  function linesOf(operation, way) {
    const blocks = (SOURCE[operation] ?? '').split(/\n(?=\S)(?![})])/).filter(f => /[({]/.test(f) && !/^\/\*/.test(f));
    const name = f => (f.match(/\b(\w+)\(/) ?? [])[1] ?? '';
    const main = blocks.filter(f => new RegExp(way, 'i').test(name(f))).sort((a, b) => name(a).length - name(b).length);
    const called = new Set(main);
    for (const f of called)
      for (const g of blocks)
        if (!/forward|backward|scratch/i.test(name(g)) && new RegExp(`\\b${name(g)}\\b`).test(f)) called.add(g);
    let open = false;
    return [...called].flatMap(f => f.trimEnd().split('\n')).map(line => {
      const on = open || COMPUTES.test(line);
      open = on && !/[;{})]\s*$/.test(line);
      return [line, on];
    });
  }

  // ---- From logits to the chosen token ----

  function paintBars() {
    const {columns, rows, values, row} = matrix(walk.logits);
    const i = Math.min(view.cell[0], rows - 1), z = values.subarray(i * columns, (i + 1) * columns), T = $('temperature').value / 10;
    const shares = softmaxOf(z, T), best = argmax(shares);
    write($('step-title'), t('box_softmax'));
    write($('step-path'), t('bars_path', mark(row[i], 6), i));
    write($('step-formula'), 'p_j = e^(z_j / T) / Σ_k e^(z_k / T)');
    write($('step-says'), t('m_bars'));
    write($('temperature-says'), T.toFixed(1));
    const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, 12);
    $('bar-list').replaceChildren(...order.map(k => make('li', {className: k === best ? 'right' : ''},
      make('b', {}, mark(model.tokens[k], 6)), make('i', {style: `width: ${70 * shares[k]}%`}), make('span', {}, `${percent(shares[k])}   z = ${v(z[k])}`))));
    $('cell-says').replaceChildren(t('chosen', mark(model.tokens[best], 6)));
    const tokens = $('bar-tokens');
    if (tokens.children.length !== rows) tokens.replaceChildren(...row.map((label, k) => button(mark(label, 3), () => { view.cell = [k, 0]; moved(), paint('step'); })));
    [...tokens.children].forEach((b, k) => { write(b, mark(row[k], 3)), attributes(b, {'aria-pressed': k === i}); });
  }
})();

const spoken = (key, otherwise = '') => TEXTS[key] ? t(key) : otherwise;
// What a step does, in the direction of the view.
function sentenceOf(r) {
  const way = view.backward ? 'b_' : 'm_', {operation, sentence} = made(r);
  return spoken(way + r.name, spoken(way + operation, view.backward ? '' : r.sentence || sentence));
}

// Draws the losses of a pushed number with the tangent; says them.
function drawPush(canvas, {losses, range, gradient}, at) {
  const h = at / 20 * range, now = losses[20], changes = losses.map(loss => loss - now);
  const most = round(Math.max(1e-6, ...changes.map(Math.abs)));
  const text = y => (y && Math.abs(y) < 1e-4 ? y.toExponential(1) : String(+y.toPrecision(2))).replace(/-/g, '−');
  drawChart(canvas,
    [{x: [-range, range], y: [-gradient * range, gradient * range], colour: 'faint', width: 1},
     {x: losses.map((_, k) => (k - 20) / 20 * range), y: changes, colour: 'accent', width: 2},
     {x: [h], y: [losses[20 + +at] - now], colour: 'ink', dots: true}],
    {from: -range, to: range, text: h => h ? Math.abs(h) < range ? '' : text(h) : 'h = 0'}, {from: -most, to: most, text, room: 66}, 0);
}
function pushSays({losses, range, gradient, value}, at) {
  const h = at / 20 * range, now = losses[20], x = y => y ? figure(y, 4) : '0';
  if (value === null) return t('push_hidden');
  const trend = t(['falls', 'stays', 'rises'][1 + Math.sign(Math.abs(gradient) < 1e-12 ? 0 : gradient)]);
  const says = t('push_says', x(value), x(gradient), trend);
  return h ? says + ' ' + t('push_now', figure(h, 3), x(losses[20 + +at]), x(now + gradient * h), x(now)) : says;
}
