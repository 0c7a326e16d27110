// Drives headless Chromium through its debugging pipe (file descriptors 3 and 4): no port, no package.
import {spawn, spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

export const installed = () => spawnSync('sh', ['-c', 'command -v chromium']).status === 0;

// DELAY=MS in the environment: a worker's messages and the frames come up to so much later, which finds what reads too early.
function delay(ms) {
  const rest = () => new Promise(go => setTimeout(go, Math.random() * ms));
  window.Worker = class extends Worker {
    set onmessage(f) {
      let before = Promise.resolve();
      super.onmessage = e => before = before.then(rest).then(() => this.ended || f(e));
    }
    terminate() { this.ended = true, super.terminate(); }
  };
  const frame = requestAnimationFrame;
  let open = 0, next = 0;
  window.requestAnimationFrame = f => frame(function again(now) {
    if (now >= next) open = now, next = now + Math.random() * ms;
    now === open ? f(now) : frame(again);
  });
}

// A page in a browser of its own. Notes what the console says and what is requested beside the page itself.
export async function open(url, {width = 1280, height = 900, media = {}, language = 'en', downloads = ''} = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'tapeformer-web-'));
  const child = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', '--no-first-run',
      '--disable-background-networking', `--lang=${language}`, `--user-data-dir=${profile}`, `--window-size=${width},${height}`, 'about:blank'],
    {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
  const gone = new Promise(done => child.on('exit', done));
  const waiting = new Map(), console = [], requests = [];
  let serial = 0, buffer = '', session;
  child.stdio[4].setEncoding('utf8').on('data', data => {
    buffer += data;
    for (let end; (end = buffer.indexOf('\0')) >= 0; buffer = buffer.slice(end + 1)) take(JSON.parse(buffer.slice(0, end)));
  });
  function take(m) {
    const w = waiting.get(m.id);
    if (w) waiting.delete(m.id), m.error ? w.fail(new Error(m.error.message)) : w.done(m.result);
    if (m.method === 'Runtime.consoleAPICalled') console.push(m.params.args.map(a => a.value ?? a.description).join(' '));
    if (m.method === 'Runtime.exceptionThrown') console.push(m.params.exceptionDetails.exception?.description ?? m.params.exceptionDetails.text);
    if (m.method === 'Log.entryAdded') console.push(m.params.entry.text);
    if (m.method === 'Network.requestWillBeSent') requests.push(m.params.request.url);
  }
  const send = (method, params = {}) => new Promise((done, fail) => {
    const id = ++serial;
    waiting.set(id, {done, fail});
    child.stdio[3].write(JSON.stringify({id, method, params, ...(session && {sessionId: session})}) + '\0');
  });
  const {targetId} = await send('Target.createTarget', {url: 'about:blank'});
  session = (await send('Target.attachToTarget', {targetId, flatten: true})).sessionId;
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await send(domain + '.enable');
  await send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: width < 600});
  await send('Emulation.setEmulatedMedia', {features: Object.entries(media).map(([name, value]) => ({name, value}))});
  if (downloads) await send('Browser.setDownloadBehavior', {behavior: 'allow', downloadPath: downloads});
  if (process.env.DELAY) await send('Page.addScriptToEvaluateOnNewDocument', {source: `(${delay})(${Number(process.env.DELAY)})`});
  await send('Page.navigate', {url});
  const page = {
    send, console, requests,
    // The value of an expression in the page, which may be a promise.
    async run(expression) {
      const r = await send('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
      if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description ?? r.exceptionDetails.text);
      return r.result.value;
    },
    async until(expression, seconds = 60) {
      for (const end = Date.now() + seconds * 1000; Date.now() < end; await new Promise(go => setTimeout(go, 50)))
        if (await page.run(`Boolean(${expression})`)) return true;
      return false;
    },
    // Waits until the expression is true. The page shows later what it knows: whatever a test expects to see, it waits for.
    async holds(expression, why = '', seconds = 120) {
      if (await page.until(expression, seconds)) return;
      const shown = [...new Set(expression.match(/\$\('[\w-]+'\)/g))];
      const texts = await page.run(`[${shown.map(x => x + '?.textContent')}]`);
      throw new Error([why, expression + ' does not come true', ...shown.map((x, i) => x + ': ' + texts[i])].join('\n'));
    },
    async key(key, text, modifiers = 0) {
      const code = {Tab: 9, Enter: 13, ' ': 32, End: 35, Home: 36, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40}[key];
      for (const type of ['keyDown', 'keyUp']) await send('Input.dispatchKeyEvent', {type, key, text: type === 'keyDown' ? text : undefined, windowsVirtualKeyCode: code, modifiers});
    },
    async picture(clip) {
      return Buffer.from((await send('Page.captureScreenshot', {format: 'png', captureBeyondViewport: !!clip, ...(clip && {clip: {...clip, scale: 1}})})).data, 'base64');
    },
    async close() {
      send('Browser.close').catch(() => 0);
      await gone;
      rmSync(profile, {recursive: true, force: true, maxRetries: 5});
    },
  };
  return page;
}
