// Elements, colours, curves and heat maps. Text from outside is set with textContent only.
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

// Sets a text, attributes, where they differ: equal ones would cost a layout, too.
function write(x, text) { if (x.textContent !== text) x.textContent = text; }
function attributes(x, values) {
  for (const [name, value] of Object.entries(values)) if (x.getAttribute(name) !== String(value)) x.setAttribute(name, value);
}

const button = (text, act, more = {}) => make('button', {type: 'button', onclick: act, ...more}, text);

// The colours of the style sheet, read anew when the scheme changes; shade and minus as the pixel of an image.
let palette = null;
function colours() {
  if (!palette) {
    const style = getComputedStyle(document.documentElement), value = name => style.getPropertyValue('--' + name).trim();
    palette = {};
    const plain = 'ink paper faint line panel accent wrong glow wire soft ghost attend norm feed embed out loss';
    for (const name of plain.split(' ')) palette[name] = value(name);
    for (const name of ['shade', 'minus', 'veil']) palette[name] = value(name).split(' ').reduceRight((sum, x) => sum * 256 + +x, 0);
    palette.veil = (palette.veil | 255 << 24) >>> 0;
  }
  return palette;
}

// The sections in sight, below the bar that stays at the top.
const inSight = new Set(), watch = new IntersectionObserver(entries => {
  for (const e of entries) e.isIntersecting ? inSight.add(e.target.id) : inSight.delete(e.target.id);
  if (entries.some(e => e.isIntersecting)) renew(), schedule();
}, {rootMargin: `-${getComputedStyle(document.documentElement).scrollPaddingTop} 0px 0px`});

// Painters run in turn, one a frame, so that no frame takes long; none in a frame that reads the worker's answer; with
// reduced motion, while it trains, one each half second. During training, one of a section waits until that is in sight.
const painters = new Map(), calm = matchMedia('(prefers-reduced-motion: reduce)');
let painting = false, heard = false, waited = false;
function paint(name) {
  painters.get(name).due = true;
  schedule();
}
const ready = () => [...painters].filter(([, p]) => p.due && (!p.section || !running || inSight.has(p.section)));
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
  for (const [name, p] of turn) p.due = false, painters.delete(name), painters.set(name, p), p.draw();
}
function painter(name, draw, section) { painters.set(name, {draw, section, due: false}); }
function repaint() { palette = null; painters.forEach((p, name) => paint(name)); }
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
addEventListener('resize', repaint);
function paper(printing) {
  document.documentElement.classList.toggle('printing', printing);
  repaint();
  for (let due = [...painters]; due.length; due = [...painters].filter(([, p]) => p.due)) draw(due);
}
addEventListener('beforeprint', () => paper(true));
addEventListener('afterprint', () => paper(false));

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
  constructor() { this.x = []; this.y = []; this.every = 1; this.count = 0; }
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

// Curves with axes. lines: [{x, y, colour, width, dots}]; across, up: {from, to, text, room} of an axis; goal: a dashed line.
function drawChart(canvas, lines, across, up, goal) {
  const w = canvas.clientWidth, h = canvas.clientHeight, c = clear(canvas, w, h), p = colours(), marks = [0, .25, .5, .75, 1];
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
  const share = (axis, s) => axis.from + (axis.to - axis.from) * s;
  c.font = '12px system-ui, sans-serif', c.lineJoin = 'round';
  for (const s of marks) {
    level(share(up, s), 'line');
    c.fillStyle = p.faint, c.textBaseline = 'middle', c.textAlign = 'right';
    c.fillText(up.text(share(up, s)), left - 6, Y(share(up, s)));
    c.textBaseline = 'bottom', c.textAlign = {0: 'left', 1: 'right'}[s] || 'center';
    c.fillText(across.text(share(across, s)), X(share(across, s)), h - 2);
  }
  c.save(), c.beginPath(), c.rect(left, head - 4, w - left, bottom - head + 8), c.clip();
  c.setLineDash([4, 4]), level(goal, 'faint'), c.setLineDash([]);
  for (const {x, y, colour, width, dots} of lines) {
    draw(x, y, colour, width);
    if (dots && x.length < 60) x.forEach((x, i) => { c.beginPath(), c.arc(X(x), Y(y[i]), 3, 0, 7), c.fill(); });
  }
  c.restore();
}

// A tensor as rows and columns; a scalar and a vector have one row.
function grid({shape, values}) {
  const columns = shape.length ? shape[shape.length - 1] : 1;
  return {rows: columns ? values.length / columns : 0, columns, values};
}

// An image of m: {rows, columns, values}, a pixel for each element: above zero blue, below zero ochre, as opaque as its share
// of `top`. The next call overwrites it.
const scratch = make('canvas');
function imageOf({rows, columns, values}, top) {
  if (scratch.width !== columns || scratch.height !== rows) scratch.width = columns, scratch.height = rows;
  const c = scratch.getContext('2d'), image = c.createImageData(columns, rows), {shade, minus} = colours();
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < values.length; i++) {
    const v = values[i], share = Number.isFinite(v) && top ? Math.min(1, Math.abs(v) / top) : 0;
    pixels[i] = (v < 0 ? minus : shade) | 255 * share << 24;
  }
  c.putImageData(image, 0, 0);
  return scratch;
}

