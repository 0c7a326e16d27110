// Figure 1 as a map: boxes of the walk, with live matrices, drawn from the records alone.
'use strict';
// What is looked at: a record's id and its cell, the direction, head and layer, a token whose lines
// are seen, and the item that is pointed at.
const view = {backward: false, open: null, cell: null, operand: -1, head: 0, layer: 0};
view.token = view.hint = null;
const off = new Set(); // heads that are switched off: "encoder.layers.0.self_attn 2"
const switches = () =>
  ({mask: $('mask').checked, positions: $('positions').checked, off: [...off]});
(() => {
  const overlay = $('figure-buttons');
  const WIDE = 350, GAP = 36, SPACE = 9, MINI = 22, PAD = 8;
  let layout = {key: '', items: [], boxes: [], wires: [], width: WIDE, height: 100}, scale = 1;

  renewFigure = reading(async text => {
    // The decoder reads the right answer, as in training; where there is none, the model's own.
    const answer = (await askAnswer({text, more: 0})).wanted;
    const more = view.backward ? 0 : Math.max(0, Math.min(16, model.maxSource) - text.length);
    walk = linked(await ask('walk', {text, answer, more, ...switches()}));
    arrange();
    const {asked} = view; // by the address
    view.asked = null;
    asked ? openStep(asked.at, asked.cell, asked.operand) : renewStep();
  });
  viewers.push({section: 'figure', renew: renewFigure, shape: () => {
    walk = null, off.clear(), view.layer = view.head = 0, view.token = view.hint = null;
  }});

  // ---- Layout, in units of a pixel before it is scaled ----

  // The miniatures of a record: of shares one for each head, else the chosen head's. Wide matrices
  // are wider, though not in proportion.
  function minis(r) {
    const {rows, columns, heads} = matrix(r);
    const wide = clamp(10, MINI * (columns / rows) ** .5, 76);
    const square = Math.min(MINI - 4, 78 / heads);
    if (attends(r) && heads > 1)
      return Array.from({length: heads}, (_, head) => ({r, head, w: square, h: square}));
    return [{r, head: -1, w: rows * columns === 1 ? 30 : wide, h: MINI}];
  }

  // Lays a box out from its upper left corner: its height, and items with places in it.
  function measured(box) {
    const {attends: shares, weights, constants, records} = box, items = [];
    const left = shares ? PAD : 92;
    let x = left, y = PAD - 2 + (shares ? 61 : 0), right = WIDE - PAD;
    if (shares) items.push({kind: 'strip', r: shares, x: PAD, y: 20, w: WIDE - 2 * PAD, h: 46});
    for (const r of weights) {
      const flat = r.rank < 2, w = flat ? 16 : clamp(14, 16 * (r.shape[1] / r.shape[0]) ** .5, 30);
      items.push({kind: 'weight', r, x: right -= w, y: flat ? 9 : 5, w, h: flat ? 4 : 12});
      right -= 4;
    }
    const end = shares ? WIDE - PAD + 2 : weights.length ? right : WIDE;
    const given = constants.map(r => [{r, head: -1, w: 40, h: MINI}]);
    for (const group of [...given, ...records.map(minis)]) {
      const width = group.reduce((sum, i) => sum + i.w + 2, 5);
      if (x + width - 7 > end && x > left) x = left, y += MINI + 15;
      for (const i of group) items.push({kind: 'record', ...i, x, y}), x += i.w + 2;
      x += 5;
    }
    return {items, height: y + MINI + 13};
  }

  function arrange() {
    if (!walk) return;
    const columns = [...new Set(walk.boxes.map(b => b.column))], items = [], boxes = [];
    view.layers = Math.max(1, ...walk.boxes.map(b => (b.layer ?? 0) + 1));
    view.layer = Math.min(view.layer, view.layers - 1);
    const narrow = innerWidth < 640;
    let y = 0, bottom = 0, tall = 0; // they grow upwards
    columns.forEach((column, c) => {
      const x = narrow ? 12 : c * (WIDE + GAP) + 12;
      y = narrow ? bottom : 0;
      // Stacks a box, or a row of items, on those below it.
      const put = (h, box) => {
        const at = {x, y: y + h, w: WIDE, h, column, ...box};
        y += h + SPACE;
        if (box) boxes.push(at);
        return at;
      };
      const list = walk.boxes.filter(b => b.column === column);
      const side = list[0].records[0].axes[0] || 'target', labels = walk.labels[side];
      const row = put(20), step = lane(labels.length);
      labels.forEach((label, i) => {
        const place = {...row, x: x + step * i + 2, w: step - 4};
        items.push({...place, kind: 'token', id: `${side} ${i}`, side, i, label});
      });
      let collapsed = null;
      for (const box of list) {
        if (box.layer === null || box.layer === view.layer) {
          const {items: inside, height} = measured(box), at = put(height, {box, key: box.key});
          for (const i of inside) items.push({...i, id: i.r.id, x: x + i.x, y: at.y - i.y});
        } else if (collapsed?.layer === box.layer) collapsed.all.push(box);
        else {
          collapsed = put(24, {key: 'layer', layer: box.layer, all: [box]});
          items.push({...collapsed, kind: 'layer', id: 'layer ' + box.layer});
        }
        if (box.records.includes(walk.logits))
          items.push({...put(62, {key: 'softmax'}), kind: 'bars', id: 'softmax', r: walk.logits});
      }
      bottom = y + 12, tall = Math.max(tall, y);
    });
    const width = (narrow ? 1 : columns.length) * (WIDE + GAP) - GAP + 24;
    const height = tall - SPACE + 4;
    for (const at of [...items, ...boxes]) at.y = height - at.y - 2;
    const all = items.map(i => [i.kind, i.r?.index ?? i.label, i.w]);
    const key = [narrow, language, view.backward, ...all].join(), fresh = key !== layout.key;
    layout = {key, items, boxes, wires: wiresOf(boxes), width, height, narrow};
    const focused = document.activeElement?.dataset?.id;
    if (fresh) overlay.replaceChildren();
    fitFigure();
    if (fresh) buttons(focused);
    fresh ? paintAll() : ['canvas', 'lines'].forEach(name => paint('figure ' + name));
  }
  const lane = n => WIDE / Math.max(1, n);

  // Wires from the box that made an operand, a, to the box that reads it, b.
  function wiresOf(boxes) {
    const wires = [], columns = new Map();
    for (const b of boxes) {
      const below = columns.get(b.column) ?? [];
      if (below.length) wires.push({kind: 'up', a: below.at(-1), b});
      for (const x of b.box?.records.flatMap(r => made(r).of) ?? []) {
        const a = boxes.find(o => (o.all ?? [o.box]).some(box => box?.records.includes(x)));
        const next = below[below.indexOf(a) + 1];
        if (!a || a === b) continue;
        if (a.column !== b.column) wires.push({kind: 'across', a, b});
        else if (next && next.key !== 'softmax') wires.push({kind: 'around', a: next, b});
      }
      columns.set(b.column, [...below, b]);
    }
    return wires;
  }

  // As large as the room allows: its width, and on a wide window the height below the controls.
  function fitFigure() {
    const frame = $('figure-frame'), high = innerHeight - frame.offsetTop - 34;
    const wide = innerWidth >= 900, large = document.documentElement.classList.contains('large');
    frame.style.width = '', $('panel').style.height = wide ? high + 'px' : '';
    scale = frame.clientWidth / layout.width;
    const most = large ? 2 : high / layout.height; // a lecture hall may scroll
    if (wide) scale = clamp(.55, Math.min(most, .6 * innerWidth / layout.width), 2);
    const width = layout.width * scale + 'px', height = layout.height * scale + 'px';
    if (wide) frame.style.width = width;
    for (const x of $('figure-map').children) Object.assign(x.style, {width, height});
    for (const b of overlay.children) place(b);
  }
  function place(b) {
    const [x, y, w, h] = ['x', 'y', 'w', 'h'].map(k => b.item[k] * scale + 'px');
    attributes(b, {style: `left:${x};top:${y};width:${w};height:${h}`});
  }
  addEventListener('resize', arrange);

  // ---- Buttons over the drawing: what can be opened or pointed at ----

  function buttons(focused) {
    overlay.replaceChildren(...layout.items.filter(i => i.kind !== 'strip').map(item => {
      const b = button('', e => press(item, e), {'aria-label': labelOf(item), tabIndex: -1});
      b.item = item, b.dataset.id = item.id;
      if (item.head >= 0) b.dataset.head = item.head;
      for (const event of [item.kind === 'bars' ? 'pointermove' : 'pointerenter', 'focus'])
        b.addEventListener(event, e => point(item, e));
      for (const event of ['pointerleave', 'blur']) b.addEventListener(event, () => point(item));
      place(b);
      return b;
    }));
    roving();
    buttonOf(focused)?.focus();
  }
  const buttonOf = id => [...overlay.children].find(b => b.dataset.id === id);
  const labelOf = ({kind, r, label, i, side, head, layer}) => {
    if (kind === 'token') return t('token_' + side, i, mark(label));
    if (kind === 'layer') return t('show_layer', layer + 1);
    if (kind === 'bars') return t('bars_label');
    const parts = [nameOf(r), head >= 0 && t('only_head', head + 1), r.box && boxTitle(r.box)];
    return parts.filter(Boolean).join(', ');
  };
  const sees = (side, i) => view.token?.side === side && view.token.i === i;
  const isOpen = ({kind, id, side, i, head = -1}) => kind === 'token' ? sees(side, i)
    : view.open === id && (head < 0 || head === view.head);
  function roving() {
    const all = [...overlay.children], open = all.find(b => isOpen(b.item));
    const on = open ?? all.find(b => b.item.kind === 'record');
    for (const b of all) {
      b.tabIndex = b === on ? 0 : -1;
      attributes(b, {'aria-pressed': isOpen(b.item)});
    }
  }
  function press(item, e) {
    const {kind, id, side, i, layer, head} = item;
    if (kind === 'layer') { view.layer = layer; moved(); return arrange(), renewStep(); }
    if (kind === 'token') { view.token = {side, i, kept: true}; return paint('figure lines'); }
    if (head >= 0) view.head = head;
    openStep(id, kind === 'bars' && e.detail ? [tokenAt(item, e).i, 0] : null);
  }
  // The token of an item: its own, or of the bars the one below the pointer.
  function tokenAt({kind, side, i, r}, e) {
    if (kind === 'token') return {side, i};
    if (kind !== 'bars' || e.offsetX === undefined) return null;
    const {rows} = matrix(r), at = Math.floor(e.offsetX / scale / lane(rows));
    return {side: 'target', i: clamp(0, at, rows - 1)};
  }
  // Without an event, the pointer or the focus has left the item.
  function point(item, e) {
    view.hint = e && /record|weight/.test(item.kind) ? item : null;
    if (!view.token?.kept || e && !view.hint) view.token = e ? tokenAt(item, e) : null;
    paint('figure lines');
  }
  overlay.addEventListener('pointerleave', () => {
    if (view.token) view.token = null, paint('figure lines');
  });

  // The arrow keys step along the figure, in the direction of the computation.
  overlay.addEventListener('keydown', e => {
    const by = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[e.key];
    if (!by || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault(), e.stopPropagation();
    const {kind, side, i} = document.activeElement.item ?? {};
    if (kind === 'token') return buttonOf(`${side} ${i + by}`)?.focus();
    stepBy(view.backward ? -by : by);
    [...overlay.children].find(b => isOpen(b.item))?.focus({preventScroll: true});
  });
  markFigure = () => { roving(), paintAll(); };
  arrangeFigure = arrange;

  // ---- Drawing, on three sheets, so that a frame draws what has changed ----

  function sheet(name, draw) {
    painter('figure ' + name, () => {
      const {width, height, items} = layout;
      const c = clear($('figure-' + name), width * scale, walk ? height * scale : 40);
      if (!walk || !model) return;
      c.scale(scale, scale);
      c.lineJoin = c.lineCap = 'round';
      draw(c, colours(), items);
    }, 'figure');
  }
  const paintAll = () => ['base', 'canvas', 'lines'].forEach(name => paint('figure ' + name));
  const FILL = {self_attn: 'attend', multihead_attn: 'attend', norm: 'norm', add: 'norm',
    embedding: 'embed', cross_entropy: 'loss', softmax: 'out'};

  // Boxes with their titles, names and wires.
  sheet('base', (c, p, items) => {
    drawWires(c, p);
    for (const {x, y, w, h, box, key} of layout.boxes) {
      const high = !box || box.attends, at = high ? y + 14 : y + h / 2 + 4;
      rounded(c, x, y, w, h, 6, p[FILL[key] ?? 'feed'], p.line, 1);
      const title = key === 'softmax' ? t('box_softmax') : box ? boxTitle(box) : '';
      text(c, title, x + PAD, at, p.ink, 11, 'left', high ? 210 : 82);
    }
    for (const {kind, r, head, x, y, w} of items) {
      if (kind !== 'record' || head > 0) continue;
      const plain = textOr('short_' + nameOf(r), nameOf(r)), one = head < 0;
      const name = view.backward && r.index >= 0 ? gradientOf(plain) : plain;
      text(c, name.slice(0, 14), one ? x + w / 2 : x, y + MINI + 10, p.faint, 9,
           one ? 'center' : 'left', one ? w + 4 : 1e4);
    }
  });

  // Matrices. One image holds a pixel for each element of all; what is drawn are parts of it.
  const atlas = make('canvas'), SIZE = 512;
  sheet('canvas', (c, p, items) => {
    const parts = new Map();
    let x = 0, y = 0, high = 0;
    for (const {r, head = -1, kind, id} of items) {
      if (kind !== 'record' && kind !== 'weight') continue;
      const m = matrix(r, head < 0 ? view.head : head), gradient = m.grad || r.index >= 0;
      const values = view.backward && gradient ? m.grad : m.values;
      const w = Math.min(m.columns, SIZE), h = Math.min(m.rows, 256);
      if (x + w > SIZE) x = 0, y += high, high = 0;
      parts.set(`${id} ${head}`, {x, y, w, h, m: values && {...m, values}});
      x += w, high = Math.max(high, h);
    }
    atlas.width = SIZE, atlas.height = Math.max(1, y + high);
    const all = atlas.getContext('2d'), image = all.createImageData(SIZE, atlas.height);
    for (const {x, y, w, h, m} of parts.values())
      if (m) shade(image, m, largestSize(m.values), x, y, w, h);
    all.putImageData(image, 0, 0);
    const weights = items.filter(i => i.kind === 'weight');
    const most = Math.max(1e-30, ...weights.map(i => strength(i.r)));
    c.imageSmoothingEnabled = false;
    for (const item of items)
      if (item.kind === 'layer') drawLayer(c, p, item);
      else if (item.kind === 'record' && item.r.values.length === 1) {
        const [value] = view.backward ? item.r.grad : item.r.values;
        text(c, figure(value, 3), item.x + item.w / 2, item.y + 15, p.ink, 12);
      } else if (/record|weight/.test(item.kind)) {
        if (view.backward && item.kind === 'weight') glow(c, p, item, strength(item.r) / most);
        drawMatrix(c, p, item, parts.get(`${item.id} ${item.head ?? -1}`));
      }
  });
  // The root of the mean square of a gradient.
  function strength({grad}) {
    let sum = 0;
    for (const x of grad ?? []) sum += x * x;
    return Math.sqrt(sum / (grad?.length || 1));
  }
  function glow(c, p, {x, y, w, h}, share) {
    const bright = Math.sqrt(share);
    c.save(), c.shadowColor = c.fillStyle = p.glow;
    c.shadowBlur = 14 * bright * scale, c.globalAlpha = .15 + .85 * bright;
    c.fillRect(x - 2, y - 2, w + 4, h + 4), c.restore();
  }
  function drawMatrix(c, p, item, part) {
    const {r, x, y, w, h, head} = item, open = isOpen(item);
    c.fillStyle = p.paper, c.fillRect(x, y, w, h);
    if (part.m) c.drawImage(atlas, part.x, part.y, part.w, part.h, x, y, w, h);
    c.strokeStyle = open ? p.accent : p.line, c.lineWidth = open ? 2 : .75;
    c.strokeRect(x - .5, y - .5, w + 1, h + 1);
    if (head >= 0 && off.has(headId(r, head))) line(c, [x, y + h], [x + w, y]);
  }
  function drawLayer(c, p, {x, y, w, h, layer, all}) {
    text(c, t('layer_only', layer + 1), x + PAD, y + h / 2 + 4, p.ink, 11, 'left');
    let right = x + w - PAD;
    for (const {attends: a} of all)
      for (let head = a ? matrix(a).heads - 1 : -1; head >= 0; head--) {
        c.fillStyle = p.paper, c.fillRect(right -= 18, y + 4, 16, 16);
        c.drawImage(imageOf(matrix(a, head), 1), right, y + 4, 16, 16);
      }
  }

  // Tokens, lines of attention, and what is written next.
  sheet('lines', (c, p, items) => {
    const draw = {token: drawToken, strip: drawStrip, bars: drawBars};
    for (const item of items) draw[item.kind]?.(c, p, item);
    write($('figure-says'), says());
    const switched = ['mask', 'positions'].filter(id => !$(id).checked);
    write($('switch-says'), switched.map(why).join(' '));
  });
  function drawToken(c, p, {x, y, w, h, label, side, i}) {
    const on = sees(side, i);
    rounded(c, x, y, w, h, 4, p.panel, on ? p.accent : p.line, on ? 2 : 1);
    c.font = '12px ui-monospace, monospace', c.textAlign = 'center', c.fillStyle = p.ink;
    c.fillText(mark(label, Math.max(1, Math.floor(w / 8))), x + w / 2, y + h / 2 + 4);
  }
  // The mean share of the heads that are on, or of an open step that of the chosen head.
  function sharesOf(r) {
    const {rows, columns, heads} = matrix(r), shares = new Float64Array(rows * columns);
    const every = view.open === r.id ? [view.head] : [...Array(heads).keys()];
    const on = every.filter(k => !off.has(headId(r, k)));
    for (const k of on) matrix(r, k).values.forEach((v, e) => { shares[e] += v / on.length; });
    return {shares, on};
  }
  function drawStrip(c, p, {r, x, y, w, h}) {
    const {rows, columns, row, column} = matrix(r), {shares} = sharesOf(r);
    const X = (i, n) => x + (i + .5) * w / n, top = y + 10, bottom = y + h - 9;
    const half = (top + bottom) / 2;
    const mine = view.token?.side === r.axes.at(-2) ? view.token.i : -1;
    c.strokeStyle = p.accent;
    shares.forEach((share, e) => {
      const i = Math.floor(e / columns), from = X(e % columns, columns), to = X(i, rows);
      if (share < .04) return;
      c.globalAlpha = (mine < 0 || mine === i ? 1 : .08) * Math.min(1, .15 + share);
      c.lineWidth = .4 + 3.6 * share;
      c.beginPath(), c.moveTo(from, bottom);
      c.bezierCurveTo(from, half, to, half, to, top), c.stroke();
    });
    c.globalAlpha = 1;
    const label = (s, x, y, on) => text(c, mark(s, 2), x, y, on ? p.accent : p.faint);
    row.forEach((s, i) => label(s, X(i, rows), top - 2, i === mine));
    column.forEach((s, j) => label(s, X(j, columns), bottom + 9));
  }
  function drawBars(c, p, {r, x, y, w, h}) {
    const {rows, columns, values} = matrix(r), step = lane(rows), base = y + h - 4;
    const bar = Math.min(3, (step - 4) / columns);
    for (let i = 0; i < rows; i++) {
      const shares = softmaxOf(values.subarray(i * columns, (i + 1) * columns), 1);
      const best = argmax(shares), middle = x + step * (i + .5), left = middle - bar * columns / 2;
      shares.forEach((s, j) => {
        c.fillStyle = j === best ? p.accent : p.soft;
        c.fillRect(left + j * bar, base, Math.max(.6, bar - .5), -Math.max(.5, s * 22));
      });
      const wrong = walk.next[i] >= 0 && walk.next[i] !== best && view.backward;
      text(c, mark(model.tokens[best], 3), middle, base - 26, wrong ? p.wrong : p.ink, 12);
    }
    if (view.open === 'softmax') rounded(c, x, y - 1, w, h + 2, 6, '#0000', p.accent, 2);
  }

  function text(c, s, x, y, colour, size = 9, align = 'center', room = 1e4) {
    size = clamp(size, 9 / scale, 1.25 * size); // small type stays readable
    c.font = `${size}px system-ui, sans-serif`, c.fillStyle = colour;
    c.textAlign = align, c.textBaseline = 'alphabetic';
    const lines = [];
    for (const word of s.split(' ')) {
      const longer = lines.length ? lines.at(-1) + ' ' + word : '';
      if (longer && c.measureText(longer).width <= room) lines.pop(), lines.push(longer);
      else lines.push(word);
    }
    const above = (lines.length - 1) / 2;
    lines.forEach((line, i) => c.fillText(line, x, y + (i - above) * size * 1.15, room));
  }
  function rounded(c, x, y, w, h, radius, fill, stroke, width) {
    c.fillStyle = fill, c.strokeStyle = stroke, c.lineWidth = width;
    c.beginPath(), c.roundRect(x, y, w, h, radius), c.fill(), c.stroke();
  }
  function line(c, ...points) {
    c.beginPath();
    for (const at of points) c.lineTo(...at);
    c.stroke();
  }
  function drawWires(c, p) {
    c.strokeStyle = c.fillStyle = view.backward ? p.glow : p.wire, c.lineWidth = 1.5;
    const tip = ([x, y], dx, dy) => {
      const [back, to] = [x - 4 * dx, y - 4 * dy];
      c.beginPath(), c.moveTo(x, y);
      c.lineTo(back - 3 * dy, to - 3 * dx), c.lineTo(back + 3 * dy, to + 3 * dx), c.fill();
    };
    for (const {kind, a, b} of layout.wires) {
      const middle = a.x + a.w / 2;
      if (kind === 'up') {
        const from = [middle, a.y], to = [middle, b.y + b.h];
        line(c, from, to);
        view.backward ? tip(from, 0, 1) : tip(to, 0, -1);
        continue;
      }
      const around = kind === 'around', right = layout.narrow && !around;
      const end = [right ? b.x + b.w : b.x, b.y + b.h - (around ? 12 : 20)];
      const x = around ? b.x - 8 : right ? end[0] + 6 : b.x - GAP / 2;
      const y = around ? a.y + a.h + SPACE / 2 : a.y - SPACE / 2 - 2;
      line(c, [middle, around ? y : a.y], [middle, y], [x, y], [x, end[1]], end);
      if (!view.backward) tip(end, right ? -1 : 1, 0);
    }
  }

  // ---- What is said ----

  // What a switch that is off does: how much attention is paid to later tokens.
  function why(id) {
    if ($(id).disabled) return t('hint_' + choice[id]);
    let later = 0, all = 0;
    for (const {attends: r} of id === 'mask' ? walk.boxes : []) {
      if (r?.axes.at(-1) !== 'target') continue;
      const [, rows, columns] = r.shape;
      r.values.forEach((v, e) => {
        all += v;
        if (e % columns > Math.floor(e / columns) % rows) later += v;
      });
    }
    return t(id + '_off', percent(all && later / all));
  }
  // The sentence below the figure: what is pointed at.
  function says() {
    if (view.hint) {
      const {r, kind} = view.hint, sentence = r.index < 0 ? t('hint_' + kind) : sentenceOf(r);
      return labelOf(view.hint) + t('colon') + sentence;
    }
    if (!view.token) return t('lines_idle');
    const {side, i} = view.token, label = walk.labels[side][i], found = [];
    if (label === undefined) return '';
    for (const {attends: a, layer} of walk.boxes) {
      if (!a || a.axes.at(-2) !== side || layer !== view.layer) continue;
      const {heads, columns, column} = matrix(a), {shares: all, on} = sharesOf(a);
      const shares = all.subarray(i * columns, (i + 1) * columns);
      const strong = [...shares.keys()].sort((j, k) => shares[k] - shares[j]).slice(0, 2);
      const cross = a.axes.at(-1) !== side, own = side === 'source' ? 'encoder' : 'decoder';
      const name = j => {
        const token = !cross && j === i ? t('itself') : `“${mark(column[j], 3)}”`;
        return `${token} (${j}) ${Math.round(shares[j] * 100)}\u00a0%`;
      };
      const looks = t('attends_' + (cross ? 'cross' : own), strong.map(name).join(', '));
      const whose = on.length > 1 ? t('heads_mean') : t('only_head', on[0] + 1);
      found.push(on.length ? looks + (heads > 1 ? ` (${whose})` : '') : t('heads_none'));
    }
    let next = '';
    if (side === 'target' && walk.logits) {
      const {columns, values} = matrix(walk.logits);
      const best = argmax(values.subarray(i * columns, (i + 1) * columns));
      next = mark(model.tokens[best], 3);
    }
    const begins = t(next ? 'token_reads' : 'token_is', mark(label, 3), i, next);
    return `${begins} ${found.join('; ')}.`;
  }
})();
const headId = (r, head) => `${r.module.replace(/\.out_proj$/, '')} ${head}`;
const boxTitle = box => t((box.masked ? 'masked_' : '') + box.title);
const argmax = x => x.reduce((best, v, i) => v > x[best] ? i : best, 0);
function softmaxOf(x, temperature) {
  const top = Math.max(...x), powers = Array.from(x, v => Math.exp((v - top) / temperature));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map(p => p / sum);
}
