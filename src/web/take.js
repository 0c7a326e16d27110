// Take along: saves the model to a file and loads one.
'use strict';
$('save').addEventListener('click', async () => {
  try {
    const {bytes} = await ask('save');
    const url = URL.createObjectURL(new Blob([bytes], {type: 'application/octet-stream'}));
    make('a', {href: url, download: 'model.safetensors'}).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    $('take-says').textContent = t('saved', number(bytes.byteLength));
  } catch (e) {
    $('take-says').textContent = t('error', e.message);
  }
});
$('load').addEventListener('change', async () => {
  const file = $('load').files[0];
  if (!file) return;
  running = false;
  try {
    if (file.size > 2e8) throw new Error(t('too_large'));
    took(await ask('load', {bytes: await file.arrayBuffer()}));
    say('');
    $('take-says').textContent = t('loaded', file.name.slice(0, 80), number(model.parameters));
  } catch (e) {
    $('take-says').textContent = t('not_loaded', file.name.slice(0, 80), e.message);
  }
  $('load').value = '';
  show();
});
