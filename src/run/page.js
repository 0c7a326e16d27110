// Redraws the attention maps when the slider moves; arrow keys move between heads. Without it the page shows the maps of
// the last step.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const value = {};
  for (let i = 0; i < 64; i++) value[digits[i]] = i;
  const examples = [...document.querySelectorAll('.example')];
  const slider = document.getElementById('step'), said = document.getElementById('said'),
        chooser = document.getElementById('choose');
  let frame = data.frames.length - 1, shown = 0;

  const text = weight => weight >= 0.995 ? '1.0' : '.' + String(Math.round(weight * 100)).padStart(2, '0');

  // Row i of a causal map has weights up to column i only.
  const width = (group, i) => group.causal ? Math.min(i + 1, group.columns.length) : group.columns.length;

  // Decodes the weights of one map, two digits each, a list per row; returns them and the start of the next map.
  function read(code, at, group) {
    const rows = [];
    for (let i = 0; i < group.rows.length; i++) {
      const row = [];
      for (let j = 0; j < width(group, i); j++, at += 2)
        row.push((value[code[at]] * 64 + value[code[at + 1]]) / 4095);
      rows.push(row);
    }
    return [rows, at];
  }

  // One path for each shade, of runs of cells.
  function draw(figure, rows) {
    const paths = figure.querySelectorAll('.shade path'), shades = paths.length,
          runs = Array.from({length: shades + 1}, () => '');
    rows.forEach((row, i) => {
      for (let j = 0, end; j < row.length; j = end) {
        const shade = Math.round(row[j] * shades);
        for (end = j + 1; end < row.length && Math.round(row[end] * shades) === shade; end++);
        runs[shade] += 'M' + j + ' ' + i + '.5h' + (end - j);
      }
    });
    paths.forEach((path, k) => path.setAttribute('d', runs[k + 1]));
  }

  function describe(group, rows) {
    return rows.map((row, i) => {
      const j = row.indexOf(Math.max(...row));
      return group.rows[i] + ' to ' + group.columns[j] + ' ' + text(row[j]);
    }).join(', ');
  }

  function showNumbers(figure, rows) {
    const cells = figure.querySelectorAll('td');
    let k = 0;
    for (const row of rows) for (const weight of row) cells[k++].textContent = text(weight);
  }

  function update() {
    const example = examples[shown], code = data.frames[frame].maps[shown];
    let at = 0, rows;
    const figures = [...example.querySelectorAll('.head')];
    for (const group of data.examples[shown])
      for (let k = 0; k < group.maps; k++) {
        [rows, at] = read(code, at, group);
        const figure = figures.shift();
        draw(figure, rows);
        showNumbers(figure, rows);
        figure.querySelector('desc').textContent = describe(group, rows);
      }
    said.textContent = 'step ' + data.frames[frame].step;
    slider.setAttribute('aria-valuetext', said.textContent);
  }

  // Arrow keys move between the heads of an example; Tab skips them.
  function walk(event) {
    const heads = [...event.currentTarget.querySelectorAll('.head')], here = heads.indexOf(event.target);
    if (here < 0) return;
    const row = heads.filter(h => h.offsetTop === event.target.offsetTop).length;
    const by = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: row, ArrowUp: -row}[event.key];
    if (event.key === 'Escape') event.target.blur();
    if (!by || !heads[here + by]) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    heads[here + by].tabIndex = 0;
    heads[here + by].focus();
  }

  function choose(which) {
    shown = which;
    examples.forEach((example, i) => { example.hidden = i !== which; });
    update();
  }

  for (const example of examples) {
    example.querySelectorAll('.head').forEach((head, i) => { head.tabIndex = i ? -1 : 0; });
    example.addEventListener('keydown', walk);
  }
  slider.max = slider.value = frame;
  slider.addEventListener('input', () => { frame = +slider.value; update(); });
  chooser.addEventListener('change', () => choose(+chooser.value));
  document.getElementById('controls').hidden = false;
  choose(0);
})();
