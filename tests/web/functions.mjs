// 20 right and 20 wrong functions: [exercise, text, what ./gradcheck says of it]. Derivatives are those of textbooks.
const EACH = (f, slope) => `const inputs = {x: [2, 3]};
function forward(x) {
  const y = zeros(x.shape);
  for (let i = 0; i < x.length; i++) { const v = x[i]; y[i] = ${f}; }
  return y;
}
function backward(dy, y, x) {
  const dx = zeros(x.shape);
  for (let i = 0; i < x.length; i++) { const v = x[i]; dx[i] = ${slope}; }
  return [dx];
}`;
const TWO = (f, backward) => `const inputs = {a: [2, 3], b: [2, 3]};
function forward(a, b) {
  const y = zeros(a.shape);
  for (let i = 0; i < a.length; i++) y[i] = ${f};
  return y;
}
function backward(dy, y, a, b) { ${backward} }`;
const SUM = (forward, backward) => `const inputs = {x: [2, 3]};
function forward(x) { ${forward} }
function backward(dy, y, x) { ${backward} }`;
const of = f => `a.map((_, i) => ${f})`, both = (da, db) => `return [${of(da)}, ${of(db)}];`;

export const RIGHT = [
  ['softmax'], ['linear'], ['cross_entropy'], ['layer_norm'], ['attention'], ['own'],
  ['own', EACH('v * v', 'dy[i] * 2 * v')], ['own', EACH('Math.exp(v)', 'dy[i] * y[i]')],
  ['own', EACH('Math.tanh(v)', 'dy[i] * (1 - y[i] * y[i])')], ['own', EACH('1 / (1 + Math.exp(-v))', 'dy[i] * y[i] * (1 - y[i])')],
  ['own', EACH('Math.max(0, v)', 'v > 0 ? dy[i] : 0')], ['own', EACH('Math.sin(v)', 'dy[i] * Math.cos(v)')],
  ['own', EACH('Math.log1p(Math.exp(v))', 'dy[i] / (1 + Math.exp(-v))')], ['own', EACH('Math.atan(v)', 'dy[i] / (1 + v * v)')],
  ['own', EACH('v * v * v', 'dy[i] * 3 * v * v')],
  ['own', TWO('a[i] * b[i]', both('dy[i] * b[i]', 'dy[i] * a[i]'))], ['own', TWO('a[i] - 2 * b[i]', both('dy[i]', '-2 * dy[i]'))],
  ['own', SUM('return x.reduce((s, v) => s + v * v, 0);', 'return [x.map(v => 2 * v * dy[0])];')],
  ['own', SUM('return x.reduce((s, v) => s + v, 0) / x.length;', 'return [x.map(() => dy[0] / x.length)];')],
  ['own', SUM('return x.map((_, i) => x[x.length - 1 - i]);', 'return [dy.map((_, i) => dy[dy.length - 1 - i])];')],
];
export const WRONG = [
  ['softmax', null, 'term missing'], ['linear', null, 'no gradient'], ['cross_entropy', null, 'every element is multiplied by 4: it is n'], ['layer_norm', null, 'wrong axis'],
  ['attention', null, 'no gradient'], ['own', null, 'wrong slope'],
  ['own', EACH('v * v', '-dy[i] * 2 * v'), 'every element has the wrong sign'], ['own', EACH('v * v', 'dy[i] * v'), 'constant factor 0.5 = 1/2'],
  ['own', EACH('Math.exp(v)', 'y[i]'), 'upstream ignored'], ['own', EACH('Math.exp(v)', 'dy[i] * v'), 'multiplied by x instead of exp'],
  ['own', EACH('Math.sin(v)', 'dy[dy.length - 1 - i] * Math.cos(v)'), 'outputs at other indices'],
  ['own', EACH('v * v', 'i ? dy[i] * 2 * v : 0'), 'no gradient arrives at x.0,0.'], ['own', EACH('Math.max(0, v)', 'v > -1 ? dy[i] : 0'), 'only where the output does not depend'],
  ['own', EACH('v * v', 'NaN'), 'not a number'], ['own', EACH('v * v', 'dy[i] * 2 * v * (1 + 1e-5)'), 'constant factor'],
  ['own', EACH('v * v', 'nope'), 'nope is not defined, line 9'],
  ['own', TWO('a[i] * b[i]', both('dy[i] * a[i]', 'dy[i] * b[i]')), 'it is the gradient of b'],
  ['own', TWO('a[i] * b[i]', 'return [b.map((v, i) => dy[i] * v)];'), 'db is undefined'],
  ['own', SUM('x[0] += 1; return x.reduce((s, v) => s + v, 0);', 'return [x.map(() => dy[0])];'), 'changed its inputs'],
  ['own', SUM('return x.map(v => 2 * v);', 'return [[1, 2]];'), 'answered dx of shape .2., need .2,3.'],
];
