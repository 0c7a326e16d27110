// Draws the records that the page holds: JSON lines, as src/tools/run/README.md lists them. A line
// that is cut is left out.
'use strict';

const COLOURS =
    ['#2a78d6', '#d9722a', '#2f9467', '#9a63cc', '#b08a1e', '#c4477f', '#1d93a3', '#808890'];
const MAX_COST = 8;  // nats of the darkest token

// ---- Elements ----

// 'p.faint' is an element and its class; attributes, or none, then children.
function add(create, name, attributes, ...children) {
  const [tag, ...classes] = name.split('.'), element = create(tag);
  if (classes.length) element.setAttribute('class', classes.join(' '));
  const isAttributes = attributes?.constructor === Object;
  for (const [key, value] of isAttributes ? Object.entries(attributes) : []) {
    if (key.startsWith('on'))
      element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false)
      element.setAttribute(key, value);
  }
  const all = isAttributes ? children : [attributes, ...children];
  element.append(...all.flat(Infinity).filter(child => child !== undefined && child !== null));
  return element;
}
const make = (...all) => add(tag => document.createElement(tag), ...all);
const shape = (...all) =>
    add(tag => document.createElementNS('http://www.w3.org/2000/svg', tag), ...all);
const section = (title, ...children) => make('section', make('h2', title), ...children);

const isNumber = value => typeof value === 'number' && Number.isFinite(value);
const count = value => isNumber(value) ? value.toLocaleString('en') : '–';
function number(value) {
  if (!isNumber(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1e4)
    return value.toLocaleString('en', {notation: 'compact', maximumFractionDigits: 1});
  return size && size < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(4));
}
const percent = value => isNumber(value) ? (100 * value).toFixed(2) + ' %' : '–';
function time(seconds) {
  if (!isNumber(seconds)) return '–';
  const s = Math.round(seconds), two = n => String(n).padStart(2, '0');
  return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}` :
                    `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

// ---- Records ----

function read(element) {
  const lines =
      {run: [], step: [], evaluation: [], sample: [], answer: [], costs: [], attention: []};
  for (const text of element.textContent.split('\n')) {
    let line;
    try {
      line = JSON.parse(text);
    } catch {
      continue;
    }
    if (line && Object.hasOwn(lines, line.event) && isNumber(line.step))
      lines[line.event].push(line);
  }
  const head = lines.run.at(-1) ?? {}, last = lines.evaluation.at(-1) ?? {};
  const isText = head.characters_per_token > 0;
  const texts = [
    ...lines.sample.map(line => line.text),
    ...lines.costs.map(line => [line.tokens].flat().join(''))
  ];
  return {
    name: element.dataset.name,
    every: +element.dataset.every,
    lines,
    head,
    last,
    isText,
    // The class of a text with indented lines.
    code: texts.some(text => /\n(\t| {2})\s*\S/.test(text)) ? '.code' : '',
    unit: 'nats per ' + (head.unit === 'char' ? 'character' : head.unit),
    shown: loss => isText ? loss / head.characters_per_token : loss,
    shownTraining: loss => isText ? loss / head.training_characters_per_token : loss
  };
}

const points = (lines, value) =>
    lines.map(line => [line.step, value(line)]).filter(([, y]) => isNumber(y));

// The last evaluation judges more rows; a curve has its figures on the rows of the others.
const heldLoss = record =>
    points(record.lines.evaluation, line => record.shown(line.curve_loss ?? line.val_loss));
const trainingLoss = record => points(record.lines.step, line => record.shownTraining(line.loss));

// Means of neighbouring points: at most 120.
function means(all) {
  const width = Math.ceil(all.length / 120), result = [];
  for (let i = 0; i < all.length; i += width) {
    const part = all.slice(i, i + width),
          sum = k => part.reduce((s, p) => s + p[k], 0) / part.length;
    result.push([sum(0), sum(1)]);
  }
  return result;
}

// ---- Charts ----

function ticks(low, high, isLog, max) {
  const result = [];
  if (isLog && high / low >= 10) {
    const factors = high / low > 1e3 ? [1] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      for (const factor of factors) result.push(factor * 10 ** power);
  } else {
    const rough = (high - low) / max, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough);
    for (let i = Math.ceil(low / step); i * step <= high; i++)
      result.push(+(i * step).toPrecision(12));
  }
  return result.filter(tick => tick >= low && tick <= high);
}

