// Follow: the walk. Each matrix as a heat map, beside those it is made of; a cell says how it came about.
'use strict';
(() => {
  let walk = null, where = '', cell = [0, 0];
  const HIDDEN = new Set(['S of all heads', 'last row of X and of Z']);
  const SHORT = {x: 'ids', source: 'ids', 'S / sqrt(d_k)': '÷√d_k', masked: 'mask', A: 'softmax', 'A of all heads': 'heads', 'Z of all heads': 'concat',
                 'Z W^O': 'Y', 'X + Y': 'X + Y', LayerNorm: 'norm', hidden: 'FFN', projected: 'FFN·W₂', 'LayerNorm of it': 'norm ₂', 'E + PE': 'E + PE'};
  const DOWN = {1: '₁', 2: '₂'}, pretty = s => s.replace(/sqrt\(([^()]*)\)/g, '√($1)').replace(/sum_/g, 'Σ_').replace('gamma', 'γ').replace('beta', 'β')
    .replace(/-inf/g, '−∞').replace(/_([12])/g, (_, d) => DOWN[d]).replace(/ - /g, ' − ').replace(/\^T/g, 'ᵀ').replace(/ \.\.\. /g, ' … ');

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
    fill($('side'), (model.lm ? ['decoder'] : ['encoder', 'decoder', 'cross']).map(s => [s, t(model.lm ? 'kind_text' : 'kind_' + s)]));
    fill($('layer'), Array.from({length: Math.max(...model.layers)}, (_, i) => [String(i + 1), String(i + 1)]));
    fill($('head'), Array.from({length: model.heads}, (_, i) => [String(i + 1), String(i + 1)]));
    $('stages').replaceChildren();
    paint('walk');
  }
  translators.push(nameChoices);
  for (const id of ['side', 'layer', 'head']) $(id).addEventListener('change', renewWalk);

  const stages = () => walk.matrices.filter(m => !HIDDEN.has(m.name));
  function go(name) { where = name; cell = [0, 0]; paint('walk'); }
  function move(by) {
    if (!walk) return;
    const all = stages(), i = Math.max(0, Math.min(all.length - 1, all.findIndex(m => m.name === where) + by));
    go(all[i].name);
  }
  $('next').addEventListener('click', () => move(1));
  $('previous').addEventListener('click', () => move(-1));

  // Matrix, rows and columns of a value: a vector is a column of ids or a row of biases.
  const find = name => walk.matrices.find(m => m.name === name) || walk.weights.find(m => m.name === name);
  function flat(m) {
    const s = m.shape, rows = s.length > 2 ? s[0] * s[1] : s.length > 1 ? s[0] : m.name === 'x' || m.name === 'source' ? s[0] : 1;
    const columns = s.length > 1 ? s[s.length - 1] : s[0] / rows;
    return {name: m.name, rows, columns, values: m.values, row: m.rows || [], column: m.columns || [], heads: s.length > 2 ? s[0] : 0};
  }
  const label = (names, i) => names.length ? (names[i] === '<begin>' ? '▷' : short(names[i], 8)) : String(i + 1);
  const counted = (names, i) => names.length ? `${i + 1} “${label(names, i)}”` : i + 1;
  const v = x => figure(x, 3), par = x => x < 0 ? `(${v(x)})` : v(x);

  // How a matrix came about, if all that it came from is there.
  const known = m => {
    const f = m.from || {}, names = [f.a, f.b, f.plus, f.gain, f.bias, ...[].concat(f.of || [])];
    return names.every(n => !n || find(n)) ? f : {};
  };

  // What a cell is made of: {text, marks: [[name, mark]]}.
  function how(m, i, j) {
    const f = known(m), self = flat(m), value = self.values[i * self.columns + j], get = name => flat(find(name));
    const own = `${pretty(SHORT[m.name] === 'softmax' ? 'A' : m.name)}[${counted(self.row, self.heads ? i % self.row.length : i)}, ${counted(self.column, j)}]`;
    const out = (text, ...marks) => ({text: `${own} = ${text} = ${v(value)}`, marks});
    if (f.kind === 'product') {
      const a = get(f.a), b = get(f.b), n = a.columns, terms = [];
      let sum = 0;
      for (let c = 0; c < n; c++) {
        const x = a.values[i * n + c], y = f.transposed ? b.values[j * n + c] : b.values[c * b.columns + j];
        sum += x * y;
        if (c < 4) terms.push(`${par(x)}·${par(y)}`);
      }
      let text = terms.join(' + ') + (n > 4 ? ' + … ' + t('more_products', n - 4) : '');
      const marks = [[f.a, {row: i}], [f.b, f.transposed ? {row: j} : {column: j}]];
      if (f.plus) { const b0 = get(f.plus).values[j]; sum += b0; text += ` + ${t('bias')} ${par(b0)}`; marks.push([f.plus, {column: j}]); }
      if (f.then) text = `${f.then}(${text}) = ${f.then}(${v(sum)})`;
      return out(text, ...marks);
    }
    const one = name => { const o = get(name); return o.values[i * o.columns + j]; };
    switch (f.kind) {
    case 'row': {
      const id = get(self.rows === get('x').rows || !find('source') ? 'x' : 'source').values[i], w = get(f.of);
      return out(`${v(f.by)} · ${par(w.values[id * w.columns + j])}`, [f.of, {row: id, column: j}]);
    }
    case 'sum': return out(`${v(one(f.of[0]))} + ${par(one(f.of[1]))}`, ...f.of.map(n => [n, {cell: [i, j]}]));
    case 'scaled': return out(`${v(one(f.of))} / ${v(f.by)}`, [f.of, {cell: [i, j]}]);
    case 'mask': return out(value === -Infinity ? t('is_masked') : v(one(f.of)), [f.of, {cell: [i, j]}]);
    case 'softmax': {
      const o = get(f.of), row = [...o.values.subarray(i * o.columns, (i + 1) * o.columns)].filter(x => x > -Infinity);
      return out(`e^${par(one(f.of))} / (${row.slice(0, 4).map(x => 'e^' + par(x)).join(' + ')}${row.length > 4 ? ' + …' : ''})`, [f.of, {row: i, cell: [i, j]}]);
    }
    case 'norm': {
      const o = get(f.of), row = [...o.values.subarray(i * o.columns, (i + 1) * o.columns)], mean = row.reduce((a, b) => a + b) / row.length;
      const deviation = Math.sqrt(row.reduce((a, b) => a + (b - mean) ** 2, 0) / row.length + 1e-5);
      const gain = f.gain ? get(f.gain).values[j] : 1, bias = f.bias ? get(f.bias).values[j] : 0;
      return out(`${v(gain)} · (${v(one(f.of))} − ${par(mean)}) / ${v(deviation)} + ${par(bias)}`, [f.of, {row: i, cell: [i, j]}],
                 ...[f.gain, f.bias].filter(Boolean).map(n => [n, {column: j}]));
    }
    case 'position': return {text: `${own} = ${/sin/.test(m.formula) ? (j % 2 ? 'cos' : 'sin') + `(${i} / 10000^(${j - j % 2}/${self.columns}))` : t('learnt_row')} = ${v(value)}`, marks: []};
    case 'heads': case 'beside': {
      const width = self.columns / model.heads, h = f.kind === 'heads' ? Math.floor(i / (self.rows / self.heads)) : Math.floor(j / width);
      return {text: `${own}: ${t('head')} ${h + 1}, ${v(value)}`, marks: []};
    }
    case 'copy': return f.of ? out(v(one(f.of)), [f.of, {cell: [i, j]}]) : {text: `${own} = ${v(value)}`, marks: []};
    }
    return {text: `${own} = ${m.shape.length > 1 ? v(value) : value}`, marks: []};
  }

  // Names of the matrices beside the result, and the signs between them.
  function parts(m) {
    const f = known(m);
    switch (f.kind) {
    case 'product': return [f.a, '×', f.transposed ? f.b + '\u1d40' : f.b, ...(f.plus ? ['+', f.plus] : []), '='];
    case 'sum': return [f.of[0], '+', f.of[1], '='];
    case 'row': case 'scaled': case 'mask': case 'softmax': case 'norm': return [f.of, '→'];
    case 'copy': return f.of ? [f.of, '='] : [];
    }
    return [];
  }

  function matrixFigure(name, index) {
    const canvas = make('canvas', {role: 'img'}), box = make('figure', {}, make('figcaption', {}), canvas);
    box.canvas = canvas, box.name = name;
    if (index === 'result') {
      canvas.setAttribute('role', 'application');
      const set = choosable(canvas, () => flat(find(where)), (i, j) => { cell = [i, j]; paint('walk'); });
      box.set = set;
    }
    return box;
  }

  painter('walk', () => {
    const box = $('equation');
    if (!walk || !model) return box.replaceChildren(), box.dataset.key = '';
    const all = stages();
    if (!all.some(m => m.name === where)) where = all[0].name;
    const chips = $('stages'), names = all.map(m => m.name).join();
    if (!chips.children.length || chips.dataset.key !== names) {
      chips.dataset.key = names;
      chips.replaceChildren(...all.map(m => {
        const b = make('button', {type: 'button'}, pretty(SHORT[m.name] || m.name));
        b.addEventListener('click', () => go(m.name));
        return b;
      }));
    }
    [...chips.children].forEach((b, i) => all[i].name === where ? b.setAttribute('aria-current', 'step') : b.removeAttribute('aria-current'));
    const n = all.findIndex(m => m.name === where), m = find(where), result = flat(m);
    $('previous').disabled = n === 0, $('next').disabled = n === all.length - 1;
    $('stage-formula').textContent = TEXTS['f_' + m.name] ? t('f_' + m.name) : pretty(m.formula);
    $('stage-says').textContent = TEXTS['m_' + m.name] ? t('m_' + m.name) : '';
    const list = [...parts(m), m.name], key = list.join('|');
    if (box.dataset.key !== key) {
      box.dataset.key = key;
      box.replaceChildren(...list.map((x, i) => /^[×+=→]$/.test(x) ? make('span', {className: 'sign'}, x)
                                                                   : matrixFigure(x.replace('\u1d40', ''), i === list.length - 1 ? 'result' : i)));
    }
    cell = [Math.min(cell[0], result.rows - 1), Math.min(cell[1], result.columns - 1)];
    const said = how(m, ...cell), room = box.clientWidth - 30;
    for (const f of box.querySelectorAll('figure')) {
      const x = flat(find(f.name)), last = f === box.lastChild;
      const mark = last ? {cell} : Object.assign({}, ...said.marks.filter(k => k[0] === f.name).map(k => k[1]));
      const few = x.columns > 1 && x.columns <= 12 && x.row.length, wide = few ? Math.min(46, room / x.columns - 4) : 0;
      const size = few ? wide : Math.max(x.columns > 40 ? 5 : 7, Math.min(16, (room / (list.length > 4 ? 3 : 2) - 70) / x.columns));
      drawHeat(f.canvas, x, {cell: x.columns === 1 ? 46 : size, high: x.heads ? 16 : few ? 30 : x.rows === 1 ? 18 : x.rows > 40 ? 5 : x.row.length ? 22 : Math.min(12, size), mark,
                             labels: {rows: x.heads ? Array.from({length: x.rows}, (_, i) => label(x.row, i % x.row.length)) : x.row.length ? x.row.map((_, i) => label(x.row, i)) : null,
                                      columns: x.column.length ? x.column.map((_, i) => label(x.column, i)) : null},
                             top: m.name === x.name && /^A/.test(x.name) ? 1 : 0,
                             numbers: few && wide > 26 && !x.heads ? small : x.columns === 1 ? y => String(y) : null});
      f.firstChild.textContent = `${pretty(x.name)} [${find(f.name).shape.join(' × ')}]`;
      f.canvas.setAttribute('aria-label', t(last ? 'matrix_keys' : 'matrix', pretty(x.name), x.rows, x.columns));
      if (last) f.set(...cell);
    }
    $('cell-says').replaceChildren(make('span', {className: 'how'}, said.text));
  });
})();
