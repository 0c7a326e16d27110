// Look: attention maps of all heads, and lines from a token to the tokens that it attends to.
'use strict';
(() => {
  const KINDS = ['encoder', 'decoder', 'cross'];
  let seen = null;          // the worker's last answer
  let chosen = null;        // the map under the pointer or with the focus; null: the mean of all heads
  const off = new Set();    // heads that are switched off, as the worker calls them
  let token = null;         // {side, i} under the pointer or with the focus; null: all tokens
  let drawn = '', at = {};  // the tokens drawn, and the centres of their boxes

  const renewLook = latest(async () => {
    const mine = model, text = model && typed();
    if (!text) return;
    const r = await ask('attention', {text, mask: $('mask').checked, positions: $('positions').checked, off: [...off]});
    if (mine !== model) return;
    seen = r;
    for (const m of r.maps) m.value = `${m.name} ${m.head}`;
    paint('maps'), paint('lines');
    if (off.size) compare();
  });
  viewers.push({section: 'look', renew: renewLook, shape: () => { seen = null, off.clear(), choose(null); }});

  // Answer and exact share with all heads, and without those that are switched off.
  const compare = latest(async () => {
    const mine = model, text = model && typed(), says = [];
    if (!text || !off.size) return;
    for (const without of [[], [...off]]) {
      const {answer, wanted} = await ask('answer', {text, more: 30, off: without});
      const r = model === mine && model.steps ? await ask('evaluate', {rows: 128, off: without}) : {};
      const share = mine.lm ? r.accuracy : r.exact;
      says.push(' ', t(without.length ? 'off_without' : 'off_with'), ' ', ...marked({answer, wanted}),
                share === undefined ? '' : `, ${t(mine.lm ? 'accuracy' : 'exact')} ${percent(share)}.`);
    }
    if (mine !== model || !off.size) return;
    const names = seen.maps.filter(m => off.has(m.value)).map(m => `${t('kind_' + m.kind)}, ${headName(m.layer, m.head)}`);
    $('off-says').replaceChildren(t('off', names.join('; ')), ...says);
    if (running) await rest(500);
  });
  function flip(value) {
    off.has(value) ? off.delete(value) : off.add(value);
    if (!off.size) $('off-says').textContent = '';
    paint('maps'), renewLook();
  }

  const headName = (l, h) => Math.max(...model.layers) > 1 ? t('layer_head', l + 1, h + 1) : t('only_head', h + 1);
  const choose = value => { chosen = value; paint('maps'), paint('lines'); };
  for (const id of ['mask', 'positions']) $(id).addEventListener('change', renewLook);

  const mapsOf = kind => seen.maps.filter(m => m.kind === kind);
  // The weights of the chosen head, or the mean of all: {rows, columns, values}, or null.
  function weights(kind) {
    const maps = mapsOf(kind).filter(m => chosen === null || m.value === chosen);
    if (!maps.length) return null;
    const values = new Float32Array(maps[0].values.length);
    for (const m of maps) m.values.forEach((v, i) => { values[i] += v / maps.length; });
    return {rows: maps[0].rows, columns: maps[0].columns, values};
  }

  // ---- The maps ----

  painter('maps', () => {
    const box = $('maps');
    if (!seen || !model) return box.replaceChildren(), box.dataset.key = '';
    const key = language + ' ' + seen.maps.map(m => m.kind + m.layer + m.head).join();
    if (box.dataset.key !== key) {
      box.dataset.key = key;
      box.replaceChildren();
      for (const kind of KINDS) {
        const maps = mapsOf(kind);
        if (!maps.length) continue;
        const heads = make('div', {className: 'heads'}, ...maps.map(m => {
          const name = headName(m.layer, m.head), {value} = m;
          const b = button(name, () => flip(value), {'aria-label': t('switch_head', t('kind_' + kind), name)});
          b.prepend(make('canvas', {ariaHidden: 'true'}));
          for (const event of ['pointerenter', 'focus']) b.addEventListener(event, () => choose(value));
          for (const event of ['pointerleave', 'blur']) b.addEventListener(event, () => choose(null));
          return b;
        }));
        heads.style.setProperty('--heads', Math.max(4, model.heads));
        box.append(make('h3', {}, t('kind_' + kind)), heads);
      }
    }
    const buttons = [...box.querySelectorAll('button')], width = buttons[0].clientWidth - 8, maps = KINDS.flatMap(mapsOf);
    buttons.forEach((b, n) => {
      const m = maps[n], canvas = b.firstChild;
      if (b.ariaPressed !== String(off.has(m.value))) b.ariaPressed = off.has(m.value);
      drawHeat(canvas, m, {cell: width / m.columns, high: Math.min(width, 110) / m.rows, top: 1,
                           mark: token && mine(m.kind) ? {row: token.i} : {}});
    });
    const notes = [];
    if (!$('mask').checked) notes.push(t('mask_off'));
    if (!$('positions').checked) notes.push(t('positions_off'));
    if (notes.length) notes.push(t('now_next', seen.next.map(mark).join(' ')));
    $('switch-says').textContent = notes.join(' ');
  });
  const mine = kind => kind === 'encoder' ? token.side === 'source' : token.side === 'target';

  // ---- The lines ----

  const MARKS = {'<begin>': '▷', '<end>': '■', '<pad>': '·'}, mark = label => MARKS[label] || short(label, 3);

  function drawTokens(svg, width) {
    const n = Math.max(seen.source.length, seen.target.length);
    const step = Math.min(64, (width - 8) / n), box = step * .82;
    const sides = seen.source.length ? ['source', 'target'] : ['target'];
    const arc = Math.min(60, step * n / 4 + 20);
    svg.setAttribute('viewBox', `0 0 ${width} ${sides.length === 2 ? 2 * arc + 250 : 2 * arc + 80}`);
    at = {};
    const rows = sides.map((side, k) => {
      const labels = seen[side], y = arc + 50 + k * 160, x0 = (width - step * (labels.length - 1)) / 2;
      at[side] = labels.map((_, i) => ({x: x0 + i * step, y, box}));
      return labels.map((label, i) => {
        const g = make('g', {tabindex: 0, role: 'button', 'aria-label': t('token_' + side, i + 1, label)},
                       make('rect', {x: at[side][i].x - box / 2, y: y - 16, width: box, height: 32, rx: 4}),
                       make('text', {x: at[side][i].x, y: y + 5}, mark(label)));
        const point = at => { token = at; paint('lines'), paint('maps'); };
        for (const event of ['pointerenter', 'pointerdown', 'focus']) g.addEventListener(event, () => point({side, i}));
        g.addEventListener('blur', () => point(null));
        g.addEventListener('pointerleave', e => {
          if (e.pointerType === 'mouse' && document.activeElement !== g) point(null);
        });
        return g;
      });
    });
    const names = sides.map((side, k) =>
      make('text', {class: 'name', x: 2, y: k ? 2 * arc + 246 : 14}, t(model.lm ? 'row_text' : 'row_' + side)));
    svg.replaceChildren(make('g', {id: 'links'}), ...rows.flat(), ...names);
  }

  // A line from query a to key b; up: an arc between tokens of one row runs above it.
  function link(a, b, weight, up) {
    const far = Math.abs(a.x - b.x), bend = Math.min(76, far / 2 + 24), y = a.y + (up ? -17 : 17);
    const d = a.y !== b.y ? `M${a.x} ${a.y + (a.y > b.y ? -17 : 17)} L${b.x} ${b.y + (a.y > b.y ? 17 : -17)}`
      : far ? `M${a.x} ${y} Q${(a.x + b.x) / 2} ${y + (up ? -2 : 2) * bend * .7} ${b.x} ${y}`
      : `M${a.x - 8} ${y} c-14 ${up ? -30 : 30} 30 ${up ? -30 : 30} 16 0`;
    return make('path', {d, 'stroke-width': .5 + 5 * weight, 'stroke-opacity': Math.min(1, .12 + weight)});
  }

  painter('lines', () => {
    const svg = $('lines'), width = svg.parentElement.clientWidth;
    if (!seen || !model) return svg.replaceChildren(), drawn = '';
    const key = [language, width, seen.source.join('\0'), seen.target.join('\0')].join('\u0001');
    if (key !== drawn) {
      const tokens = () => [...svg.querySelectorAll('g[tabindex]')], focus = tokens().indexOf(document.activeElement);
      drawTokens(svg, width);
      drawn = key;
      if (tokens()[focus]) tokens()[focus].focus();
    }
    svg.setAttribute('aria-label', t('lines_label'));
    const links = [], says = [];
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
        for (const [w, j] of strong) links.push(link(at[from][i], at[to][j], w, up));
        const name = ([w, j]) => `“${mark(seen[to][j])}” (${j + 1}) ${Math.round(w * 100)} %`;
        if (token) says.push(t('attends_' + (model.lm ? 'text' : kind), strong.slice(0, 3).map(name).join(', ')));
      }
    }
    $('links').replaceChildren(...links);
    svg.querySelectorAll('g[tabindex]').forEach((g, n) => {
      const i = token ? token.i + (token.side === 'target' ? seen.source.length : 0) : -1;
      g.classList.toggle('on', n === i);
    });
    const label = token && seen[token.side][token.i], subject = token && token.side === 'target' ? 'token_reads' : 'token_is';
    $('line-says').textContent = label ? `${t(subject, mark(label), token.i + 1)} ${says.join('; ')}.`
      : t(model.lm ? 'lines_idle_text' : 'lines_idle');
  });
})();
