// The walk's records as the page draws them: boxes by module, columns by stack, names, and the
// element of an operation's result that a view shows. Nothing here knows a kind of model.
'use strict';
let walk = null; // {source, target, next, labels, records, leaves, boxes}, of the last renewal

const rearranges = r => r.view || r.operation === 'contiguous' || r.operation === 'reshape';
const SIGNS = [[/'/g, '′'], [/\^T/g, 'ᵀ'], [/-inf/g, '−∞']];
const pretty = s => SIGNS.reduce((text, [from, to]) => text.replace(from, to), s);

// Takes the worker's answer apart: links records, and finds what each belongs to.
function linked({all, ...found}) {
  const by = new Map(all.map(r => [r.index, r])), records = all.filter(r => r.index >= 0);
  const leaves = all.filter(r => r.index < 0), labels = {vocabulary: model.tokens};
  for (const side of ['source', 'target']) labels[side] = found[side].map(id => model.tokens[id]);
  for (const r of all) Object.assign(r, {rank: r.shape.length, uses: [], of: []});
  for (const r of records) {
    r.of = r.reads.map(k => k === null ? null : by.get(k));
    for (const x of r.of) x?.uses.push(r);
    const [, stack, , layer, part] = r.module.match(/^(\w+)\.(layers\.(\d+)\.)?(\w+)/) ?? [];
    Object.assign(r, {stack, layer: layer === undefined ? null : +layer});
    r.part = r.operation === 'residual' ? 'add' : stack ? part : r.operation;
    if (r.axes.at(-1) === 'vocabulary') r.part = 'logits';
  }
  // What stands outside the stacks belongs to the column that reads it, or else that it reads.
  for (const r of [...records].reverse())
    r.column = r.stack ?? r.uses.map(x => x.column).find(Boolean) ?? '';
  for (const r of records) r.column ||= r.of.map(x => x?.column).find(Boolean) ?? '';
  // Ids that stay the same while the model learns; a weight has its name.
  const ids = new Map();
  for (const r of all) {
    const place = r.stack ? r.module : `${r.column} ${r.module}`.trim();
    const named = `${place} ${r.named ? r.name : r.operation}`;
    const id = r.index < 0 ? r.parameter || 'constant' : named;
    ids.set(id, (ids.get(id) ?? 0) + 1);
    r.id = ids.get(id) > 1 ? `${id} ${ids.get(id)}` : id;
  }
  const next = {...found, labels, records, leaves, by};
  // Numbers are shown once: where they are computed, or else under the names of parts of them.
  const computed = records.filter(r => !rearranges(r) && !isCovered(r));
  next.shown = records.filter(r => computed.includes(r) || r.named && !computed.includes(made(r)));
  next.logits = records.find(r => r.part === 'logits');
  next.boxes = boxesOf(next.shown);
  return next;
}

// Whether all that reads a record shows it under a name of its own, as Q, K and V show a product.
function isCovered(r) {
  const shows = u => rearranges(u) && (u.named || isCovered(u));
  return !r.named && r.uses.length > 0 && r.uses.every(shows);
}

// Runs of records of one module, in order; a norm joins the sum before it.
function boxesOf(shown) {
  const boxes = [], last = new Map();
  for (const r of shown) {
    const key = r.part.replace(/\d+$|^(layer|rms)_/g, ''), box = last.get(r.column);
    const joins = box?.key === key || box?.key === 'add' && key === 'norm';
    if (joins && box.layer === r.layer) box.records.push(r), box.key = key;
    else {
      const {column, layer, module} = r;
      boxes.push({module, key, column, layer, adds: key === 'add', records: [r]});
      last.set(column, boxes.at(-1));
    }
    r.box = last.get(r.column);
  }
  for (const box of boxes) {
    const read = box.records.flatMap(r => made(r).of).filter(x => x?.index < 0);
    box.weights = [...new Set(read)].filter(x => x.grad);
    box.constants = [...new Set(read)].filter(x => !x.grad);
    box.masked = box.records.some(r => r.operation === 'masked_fill');
    box.title = ['box', ...box.adds && box.key !== 'add' ? ['add'] : [], box.key].join('_');
    box.attends = box.records.find(attends);
  }
  return boxes;
}

// Shares that queries pay to keys.
const counts = axis => axis === 'source' || axis === 'target';
const attends = r => r.operation === 'softmax' && counts(r.axes.at(-1)) && counts(r.axes.at(-2));

// The operation that computed a record's numbers, and those that moved them.
function made(r) {
  while (r.index >= 0 && rearranges(r)) r = r.of[0];
  return r;
}

// The element of made(r)'s result that element e of r is.
function origin(r, e) {
  for (; r.index >= 0 && rearranges(r); r = r.of[0]) {
    if (!r.view) continue;
    let at = (r.data - r.of[0].data) / 8;
    for (let k = r.rank - 1, rest = e; k >= 0; rest = Math.floor(rest / r.shape[k--]))
      at += rest % r.shape[k] * r.stride[k];
    e = flatIndex(r.of[0], at);
  }
  return e;
}
// The element of r, in row-major order, at an offset of its array.
function flatIndex(r, at) {
  const order = r.stride.map((s, k) => [s, k]).filter(([, k]) => r.shape[k] > 1);
  order.sort((a, b) => b[0] - a[0]);
  const index = r.shape.map(() => 0);
  for (const [s, k] of order) index[k] = Math.floor(at / s), at -= index[k] * s;
  return index.reduce((e, i, k) => e * r.shape[k] + i, 0);
}

// A record, or one of its heads (the last, if there are fewer), as a matrix.
function matrix(r, head = view.head) {
  const columns = r.rank ? r.shape.at(-1) : 1, rows = r.rank > 1 ? r.shape.at(-2) : 1;
  const heads = r.rank > 2 ? r.shape[0] : 1, size = rows * columns;
  head = Math.min(head, heads - 1);
  const first = head * size, part = x => x && x.subarray(first, first + size);
  const names = (axis, n) => (walk.labels[axis] ?? []).slice(0, n);
  return {rows, columns, heads, head, first, values: part(r.values), grad: part(r.grad),
          row: names(r.axes.at(-2), rows), column: names(r.axes.at(-1), columns)};
}

const textOr = (key, otherwise = '') => TEXTS[key] ? t(key) : otherwise;
// What a step does, in the direction of the view.
function sentenceOf(r) {
  const way = view.backward ? 'b_' : 'm_', {operation, sentence} = made(r);
  const own = view.backward ? '' : r.sentence || sentence;
  return textOr(way + r.name, textOr(way + operation, own));
}

// What the gradient of x is called: dX, d(masked S).
const gradientOf = name => /^[^,]* /.test(name) ? `d(${name})` : 'd' + name;

// What a tensor is called: by the paper's letters, where it has one.
const LETTERS = {in_proj_weight: 'W', in_proj_bias: 'b', 'out_proj.weight': 'W^O',
  'out_proj.bias': 'b^O', 'embedding.weight': 'E', 'linear1.weight': 'W₁', 'linear1.bias': 'b₁',
  'linear2.weight': 'W₂', 'linear2.bias': 'b₂'};
function nameOf(r) {
  if (r.index >= 0) return pretty(r.named ? r.name : r.name.replace(/ \d+$/, ''));
  const [module = '', part] = r.parameter.split('.').slice(-2);
  if (!r.parameter) return 'PE';
  if (/norm/.test(module)) return part === 'weight' ? 'γ' : 'β';
  return LETTERS[part] ?? LETTERS[module + '.' + part] ?? module + '.' + part;
}
