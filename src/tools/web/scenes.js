// Scenes: six states of the page, one sentence each, for a lecture.
'use strict';
let scene = 0; // 0: none was chosen; the first is 1

// A trained model of the preset task, at once.
const learnt = async () => {
  if (choice.mask === 'off') change('mask', 'on');
  if (state.step < model.steps && !running) wanted = model.steps, running = true, loop();
};
const attention = (column, part) =>
  walk?.boxes.find(b => b.attends && b.module.includes(part) && b.column === column)?.attends;
const look = async (find, cell, operand) => {
  for (let i = 0; i < 100 && !(walk && find()); i++) await rest(50);
  if (walk && find()) openStep(find().id, cell, operand);
};
const SCENES = [
  () => { running = false, openStep(null), view.backward = false, start(); },
  () => { openStep(null), view.backward = false; if (!running) $('run').click(); },
  async () => {
    view.backward = false, await learnt();
    view.token = {side: 'target', i: 2, kept: true};
    look(() => attention('decoder', 'multihead'), [2, 2]);
  },
  () => {
    view.backward = false;
    look(() => walk.shown.find(r => r.operation === 'masked_fill'), [0, 1]);
  },
  () => { openStep(null), turn(true); },
  () => {
    $('editor').dispatchEvent(new CustomEvent('exercise', {detail: 'softmax'}));
    $('editor').scrollIntoView();
  },
];
async function showScene(n) {
  scene = Math.max(0, Math.min(SCENES.length, n));
  paint('scene'), paint('way'), moved();
  if (!scene) return;
  for (let i = 0; i < 100 && (!model || starting); i++) await rest(50);
  $('figure').scrollIntoView();
  SCENES[scene - 1]();
}
$('scene-on').addEventListener('click', () => showScene((scene + 1) % (SCENES.length + 1)));
$('scene-back').addEventListener('click', () => showScene(scene - 1));
painter('scene', () => {
  const n = Math.max(1, scene);
  write($('scene-link'), scene ? t('scene', scene, SCENES.length) : '');
  $('scene-link').hidden = !scene;
  $('scene-link').href = '?scene=' + n + '&lang=' + LANGUAGES[language];
  write($('scene-says'), t(scene ? 'scene_' + scene : 'scene_none'));
  $('scene-back').disabled = scene < 1;
});
