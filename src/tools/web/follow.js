// Follow: the walk. Shows each matrix as a heat map beside its operands, and the sum behind the chosen cell. Backward: what
// each operation adds to the gradients of what it reads, the terms of the chosen cell, and the loss while it is pushed.
'use strict';
(() => {
  let walk = null;          // the worker's answer: {matrices, weights}, or backward {steps}
  let where = '', cell = [0, 0];
  let added = 0, pushed = null; // backward: the chosen matrix of those that a step adds, and the worker's answer for its cell
  const HIDDEN = new Set(['S of all heads', 'last row of X and of Z']);
  const SIGNS = [[/sqrt\(([^()]*)\)/g, '√($1)'], [/sum_/g, 'Σ_'], ['gamma', 'γ'], ['beta', 'β'], [/-inf/g, '−∞'],
                 [/_1/g, '₁'], [/_2/g, '₂'], [/ - /g, ' − '], [/\^T/g, 'ᵀ'], [/ \.\.\. /g, ' … ']];
  const said = (key, otherwise = '') => TEXTS[key] ? t(key) : otherwise;
  const pretty = s => SIGNS.reduce((text, [from, to]) => text.replace(from, to), s);

  const renewWalk = reading(async text => {
    const side = $('side').value, backward = $('direction').value === 'backward';
    const head = +$('head').value || 1, more = {text, side, layer: +$('layer').value || 1, head, backward};
    if (backward) more.answer = (await askAnswer({text, more: 0})).wanted; // the loss is that of the right answer
    walk = await ask('walk', more);
    backward ? prepare(head - 1) : paint('walk');
    if (backward && running) await rest(500);
  });
  viewers.push({section: 'follow', renew: renewWalk, shape: () => { walk = null; nameChoices(); }});

  function nameChoices() {
    if (!model) return;
    const sides = ['encoder', 'decoder', 'cross'].map(s => [s, t('kind_' + s)]);
    const upTo = n => Array.from({length: n}, (_, i) => [String(i + 1), String(i + 1)]);
    fill($('direction'), ['forward', 'backward'].map(d => [d, t(d)]));
    fill($('side'), model.lm ? [['decoder', t('kind_text')]] : sides, $('side').value || 'decoder');
    fill($('layer'), upTo(Math.max(...model.layers))), fill($('head'), upTo(model.heads));
    $('stages').replaceChildren();
    paint('walk');
  }
  translators.push(nameChoices);
  for (const id of ['direction', 'side', 'layer', 'head']) $(id).addEventListener('change', renewWalk);

  const stages = () => walk.steps || walk.matrices.filter(m => !HIDDEN.has(m.name));
  // The step that is shown first: the scores, and backward the learnt numbers that make queries, keys and values.
  const opening = all => (all.find(m => m.name === 'S' || m.adds?.some(a => /in_proj/.test(a.to))) || all[0]).name;
  function go(name) {
    where = name, cell = [0, 0], $('h').value = 0;
    if (walk.steps) choose(null);
    paint('walk');
  }
  function move(by) {
    if (!walk) return;
    const all = stages(), i = all.findIndex(m => m.name === where) + by;
    if (all[i]) go(all[i].name);
  }
  for (const [id, by] of [['next', 1], ['previous', -1]]) $(id).addEventListener('click', () => move(by));

  // A matrix as rows and columns: the ids are a column, a bias is a row, heads lie one below another.
  const find = name => walk.matrices.find(m => m.name === name) || walk.weights.find(m => m.name === name);
  function flat({name, shape, values, rows: row = [], columns: column = []}) {
    const ids = name === 'x' || name === 'source', heads = shape.length > 2 ? shape[0] : 0;
    return {name, row, column, heads, ...grid({shape: ids ? [...shape, 1] : shape, values})};
  }
  const counted = (names, i) => names.length ? `${i} “${mark(names[i], 8)}”` : i;
  const v = x => x ? figure(x, 3) : '0', par = x => x < 0 ? `(${v(x)})` : v(x);

  // ---- How a cell is computed ----

  // An operand: its name, and whether it is transposed.
  const operand = name => ({name: name.replace(/\^T$/, ''), transposed: /\^T$/.test(name)});
  const get = name => flat(find(name)), at = (name, i, j) => get(name).values[i * get(name).columns + j];
  const rowOf = (name, i) => Array.from({length: get(name).columns}, (_, j) => at(name, i, j));

  // Row i of a matrix times column j of another, plus a bias.
  function product(i, j, [first, second, bias]) {
    const {name, transposed} = operand(second), added = bias ? at(bias, 0, j) : 0;
    const factors = rowOf(first, i).map((x, k) => [x, transposed ? at(name, j, k) : at(name, k, j)]);
    const terms = factors.slice(0, 4).map(([x, y]) => `${par(x)}·${par(y)}`);
    if (factors.length > 4) terms.push('… ' + t('more_products', factors.length - 4));
    if (bias) terms.push(`${t('bias')} ${par(added)}`);
    const marks = {[first]: {row: i}, [name]: transposed ? {row: j} : {column: j}, [bias]: {column: j}};
    return {text: terms.join(' + '), sum: factors.reduce((s, [x, y]) => s + x * y, added), marks};
  }
  function activated(m, i, j, of) {
    const {text, sum, marks} = product(i, j, of);
    return {text: `${m.from.kind}(${text}) = ${m.from.kind}(${v(sum)})`, marks};
  }

  // By the kind of operation: how it computes cell [i, j] of m from its operands, and the marks of the cells that it reads.
  const HOW = {
    product: (m, i, j, of) => product(i, j, of),
    relu: activated,
    gelu: activated,
    row(m, i, j, [table, scaled]) {
      const ids = m.rows.length === get('x').rows ? 'x' : 'source', id = at(ids, i, 0);
      const scale = scaled ? `${v(Math.sqrt(flat(m).columns))} · ` : '';
      return {text: scale + par(at(table, id, j)), marks: {[table]: {row: id, column: j}}};
    },
    sum: (m, i, j, [a, b]) =>
      ({text: `${v(at(a, i, j))} + ${par(at(b, i, j))}`, marks: {[a]: {cell: [i, j]}, [b]: {cell: [i, j]}}}),
    scaled: (m, i, j, [a, queries]) =>
      ({text: `${v(at(a, i, j))} / ${v(Math.sqrt(get(queries).columns))}`, marks: {[a]: {cell: [i, j]}}}),
    mask: (m, i, j, [a]) =>
      ({text: at(m.name, i, j) > -Infinity ? '' : t('is_masked'), marks: {[a]: {cell: [i, j]}}}),
    softmax(m, i, j, [a]) {
      const powers = rowOf(a, i).filter(x => x > -Infinity).map(x => 'e^' + par(x));
      if (powers.length > 4) powers.splice(4, powers.length, '…');
      return {text: `e^${par(at(a, i, j))} / (${powers.join(' + ')})`, marks: {[a]: {row: i, cell: [i, j]}}};
    },
    norm(m, i, j, [a, gain, bias]) {
      const x = rowOf(a, i), mean = x.reduce((a, b) => a + b) / x.length;
      const deviation = Math.sqrt(x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length + 1e-5);
      const text = `${v(at(gain, 0, j))} · (${v(x[j])} − ${par(mean)}) / ${v(deviation)} + ${par(at(bias, 0, j))}`;
      return {text, marks: {[a]: {row: i, cell: [i, j]}}};
    },
    position(m, i, j) {
      const angle = `${i} / 10000^(${j - j % 2}/${flat(m).columns})`;
      return {text: /sin/.test(m.formula) ? `${j % 2 ? 'cos' : 'sin'}(${angle})` : t('learnt_row')};
    },
    heads: (m, i) => ({text: `${t('head')} ${1 + Math.floor(i / m.rows.length)}`}),
    beside: (m, i, j) => ({text: `${t('head')} ${1 + Math.floor(j * model.heads / flat(m).columns)}`}),
  };

  // "Q[1 “3”, 2] = … = 0.5", and the marks.
  function how(m, i, j) {
    const {row, column, heads, values, columns} = flat(m), value = values[i * columns + j];
    const {text = '', marks = {}} = HOW[m.from.kind]?.(m, i, j, m.from.of) ?? {};
    const cell = `${counted(row, heads ? i % row.length : i)}, ${counted(column, j)}`;
    return {text: `${pretty(m.name)}[${cell}] = ${text && text + ' = '}${m.shape.length > 1 ? v(value) : value}`, marks};
  }

  // Names of the matrices beside the result, and the signs between them.
  function parts({from: {kind, of}}) {
    const signs = {product: '×', relu: '×', gelu: '×', sum: '+'}[kind];
    if (signs) return [...of.flatMap((name, i) => i ? [i === 2 ? '+' : signs, name] : [name]), '='];
    return ['row', 'scaled', 'mask', 'softmax', 'norm'].includes(kind) ? [of[0], '→'] : [];
  }

  // choose: what a chosen cell does, one under the pointer, or with `clicks` one that is clicked.
  function matrixFigure(name, choose, clicks) {
    const canvas = make('canvas', {role: choose ? 'application' : 'img'});
    const box = make('figure', {}, make('figcaption'), canvas);
    box.name = name;
    if (choose) box.set = choosable(canvas, () => canvas.shows, choose, clicks);
    return box;
  }

  // Shows a matrix in a figure, in cells as large as the room allows: with numbers, if there are few.
  function drawMatrix(box, matrix, lit, room, top) {
    const x = flat(matrix), {shape} = matrix, named = x.row.length + x.column.length, canvas = box.lastChild;
    const ids = x.columns === 1 && shape.length === 1;
    const few = !ids && x.columns <= 12 && named ? Math.min(46, room / x.columns - 4) : 0;
    const width = ids ? 46 : few || Math.max(x.columns > 40 ? 5 : 7, Math.min(16, (room / 3 - 70) / x.columns));
    const [, height] = [[x.heads, 16], [few, 30], [named, 22], [x.rows === 1, 18], [x.rows > 40, 5], [true, Math.min(12, width)]]
      .find(([holds]) => holds);
    const names = list => list.length ? list.map(name => mark(name, 8)) : null, rows = names(x.row);
    const labels = {rows: x.heads ? Array(x.heads).fill(rows).flat() : rows, columns: names(x.column)};
    // Numbers that are all small are shown as multiples of a power of ten.
    const largest = x.values.reduce((most, y) => Number.isFinite(y) ? Math.max(most, Math.abs(y)) : most, 0);
    const power = largest > 0 && largest < .1 ? Math.floor(Math.log10(largest)) : 0, shown = y => small(y / 10 ** power);
    const numbers = ids ? String : few > 26 && !x.heads ? shown : null;
    const unit = (numbers && power ? ` · 10^${power}`.replace('-', '−') : '') + (x.columns * width > room - 70 ? ' ↔' : '');
    const size = {cell: width, high: height, grows: running};
    later(heatMap(canvas, x, {name: pretty(x.name), shape, unit, ...size, mark: lit, labels, top, numbers}));
  }

  // What is still to be drawn of the walk: one figure a frame.
  let figures = [];
  painter('figures', () => {
    figures.shift()?.();
    if (figures.length) paint('figures');
  }, 'follow');
  function later(draw) {
    figures.push(draw);
    paint('figures');
  }

  painter('walk', () => {
    const box = $('equation'), room = box.clientWidth - 30; // read before a write would cost a layout
    figures = [];
    if (!walk || !model) {
      $('previous').disabled = $('next').disabled = true;
      box.dataset.key = '';
      return box.replaceChildren();
    }
    const all = stages();
    if (!all.some(m => m.name === where)) where = opening(all);
    const chips = $('stages'), names = all.map(m => m.name).join();
    if (!chips.children.length || chips.dataset.key !== names) {
      chips.dataset.key = names;
      chips.replaceChildren(...all.map(m => button(m.title || pretty(m.name), () => go(m.name))));
    }
    const n = all.findIndex(m => m.name === where), m = all[n];
    [...chips.children].forEach((b, i) => attributes(b, {'aria-current': i === n ? 'step' : 'false'}));
    $('previous').disabled = n === 0, $('next').disabled = n === all.length - 1;
    $('push').hidden = !walk.steps;
    if (walk.steps) return paintBackward(box, m, room);
    const result = flat(m);
    write($('stage-formula'), said('f_' + m.name, pretty(m.formula)));
    write($('stage-says'), said('m_' + m.name));
    const list = parts(m), key = [...list, m.name].join('|');
    if (box.dataset.key !== key) {
      box.dataset.key = key;
      const sign = x => /^[×+=→]$/.test(x) ? make('span', {className: 'sign'}, x) : matrixFigure(operand(x).name);
      box.replaceChildren(...list.map(sign), matrixFigure(m.name, (i, j) => { cell = [i, j]; paint('walk'); }));
    }
    cell = [Math.min(cell[0], result.rows - 1), Math.min(cell[1], result.columns - 1)];
    const sum = how(m, ...cell);
    for (const f of box.querySelectorAll('figure'))
      drawMatrix(f, find(f.name), f.set ? {cell} : sum.marks[f.name], room, f.set && /^A/.test(m.name) ? 1 : 0);
    box.lastChild.set(...cell);
    $('cell-says').replaceChildren(make('span', {className: 'how'}, sum.text));
  }, 'follow');

  // ---- Backward ----

  // What an in_proj_weight makes, or a part of its rows.
  const projected = name => ({first: 'Q', last: 'K V'})[(name.match(/(first|last) rows/) || [])[1]] || 'Q K V';
  // "[1 “3”, 2]", a cell of the gradient m; with " (W^K of head 2)" if m is an in_proj_weight, whose rows make Q, K and V head
  // by head, or its bias.
  function cellName(m, i, j) {
    const {rows, row, column} = flat(m);
    const made = projected(m.to).split(' '), size = m.shape[0] / made.length, n = rows > 1 ? i : j;
    const part = (/in_proj_weight/.test(m.to) ? 'W^' : 'b^') + made[Math.floor(n / size)], head = Math.floor(n % size * model.heads / size);
    return `[${rows > 1 ? counted(row, i) + ', ' : ''}${counted(column, j)}]` +
           (/in_proj/.test(m.to) ? ` (${t('of_head', part, head + 1)})` : '');
  }

  // Steps that only rearrange numbers are left out. Of a matrix for each head the chosen one is shown: its elements begin
  // at `first`. Every matrix and step gets a name to read.
  function prepare(head) {
    const byIndex = new Map([...walk.steps, ...walk.others].map(s => [s.backward, s]));
    const own = walk.steps.map(s => s.place).find(place => /layers/.test(place)).match(/.*layers.\d+./)[0];
    const sum = names => `(${names.map(read).join(' + ').replace(/[()]/g, '')})`;
    function read(name) {
      const [, operation, index] = name.match(/^(\w+) (\d+)$/) || [], s = byIndex.get(+index);
      if (!s) return name.replace(own, '');
      if (/^(slice|reshape|contiguous)$/.test(operation)) return read(s.reads[0]);
      if (operation === 'residual') return s.adds ? sum(s.reads) : `(… + ${s.place.replace(own, '')})`;
      if (operation === 'embedding') return model.lm ? 'E' : +index ? 'E answer' : 'E source';
      if (/attn$/.test(s.place) && operation === 'linear') return projected(s.reads[1]);
      if (/linear|norm/.test(operation)) return s.place.replace(own, '');
      return `${operation}(${read(s.reads[0])})`;
    }
    for (const s of walk.steps)
      for (const m of [s, ...s.adds]) {
        m.name = m === s ? s.name : m.to;
        m.title = 'd ' + pretty(read(m.name));
        if (m.name === 'logits') m.columns = model.tokens;
        if (m.name === 'embedding.weight') m.rows = model.tokens;
        const heads = m.shape.length > 2 && m.shape[0] === model.heads ? model.heads : 1, size = m.values.length / heads;
        m.first = heads > 1 ? head * size : 0;
        m.values = m.values.subarray(m.first, m.first + size);
        if (heads > 1) m.shape = m.shape.slice(1);
        if (!m.shape.length) m.shape = [1];
      }
    walk.steps = walk.steps.filter(s => !s.view && s.operation !== 'contiguous');
    for (const s of walk.steps) s.name = String(s.backward);
    walk.steps.some(s => s.name === where) ? choose(cell, added) : paint('walk');
  }

  const renewPush = latest(async () => {
    const mine = walk, step = walk?.steps?.find(s => s.name === where);
    if (!step) return;
    const m = step.adds[added], [i, j] = cell, element = m.first + i * flat(m).columns + j;
    const asked = ask('push', {index: step.backward, input: step.reads.indexOf(m.to), element});
    const r = await asked.catch(e => { if (mine === walk) throw e; });
    if (mine !== walk) return;
    pushed = {...r, of: m, cell: [i, j]};
    paint('walk');
  });
  // Chooses a cell of a step's matrix, and asks for its terms; null: the largest, of a weight where the step has one.
  function choose(at, k = 0) {
    const adds = walk?.steps?.find(s => s.name === where)?.adds;
    if (!adds) return; // a figure of a walk that has been replaced
    const room = adds[k] ? flat(adds[k]) : {};
    if (at && !(at[0] < room.rows && at[1] < room.columns)) at = null;
    added = at ? k : Math.max(0, adds.findIndex(m => /weight/.test(m.to)));
    const {values, columns} = flat(adds[added]);
    const largest = values.reduce((k, x, i) => Math.abs(x) > Math.abs(values[k]) ? i : k, 0);
    cell = at || [Math.floor(largest / columns), largest % columns];
    renewPush();
  }

  const arrow = step => `${step.title} → ${step.adds.map(m => m.title).join(', ')}`;
  function paintBackward(box, step, room) {
    const all = stages(), n = all.indexOf(step), next = all[n + 1], letter = m => m.title.match(/^d [A-Z]\b/)?.[0] ?? m.title;
    const left = next && !all.slice(0, n + 1).some(s => s.adds.some(m => letter(m) === letter(next)));
    write($('stage-formula'), `${arrow(step)}\n${pretty(step.formula)}`);
    write($('stage-says'), said('b_' + step.operation) + (left ? ' ' + t('b_elsewhere') : ''));
    const key = 'backward ' + step.name + step.adds.map(m => m.to);
    if (box.dataset.key !== key) {
      box.dataset.key = key;
      const results = step.adds.map((m, k) => matrixFigure(m.to, (i, j) => { $('h').value = 0, choose([i, j], k); }, true));
      box.replaceChildren(matrixFigure(step.name), make('span', {className: 'sign'}, '→'), ...results);
      if (!pushed || !step.adds.includes(pushed.of)) choose(null);
    }
    const [arrives, ...results] = box.querySelectorAll('figure'), chosen = pushed && step.adds.includes(pushed.of) ? pushed : null;
    const {rows, columns} = flat(step), terms = chosen ? chosen.terms.map(([at, ...x]) => [at - step.first, ...x]) : [];
    const row = new Set(terms.map(([at]) => Math.floor(at / columns))), column = new Set(terms.map(([at]) => at % columns));
    const [[i], [j]] = [[...row], [...column]], one = row.size === 1, mark = {};
    if (one && column.size === 1) mark.cell = [i, j];
    else if (one) mark.row = i;
    else if (column.size === 1) mark.column = j;
    const part = m => m.parts > 1 ? ` (${t('part', m.part, m.parts)})` : '';
    drawMatrix(arrives, {...step, name: t('arrives', step.title)}, mark, room);
    step.adds.forEach((m, k) =>
      drawMatrix(results[k], {...m, name: t('adds', m.title) + part(m)}, k === added ? {cell} : {}, room));
    results[added].set(...cell);
    if (chosen) tellSum(step, chosen, terms, columns), tellPush(chosen);
  }

  function tellSum(step, {of: m, cell: [i, j], gradient, zero, end}, terms, columns) {
    const x = flat(m), sum = x.values[i * x.columns + j];
    const from = at => step.values.length === 1 ? '' : `[${Math.floor(at / columns)}, ${at % columns}]`;
    const largest = [...terms].sort((a, b) => Math.abs(b[1] * b[2]) - Math.abs(a[1] * a[2])).slice(0, 4);
    const text = largest.map(([at, dy, slope]) => `${par(dy)}${from(at)}·${par(slope)}`);
    if (terms.length > 4) text.push('… ' + t('more_products', terms.length - 4));
    const since = walk.steps.find(s => s.backward === end && s !== step);
    let why = t('terms', step.title);
    if (zero) why = said('zero_' + zero, t('zero')) + (since ? ' ' + t('since', arrow(since)) : '');
    else if (Math.abs(sum) < 1e-12 * Math.abs(largest[0][1] * largest[0][2])) why = t('cancels');
    const part = m.parts > 1 ? t('part', m.part, m.parts) + ': ' : '', total = part && ' ' + t('total', m.parts, v(gradient));
    const how = make('span', {className: 'how'}, `${part}${m.title}${cellName(m, i, j)} = ${terms.length ? text.join(' + ') + ' = ' : ''}${v(sum)}`);
    $('cell-says').replaceChildren(how, ' ', why, total);
  }

  // The change of the loss while the chosen number is pushed by -range … range, and the tangent.
  function tellPush({losses, range, gradient, value, of: m, cell: [i, j]}) {
    const canvas = $('push-curve'), h = $('h').value / 20 * range, now = losses[20], at = losses[20 + +$('h').value];
    const changes = losses.map(loss => loss - now), most = round(Math.max(1e-6, ...changes.map(Math.abs)));
    const text = y => (y && Math.abs(y) < 1e-4 ? y.toExponential(1) : String(+y.toPrecision(2))).replace(/-/g, '−');
    later(() => drawChart(canvas,
      [{x: [-range, range], y: [-gradient * range, gradient * range], colour: 'faint', width: 1},
       {x: losses.map((_, k) => (k - 20) / 20 * range), y: changes, colour: 'accent', width: 2},
       {x: [h], y: [at - now], colour: 'ink', dots: true}],
      {from: -range, to: range, text: h => h ? Math.abs(h) < range ? '' : text(h) : 'h = 0'}, {from: -most, to: most, text, room: 66}, 0));
    $('h').disabled = value === null;
    write($('push-label'), t('push', range));
    const trend = t(['falls', 'stays', 'rises'][1 + Math.sign(Math.abs(gradient) < 1e-12 ? 0 : gradient)]);
    const moved = t('push_now', text(h), figure(at, 6), figure(now + gradient * h, 6), figure(now, 6));
    const says = t(value === null ? 'push_hidden' : 'push_says', m.title.slice(2) + cellName(m, i, j), v(value), v(gradient), trend);
    write($('push-says'), says + (h ? ' ' + moved : ''));
    attributes(canvas, {'aria-label': $('push-says').textContent});
    attributes($('h'), {'aria-valuetext': 'h = ' + h});
  }
  $('h').addEventListener('input', () => paint('walk'));
})();