// A heat map of m with labels and marks, its name in the caption before it. -infinity is crossed out, a zero gets a dot.
// Sets what costs a layout, and returns the drawing, which can have its own frame. A map that `grows` never shrinks.
// o: {name, shape, unit, cell, high, grows, top, labels: {rows, columns}, mark: {row, column, cell}, numbers}
function heatMap(canvas, m, o) {
  const {cell, high, mark = {}, labels: {rows, columns} = {}} = o, [width, height] = o.grows && canvas.size || [0, 0];
  const left = rows ? 6 + 9 * Math.min(7, Math.max(...rows.map(wide))) : 0, above = columns ? 20 : 0;
  const w = left + m.columns * cell, h = above + m.rows * high, size = [Math.max(width, w), Math.max(height, h)];
  Object.assign(canvas, {left, above, cell, high, size, shows: m, marked: mark});
  write(canvas.previousSibling, `${o.name} [${o.shape.join(' × ')}]${o.unit || ''}`);
  const label = t('matrix', o.name, m.rows, m.columns) + (canvas.tabIndex < 0 ? '' : t('matrix_keys'));
  attributes(canvas, {'aria-label': label, style: `width: ${size[0]}px; height: ${size[1]}px`});
  return () => {
    const p = colours(), c = clear(canvas, ...size);
    let top = o.top || 0;
    if (!top) for (const v of m.values) if (Number.isFinite(v)) top = Math.max(top, Math.abs(v));
    c.fillStyle = p.panel, c.fillRect(left, above, w - left, h - above);
    c.imageSmoothingEnabled = false;
    c.drawImage(imageOf(m, top), left, above, w - left, h - above);
    c.textBaseline = 'middle', c.textAlign = 'center';
    c.font = Math.min(13, cell / 3.4) + 'px ui-monospace, monospace';
    const cells = f => m.values.forEach((v, i) => {
      f(left + i % m.columns * cell, above + Math.floor(i / m.columns) * high, v, i);
    });
    const stroke = (colour, width, path) => {
      c.strokeStyle = colour, c.lineWidth = width, c.beginPath();
      cells(path);
      c.stroke();
    };
    stroke(p.faint, 1, (x, y, v) => { if (!Number.isFinite(v)) c.moveTo(x + 2, y + high - 2), c.lineTo(x + cell - 2, y + 2); });
    if (cell >= 12) stroke(p.line, 1, (x, y) => c.rect(x + .5, y + .5, cell - 1, high - 1));
    if (!o.numbers) stroke(p.ink, 1, (x, y, v) => { if (!v) c.rect(x + cell / 2 - .5, y + high / 2 - .5, 1, 1); });
    c.fillStyle = p.ink;
    if (o.numbers) cells((x, y, v) => c.fillText(o.numbers(v), x + cell / 2, y + high / 2));
    c.font = '14px ui-monospace, monospace', c.fillStyle = p.faint;
    if (columns && cell >= 9) columns.forEach((t, j) => c.fillText(short(t, cell / 9), left + (j + .5) * cell, above / 2));
    c.textAlign = 'right', c.font = Math.min(14, high + 2) + 'px ui-monospace, monospace';
    if (rows) rows.forEach((r, i) => c.fillText(short(r), left - 5, above + (i + .5) * high));
    c.strokeStyle = p.accent, c.lineWidth = 2;
    if (mark.row >= 0) c.strokeRect(left + 1, above + mark.row * high, w - left - 2, high);
    if (mark.column >= 0) c.strokeRect(left + mark.column * cell, above + 1, cell, h - above - 2);
    if (mark.cell) {
      c.lineWidth = 3, c.strokeStyle = p.ink;
      c.strokeRect(left + mark.cell[1] * cell + 1, above + mark.cell[0] * high + 1, cell - 2, high - 2);
    }
  };
}
const wide = s => [...short(s)].reduce((n, c) => n + (c > '\u2000' ? 1.7 : 1), 0);
function short(s, most = 7) {
  const c = [...s.replace(/\n/g, '⏎').replace(/ /g, '␣').replace(/[\u0590-\u08ff]$/, '$&\u200e')]; // then on to the right
  return c.length > most ? c.slice(0, Math.max(1, most - 1)).join('') + (most > 2 ? '…' : '') : c.join('');
}
// A token as a reader sees it.
const MARKS = {'<begin>': '▷', '<end>': '■', '<pad>': '·'}, mark = (token, most) => MARKS[token] || short(token, most);

// Lets arrow keys and pointer, or with `clicks` only its click, choose a cell of a heat map: choose(row, column).
function choosable(canvas, size, choose, clicks) {
  let at = [0, 0];
  const go = (i, j) => {
    const {rows, columns} = size();
    at = [Math.max(0, Math.min(rows - 1, i)), Math.max(0, Math.min(columns - 1, j))];
    choose(...at);
  };
  const point = e => {
    const box = canvas.getBoundingClientRect(), {left, above, cell, high} = canvas;
    if (cell) go(Math.floor((e.clientY - box.top - above) / high), Math.floor((e.clientX - box.left - left) / cell));
  };
  canvas.addEventListener('pointermove', e => { if (e.pointerType === 'mouse' && !clicks) point(e); });
  canvas.addEventListener('pointerdown', point);
  const keys = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  canvas.addEventListener('keydown', e => {
    const d = keys[e.key];
    if (d && !e.ctrlKey && !e.metaKey && !e.altKey) e.preventDefault(), go(at[0] + d[0], at[1] + d[1]);
  });
  canvas.tabIndex = 0;
  return (i, j) => { at = [i, j]; };
}

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