// The range of values, a little wider.
function range(values, isLog) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (isLog && value <= 0) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return isLog ? [1, 10] : [0, 1];
  if (isLog) return low < high ? [low / 1.05, high * 1.05] : [low / 2, high * 2];
  const pad = (high - low) * .04 || Math.abs(high) / 2 || 1;
  return [low - (low >= 0 && pad > low ? low : pad), high + pad];
}

// A figure of curves: series are {name, points, colour, isRaw, marked}, levels {name, y}. Dragging
// zooms.
function chart(title, unit, series, levels = [], isSmall = false) {
  const svg = shape('svg.chart', {role: 'img', 'aria-label': title});
  const reading = make('output.reading');
  const log =
      make('button', {type: 'button', 'aria-pressed': 'false', onclick: toggleLog}, 'log scale');
  const whole = make('button', {type: 'button', hidden: '', onclick: () => zoom()}, 'whole run');
  const keys = series.filter(s => !s.isRaw && !isSmall && series.length > 1)
                   .map(s => make('span.key', {style: `--colour: ${s.colour}`}, s.name));
  const figure = make(
      'figure', make('figcaption', make('strong', title), make('span', unit), keys, log, whole),
      svg, reading);
  const all = series.flatMap(s => s.points.map(p => p[0]));
  const full = all.length ?
      [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))] :
      [0, 1];
  if (full[0] === full[1]) full[1]++;
  let [first, last] = full, isLog = false, frame, dragged;

  function toggleLog() {
    isLog = !isLog;
    log.setAttribute('aria-pressed', isLog);
    draw();
  }

  function zoom(from = full[0], to = full[1]) {
    [first, last] = [from, to];
    whole.hidden = from === full[0] && to === full[1];
    draw();
  }

  function place(width, height) {
    const left = 54, right = width - 26, top = 12, bottom = height - 30;
    const seen =
        series.flatMap(s => s.points.filter(([x]) => x >= first && x <= last).map(p => p[1]));
    const [low, high] = range(seen, isLog), scale = isLog ? Math.log : y => y;
    frame = {
      left,
      right,
      top,
      bottom,
      low,
      high,
      x: step => left + (step - first) / (last - first) * (right - left),
      y: value =>
          bottom - (scale(value) - scale(low)) / (scale(high) - scale(low)) * (bottom - top),
      step: x => first + (x - left) / (right - left) * (last - first)
    };
  }

  function drawAxes() {
    const {left, right, bottom, low, high, x, y} = frame;
    for (const tick of ticks(low, high, isLog, isSmall ? 4 : 7)) {
      svg.append(
          shape('line', {x1: left, x2: right, y1: y(tick), y2: y(tick)}),
          shape('text.y', {x: left - 8, y: y(tick) + 4, 'text-anchor': 'end'}, number(tick)));
    }
    for (const tick of ticks(first, last, false, (right - left) / (isSmall ? 60 : 90)))
      svg.append(
          shape('text.x', {x: x(tick), y: bottom + 20, 'text-anchor': 'middle'}, count(tick)));
    svg.append(shape('line', {x1: left, x2: right, y1: bottom, y2: bottom}));
  }

  // A level beyond the axis is named at its edge.
  function drawLevels() {
    const {left, right, top, bottom, low, high, y} = frame;
    const beyond = (sign, names, at) => names.length &&
        svg.append(shape(
            'text.beyond', {x: right, y: at, 'text-anchor': 'end'},
            sign + ' ' + names.map(level => `${level.name} ${number(level.y)}`).join(', ')));
    const inside =
        levels.filter(level => level.y >= low && level.y <= high).sort((a, b) => b.y - a.y);
    beyond('↑', levels.filter(level => level.y > high), top + 6);
    beyond('↓', levels.filter(level => level.y < low), bottom - 6);
    let free = top + 22;
    for (const level of inside) {
      const at = Math.max(y(level.y) - 5, free);
      free = at + 17;
      svg.append(
          shape('line.level', {x1: left, x2: right, y1: y(level.y), y2: y(level.y)}),
          shape(
              'text', {x: right, y: at, 'text-anchor': 'end'}, `${level.name} ${number(level.y)}`));
    }
  }

  function drawSeries() {
    const {x, y} = frame;
    for (const s of series) {
      const seen = s.points.filter(p => p[0] >= first && p[0] <= last && (!isLog || p[1] > 0));
      const path = seen.map(p => `${x(p[0]).toFixed(2)} ${y(p[1]).toFixed(2)}`).join('L');
      const group = shape('g', {style: `color: ${s.colour}`, 'data-series': s.name});
      if (path) group.append(shape('path', {d: 'M' + path, class: s.isRaw ? 'raw' : undefined}));
      if (s.marked && seen.length <= 60)
        for (const p of seen) group.append(shape('circle', {cx: x(p[0]), cy: y(p[1]), r: 3.5}));
      svg.append(group);
    }
  }

  function draw() {
    const width = Math.max(280, figure.clientWidth || 640);
    const height = isSmall ? 190 : Math.max(280, Math.min(460, width * .46));
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.replaceChildren();
    place(width, height);
    drawAxes();
    drawLevels();
    drawSeries();
    reading.textContent = '';
  }

  // The step under the pointer.
  function stepAt(event) {
    const box = svg.getBoundingClientRect(), width = svg.viewBox.baseVal.width;
    return Math.max(
        first, Math.min(last, frame.step((event.clientX - box.left) * width / box.width)));
  }

  const nearest = (s, step) =>
      s.points.reduce((best, p) => Math.abs(p[0] - step) < Math.abs(best[0] - step) ? p : best);

  function tell(event) {
    const step = stepAt(event), {top, bottom, x} = frame;
    const isMean = s => series.some(raw => raw.of === s);
    const told = series.filter(s => s.points.length && !isMean(s));
    if (!told.length) return;
    const at = nearest(told[0], step)[0];
    svg.querySelectorAll('.cursor, rect').forEach(old => old.remove());
    svg.append(shape('line.cursor', {x1: x(at), x2: x(at), y1: top, y2: bottom}));
    if (dragged !== undefined) {
      const from = Math.min(x(dragged), x(step)), to = Math.max(x(dragged), x(step));
      svg.append(shape('rect', {x: from, y: top, width: to - from, height: bottom - top}));
    }
    reading.textContent = `step ${count(at)}` +
        told.map(s => {
              const [where, value] = nearest(s, at);
              return ` · ${s.name} ${number(value)}` + (where === at ? '' : ` at ${count(where)}`);
            })
            .join('');
  }

  function release(event) {
    const from = dragged, to = stepAt(event);
    dragged = undefined;
    if (from !== undefined && Math.abs(frame.x(to) - frame.x(from)) > 8)
      zoom(Math.min(from, to), Math.max(from, to));
    else
      tell(event);
  }

  svg.addEventListener('pointerdown', event => {
    dragged = stepAt(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener('pointermove', tell);
  svg.addEventListener('pointerup', release);
  svg.addEventListener('pointercancel', () => {
    dragged = undefined;
  });
  svg.addEventListener(
      'pointerleave', () => svg.querySelectorAll('.cursor').forEach(old => old.remove()));
  let drawn;
  new ResizeObserver(() => {
    if (figure.clientWidth !== drawn) draw();
    drawn = figure.clientWidth;
  }).observe(figure);
  return figure;
}

// The value of each step, faint, and means; a reading tells the step itself.
function smooth(name, all, colour) {
  const mean = {name: all.length > 120 ? name + ', mean' : name, points: means(all), colour};
  return all.length > 120 ? [{name, points: all, colour, isRaw: true, of: mean}, mean] : [mean];
}

function curves(record) {
  const {lines, head, last, shown} = record;
  const levels =
      Object.entries(head.yardsticks ?? {}).map(([name, loss]) => ({name, y: shown(loss)}));
  const one = (title, unit, value, from = lines.step) => {
    const all = points(from, value), name = title.toLowerCase(), colour = 'var(--accent)';
    const series = from === lines.step ? smooth(name, all, colour) :
                                         [{name, points: all, colour, marked: true}];
    return all.length > 1 ? chart(title, unit, series, [], true) : undefined;
  };
  const series = [
    ...smooth('training', trainingLoss(record), 'var(--quiet)'),
    {name: 'held-out', points: heldLoss(record), colour: 'var(--accent)', marked: true}
  ];
  const judged = lines.evaluation[0]?.val_rows, isPart = judged < last.val_rows;
  const notes = [
    head.remark, record.every > 1 ? `One step of ${record.every} is drawn.` : undefined,
    isPart ? `Each held-out point judges the same ${count(judged)} rows, the last evaluation ` +
            `${count(last.val_rows)}: ${number(shown(last.val_loss))} above.` :
             undefined
  ];
  return section(
      'Training', make('p.faint', notes.filter(Boolean).join(' ')),
      chart('Loss', record.unit, series, levels),
      make(
          'div.small',
          one('Held-out accuracy', 'share of tokens',
              line => line.curve_accuracy ?? line.val_accuracy, lines.evaluation),
          one('Learning rate', '', line => line.learning_rate),
          one('Gradient norm', '', line => line.grad_norm),
          one('Speed', 'tokens per second', line => line.tokens_per_second)));
}

// ---- Text, answers, costs ----

// A control that chooses one of the steps, at first the last.
function chooser(steps, show) {
  const said = make('output'), last = steps.length - 1;
  const slider = make(
      'input',
      {type: 'range', min: 0, max: last, value: last, 'aria-label': 'step', oninput: update});
  function update() {
    const step = steps[+slider.value];
    said.textContent = 'step ' + count(step);
    slider.setAttribute('aria-valuetext', said.textContent);
    show(step);
  }
  update();
  return make('div.controls', {hidden: last < 1 ? '' : undefined}, slider, said);
}

const stepsOf = lines => [...new Set(lines.map(line => line.step))];

function sampleText(line) {
  return [make('b', line?.prompt ?? ''), line?.text ?? ''];
}

function samples(record) {
  const lines = record.lines.sample;
  if (!lines.length) return undefined;
  const text = make('p.text.sample' + record.code);
  const show = step =>
      text.replaceChildren(...sampleText(lines.findLast(line => line.step === step)));
  return section('Generated text', text, chooser(stepsOf(lines), show));
}

// An answer; characters that differ from the right one are marked.
function answerCell(line) {
  const wanted = [...line.wanted ?? ''], parts = [];
  [...line.answer ?? ''].forEach(
      (character, i) => parts.push(character === wanted[i] ? character : make('i', character)));
  return make(
      'td', parts.length ? parts : '–',
      line.right ? make('span.right', {title: 'right'}, ' ✓') : undefined);
}

// The answers to a prompt over time: equal neighbours are one row, and a long history shows its
// first and last rows.
function history(lines) {
  const rows = [];
  for (const line of lines) {
    const row = rows.at(-1);
    if (row && row.line.answer === line.answer)
      row.to = line.step;
    else
      rows.push({line, from: line.step, to: line.step});
  }
  const shown = rows.length > 8 ? [...rows.slice(0, 4), undefined, ...rows.slice(-3)] : rows;
  const steps = row =>
      row.from === row.to ? count(row.from) : `${count(row.from)} – ${count(row.to)}`;
  return make(
      'table', make('caption', lines[0].given, make('span.faint', '  →  '), lines[0].wanted),
      shown.map(
          row => row ? make('tr', make('th', {scope: 'row'}, steps(row)), answerCell(row.line)) :
                       make('tr', make('th', '⋮'), make('td'))));
}

function answers(record) {
  const lines = record.lines.answer;
  if (!lines.length) return undefined;
  const indices = [...new Set(lines.map(line => line.index))];
  return section(
      'Answers over time',
      make(
          'p.faint',
          'Held-out questions with the right answer, and below each what the model answered at ' +
              'which steps.'),
      make('div.answers', indices.map(i => history(lines.filter(line => line.index === i)))));
}

// A text in shades of its loss.
function costText(line) {
  const tokens = Array.isArray(line?.tokens) ? line.tokens : [];
  return tokens.map((token, i) => {
    const cost = line.nats?.[i], shown = String(token).replace(/\n/g, '↵\n');
    if (!isNumber(cost)) return shown;
    const style = `--loss: ${Math.min(1, Math.max(0, cost) / MAX_COST)}`;
    return make('span', {style, title: `${cost.toFixed(2)} nats`}, shown);
  });
}

function costs(record) {
  const lines = record.lines.costs;
  if (!lines.length) return undefined;
  const indices = [...new Set(lines.map(line => line.index))];
  const texts = indices.map(() => make('pre.costs' + record.code));
  const at = (index, step) => lines.findLast(line => line.index === index && line.step === step);
  const show = step =>
      texts.forEach((text, k) => text.replaceChildren(...costText(at(indices[k], step))));
  return section(
      'What each token cost',
      make(
          'p.faint',
          `The darker a token, the more it cost: none is 0 nats, the darkest ${MAX_COST} or more.` +
              ' The text is held out from training.'),
      chooser(stepsOf(lines), show), texts);
}

// ---- Attention ----

// "encoder.layers.0.self_attn" in words; a language model has one side.
function moduleName(name, isText) {
  const [side, , layer, kind] = String(name).split('.');
  const kinds = {self_attn: 'self-attention', multihead_attn: 'cross-attention'};
  return `${isText ? '' : side + ' '}layer ${+ layer + 1}: ${kinds[kind] ?? kind}`;
}

function cells(weights) {
  return weights.flatMap(
      (row, i) => row.map(
          (w, k) =>
              w > 0 ? shape('rect', {x: k, y: i, width: 1, height: 1, 'fill-opacity': w}) : null));
}

function frameOf(weights) {
  return shape('rect.frame', {width: weights[0].length, height: weights.length});
}

// The map of a head with its tokens; the pointer reads a cell.
function largeMap(line, head, reading) {
  const weights = line.weights[head], rows = weights.length, columns = weights[0].length;
  const widest = labels => Math.max(...labels.map(label => [...label].length)) * .45 + .5;
  const left = widest(line.rows), top = widest(line.columns);
  const text = (x, y, label, turn) => shape(
      'text', {
        'text-anchor': turn ? 'start' : 'end',
        transform: `translate(${x} ${y})${turn && top > 1 ? ' rotate(-90)' : ''}`
      },
      label);
  const svg = shape(
      'svg.map', {
        role: 'img',
        'aria-label': moduleName(line.module),
        viewBox: `${- left} ${- top} ${columns + left + .2} ${rows + top + .2}`
      },
      cells(weights), frameOf(weights),
      line.rows.map((label, i) => text(-.3, i + .75, label, false)),
      line.columns.map((label, k) => text(top > 1 ? k + .75 : k + .25, -.3, label, true)));
  svg.addEventListener('pointermove', event => {
    const p =
        new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const w = weights[Math.floor(p.y)]?.[Math.floor(p.x)];
    reading.textContent = isNumber(w) ?
        `“${line.rows[Math.floor(p.y)]}” attends to “${line.columns[Math.floor(p.x)]}”: ${w}` :
        '';
  });
  return svg;
}

function attention(record) {
  const lines = record.lines.attention.filter(line => Array.isArray(line.weights));
  if (!lines.length) return undefined;
  const large = make('div'), heads = make('div'), reading = make('output.reading');
  const examples = [...new Set(lines.map(line => line.example))];
  const name = make('h3'), isText = !lines.some(line => String(line.module).startsWith('decoder'));
  let step = lines.at(-1).step, example = examples[0],
      chosen = {module: lines.at(-1).module, head: 0};

  function update() {
    const now = lines.filter(line => line.step === step && line.example === example);
    const line = now.find(l => l.module === chosen.module) ?? now[0];
    if (!line) return;
    name.textContent = `${moduleName(line.module, isText)}, head ${chosen.head + 1}`;
    large.replaceChildren(largeMap(line, chosen.head, reading));
    reading.textContent = 'Rows attend to columns.';
    heads.replaceChildren(...now.flatMap(
        l =>
            [make('h3', moduleName(l.module, isText)),
             make(
                 'div.heads',
                 l.weights.map(
                     (weights, head) => make(
                         'button', {
                           type: 'button',
                           title: `head ${head + 1}`,
                           'aria-pressed': l.module === line.module && head === chosen.head,
                           onclick: () => choose(l.module, head)
                         },
                         shape(
                             'svg.map', {viewBox: `0 0 ${weights[0].length} ${weights.length}`},
                             cells(weights), frameOf(weights)))))]));
  }
  function choose(module, head) {
    chosen = {module, head};
    update();
  }

  const select = make(
      'select', {
        'aria-label': 'held-out row',
        hidden: examples.length < 2 ? '' : undefined,
        onchange: () => {
          example = examples[select.selectedIndex];
          update();
        }
      },
      examples.map((e, i) => make('option', `held-out row ${i + 1}`)));
  const controls = chooser(stepsOf(lines), chosenStep => {
    step = chosenStep;
    update();
  });
  controls.hidden = controls.hidden && examples.length < 2;
  controls.append(select);
  return section('Attention', controls, make('div.maps', make('div', name, large, reading), heads));
}

// ---- Pages ----

const term = (name, value) => make('div', make('dt', name), make('dd', value));

// Results as [name, text], the same on the page of a run and of several.
function results(record) {
  const {last, head, isText, lines} = record, step = lines.step.at(-1)?.step ?? last.step;
  return [
    [
      isText ? 'held-out ' + record.unit : 'held-out loss',
      isNumber(last.val_loss) ? record.shown(last.val_loss).toFixed(4) : '–'
    ],
    ['held-out ' + record.unit.replace('nats', 'bits'), number(last.val_bits_per_char)],
    ['held-out accuracy', percent(last.val_accuracy)], ['exact answers', percent(last.val_exact)],
    ['parameters', count(head.parameters)], ['steps', count(step)],
    ['training tokens', count(last.tokens)], ['time', time(last.seconds)]
  ];
}

function runPage(record) {
  const {head, last, lines, name} = record, step = lines.step.at(-1)?.step ?? 0;
  const state = last.final ? `Ended after step ${count(step)} of ${count(head.steps)}.` :
                             `In training: step ${count(step)} of ${count(head.steps)}.`;
  const warning = lines.evaluation.findLast(line => line.warning)?.warning;
  document.title = `${head.task}: ${name}`;
  return [
    make(
        'header', make('h1', head.task), make('p', `${name}. ${state}`),
        head.text ? make('p', head.text) : undefined,
        warning ? make('p.warning', warning) : undefined,
        make(
            'dl.figures',
            results(record).filter(([, value]) => value !== '–').map(r => term(...r)))),
    samples(record), curves(record), answers(record), costs(record), attention(record),
    section(
        'Settings',
        make(
            'dl.settings',
            Object.entries(head.settings ?? {}).map(([key, value]) => term(key, String(value))))),
    section('Repeat this run', make('pre.command', head.command))
  ];
}

function comparePage(records) {
  const keys = [...new Set(records.flatMap(r => Object.keys(r.head.settings ?? {})))];
  const setting = (record, key) => String(record.head.settings?.[key] ?? '–');
  const differing =
      keys.filter(key => records.some(r => setting(r, key) !== setting(records[0], key)));
  const isSame = records.every(r => r.unit === records[0].unit);
  const unit = isSame ? records[0].unit : 'nats per character, byte or token';
  const row = (name, values) =>
      make('tr', make('th', {scope: 'row'}, name), values.map(value => make('td', value)));
  const outcome = records.map(results), colour = i => COLOURS[i % COLOURS.length];
  const shownRows = outcome[0].map((_, k) => k).filter(k => outcome.some(o => o[k][1] !== '–'));
  document.title = 'Runs compared';
  return [
    make(
        'header', make('h1', 'Runs compared'),
        make('p', 'Each evaluation judges the same held-out rows of its run.')),
    section(
        'Results, and settings that differ',
        make(
            'div.table',
            make(
                'table',
                make(
                    'thead',
                    make(
                        'tr', make('th'),
                        records.map(
                            (r, i) => make(
                                'th', {scope: 'col'},
                                make('span.key', {style: `--colour: ${colour(i)}`}, r.name))))),
                make(
                    'tbody', shownRows.map(k => row(outcome[0][k][0], outcome.map(o => o[k][1]))),
                    differing.map(key => row(key, records.map(r => setting(r, key)))))))),
    section(
        'Curves',
        chart(
            'Held-out loss', unit,
            records.map(
                (r, i) => ({name: r.name, points: heldLoss(r), colour: colour(i), marked: true}))),
        chart(
            'Training loss', unit,
            records.flatMap((r, i) => smooth(r.name, trainingLoss(r), colour(i))))),
    records.some(r => r.lines.sample.length) ?
        section(
            'Generated text',
            records.map(
                r =>
                    [make('h3', r.name),
                     make('p.text' + r.code, sampleText(r.lines.sample.at(-1)))])) :
        undefined
  ];
}

const records = [...document.querySelectorAll('script[data-name]')].map(read);
const page = records.length > 1 ? comparePage(records) : runPage(records[0]);
document.getElementById('main').append(...page.filter(Boolean));
