// Elements, colours, curves and matrices. Text from outside is set with textContent only.
'use strict';
const $ = id => document.getElementById(id);

// An element with properties, then attributes (names with a dash, role and the like), then children
// or texts.
function make(tag, properties = {}, ...children) {
  const x = document.createElement(tag);
  for (const [name, value] of Object.entries(properties))
    if (name in x) x[name] = value;
    else x.setAttribute(name, value);
  x.append(...children);
  return x;
}
const button = (text, act, more = {}) =>
  make('button', {type: 'button', onclick: act, ...more}, text);

// Set a text, attributes, where they differ: equal ones would cost a layout, too.
function write(x, text) { if (x.textContent !== text) x.textContent = text; }
function attributes(x, values) {
  for (const [name, value] of Object.entries(values))
    if (x.getAttribute(name) !== String(value)) x.setAttribute(name, value);
}

// Hands the reader a file.
function download(name, contents, type) {
  const href = URL.createObjectURL(new Blob([contents], {type}));
  make('a', {href, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

// The colours of the style sheet, read anew when the scheme changes. Those of elements, three
// numbers in the style sheet, are a pixel of an image, without opacity.
let palette = null;
function colours() {
  if (palette) return palette;
  const style = getComputedStyle(document.documentElement);
  palette = {};
  const names = 'ink paper faint line panel accent wrong glow wire soft ghost attend norm feed';
  for (const name of `${names} embed out loss shade minus veil`.split(' ')) {
    const value = style.getPropertyValue('--' + name).trim(), parts = value.split(' ');
    palette[name] = parts.length < 3 ? value : parts.reduceRight((sum, x) => sum * 256 + +x, 0);
  }
  return palette;
}

// The sections in sight, below the bar that stays at the top.
const inSight = new Set(), watch = new IntersectionObserver(entries => {
  for (const {isIntersecting, target: {id}} of entries)
    isIntersecting ? inSight.add(id) : inSight.delete(id);
  if (entries.some(e => e.isIntersecting)) renew(), schedule();
}, {rootMargin: `-${getComputedStyle(document.documentElement).scrollPaddingTop} 0px 0px`});

// Painters run in turn, one a frame, so that no frame takes long; none in a frame that reads the
// worker's answer; with reduced motion, while it trains, one each half second. During training, one
// of a section waits until that is in sight.
const painters = new Map(), calm = matchMedia('(prefers-reduced-motion: reduce)');
let painting = false, heard = false, waited = false;
function painter(name, draw, section) { painters.set(name, {draw, section, due: false}); }
function paint(name) {
  painters.get(name).due = true;
  schedule();
}
const ready = () => [...painters].filter(
  ([, {due, section}]) => due && (!section || !running || inSight.has(section)));
function schedule() {
  if (painting || !ready().length) return;
  painting = true;
  const frame = () => requestAnimationFrame(() => {
    painting = false;
    waited = heard && !waited && !calm.matches;
    heard = false;
    if (!waited) draw(ready().slice(0, 1));
    schedule();
  });
  calm.matches && running ? setTimeout(frame, 500) : frame();
}
function draw(turn) {
  for (const [name, p] of turn)
    p.due = false, painters.delete(name), painters.set(name, p), p.draw();
}
function repaint() { palette = null; painters.forEach((p, name) => paint(name)); }
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
addEventListener('resize', repaint);
for (const event of ['beforeprint', 'afterprint'])
  addEventListener(event, () => {
    document.documentElement.classList.toggle('printing', event === 'beforeprint');
    repaint();
    const due = () => [...painters].filter(([, p]) => p.due);
    while (due().length) draw(due());
  });

// The context of a canvas of this size in CSS pixels, cleared.
function clear(canvas, width, height) {
  const dots = window.devicePixelRatio || 1;
  const w = Math.round(width * dots), h = Math.round(height * dots);
  if (canvas.width !== w || canvas.height !== h) canvas.width = w, canvas.height = h;
  const c = canvas.getContext('2d');
  c.setTransform(dots, 0, 0, dots, 0, 0);
  c.clearRect(0, 0, width, height);
  return c;
}

// Points of a curve, at most 1,000; beyond that, every second is left out.
class Curve {
  x = [];
  y = [];
  every = 1;
  count = 0;
  add(x, y) {
    if (this.count++ % this.every) return;
    this.x.push(x), this.y.push(y);
    if (this.x.length < 1000) return;
    for (const axis of ['x', 'y']) this[axis] = this[axis].filter((_, i) => i % 2 === 0);
    this.every *= 2;
  }
}

// A round number of at least x, with round quarters.
function round(x) {
  const p = 10 ** Math.floor(Math.log10(x));
  return [1, 1.2, 1.6, 2, 2.4, 3, 4, 6, 8, 10].find(m => m * p >= x * 0.999) * p;
}

// Curves with axes. lines: [{x, y, colour, width, dots}]; across, up: {from, to, text, room} of an
// axis; goal: a dashed line.
function drawChart(canvas, lines, across, up, goal) {
  const w = canvas.clientWidth, h = canvas.clientHeight, c = clear(canvas, w, h), p = colours();
  const left = up.room ?? 48, bottom = h - 22, right = w - 10, head = 8;
  const X = x => left + (right - left) * (x - across.from) / (across.to - across.from);
  const Y = y => bottom - (bottom - head) * (y - up.from) / (up.to - up.from);
  const draw = (x, y, colour, width) => {
    c.strokeStyle = c.fillStyle = p[colour], c.lineWidth = width;
    c.beginPath();
    x.forEach((x, i) => c.lineTo(X(x), Y(y[i])));
    c.stroke();
  };
  const level = (y, colour) => draw([across.from, across.to], [y, y], colour, 1);
  c.font = '12px system-ui, sans-serif', c.lineJoin = 'round';
  for (const share of [0, .25, .5, .75, 1]) {
    const [x, y] = [across, up].map(axis => axis.from + (axis.to - axis.from) * share);
    level(y, 'line');
    c.fillStyle = p.faint, c.textBaseline = 'middle', c.textAlign = 'right';
    c.fillText(up.text(y), left - 6, Y(y));
    c.textBaseline = 'bottom', c.textAlign = {0: 'left', 1: 'right'}[share] || 'center';
    c.fillText(across.text(x), X(x), h - 2);
  }
  c.save(), c.beginPath(), c.rect(left, head - 4, w - left, bottom - head + 8), c.clip();
  c.setLineDash([4, 4]), level(goal, 'faint'), c.setLineDash([]);
  for (const {x, y, colour, width, dots} of lines) {
    draw(x, y, colour, width);
    if (!dots || x.length >= 60) continue;
    x.forEach((x, i) => { c.beginPath(), c.arc(X(x), Y(y[i]), 3, 0, 7), c.fill(); });
  }
  c.restore();
}

// ---- Matrices: {rows, columns, values} ----

// The largest size of a finite number.
function largestSize(values) {
  let top = 0;
  for (const v of values) if (Math.abs(v) > top && Number.isFinite(v)) top = Math.abs(v);
  return top;
}

// Sets pixels of an image from (x, y) on, one for each element of the first w columns and h rows:
// above zero blue, below zero ochre, as opaque as its share of `top`; what is masked is grey.
function shade(image, {rows, columns, values}, top, x = 0, y = 0, w = columns, h = rows) {
  const pixels = new Uint32Array(image.data.buffer), {shade, minus, veil} = colours();
  for (let i = 0; i < h; i++)
    for (let j = 0; j < w; j++) {
      const v = values[i * columns + j], share = top ? Math.min(1, Math.abs(v) / top) : 0;
      const opaque = Number.isFinite(v) ? 255 * share : 255;
      const colour = Number.isFinite(v) ? v < 0 ? minus : shade : veil;
      pixels[(y + i) * image.width + x + j] = (colour | opaque << 24) >>> 0;
    }
}

// An image of m, a pixel for each element. The next call overwrites it.
const scratch = make('canvas');
function imageOf(m, top) {
  scratch.width = m.columns, scratch.height = m.rows;
  const c = scratch.getContext('2d'), image = c.createImageData(m.columns, m.rows);
  shade(image, m, top);
  c.putImageData(image, 0, 0);
  return scratch;
}

// A figure of a matrix. Arrow keys, after a press in it, choose a cell: choose(row, column).
// figure.show(m, o) draws m with name, labels and a mark. −∞ is crossed out, a zero has a dot.
// o: {name, unit, cell, high, top, rows, columns, numbers, mark: {row, column, cell}}
function matrixFigure(choose) {
  const canvas = make('canvas', {role: 'application', tabIndex: 0}), caption = make('figcaption');
  const figure = make('figure', {}, caption, canvas);
  let at = [0, 0], shown, left = 0, above = 0, cell = 0, high = 0;
  const go = (i, j) => {
    at = [clamp(0, i, shown.rows - 1), clamp(0, j, shown.columns - 1)];
    choose(...at);
  };
  canvas.addEventListener('pointerdown', ({clientX, clientY}) => {
    const box = canvas.getBoundingClientRect();
    const i = (clientY - box.top - above) / high, j = (clientX - box.left - left) / cell;
    if (shown) go(Math.floor(i), Math.floor(j));
  });
  const keys = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  canvas.addEventListener('keydown', e => {
    const by = keys[e.key];
    if (by && !e.ctrlKey && !e.metaKey && !e.altKey)
      e.preventDefault(), go(at[0] + by[0], at[1] + by[1]);
  });
  figure.show = (m, o) => {
    const {rows, columns, values} = m, {mark} = o, p = colours();
    const mono = size => c.font = size + 'px ui-monospace, monospace';
    ({cell, high} = o), shown = m, canvas.marked = mark, at = mark.cell ?? at;
    left = o.rows ? 6 + 9 * Math.min(7, Math.max(...o.rows.map(letters))) : 0;
    above = o.columns ? 20 : 0;
    const w = left + columns * cell, h = above + rows * high;
    write(caption, `${o.name} [${rows} × ${columns}]${o.unit}`);
    attributes(canvas, {'aria-label': t('matrix', o.name, rows, columns), title: t('matrix_legend'),
                        style: `width: ${w}px; height: ${h}px`});
    const c = clear(canvas, w, h);
    c.fillStyle = p.panel, c.fillRect(left, above, w - left, h - above);
    c.imageSmoothingEnabled = false;
    c.drawImage(imageOf(m, o.top || largestSize(values)), left, above, w - left, h - above);
    c.textBaseline = 'middle', c.textAlign = 'center';
    const cells = draw => values.forEach((v, i) =>
      draw(left + i % columns * cell, above + Math.floor(i / columns) * high, v));
    const stroke = (colour, path) => {
      c.strokeStyle = colour, c.lineWidth = 1, c.beginPath();
      cells(path);
      c.stroke();
    };
    stroke(p.faint, (x, y, v) => {
      if (!Number.isFinite(v)) c.moveTo(x + 2, y + high - 2), c.lineTo(x + cell - 2, y + 2);
    });
    if (cell >= 12) stroke(p.line, (x, y) => c.rect(x + .5, y + .5, cell - 1, high - 1));
    c.fillStyle = p.ink, mono(Math.min(13, cell / 3.4));
    if (o.numbers) cells((x, y, v) => c.fillText(o.numbers(v), x + cell / 2, y + high / 2));
    const dot = (x, y, v) => { if (!v) c.rect(x + cell / 2 - .5, y + high / 2 - .5, 1, 1); };
    if (!o.numbers) stroke(p.ink, dot);
    c.fillStyle = p.faint, mono(14);
    const names = cell >= 9 && o.columns || [];
    names.forEach((s, j) => c.fillText(short(s, cell / 9), left + (j + .5) * cell, above / 2));
    c.textAlign = 'right', mono(Math.min(14, high + 2));
    o.rows?.forEach((s, i) => c.fillText(short(s), left - 5, above + (i + .5) * high));
    const frame = (i, j, rows, columns, colour, width) => {
      c.strokeStyle = colour, c.lineWidth = width;
      c.strokeRect(left + j * cell + 1, above + i * high + 1, columns * cell - 2, rows * high - 2);
    };
    if (mark.row >= 0) frame(mark.row, 0, 1, columns, p.accent, 2);
    if (mark.column >= 0) frame(0, mark.column, rows, 1, p.accent, 2);
    if (mark.cell) frame(...mark.cell, 1, 1, p.ink, 3);
  };
  return figure;
}
// About how many letters wide a label is.
const letters = s => [...short(s)].reduce((n, c) => n + (c > '\u2000' ? 1.7 : 1), 0);
function short(s, most = 7) {
  const marked = s.replace(/\n/g, '⏎').replace(/ /g, '␣');
  const c = [...marked.replace(/[\u0590-\u08ff]$/, '$&\u200e')]; // then on to the right
  if (c.length <= most) return c.join('');
  return c.slice(0, Math.max(1, most - 1)).join('') + (most > 2 ? '…' : '');
}
// A token as a reader sees it.
const MARKS = {'<begin>': '▷', '<end>': '■', '<pad>': '·'};
const mark = (token, most) => MARKS[token] || short(token, most);

const clamp = (low, x, high) => Math.max(low, Math.min(high, x));

// Numbers for display.
const number = x => String(Math.round(x)).replace(/\B(?=(\d{3})+$)/g, '\u202f');
function figure(x, digits) {
  if (Math.abs(x) === Infinity) return x < 0 ? '−∞' : '∞';
  const size = Math.abs(x);
  let s = x.toFixed(digits);
  if (x && size < 1) s = size < 10 ** -digits ? x.toExponential(digits - 1) : x.toPrecision(digits);
  return s.replace(/-/g, '−');
}
function small(x) {
  if (!x) return '0';
  if (!Number.isFinite(x)) return '−∞';
  const s = x.toFixed(Math.abs(x) >= 10 ? 1 : 2).replace(/^(-?)0\./, '$1.');
  return s === '-.00' ? '.00' : s.replace('-', '−');
}
