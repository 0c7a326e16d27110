// Figure 1 as a map: boxes of the walk, with live matrices, drawn from the records alone.
'use strict';
// What is looked at: a record's id and its cell, the direction, head, layer, a token's lines, and the
// item that is pointed at.
const view = {backward: false, open: null, cell: null, operand: -1, head: 0, layer: 0, token: null,
  hint: null};
const off = new Set(); // heads that are switched off: "encoder.layers.0.self_attn 2"
const switches = () => ({mask: $('mask').checked, positions: $('positions').checked, off: [...off]});
(() => {
  const overlay = $('figure-buttons');
  const WIDE = 350, GAP = 36, SPACE = 9, MINI = 22, PAD = 8;
  let layout = {key: '', items: [], boxes: [], wires: [], width: WIDE, height: 100}, scale = 1;

  const renewWalk = reading(async text => {
    // The decoder reads the right answer, as in training; where there is none, the model's own.
    const answer = (await askAnswer({text, more: 0})).wanted;
    const more = view.backward ? 0 : Math.max(0, Math.min(16, model.maxSource) - text.length);
    walk = linked(await ask('walk', {text, answer, more, ...switches()}));
    arrange();
    const {asked} = view; // by the address
    view.asked = null;
    asked ? openStep(asked.at, asked.cell, asked.operand) : renewStep();
  });
  viewers.push({section: 'figure', renew: renewWalk, shape: () => {
    walk = null, off.clear(), view.layer = view.head = 0, view.token = view.hint = null;
  }});
  renewFigure = renewWalk;

  // ---- Layout, in units of a pixel before it is scaled ----

  // Width of a miniature: wide matrices are wider, though not in proportion.
  const wide = ({rows, columns}) => rows * columns === 1 ? 30 : clamp(10, MINI * (columns / rows) ** .5, 76);

  // The miniatures of a record: of shares one for each head, else the chosen head's.
  function minis(r) {
    const m = matrix(r), heads = attends(r) ? m.heads : 1, each = heads > 1 ? Math.min(MINI - 4, 78 / heads) : wide(m);
    return Array.from({length: heads}, (_, h) => ({r, head: heads > 1 ? h : -1, w: each, h: Math.min(MINI, heads > 1 ? each : MINI)}));
  }

  // Lays a box out from its lower left corner (0, 0) to (WIDE, height): items have places in it.
  function measured(box) {
    const items = [], strip = box.attends && walk ? 46 : 0, left = box.attends ? PAD : 92;
    let x = left, y = PAD - 2 + (box.attends ? 15 : 0) + strip, right = WIDE - PAD;
    if (box.attends) items.push({kind: 'strip', r: box.attends, x: PAD, y: 20, w: WIDE - 2 * PAD, h: strip});
    for (const x of box.weights) {
      const flat = x.rank < 2, w = flat ? 16 : clamp(14, 16 * (x.shape[1] / x.shape[0]) ** .5, 30);
      items.push({kind: 'weight', r: x, x: right -= w, y: flat ? 9 : 5, w, h: flat ? 4 : 12, box});
      right -= 4;
    }
    const names = box.attends || !box.weights.length ? WIDE : right;
    for (const x of box.constants) box.records.length && items.push({kind: 'record', r: x});
    for (const group of [...items.splice(items.length - box.constants.length).map(i => [{...i, w: 40, h: MINI}]), ...box.records.map(minis)]) {
      const width = group.reduce((sum, i) => sum + i.w + 2, 5);
      if (x + width - 7 > (box.attends ? WIDE - PAD + 2 : names) && x > left) x = left, y += MINI + 15;
      for (const i of group) items.push({kind: 'record', ...i, x, y, box}), x += i.w + 2;
      x += 5;
    }
    return {items, height: y + MINI + 13};
  }

  function arrange() {
    if (!walk) return;
    const columns = [...new Set(walk.boxes.map(b => b.column))];
    view.layers = Math.max(1, ...walk.boxes.map(b => (b.layer ?? 0) + 1));
    view.layer = Math.min(view.layer, view.layers - 1);
    const narrow = innerWidth < 640, items = [], boxes = [], wires = [];
    const side = c => walk.boxes.find(b => b.column === c).records[0].axes[0] || 'target';
    let bottom = 0, tall = 0;
    columns.forEach((column, c) => {
      const x0 = narrow ? 12 : c * (WIDE + GAP) + 12, tokens = walk.labels[side(column)];
      let y = narrow ? bottom : 0; // grows upwards
      const put = (height, box) => {
        const at = {x: x0, y: y + height, w: WIDE, h: height, column, ...box};
        y += height + SPACE;
        if (box) boxes.push(at);
        return at;
      };
      const tokenRow = (labels, kind) => {
        const at = put(20), step = lane(labels.length);
        labels.forEach((label, i) => items.push({kind, side: side(column), i, label, x: x0 + step * i + 2, w: step - 4, h: 20, y: at.y}));
      };
      tokenRow(tokens, 'token');
      let collapsed = null;
      const softmaxRow = () => {
        const logits = walk.logits, at = put(62, {key: 'softmax'});
        items.push({kind: 'bars', r: logits, x: x0, y: at.y, w: WIDE, h: 62});
      };
      for (const box of walk.boxes.filter(b => b.column === column)) {
        if (box.key === 'cross_entropy') softmaxRow();
        if (box.layer !== null && box.layer !== view.layer) {
          if (collapsed?.layer === box.layer) { collapsed.all.push(box); continue; }
          const at = put(24, {key: 'layer', layer: box.layer, all: [box]});
          items.push({kind: 'layer', layer: box.layer, x: x0, y: at.y, w: WIDE, h: 24, at: collapsed = at});
          continue;
        }
        const {items: inside, height} = measured(box), at = put(height, {box, key: box.key});
        for (const i of inside) items.push({...i, x: x0 + i.x, y: at.y - i.y});
        box.at = at;
      }
      bottom = y + 12, tall = Math.max(tall, y);
    });
    const width = (narrow ? 1 : columns.length) * (WIDE + GAP) - GAP + 24, height = tall - SPACE + 4;
    for (const at of [...items, ...boxes]) at.y = height - at.y - 2;
    wire(boxes, wires);
    const key = [narrow, language, view.backward, ...items.map(i => [i.kind, i.r?.index ?? i.label, i.w])].join();
    const fresh = key !== layout.key;
    layout = {key, items, boxes, wires, width, height, narrow};
    const focused = document.activeElement?.dataset?.id;
    if (fresh) overlay.replaceChildren();
    fitFigure();
    if (fresh) buttons(focused);
    fresh ? paintAll() : ['canvas', 'lines'].forEach(name => paint('figure ' + name));
  }
  const lane = n => WIDE / Math.max(1, n);

  // Wires from the box that made an operand to the box that reads it.
  function wire(boxes, wires) {
    const columns = new Map();
    for (const b of boxes) {
      const before = columns.get(b.column);
      if (before) wires.push({kind: 'up', a: before, b});
      columns.set(b.column, b);
    }
    for (const b of boxes.filter(b => b.box)) {
      const list = boxes.filter(o => o.column === b.column), place = list.indexOf(b);
      for (const r of b.box.records)
        for (const x of made(r).of) {
          const holds = o => (o.all ?? [o.box]).some(b => b?.records.includes(x));
          const from = x && x.index >= 0 ? boxes.find(holds) : null;
          if (!from || from === b) continue;
          if (from.column !== b.column) wires.push({kind: 'across', a: from, b});
          else if (list.slice(list.indexOf(from) + 1, place).some(o => o.key !== 'softmax')) wires.push({kind: 'around', a: list[list.indexOf(from) + 1], b});
        }
    }
  }

  // As large as the room allows: its width, and on a wide window the height below the controls.
  function fitFigure() {
    const frame = $('figure-frame'), high = innerHeight - frame.offsetTop - 34, wide = innerWidth >= 900;
    frame.style.width = '';
    scale = frame.clientWidth / layout.width;
    $('panel').style.height = wide ? high + 'px' : '';
    const large = document.documentElement.classList.contains('large');
    const most = large ? 2 : high / layout.height; // a lecture hall may scroll
    if (wide) scale = clamp(.55, Math.min(most, .6 * innerWidth / layout.width), 2);
    if (wide) frame.style.width = layout.width * scale + 'px';
    for (const x of $('figure-map').children)
      Object.assign(x.style, {width: layout.width * scale + 'px', height: layout.height * scale + 'px'});
    for (const b of overlay.children) place(b);
  }
  const place = b => {
    const {x, y, w, h} = layout.items[b.item];
    const style = `left:${x * scale}px;top:${y * scale}px;width:${w * scale}px;height:${h * scale}px`;
    attributes(b, {style});
  };
  addEventListener('resize', () => arrange());

  // ---- Buttons over the drawing: what can be opened or pointed at ----

  const idOf = ({kind, r, side, i, layer}) => kind === 'token' ? `${side} ${i}` : kind === 'layer' ? 'layer ' + layer : r.id;
  function buttons(focused) {
    overlay.replaceChildren(...layout.items.map((item, n) => {
      if (item.kind === 'strip') return null;
      const b = button('', e => press(item, e), {'aria-label': labelOf(item), tabIndex: -1});
      b.item = n, b.dataset.id = idOf(item);
      if (item.head >= 0) b.dataset.head = item.head;
      const on = item.kind === 'bars' ? ['pointermove', 'focus'] : ['pointerenter', 'focus'];
      for (const event of on) b.addEventListener(event, e => point(item, e));
      for (const event of ['pointerleave', 'blur']) b.addEventListener(event, () => point(item));
      place(b);
      return b;
    }).filter(Boolean));
    roving();
    if (focused) [...overlay.children].find(b => b.dataset.id === focused)?.focus();
  }
  const labelOf = ({kind, r, label, i, side, head, layer}) => {
    if (kind === 'token') return t('token_' + side, i, mark(label));
    if (kind === 'layer') return t('show_layer', layer + 1);
    if (kind === 'bars') return t('bars_label');
    const parts = [nameOf(r), head >= 0 && t('only_head', head + 1), r.box && boxTitle(r.box)];
    return parts.filter(Boolean).join(', ');
  };
  function roving() {
    const all = [...overlay.children], on = all.find(isOpen) ?? all.find(b => layout.items[b.item].kind === 'record');
    for (const b of all) {
      b.tabIndex = b === on ? 0 : -1;
      attributes(b, {'aria-pressed': isOpen(b)});
    }
  }
  function isOpen(b) {
    const {kind, r, head} = layout.items[b.item];
    if (kind === 'token') return Boolean(view.token && b.dataset.id === `${view.token.side} ${view.token.i}`);
    if (kind === 'layer' || view.open !== r.id) return false;
    return (head ?? -1) < 0 || head === view.head;
  }
  function press(item, e) {
    if (item.kind === 'layer') { view.layer = item.layer; moved(); return arrange(), renewStep(); }
    if (item.kind === 'token') { view.token = {side: item.side, i: item.i, kept: true}; return paint('figure lines'); }
    if (item.head >= 0) view.head = item.head;
    const at = item.kind === 'bars' && e.detail ? tokenAt(item, e) : null;
    item.kind === 'bars' ? openStep('softmax', at && [at.i, 0]) : openStep(item.r.id);
  }
  // The token of an item: its own, or of the bars the one below the pointer.
  function tokenAt({kind, side, i, r}, e) {
    if (kind === 'token') return {side, i};
    if (kind !== 'bars' || e.offsetX === undefined) return null;
    const {rows} = matrix(r);
    return {side: 'target', i: clamp(0, Math.floor(e.offsetX / scale / lane(rows)), rows - 1)};
  }
  // Without an event, the pointer or the focus has left the item.
  function point(item, e) {
    view.hint = e && /record|weight/.test(item.kind) ? item : null;
    if (!view.token?.kept || e && !view.hint) view.token = e ? tokenAt(item, e) : null;
    paint('figure lines');
  }
  overlay.addEventListener('pointerleave', () => { if (view.token) view.token = null, paint('figure lines'); });

  // The arrow keys step along the figure, in the direction of the computation.
  overlay.addEventListener('keydown', e => {
    const by = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[e.key];
    if (!by || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault(), e.stopPropagation();
    const n = document.activeElement.item, {kind, side, i} = layout.items[n] ?? {};
    if (kind === 'token') {
      const to = [...overlay.children].find(b => b.dataset.id === `${side} ${i + by}`);
      return to?.focus();
    }
    stepBy(view.backward ? -by : by);
    focusOpen();
  });
  focusOpen = () => [...overlay.children].find(isOpen)?.focus({preventScroll: true});
  markFigure = () => { roving(), paintAll(); };
  arrangeFigure = arrange;

  // ---- Drawing ----

  // One image holds a pixel for each element of all matrices; draws are parts of it.
  const atlas = make('canvas');
  function fillAtlas(items) {
    const size = 512, places = new Map();
    let x = 0, y = 0, high = 0;
    for (const {r, head = -1, kind} of items) {
      if (kind === 'token' || kind === 'layer' || kind === 'strip' || !r.values) continue;
      const m = matrix(r, head < 0 ? view.head : head), values = view.backward && (r.grad || r.index >= 0) ? m.grad : m.values;
      const part = {w: Math.min(m.columns, size), h: Math.min(m.rows, 256), m, values};
      if (x + part.w > size) x = 0, y += high, high = 0;
      places.set(`${r.index} ${head}`, Object.assign(part, {x, y}));
      x += part.w, high = Math.max(high, part.h);
    }
    atlas.width = size, atlas.height = Math.max(1, y + high);
    const c = atlas.getContext('2d'), image = c.createImageData(size, atlas.height);
    const pixels = new Uint32Array(image.data.buffer), {shade, minus, veil} = colours();
    for (const {x, y, w, h, m, values} of places.values()) {
      if (!values) continue;
      let top = 0;
      for (const v of values) if (Math.abs(v) > top && Number.isFinite(v)) top = Math.abs(v);
      for (let i = 0; i < h; i++)
        for (let j = 0; j < w; j++) {
          const v = values[i * m.columns + j], share = top ? Math.abs(v) / top : 0;
          pixels[(y + i) * size + x + j] = Number.isFinite(v) ? (v < 0 ? minus : shade) | 255 * share << 24 : veil;
        }
    }
    c.putImageData(image, 0, 0);
    return places;
  }

  const FILL = {self_attn: 'attend', multihead_attn: 'attend', norm: 'norm', add: 'norm',
    embedding: 'embed', cross_entropy: 'loss', softmax: 'out'};

  // Three sheets, so that a frame draws what has changed: boxes, matrices, lines of attention.
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

  sheet('base', (c, p, items) => {
    drawWires(c, p);
    for (const b of layout.boxes) {
      const {x, y, w, h, box, key} = b, high = !box || box.attends;
      c.fillStyle = p[FILL[key] ?? 'feed'], c.strokeStyle = p.line, c.lineWidth = 1;
      c.beginPath(), c.roundRect(x, y, w, h, 6), c.fill(), c.stroke();
      const title = key === 'softmax' ? t('box_softmax') : box ? boxTitle(box) : '';
      text(c, title, x + PAD, high ? y + 14 : y + h / 2 + 4, p.ink, 11, 'left', high ? 210 : 82);
    }
    for (const {kind, r, head, x, y, w} of items) {
      if (kind !== 'record' || head > 0) continue;
      const short = 'short_' + nameOf(r), left = head === 0;
      const plain = TEXTS[short] ? t(short) : nameOf(r);
      const name = view.backward && r.index >= 0 ? gradientOf(plain) : plain;
      text(c, name.slice(0, 14), left ? x : x + w / 2, y + MINI + 10, p.faint, 9, left ? 'left' : 'center');
    }
  });
  sheet('canvas', (c, p, items) => {
    const weights = items.filter(i => i.kind === 'weight'), places = fillAtlas(items);
    const most = Math.max(1e-30, ...weights.map(i => strength(i.r)));
    c.imageSmoothingEnabled = false;
    for (const item of items) MAPS[item.kind]?.(c, p, item, places, most);
  });
  sheet('lines', (c, p, items) => {
    for (const item of items) LINES[item.kind]?.(c, p, item);
    write($('figure-says'), says());
    const switched = ['mask', 'positions'].filter(id => !$(id).checked);
    write($('switch-says'), switched.map(why).join(' '));
  });

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

  function text(c, s, x, y, colour, size = 9, align = 'center', room = Infinity) {
    size = clamp(size, 9 / scale, 1.25 * size); // small type stays readable
    c.font = `${size}px system-ui, sans-serif`, c.textAlign = align, c.textBaseline = 'alphabetic', c.fillStyle = colour;
    const words = s.split(' '), lines = [''];
    for (const w of words) {
      if (lines.at(-1) && c.measureText(lines.at(-1) + ' ' + w).width > room) lines.push('');
      lines.push((lines.pop() + ' ' + w).trim());
    }
    lines.forEach((line, i) => c.fillText(line, x, y + (i - (lines.length - 1) / 2) * size * 1.15));
  }
  const strength = r => {
    let sum = 0;
    for (const x of r.grad ?? []) sum += x * x;
    return Math.sqrt(sum / (r.grad?.length || 1));
  };

  function drawMatrix(c, p, {r, x, y, w, h, head}, places) {
    const at = places.get(`${r.index} ${head ?? -1}`);
    c.fillStyle = p.paper, c.fillRect(x, y, w, h);
    if (at?.values) c.drawImage(atlas, at.x, at.y, at.w, at.h, x, y, w, h);
    const on = view.open === r.id && ((head ?? -1) < 0 || head === view.head);
    c.strokeStyle = on ? p.accent : p.line, c.lineWidth = on ? 2 : .75;
    c.strokeRect(x - .5, y - .5, w + 1, h + 1);
    if (head >= 0 && off.has(headId(r, head))) c.beginPath(), c.moveTo(x, y + h), c.lineTo(x + w, y), c.stroke();
  }
  const MAPS = {
    record(c, p, item, places) {
      const {r, x, w, y} = item;
      if (r.values.length > 1) return drawMatrix(c, p, item, places);
      text(c, figure((view.backward ? r.grad : r.values)[0], 3), x + w / 2, y + 15, p.ink, 12);
    },
    weight(c, p, item, places, most) {
      if (view.backward) {
        const glow = Math.sqrt(strength(item.r) / most);
        c.save(), c.shadowColor = p.glow, c.shadowBlur = 14 * glow * scale, c.fillStyle = p.glow, c.globalAlpha = .15 + .85 * glow;
        c.fillRect(item.x - 2, item.y - 2, item.w + 4, item.h + 4), c.restore();
      }
      drawMatrix(c, p, item, places);
    },
    layer(c, p, {x, y, w, h, layer, at}) {
      text(c, t('layer_only', layer + 1), x + PAD, y + h / 2 + 4, p.ink, 11, 'left');
      let right = x + w - PAD;
      for (const {attends: a} of at.all)
        for (let head = a ? matrix(a).heads - 1 : -1; head >= 0; head--) {
          const m = matrix(a, head), size = 16;
          right -= size + 2;
          c.fillStyle = p.paper, c.fillRect(right, y + 4, size, size);
          c.drawImage(imageOf(m, 1), right, y + 4, size, size);
        }
    },
  };
  const LINES = {
    token(c, p, {x, y, w, h, label, side, i}) {
      const on = view.token && view.token.side === side && view.token.i === i;
      c.fillStyle = p.panel, c.strokeStyle = on ? p.accent : p.line, c.lineWidth = on ? 2 : 1;
      c.beginPath(), c.roundRect(x, y, w, h, 4), c.fill(), c.stroke();
      c.font = '12px ui-monospace, monospace', c.textAlign = 'center', c.fillStyle = p.ink;
      c.fillText(mark(label, Math.max(1, Math.floor(w / 8))), x + w / 2, y + h / 2 + 4);
    },
    strip(c, p, {r, x, y, w, h}) {
      const all = Array.from({length: matrix(r).heads}, (_, k) => matrix(r, k)), {rows, columns, row, column} = all[0];
      const one = view.open === r.id ? [all[view.head] ?? all[0]] : all;
      const X = (i, n) => x + (i + .5) * w / n, top = y + 10, bottom = y + h - 9;
      const mine = view.token?.side === r.axes.at(-2) ? view.token.i : -1;
      c.strokeStyle = p.accent;
      for (let i = 0; i < rows; i++)
        for (let j = 0; j < columns; j++) {
          const share = one.reduce((sum, m) => sum + m.values[i * columns + j], 0) / one.length;
          if (share < .04) continue;
          c.globalAlpha = (mine < 0 || mine === i ? 1 : .08) * Math.min(1, .15 + share);
          c.lineWidth = .4 + 3.6 * share;
          c.beginPath(), c.moveTo(X(j, columns), bottom);
          c.bezierCurveTo(X(j, columns), (top + bottom) / 2, X(i, rows), (top + bottom) / 2, X(i, rows), top), c.stroke();
        }
      c.globalAlpha = 1;
      row.forEach((label, i) => text(c, mark(label, 2), X(i, rows), top - 2, i === mine ? p.accent : p.faint));
      column.forEach((label, j) => text(c, mark(label, 2), X(j, columns), bottom + 9, p.faint));
    },
    bars(c, p, {r, x, y, w, h}) {
      const {rows, columns, values} = matrix(r), step = lane(rows);
      for (let i = 0; i < rows; i++) {
        const shares = softmaxOf(values.subarray(i * columns, (i + 1) * columns), 1), best = argmax(shares);
        const bar = Math.min(3, (step - 4) / columns), left = x + step * (i + .5) - bar * columns / 2, base = y + h - 4;
        shares.forEach((s, j) => {
          c.fillStyle = j === best ? p.accent : p.soft;
          c.fillRect(left + j * bar, base - Math.max(.5, s * 22), Math.max(.6, bar - .5), Math.max(.5, s * 22));
        });
        const wrong = walk.next[i] >= 0 && walk.next[i] !== best && view.backward;
        text(c, mark(model.tokens[best], 3), x + step * (i + .5), base - 26, wrong ? p.wrong : p.ink, 12);
      }
      if (view.open === 'softmax') c.strokeStyle = p.accent, c.lineWidth = 2, c.beginPath(), c.roundRect(x, y - 1, w, h + 2, 6), c.stroke();
    },
  };

  function drawWires(c, p) {
    c.strokeStyle = c.fillStyle = view.backward ? p.glow : p.wire, c.lineWidth = 1.5;
    const tip = (x, y, dx, dy) => {
      c.beginPath(), c.moveTo(x, y), c.lineTo(x - 4 * dx - 3 * dy, y - 4 * dy - 3 * dx), c.lineTo(x - 4 * dx + 3 * dy, y - 4 * dy + 3 * dx), c.fill();
    };
    const turn = view.backward;
    for (const {kind, a, b} of layout.wires) {
      c.beginPath();
      if (kind === 'up') {
        const x = a.x + a.w / 2;
        c.moveTo(x, a.y), c.lineTo(x, b.y + b.h), c.stroke();
        turn ? tip(x, a.y, 0, 1) : tip(x, b.y + b.h, 0, -1);
      } else if (kind === 'around') {
        const x = b.x - 8, from = a.y + a.h + SPACE / 2, to = b.y + b.h - 12;
        c.moveTo(b.x + b.w / 2, from), c.lineTo(x + 5, from), c.arcTo(x, from, x, from - 5, 5), c.lineTo(x, to + 5), c.arcTo(x, to, x + 5, to, 5), c.lineTo(b.x, to), c.stroke();
        if (!turn) tip(b.x, to, 1, 0);
      } else {
        const top = a.y - SPACE / 2 - 2, x = layout.narrow ? b.x + b.w + 6 : b.x - GAP / 2, to = b.y + b.h - 20, sign = layout.narrow ? -1 : 1;
        const end = layout.narrow ? b.x + b.w : b.x;
        c.moveTo(a.x + a.w / 2, a.y), c.lineTo(a.x + a.w / 2, top), c.lineTo(x - sign * 5, top), c.lineTo(x, top), c.lineTo(x, to), c.lineTo(end, to), c.stroke();
        if (!turn) tip(end, to, sign, 0);
      }
    }
  }

  // The sentence below the figure: what is pointed at.
  function says() {
    if (walk && view.hint) {
      const {r, kind} = view.hint, sentence = r.index < 0 ? t('hint_' + kind) : sentenceOf(r);
      return labelOf(view.hint) + t('colon') + sentence;
    }
    if (!walk || !view.token) return t('lines_idle');
    const {side, i} = view.token, label = walk.labels[side][i], found = [];
    if (label === undefined) return '';
    for (const {attends: a, layer} of walk.boxes) {
      if (!a || a.axes.at(-2) !== side || layer !== view.layer) continue;
      const sums = new Map(), {heads, columns, column} = matrix(a);
      for (let k = 0; k < heads; k++)
        matrix(a, k).values.subarray(i * columns, (i + 1) * columns).forEach((v, j) => sums.set(j, (sums.get(j) ?? 0) + v / heads));
      const strong = [...sums].sort((x, y) => y[1] - x[1]).slice(0, 2);
      const kind = a.axes.at(-2) !== a.axes.at(-1) ? 'cross' : side === 'source' ? 'encoder' : 'decoder';
      const name = ([j, s]) => `${kind !== 'cross' && j === i ? t('itself') : `“${mark(column[j], 3)}”`} (${j}) ${Math.round(s * 100)}\u00a0%`;
      found.push(t('attends_' + kind, strong.map(name).join(', ')));
    }
    const logits = walk.logits, m = logits && matrix(logits);
    const next = side === 'target' && m ? mark(model.tokens[argmax(m.values.subarray(i * m.columns, (i + 1) * m.columns))], 3) : '';
    return `${t(next ? 'token_reads' : 'token_is', mark(label, 3), i, next)} ${found.join('; ')}.`;
  }
})();
const headId = (r, head) => `${r.module.replace(/\.out_proj$/, '')} ${head}`;
const boxTitle = box => t((box.masked ? 'masked_' : '') + box.title);
const argmax = x => x.reduce((best, v, i) => v > x[best] ? i : best, 0);
function softmaxOf(x, temperature) {
  const top = Math.max(...x), powers = Array.from(x, v => Math.exp((v - top) / temperature)), sum = powers.reduce((a, b) => a + b);
  return powers.map(p => p / sum);
}
