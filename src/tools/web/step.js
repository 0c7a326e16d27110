// The step that a click on a box opens: operands, result, the sum of a cell, the loss while a
// number is pushed, and the lines of C that computed it.
'use strict';
(() => {
  let told = null; // the worker's answers for the chosen number: {key, slopes | terms, parts, push}

  const isOff = r => off.has(headId(r, matrix(r).head));
  const record = () => walk?.shown.find(r => r.id === view.open);
  const RESULT = -1; // the number of the result among the operands

  // ---- Which matrices a step shows ----

  // The elements at(i, j) of a tensor as a matrix, with the place of each element in it.
  function shown(r, name, rows, columns, at, row = [], column = []) {
    const count = rows * columns, values = new Float64Array(count);
    const grad = r.grad && new Float64Array(count), place = new Map();
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        const e = at(i, j), k = i * columns + j;
        place.set(e, [i, j]), values[k] = r.values[e];
        if (grad) grad[k] = r.grad[e];
      }
    return {r, name, rows, columns, values, grad, at, place, row, column};
  }
  const headName = m => m.heads > 1 ? ', ' + t('only_head', m.head + 1) : '';
  function whole(r) {
    const m = matrix(r), at = (i, j) => m.first + i * m.columns + j;
    return shown(r, nameOf(r) + headName(m), m.rows, m.columns, at, m.row, m.column);
  }

  // Result and operands. Of a product only the rows of its matrix appear that make the result; the
  // matrix is transposed, so that a row meets a column.
  function parted(r) {
    const base = made(r), result = whole(r), columns = base.shape.at(-1) || 1;
    const origins = new Map([...result.place].map(([e, at]) => [origin(r, e), at]));
    const rows = [...new Set([...origins.keys()].map(e => e % columns))].sort((a, b) => a - b);
    const operands = base.of.map((x, k) => {
      if (!x || base.operation !== 'linear' || k === 0 || k === 3) return x && whole(x);
      const name = base === r ? nameOf(x) : nameOf(x)[0] + '^' + r.name[0];
      const head = base === r ? '' : headName(matrix(r));
      if (k === 2) return shown(x, name + head, 1, rows.length, (i, j) => rows[j]);
      const inputs = x.shape[1], labels = x.axes[0] === 'vocabulary' ? model.tokens : [];
      const at = (i, j) => rows[j] * inputs + i;
      return shown(x, name + 'ᵀ' + head, inputs, rows.length, at, [], labels);
    });
    return {base, result, operands, origins};
  }
  const SIGN = {linear: ['×', '+', '+'], matmul: ['×'], residual: ['+'], add: ['+'], mul: ['×']};

  // ---- Asking the worker ----

  // The number that is chosen: of the open step, or else a weight that makes queries.
  function chosen() {
    let r = record(), {operand, cell} = view;
    if (!r) {
      const learns = r => r.box.weights.length;
      r = walk?.shown.findLast(r => r.name === 'Q') ?? walk?.shown.find(learns);
      operand = r ? made(r).of.findIndex(x => x?.index < 0 && x.grad && x.rank > 1) : 0;
      cell = null;
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
    const {base, operand, element} = c, {index} = base, sum = {index, operand, element};
    if (view.open && view.backward) {
      found.parts = (await ask('parts', {index, shapes: base.of.map(x => x?.shape)})).parts;
      if (found.parts[operand]) Object.assign(found, await ask('sum', sum));
    } else if (view.open && operand < 0)
      Object.assign(found, await ask('sum', {...sum, element: origin(c.r, element)}));
    const [at, input] = c.of.r.read ?? [c.of.r.index, RESULT]; // of a leaf, where it is read
    found.push = await ask('push', {index: at, operand: input, element});
    if (mine !== walk) return;
    told = Object.assign(found, {key: c.key});
    paint('step');
  });
  renewStep = () => { view.open === 'softmax' ? paint('step') : askNow(); };

  // The cell that is looked at first: of the largest number, or backward of the largest gradient.
  const largest = ({grad, values, columns}, by = view.backward && grad || values) => {
    const k = by.reduce((k, x, i) => Math.abs(x) > Math.abs(by[k]) ? i : k, 0);
    return [Math.floor(k / columns), k % columns];
  };
  // Opens a step: of a record, or of a weight beside the operation that reads it.
  openStep = (id, cell = null, operand = null) => {
    view.open = id, view.cell = cell, view.operand = operand ?? RESULT, $('h').value = 0;
    const leaf = walk?.leaves.find(x => x.id === id);
    const r = leaf ? walk.shown.find(r => made(r).of.includes(leaf)) : record();
    if (r) {
      view.open = r.id;
      if (r.layer !== null && r.layer !== view.layer) view.layer = r.layer, arrangeFigure();
      const {operands, result, base} = parted(r), weight = o => o?.r.index < 0 && o.grad;
      if (leaf) view.operand = base.of.indexOf(leaf);
      else if (operand === null && view.backward)
        view.operand = Math.max(0, operands.findIndex(weight));
      view.cell ??= largest(view.operand < 0 ? result : operands[view.operand] ?? result);
    } else if (id === 'softmax') view.cell ??= [0, 0];
    else view.open = null;
    moved(), markFigure(), renewStep();
    if (view.open && innerWidth < 900) requestAnimationFrame(() => $('panel').scrollIntoView());
  };
  function choose(operand, i, j) {
    view.operand = operand, view.cell = [i, j], $('h').value = 0;
    moved(), askNow(), paint('step');
  }
  stepBy = by => {
    const all = [...walk?.shown.map(r => r.id) ?? [], 'softmax'], at = all.indexOf(view.open);
    const to = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
    if (to) openStep(to);
  };
  $('previous').addEventListener('click', () => stepBy(view.backward ? 1 : -1));
  $('next').addEventListener('click', () => stepBy(view.backward ? -1 : 1));
  $('close').addEventListener('click', () => openStep(null));
  for (const id of ['h', 'temperature']) $(id).addEventListener('input', () => paint('step'));
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
      const set = {...switches(), off: without};
      const {answer, wanted} = await askAnswer({text, more: 30, ...set});
      const share = (model.steps ? await ask('evaluate', {rows: 128, ...set}) : {})[measure()];
      const which = t(without.length ? 'off_without' : 'off_with');
      says.push(' ', which, ' ', ...marked({answer, wanted}));
      if (share !== undefined) says.push(`, ${t(measure())} ${percent(share)}.`);
    }
    $('off-says').replaceChildren(...says);
  });

  // ---- Painting ----

  painter('step', () => {
    const softmax = view.open === 'softmax', c = softmax ? null : chosen();
    const open = softmax || c && record();
    $('step').hidden = !open, $('overview').hidden = Boolean(open);
    $('equation').hidden = $('push').hidden = softmax, $('bars').hidden = !softmax;
    $('code-part').hidden = !open || softmax;
    if (!walk || !model) return;
    $('head').hidden = softmax || !open || matrix(c.r).heads < 2;
    $('switch-head').hidden = !open || softmax || !attends(c.r);
    if (softmax) return paintBars();
    const now = c && told && told.walk === walk && told.key === c.key ? told : null;
    if (open) paintOpen(c, now);
    if (now) paintPush(c, now);
  }, 'figure');
  function paintOpen(c, now) {
    const {base, r} = c, {heads, head} = matrix(r), of = LANGUAGES[language];
    write($('step-title'), view.backward ? gradientOf(nameOf(r)) : nameOf(r));
    const path = t('step_path', boxTitle(r.box), base.operation, r.module, base.index);
    write($('step-path'), path), attributes($('step-path'), {title: path});
    if ($('head').options.length !== heads || $('head').dataset.of !== of) {
      $('head').dataset.of = of;
      fill($('head'), Array.from({length: heads}, (_, h) => [String(h), t('only_head', h + 1)]));
    }
    $('head').value = head;
    write($('step-formula'), pretty(view.backward ? base.backward : base.formula));
    write($('step-says'), sentenceOf(r));
    const key = isOff(r) ? 'head_on' : 'head_off';
    if (attends(r)) write($('switch-head'), t(key, view.head + 1));
    paintEquation(c, now);
    if (now) paintCell(c, now);
    paintCode(base);
  }

  // What the step adds to the gradient of operand k.
  function part({values, columns, at}, k, now) {
    const all = now?.parts?.[k];
    const element = n => at(Math.floor(n / columns), n % columns);
    return all && Float64Array.from(values, (_, n) => all[element(n)]);
  }
  function paintEquation({r, base, result, operands, origins, operand, cell}, now) {
    const box = $('equation'), signs = SIGN[base.operation] ?? [], {backward} = view;
    const list = operands.flatMap((o, k) => o && (!backward || o.r.grad) ? [[k, o]] : []);
    const order = backward ? [[RESULT, result], ...list] : [...list, [RESULT, result]];
    const key = [r.id, backward, language, view.head].join();
    if (box.dataset.key !== key) {
      box.dataset.key = key;
      const before = n => { // the sign before figure n
        if (backward) return n === 1 ? '→' : '';
        return n < list.length ? signs[n - 1] ?? ',' : signs.length ? '=' : '→';
      };
      box.replaceChildren(...order.flatMap(([k], n) => {
        const figure = matrixFigure((i, j) => choose(k, i, j));
        return n ? [make('span', {className: 'sign'}, before(n)), figure] : [figure];
      }));
    }
    const figures = box.querySelectorAll('figure'), cells = cellOf(order, box.clientWidth);
    const lit = litCells({base, operands, origins, cell}, now);
    order.forEach(([k, o], n) => {
      const values = !backward ? o.values : k < 0 ? o.grad : part(o, k, now) ?? o.grad;
      const mark = k === operand ? {cell} : markOf(lit.get(k) ?? []);
      const name = pretty(o.name.replace(/, .*/, '')); // without the head, which stands above
      const says = backward ? t(k < 0 ? 'arrives' : 'adds', gradientOf(name)) : name;
      const top = attends(r) && k < 0 && !backward ? 1 : 0;
      showMatrix(figures[n], {...o, values}, says, mark, cells, top);
    });
  }
  // Cells of each matrix that the chosen number is made of.
  function litCells({base, operands, origins, cell}, now) {
    const lit = new Map();
    const add = (k, cell) => { if (cell) lit.set(k, [...lit.get(k) ?? [], cell]); };
    for (const term of now?.terms ?? [])
      if (view.backward) add(RESULT, origins.get(term[0]));
      else add(term[0], operands[term[0]]?.place.get(term[1]));
    // A product's other factors: the column that makes the cell.
    if (!view.backward && now?.terms?.length && /^(linear|matmul)$/.test(base.operation))
      operands.forEach((o, k) => {
        if (o && k && k < 3) lit.set(k, Array.from({length: o.rows}, (_, i) => [i, cell[1]]));
      });
    return lit;
  }
  function markOf(cells) {
    const rows = new Set(cells.map(c => c[0])), columns = new Set(cells.map(c => c[1]));
    if (cells.length === 1) return {cell: cells[0]};
    if (rows.size === 1) return {row: [...rows][0]};
    return columns.size === 1 ? {column: [...columns][0]} : {};
  }
  // The width of a cell with which all matrices of a step stand side by side.
  const cellOf = (list, room) => {
    const columns = list.reduce((sum, [, x]) => sum + x.columns, 0);
    return clamp(3, Math.floor((room - 56 * list.length) / columns), 34);
  };
  // With numbers, if there is room for them.
  function showMatrix(figure, m, name, mark_, cell, top) {
    const few = cell >= 23 && m.rows <= 16, size = largestSize(m.values);
    const power = few && size > 0 && size < .1 ? Math.floor(Math.log10(size)) : 0;
    const raised = [...String(power)].map(c => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)]).join('');
    const names = list => list.length ? list.map(name => mark(name, 6)) : null;
    figure.show(m, {
      name, mark: mark_, cell, top, unit: power ? ' · 10' + raised : '',
      high: few ? 16 : clamp(3, Math.floor(140 / m.rows), Math.min(18, cell * 2)),
      rows: names(m.row), columns: names(m.column),
      numbers: few ? v => small(v / 10 ** power) : null,
    });
  }

  // ---- The sum of the chosen number ----

  const v = x => x ? figure(x, 3) : '0', par = x => x < 0 ? `(${v(x)})` : v(x);
  // x times its slope, 1/√n in its own form.
  function product(x, slope) {
    const n = Math.round(slope ** -2), is_root = n > 1 && Math.abs(slope * slope * n - 1) < 1e-12;
    if (slope === 1) return par(x);
    return slope > 0 && is_root ? `${par(x)}/√${n}` : `${par(x)}·${par(slope)}`;
  }
  // "Q, row “3” (2), column 5": what a number is.
  function numberName(o, [i, j]) {
    const one = (labels, k, key, n) => {
      if (n < 2) return [];
      return [labels[k] === undefined ? t(key, k) : t(key + '_of', mark(labels[k], 6), k)];
    };
    const places = [...one(o.row, i, 'row', o.rows), ...one(o.column, j, 'column', o.columns)];
    return [pretty(o.name), ...places].join(', ');
  }
  function paintCell(c, now) {
    const {of, operand, cell} = c, name = numberName(of, cell), k = cell[0] * of.columns + cell[1];
    const says = (how, ...more) =>
      $('cell-says').replaceChildren(make('span', {className: 'how'}, how), ...more);
    if (!view.backward) {
      const value = of.values[k], sum = operand < 0 ? sumOf(c, now, value) : '';
      if (sum === t('is_masked')) return says(`${name} = ${v(value)} (${sum})`);
      return says(`${name} = ${sum ? sum + ' = ' : ''}${v(value)}`);
    }
    if (operand < 0) return says(`${gradientOf(name)} = ${v(of.grad[k])}`);
    const terms = now.terms ?? [], added = part(of, operand, now)?.[k] ?? 0, total = of.grad[k];
    const sizes = [...terms].sort((a, b) => Math.abs(b[1] * b[2]) - Math.abs(a[1] * a[2]));
    const text = sizes.slice(0, 3).map(([, dy, slope]) => `${par(dy)}·${par(slope)}`);
    if (terms.length > 3) text.push(t('more_products', terms.length - 3));
    let why = terms.length ? t('terms', gradientOf(c.result.name.replace(/, .*/, ''))) : '';
    const end = walk.by.get(now.end);
    const cause = now.zero === 'hidden' ? 'masked_fill' : now.zero;
    if (end) why = textOr('zero_' + cause, t('zero'));
    if (end && end !== c.base) why += ' ' + t('since', nameOf(end));
    if (!total && isOff(c.r)) why = t('zero_off', view.head + 1);
    const others = Math.abs(total - added) > 1e-9 * Math.abs(total);
    says(`${gradientOf(name)} += ${text.length ? text.join(' + ') + ' = ' : ''}${v(added)}`,
         ' ', why, others ? ' ' + t('total', v(total)) : '');
  }
  // The sum that gives a cell, of some operands' elements, each times its slope.
  function sumOf({base, operands, cell}, {terms, rest}, value) {
    const own = HOW[base.operation]?.(operands, ...cell, value);
    if (own || !terms?.length) return own ?? '';
    const text = terms.map(([, , x, slope]) => product(x, slope));
    if (terms.length > 5) text.splice(3, text.length - 4, t('more_products', terms.length - 4));
    const constant = base.of.find(x => x?.index < 0 && !x.grad);
    if (Math.abs(rest) > 1e-12) text.push(par(rest) + (constant ? ` (${nameOf(constant)})` : ''));
    return text.join(' + ');
  }
  const rowOf = ({values, columns}, i) => [...values.subarray(i * columns, (i + 1) * columns)];
  // Operations whose cell is no sum of products.
  const HOW = {
    softmax([a], i, j) {
      const row = rowOf(a, i), powers = row.filter(x => x > -Infinity).map(x => 'e^' + par(x));
      if (powers.length > 3) powers.splice(3, powers.length, '…');
      return row[j] > -Infinity ? `e^${par(row[j])} / (${powers.join(' + ')})` : t('is_masked');
    },
    layer_norm([x, gain, bias], i, j) {
      const row = rowOf(x, i), mean = row.reduce((a, b) => a + b) / row.length;
      const variance = row.reduce((a, b) => a + (b - mean) ** 2, 0) / row.length;
      const normal = `(${v(row[j])} − ${par(mean)}) / ${v(Math.sqrt(variance + 1e-5))}`;
      return `${v(gain.values[j])} · ${normal} + ${par(bias.values[j])}`;
    },
    masked_fill: ([a], i, j, value) =>
      value > -Infinity ? par(a.values[i * a.columns + j]) : t('is_masked'),
    linear: (operands, i, j, value) => value === 0 ? t('clipped') : '',
  };

  // The change of the loss while the chosen number is pushed by -range … range, and the tangent.
  function paintPush({r, of, cell}, {push: {losses, range, gradient, value}}) {
    const at = +$('h').value, h = at / 20 * range, now = losses[20];
    const changes = losses.map(loss => loss - now), lost = losses[20 + at];
    const most = round(Math.max(1e-6, ...changes.map(Math.abs)));
    const text = y => {
      const digits = y && Math.abs(y) < 1e-4 ? y.toExponential(1) : String(+y.toPrecision(2));
      return digits.replace(/-/g, '−');
    };
    const place = h => h ? Math.abs(h) < range ? '' : text(h) : 'h = 0', ends = [-range, range];
    drawChart($('push-curve'), [
      {x: ends, y: ends.map(h => h * gradient), colour: 'faint', width: 1},
      {x: losses.map((_, k) => (k - 20) / 20 * range), y: changes, colour: 'accent', width: 2},
      {x: [h], y: [lost - now], colour: 'ink', dots: true},
    ], {from: -range, to: range, text: place}, {from: -most, to: most, text, room: 66}, 0);
    const x = y => y ? figure(y, 4) : '0';
    const way = Math.abs(gradient) < 1e-12 ? 0 : Math.sign(gradient);
    let says = t('push_says', x(value), x(gradient), t(['falls', 'stays', 'rises'][1 + way]));
    if (!way && isOff(r)) says += ' ' + t('zero_off', view.head + 1);
    if (h) says += ' ' + t('push_now', figure(h, 3), x(lost), x(now + gradient * h), x(now));
    write($('push-label'), t('push', numberName(of, cell)));
    write($('push-says'), value === null ? t('push_hidden') : says);
    const label = t('push_label') + '. ' + $('push-says').textContent;
    attributes($('push-curve'), {'aria-label': label});
    $('h').disabled = value === null;
    attributes($('h'), {'aria-valuetext': 'h = ' + h});
  }

  // ---- The lines of C ----

  function paintCode(base) {
    const box = $('code'), way = view.backward ? 'backward' : 'forward', key = base.operation + way;
    write($('code-says'), t('code', `src/core/ops/${base.operation}.c`, way));
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    const line = ([text, on]) => on ? make('mark', {}, text + '\n') : text + '\n';
    box.replaceChildren(...linesOf(base.operation, way).map(line));
    const first = box.querySelector('mark');
    box.scrollTop = first ? first.offsetTop - box.offsetTop - 40 : 0;
  }
  // Lines that compute numbers of the formula: that store into an array, or call a kernel.
  const COMPUTES = RegExp([
    /\w\[[^\]]*\] *[-+*/]?=[^=]/, /^(FORWARD|BACKWARD)_/, /\b(gemm|product_\w+|products)\(/,
    /\b(kernel_\w+|tensor_copy_out|axis_\w*sum|norm_row_sums|row_moments)\(/,
  ].map(x => x.source).join('|'));
  // The function of a direction, then those that it calls: lines, and whether they compute.
  function linesOf(operation, way) {
    const blocks = (SOURCE[operation] ?? '').split(/\n(?=\S)(?![})])/)
      .filter(f => /[({]/.test(f) && !/^\/\*/.test(f));
    const name = f => (f.match(/\b(\w+)\(/) ?? [])[1] ?? '';
    const main = blocks.filter(f => new RegExp(way, 'i').test(name(f)));
    const called = new Set(main.sort((a, b) => name(a).length - name(b).length));
    for (const f of called)
      for (const g of blocks)
        if (!/forward|backward|scratch/i.test(name(g)) && RegExp(`\\b${name(g)}\\b`).test(f))
          called.add(g);
    let open = false;
    return [...called].flatMap(f => f.trimEnd().split('\n')).map(line => {
      const on = open || COMPUTES.test(line);
      open = on && !/[;{})]\s*$/.test(line);
      return [line, on];
    });
  }

  // ---- From logits to the chosen token ----

  function paintBars() {
    const {rows, row, ...logits} = matrix(walk.logits), i = Math.min(view.cell[0], rows - 1);
    const z = rowOf(logits, i), T = $('temperature').value / 10;
    const shares = softmaxOf(z, T), best = argmax(shares), token = k => mark(model.tokens[k], 6);
    write($('step-title'), t('box_softmax'));
    write($('step-path'), t('bars_path', mark(row[i], 6), i));
    write($('step-formula'), 'p_j = e^(z_j / T) / Σ_k e^(z_k / T)');
    write($('step-says'), t('m_bars'));
    write($('temperature-says'), T.toFixed(1));
    const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, 12);
    const bar = k => make('li', {className: k === best ? 'right' : ''}, make('b', {}, token(k)),
                          make('i', {style: `width: ${70 * shares[k]}%`}),
                          make('span', {}, `${share(shares[k])}   z = ${v(z[k])}`));
    const share = x => x >= .001 ? percent(x) : figure(100 * x, 2) + '\u00a0%';
    $('bar-list').replaceChildren(...order.map(bar));
    $('cell-says').replaceChildren(t('chosen', token(best)));
    const tokens = $('bar-tokens'), look = k => { view.cell = [k, 0]; moved(), paint('step'); };
    if (tokens.children.length !== rows)
      tokens.replaceChildren(...row.map((_, k) => button('', () => look(k))));
    [...tokens.children].forEach((b, k) => {
      write(b, mark(row[k], 3)), attributes(b, {'aria-pressed': k === i});
    });
  }
})();
