// Fills the attention maps with the weights of the step that the slider chooses, and shows one example. Without it the
// page shows all examples at the last step.
'use strict';
(() => {
  const frames = JSON.parse(document.getElementById('data').textContent);
  const examples = [...document.querySelectorAll('.example')];
  const slider = document.getElementById('step'), said = document.getElementById('said'),
        chooser = document.getElementById('choose');

  function update() {
    const frame = frames[+slider.value], weights = frame.weights[+chooser.value];
    examples.forEach((example, i) => { example.hidden = i !== +chooser.value; });
    examples[+chooser.value].querySelectorAll('td').forEach((cell, i) => {
      cell.textContent = weights[i] > 99 ? '1.0' : '.' + String(weights[i]).padStart(2, '0');
      cell.style.setProperty('--w', weights[i] / 100);
    });
    said.textContent = 'step ' + frame.step;
    slider.setAttribute('aria-valuetext', said.textContent);
  }

  slider.value = slider.max;
  chooser.value = 0;
  slider.addEventListener('input', update);
  chooser.addEventListener('change', update);
  document.getElementById('controls').hidden = false;
  update();
})();
