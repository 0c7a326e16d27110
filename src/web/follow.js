// Follow: the walk. Shows each matrix as a heat map beside its operands, and the sum behind the chosen cell.
'use strict';
(() => {
  let walk = null, where = '', cell = [0, 0];
  const HIDDEN = new Set(['S of all heads', 'last row of X and of Z']);
  const SHORT = {
    x: 'ids', source: 'ids', 'S / sqrt(d_k)': '÷√d_k', masked: 'mask', A: 'softmax', 'A of all heads': 'heads',
    'Z of all heads': 'concat', 'Z W^O': 'Y', LayerNorm: 'norm', hidden: 'FFN', projected: 'FFN·W₂',
    'LayerNorm of it': 'norm ₂',
  };
  const SIGNS = [[/sqrt\(([^()]*)\)/g, '√($1)'], [/sum_/g, 'Σ_'], ['gamma', 'γ'], ['beta', 'β'], [/-inf/g, '−∞'],
                 [/_1/g, '₁'], [/_2/g, '₂'], [/ - /g, ' − '], [/\^T/g, 'ᵀ'], [/ \.\.\. /g, ' … ']];
  const pretty = s => SIGNS.reduce((text, [from, to]) => text.replace(from, to), s);

  const renewWalk = latest(async () => {
    const mine = model, text = model && typed();
    if (!text) return;
    const side = $('side').value || (model.lm ? 'decoder' : 'encoder');
    const r = await ask('walk', {text, side, layer: +$('layer').value || 1, head: +$('head').value || 1});
    if (mine !== model) return;
    walk = r;
    paint('walk');
  });
  viewers.push({section: 'follow', renew: renewWalk, shape: () => { walk = null; nameChoices(); }});

  function nameChoices() {
    if (!model) return;
    const sides = ['encoder', 'decoder', 'cross'].map(s => [s, t('kind_' + s)]);
    const upTo = n => Array.from({length: n}, (_, i) => [String(i + 1), String(i + 1)]);
    fill($('side'), model.lm ? [['decoder', t('kind_text')]] : sides);
    fill($('layer'), upTo(Math.max(...model.layers))), fill($('head'), upTo(model.heads));
    $('stages').replaceChildren();
    paint('walk');
  }
  translators.push(nameChoices);
  for (const id of ['side', 'layer', 'head']) $(id).addEventListener('change', renewWalk);

  const stages = () => walk.matrices.filter(m => !HIDDEN.has(m.name));
  function go(name) { where = name; cell = [0, 0]; paint('walk'); }
  function move(by) {
    if (!walk) return;
    const all = stages(), i = all.findIndex(m => m.name === where) + by;
    if (all[i]) go(all[i].name);
  }
  $('next').addEventListener('click', () => move(1));
  $('previous').addEventListener('click', () => move(-1));

  // A matrix as rows and columns: the ids are a column, a bias is a row, heads lie one below another.
  const find = name => walk.matrices.find(m => m.name === name) || walk.weights.find(m => m.name === name);
  function flat({name, shape, values, rows: row = [], columns: column = []}) {
    const ids = name === 'x' || name === 'source', columns = ids ? 1 : shape[shape.length - 1];
    const heads = shape.length > 2 ? shape[0] : 0;
    return {name, rows: values.length / columns, columns, values, row, column, heads};
  }
  const label = (names, i) => !names.length ? String(i + 1) : names[i] === '<begin>' ? '▷' : short(names[i], 8);
  const counted = (names, i) => names.length ? `${i + 1} “${label(names, i)}”` : i + 1;
  const v = x => figure(x, 3), par = x => x < 0 ? `(${v(x)})` : v(x);

  // Its operands: a name, and whether it is transposed.
  const operand = name => ({name: name.replace(/\^T$/, ''), transposed: /\^T$/.test(name)});
  // The calculation of cell i, j, and the marks in its operands: {text, marks: [[name, mark]]}.
  function how(m, i, j) {
    const f = m.from, self = flat(m), value = self.values[i * self.columns + j], cell = {cell: [i, j]};
    const get = name => flat(find(name)), at = (x, r, c) => x.values[r * x.columns + c];
    const [first, second, third] = f.of, one = name => at(get(name), i, j), within = {row: i, ...cell};
    const row = x => [...x.values.subarray(i * x.columns, (i + 1) * x.columns)];
    const place = `${counted(self.row, self.heads ? i % self.row.length : i)}, ${counted(self.column, j)}`;
    const own = `${m.name === 'A' ? 'A' : pretty(m.name)}[${place}]`, is = ` = ${m.shape.length > 1 ? v(value) : value}`;
    const out = (text, ...marks) => ({text: `${own} = ${text}${is}`, marks});
    switch (f.kind) {
    case 'product': case 'relu': case 'gelu': {
      const a = get(first), {name, transposed} = operand(second), b = get(name), n = a.columns;
      const bias = third ? get(third).values[j] : 0;
      const factors = Array.from({length: n}, (_, c) => [at(a, i, c), transposed ? at(b, j, c) : at(b, c, j)]);
      const terms = factors.slice(0, 4).map(([x, y]) => `${par(x)}·${par(y)}`);
      if (n > 4) terms.push('… ' + t('more_products', n - 4));
      if (third) terms.push(`${t('bias')} ${par(bias)}`);
      const sum = factors.reduce((s, [x, y]) => s + x * y, bias), text = terms.join(' + ');
      return out(f.kind === 'product' ? text : `${f.kind}(${text}) = ${f.kind}(${v(sum)})`, [first, {row: i}],
                 [name, transposed ? {row: j} : {column: j}], [third, {column: j}]);
    }
    case 'row': {
      const ids = get(m.rows.length === get('x').rows ? 'x' : 'source'), id = ids.values[i];
      const scale = second ? `${v(Math.sqrt(self.columns))} · ` : '';
      return out(scale + par(at(get(first), id, j)), [first, {row: id, column: j}]);
    }
    case 'sum':
      return out(`${v(one(first))} + ${par(one(second))}`, ...f.of.map(n => [n, cell]));
    case 'scaled':
      return out(`${v(one(first))} / ${v(Math.sqrt(get(second).columns))}`, [first, cell]);
    case 'mask':
      return out(value === -Infinity ? t('is_masked') : v(one(first)), [first, cell]);
    case 'softmax': {
      const powers = row(get(first)).filter(x => x > -Infinity).map(x => 'e^' + par(x));
      if (powers.length > 4) powers.splice(4, powers.length, '…');
      return out(`e^${par(one(first))} / (${powers.join(' + ')})`, [first, within]);
    }
    case 'norm': {
      const x = row(get(first)), mean = x.reduce((a, b) => a + b) / x.length;
      const deviation = Math.sqrt(x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length + 1e-5);
      const gain = get(second).values[j], bias = get(third).values[j];
      return out(`${v(gain)} · (${v(one(first))} − ${par(mean)}) / ${v(deviation)} + ${par(bias)}`, [first, within]);
    }
    case 'position': {
      const angle = `${i} / 10000^(${j - j % 2}/${self.columns})`;
      return out(/sin/.test(m.formula) ? `${j % 2 ? 'cos' : 'sin'}(${angle})` : t('learnt_row'));
    }
    case 'heads': return out(`${t('head')} ${1 + Math.floor(i / m.rows.length)}`);
    case 'beside': return out(`${t('head')} ${1 + Math.floor(j * model.heads / self.columns)}`);
    }
    return {text: own + is, marks: []};
  }

  // Names of the matrices beside the result, and the signs between them.
  function parts({from: {kind, of}}) {
    const signs = {product: '×', relu: '×', gelu: '×', sum: '+'}[kind];
    if (signs) return [...of.flatMap((name, i) => i === 2 ? ['+', name] : i ? [signs, name] : [name]), '='];
    return ['row', 'scaled', 'mask', 'softmax', 'norm'].includes(kind) ? [of[0], '→'] : [];
  }

  function matrixFigure(name, result) {
    const canvas = make('canvas', {role: result ? 'application' : 'img'});
    const box = make('figure', {}, make('figcaption'), canvas);
    box.name = name;
    const choose = (i, j) => { cell = [i, j]; paint('walk'); };
    if (result) box.set = choosable(canvas, () => flat(find(where)), choose);
    return box;
  }

  // Draws the matrix of a figure in cells as large as the room allows: with numbers, if there are few.
  function drawMatrix(box, mark, room, top) {
    const x = flat(find(box.name)), ids = x.columns === 1, named = x.row.length, canvas = box.lastChild;
    const few = !ids && x.columns <= 12 && named ? Math.min(46, room / x.columns - 4) : 0;
    const width = ids ? 46 : few || Math.max(x.columns > 40 ? 5 : 7, Math.min(16, (room / 3 - 70) / x.columns));
    const height = x.heads ? 16 : few ? 30 : named ? 22 : x.rows === 1 ? 18 : x.rows > 40 ? 5 : Math.min(12, width);
    const names = list => list.length ? list.map((_, i) => label(list, i)) : null, rows = names(x.row);
    const labels = {rows: x.heads ? Array(x.heads).fill(rows).flat() : rows, columns: names(x.column)};
    const numbers = ids ? String : few > 26 && !x.heads ? small : null;
    drawHeat(canvas, x, {cell: width, high: height, mark, labels, top, numbers});
    box.firstChild.textContent = `${pretty(x.name)} [${find(box.name).shape.join(' × ')}]`;
    canvas.setAttribute('aria-label', t(box.set ? 'matrix_keys' : 'matrix', pretty(x.name), x.rows, x.columns));
  }

  painter('walk', () => {
    const box = $('equation');
    if (!walk || !model) return box.replaceChildren(), box.dataset.key = '';
    const all = stages();
    if (!all.some(m => m.name === where)) where = all[0].name;
    const chips = $('stages'), names = all.map(m => m.name).join();
    if (!chips.children.length || chips.dataset.key !== names) {
      chips.dataset.key = names;
      chips.replaceChildren(...all.map(m => button(pretty(SHORT[m.name] || m.name), () => go(m.name))));
    }
    const n = all.findIndex(m => m.name === where), m = all[n], result = flat(m);
    [...chips.children].forEach((b, i) => b.setAttribute('aria-current', i === n ? 'step' : 'false'));
    $('previous').disabled = n === 0, $('next').disabled = n === all.length - 1;
    $('stage-formula').textContent = TEXTS['f_' + m.name] ? t('f_' + m.name) : pretty(m.formula);
    $('stage-says').textContent = TEXTS['m_' + m.name] ? t('m_' + m.name) : '';
    const list = parts(m), key = [...list, m.name].join('|');
    if (box.dataset.key !== key) {
      box.dataset.key = key;
      const sign = x => /^[×+=→]$/.test(x) ? make('span', {className: 'sign'}, x) : matrixFigure(operand(x).name);
      box.replaceChildren(...list.map(sign), matrixFigure(m.name, true));
    }
    cell = [Math.min(cell[0], result.rows - 1), Math.min(cell[1], result.columns - 1)];
    const said = how(m, ...cell);
    for (const f of box.querySelectorAll('figure')) {
      const mark = f.set ? {cell} : Object.assign({}, ...said.marks.filter(k => k[0] === f.name).map(k => k[1]));
      drawMatrix(f, mark, box.clientWidth - 30, f.set && /^A/.test(m.name) ? 1 : 0);
    }
    box.lastChild.set(...cell);
    $('cell-says').replaceChildren(make('span', {className: 'how'}, said.text));
  });
})();
