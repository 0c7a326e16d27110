// Look: attention maps of all heads, and lines from a token to the tokens that it attends to.
'use strict';
const off = new Set(); // heads that are switched off, as the worker calls them
const switches = () => ({mask: $('mask').checked, positions: $('positions').checked, off: [...off]});
(() => {
  const KINDS = ['encoder', 'decoder', 'cross'];
  let found = null;          // the worker's last answer
  let chosen = null;        // the map under the pointer or with the focus; null: the mean of all heads
  let token = null;         // {side, i} under the pointer or with the focus; null: all tokens
  const WIDTHS = 10;        // of lines, by weight: one path holds all lines of a width

  const renewLook = reading(async text => {
    found = await ask('attention', {text, ...switches()});
    for (const m of found.maps) m.value = `${m.name} ${m.head}`;
    paintMaps(), paint('tokens'), paint('writes'), paint('lines');
    if (off.size) compare();
  });
  viewers.push({section: 'look', renew: renewLook, shape: () => { found = null, off.clear(), choose(null); }});

  // Answer and exact share with all heads, and without those that are switched off.
  const compare = reading(async text => {
    const says = [];
    if (!off.size) return;
    for (const without of [[], [...off]]) {
      const {answer, wanted} = await askAnswer({text, more: 30, ...switches(), off: without});
      const r = model.steps ? await ask('evaluate', {rows: 128, ...switches(), off: without}) : {};
      const share = r[measure()];
      says.push(' ', t(without.length ? 'off_without' : 'off_with'), ' ', ...marked({answer, wanted}),
                share === undefined ? '' : `, ${t(measure())} ${percent(share)}.`);
    }
    if (!off.size) return;
    const names = KINDS.map(kind => [kind, mapsOf(kind).filter(m => off.has(m.value))]).filter(([, maps]) => maps.length)
      .map(([kind, maps]) => [t('kind_' + kind), ...maps.map(m => headName(m.layer, m.head))].join(', '));
    $('off-says').replaceChildren(t('off', names.join('; ')), ...says);
    if (running) await rest(500);
  });
  function flip(value) {
    off.has(value) ? off.delete(value) : off.add(value);
    if (!off.size) $('off-says').textContent = '';
    paintMaps(), answered();
  }

  const headName = (l, h) => Math.max(...model.layers) > 1 ? t('layer_head', l + 1, h + 1) : t('only_head', h + 1);
  const choose = value => { chosen = value; paintMaps(), paint('tokens'), paint('lines'); };
  for (const id of ['mask', 'positions']) $(id).addEventListener('change', answered);

  const mapsOf = kind => found.maps.filter(m => m.kind === kind);
  // The weights of the chosen head, or the mean of all: {rows, columns, values}, or null.
  function weights(kind) {
    const maps = mapsOf(kind).filter(m => chosen === null || m.value === chosen);
    if (!maps.length) return null;
    const values = new Float32Array(maps[0].values.length);
    for (const m of maps) m.values.forEach((v, i) => { values[i] += v / maps.length; });
    return {rows: maps[0].rows, columns: maps[0].columns, values};
  }

  // ---- The maps ----

  const paintMaps = () => KINDS.forEach(kind => paint('maps ' + kind));
  for (const kind of KINDS) painter('maps ' + kind, () => drawMaps($('maps-' + kind), kind), 'look');
  function drawMaps(box, kind) {
    const maps = found && model ? mapsOf(kind) : [], key = language + ' ' + maps.map(m => `${m.layer} ${m.head}`).join();
    if (box.dataset.key !== key) {
      box.dataset.key = key;
      const heads = make('div', {className: 'heads'}, ...maps.map(m => {
        const name = headName(m.layer, m.head), {value} = m;
        const b = button(name, () => flip(value), {role: 'switch', 'aria-label': t('switch_head', t('kind_' + kind), name)});
        b.prepend(make('i'));
        for (const event of ['pointerenter', 'focus']) b.addEventListener(event, () => choose(value));
        for (const event of ['pointerleave', 'blur']) b.addEventListener(event, () => choose(null));
        return b;
      }), make('canvas', {ariaHidden: 'true'}));
      heads.style.setProperty('--heads', Math.max(4, maps.length));
      box.replaceChildren(...maps.length ? [make('h3', {}, t('kind_' + kind)), heads] : []);
    }
    if (!maps.length) return;
    const heads = box.lastChild, {clientWidth: width, lastChild: canvas} = heads, {rows, columns} = maps[0];
    if (heads.width !== width) heads.width = width, heads.places = [...heads.querySelectorAll('i')].map(placeOf);
    const c = clear(canvas, width, heads.clientHeight), row = token && mine(kind) ? token.i : -1;
    const image = imageOf({rows: rows * maps.length, columns, values: maps.flatMap(m => [...m.values])}, 1);
    c.imageSmoothingEnabled = false;
    maps.forEach(({value}, n) => {
      const [x, y, w, h] = heads.places[n], alpha = off.has(value) ? .25 : 1;
      attributes(heads.children[n], {'aria-checked': !off.has(value)});
      const draw = (strength, first, count) => {
        c.globalAlpha = alpha * strength;
        c.drawImage(image, 0, n * rows + first, columns, count, x, y + h * first / rows, w, h * count / rows);
      };
      draw(row < 0 ? 1 : .25, 0, rows);
      if (row >= 0) draw(1, row, 1);
    });
  }
  const placeOf = x => [x.offsetLeft, x.offsetTop, x.offsetWidth, x.offsetHeight];
  const mine = kind => kind === 'encoder' ? token.side === 'source' : token.side === 'target';

  // ---- The lines ----

  // Places of the tokens, from left to right: at.source, if there is a source, above at.target; and the size of it all.
  function places() {
    const width = $('lines').parentElement.clientWidth, {source, target} = found, n = Math.max(source.length + 1, target.length);
    const step = Math.min(64, (width - 8) / n), arc = Math.min(60, step * n / 4 + 20); // the height of the arcs
    const left = (width - step * (n - 1)) / 2;
    const row = (labels, y) => labels.map((_, i) => ({x: left + i * step, y}));
    const at = source.length ? {source: row(source, arc + 50), target: row(target, arc + 190)} : {target: row(target, arc + 50)};
    return {at, width, box: step * .82, height: 2 * arc + (source.length ? 230 : 80)};
  }

  const elements = {source: [], target: []}; // of the tokens that were ever drawn
  function makeToken(side, i) {
    const g = make('g', {tabindex: 0, role: 'button'}, make('rect', {y: -16, height: 32, rx: 4}), make('text', {y: 2}),
                   make('text', {y: 13, class: 'place'}, i), make('text', {y: 34, class: 'writes'}));
    const point = at => { token = at; paint('lines'), paintMaps(); };
    for (const event of ['pointerenter', 'pointerdown', 'focus']) g.addEventListener(event, () => point({side, i}));
    g.addEventListener('blur', () => point(null));
    g.addEventListener('pointerleave', e => {
      if (e.pointerType === 'mouse' && document.activeElement !== g) point(null);
    });
    return g;
  }

  for (const side of ['source', 'target']) $('row-' + side).append(make('text', {class: 'name', x: 2}));
  $('links').append(...Array.from({length: WIDTHS}, (_, n) => {
    const weight = (n + .5) / WIDTHS;
    return make('path', {'stroke-width': .5 + 5 * weight, 'stroke-opacity': Math.min(1, .12 + weight)});
  }));

  painter('tokens', () => {
    $('lines').toggleAttribute('hidden', !found || !model);
    if (!found || !model) return;
    const {at, width, box, height} = places();
    attributes($('lines'), {viewBox: `0 0 ${width} ${height}`, 'aria-label': t('lines_label')});
    for (const side of ['source', 'target']) {
      const row = $('row-' + side), labels = found[side], name = model.lm ? 'row_text' : 'row_' + side;
      write(row.firstChild, labels.length ? t(name) : '');
      attributes(row.firstChild, {y: side === 'target' && at.source ? height - 4 : 14});
      labels.forEach((label, i) => {
        const g = elements[side][i] ??= makeToken(side, i), {x, y} = at[side][i], says = t('token_' + side, i, label);
        attributes(g, {transform: `translate(${x} ${y})`, 'aria-label': says});
        attributes(g.firstChild, {x: -box / 2, width: box});
        write(g.children[1], mark(label, 3));
        if (!g.parentNode) row.append(g);
      });
      elements[side].slice(labels.length).forEach(g => g.remove());
    }
  }, 'look');
  painter('writes', () => {
    if (!found || !model) return;
    found.target.forEach((_, i) => {
      const g = elements.target[i];
      if (g) write(g.lastChild, model.lm ? '' : '→ ' + mark(found.next[i], 3));
    });
    const notes = [];
    for (const id of ['mask', 'positions'])
      if (!$(id).checked) notes.push(t($(id).disabled ? 'hint_' + choice[id] : id + '_off'));
    write($('switch-says'), notes.join(' '));
  }, 'look');

  // A line from query a to key b; up: an arc between tokens of one row runs above it, else below what is written there.
  function link(a, b, up) {
    const far = Math.abs(a.x - b.x), sign = up ? -1 : 1, y = a.y + (up ? -17 : 40), high = up ? 1.4 : 1.1;
    if (a.y > b.y) return `M${a.x} ${a.y - 17} L${b.x} ${b.y + 17}`;
    if (far) return `M${a.x} ${y} Q${(a.x + b.x) / 2} ${y + high * sign * Math.min(76, far / 2 + 24)} ${b.x} ${y}`;
    return `M${a.x - 8} ${y} c-14 ${30 * sign} 30 ${30 * sign} 16 0`; // to itself
  }

  painter('lines', () => {
    if (!found || !model) return;
    const {at} = places();
    const links = Array(WIDTHS).fill(''), says = [];
    for (const kind of KINDS) {
      const m = weights(kind);
      if (!m) continue;
      const from = kind === 'encoder' ? 'source' : 'target', to = kind === 'decoder' ? 'target' : 'source';
      if (token && token.side !== from) continue;
      for (let i = 0; i < m.rows; i++) {
        if (token && token.i !== i || !token && kind !== 'cross' && !model.lm) continue;
        const row = [...m.values.subarray(i * m.columns, (i + 1) * m.columns)];
        const strong = row.map((w, j) => [w, j]).filter(([w]) => w > .03).sort((a, b) => b[0] - a[0]);
        const up = kind === 'encoder' || model.lm;
        for (const [w, j] of strong)
          links[Math.min(WIDTHS - 1, Math.floor(w * WIDTHS))] += link(at[from][i], at[to][j], up);
        const name = ([w, j]) => `${from === to && i === j ? t('itself') : `“${mark(found[to][j], 3)}”`} (${j}) ${Math.round(w * 100)}\u00a0%`;
        if (token) says.push(t('attends_' + kind, strong.slice(0, 3).map(name).join(', ')));
      }
    }
    links.forEach((d, n) => attributes($('links').children[n], {d}));
    for (const side of ['source', 'target'])
      elements[side].forEach((g, i) => g.classList.toggle('on', Boolean(token) && token.side === side && token.i === i));
    const label = token && found[token.side][token.i];
    const subject = token && token.side === 'target' && !model.lm ? 'token_reads' : 'token_is';
    write($('line-says'), label ? `${t(subject, mark(label, 3), token.i, mark(found.next[token.i] ?? '', 3))} ${says.join('; ')}.`
      : t(model.lm ? 'lines_idle_text' : 'lines_idle'));
  }, 'look');
})();
