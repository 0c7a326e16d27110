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

export const SOLVED = {
  softmax: `function backward(dy, y, x) {
  const n = x.shape.at(-1), dx = zeros(x.shape);
  for (let i = 0; i < x.length; i += n) {
    let dot = 0;
    for (let j = 0; j < n; j++) dot += y[i + j] * dy[i + j];
    for (let j = 0; j < n; j++) dx[i + j] = y[i + j] * (dy[i + j] - dot);
  }
  return [dx];
}`,
  linear: `function backward(dy, y, x, W, b) {
  const [rows, n] = x.shape, m = b.length;
  const dx = zeros(x.shape), dW = zeros(W.shape), db = zeros(b.shape);
  for (let i = 0; i < rows; i++)
    for (let o = 0; o < m; o++) {
      const g = dy[i * m + o];
      db[o] += g;
      for (let k = 0; k < n; k++) {
        dx[i * n + k] += g * W[o * n + k];
        dW[o * n + k] += g * x[i * n + k];
      }
    }
  return [dx, dW, db];
}`,
  cross_entropy: `function backward(dy, y, x, label) { // dy[0] is all that arrives
  const n = x.shape.at(-1), dx = softmax(x);
  for (let i = 0; i < label.length; i++) dx[i * n + label[i]] -= 1;
  for (let i = 0; i < dx.length; i++) dx[i] *= dy[0] / label.length;
  return [dx];
}`,
  layer_norm: `function backward(dy, y, x, gamma, beta) {
  const n = gamma.length;
  const dx = zeros(x.shape), dgamma = zeros(gamma.shape), dbeta = zeros(beta.shape);
  for (let i = 0; i < x.length; i += n) {
    const {mean, r} = statistics(x, i, n);
    let sum = 0, dot = 0; // of g = dy γ, and of g times the normalized x
    for (let j = 0; j < n; j++) {
      const normal = (x[i + j] - mean) * r, g = dy[i + j] * gamma[j];
      dgamma[j] += dy[i + j] * normal;
      dbeta[j] += dy[i + j];
      sum += g / n;
      dot += g * normal / n;
    }
    for (let j = 0; j < n; j++)
      dx[i + j] = r * (dy[i + j] * gamma[j] - sum - (x[i + j] - mean) * r * dot);
  }
  return [dx, dgamma, dbeta];
}`,
  attention: `function backward(dY, Y, Q, K, V) {
  const A = attention(Q, K), [n, m] = A.shape, d = Q.shape[1], v = V.shape[1];
  const dQ = zeros(Q.shape), dK = zeros(K.shape), dV = zeros(V.shape);
  for (let i = 0; i < n; i++) {
    const dA = zeros([m]);
    let dot = 0;
    for (let j = 0; j < m; j++) {
      for (let k = 0; k < v; k++) {
        dV[j * v + k] += A[i * m + j] * dY[i * v + k];
        dA[j] += dY[i * v + k] * V[j * v + k];
      }
      dot += A[i * m + j] * dA[j];
    }
    for (let j = 0; j < m; j++) {
      const dS = A[i * m + j] * (dA[j] - dot) / Math.sqrt(d);
      for (let k = 0; k < d; k++) {
        dQ[i * d + k] += dS * K[j * d + k];
        dK[j * d + k] += dS * Q[i * d + k];
      }
    }
  }
  return [dQ, dK, dV];
}`,
};
export const RIGHT = [
  ...Object.entries(SOLVED), ['own', EACH('v * Math.tanh(v)', 'dy[i] * (Math.tanh(v) + v / Math.cosh(v) ** 2)')],
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
  ['softmax', null, 'term missing'], ['linear', null, 'no gradient'], ['cross_entropy', null, 'every element is multiplied by 4: is it n'], ['layer_norm', null, 'term missing'],
  ['attention', null, 'no gradient'], ['own', null, 'wrong slope'],
  ['own', EACH('v * v', '-dy[i] * 2 * v'), 'every element has the wrong sign'], ['own', EACH('v * v', 'dy[i] * v'), 'constant factor 0.5 = 1/2'],
  ['own', EACH('Math.exp(v)', 'y[i]'), 'upstream ignored'], ['own', EACH('Math.exp(v)', 'dy[i] * v'), 'multiplied by x instead of exp'],
  ['own', EACH('Math.sin(v)', 'dy[dy.length - 1 - i] * Math.cos(v)'), 'outputs at other indices'],
  ['own', EACH('v * v', 'i ? dy[i] * 2 * v : 0'), 'x.0,0. WRONG, others right. No gradient arrives'], ['own', EACH('Math.max(0, v)', 'v > -1 ? dy[i] : 0'), 'so that it must be 0'],
  ['own', EACH('v * v', 'NaN'), 'not a number'], ['own', EACH('v * v', 'dy[i] * 2 * v * (1 + 1e-5)'), 'right to four digits'],
  ['own', EACH('v * v', 'nope'), 'nope is not defined, line 9'],
  ['own', TWO('a[i] * b[i]', both('dy[i] * a[i]', 'dy[i] * b[i]')), 'it is the gradient of b'],
  ['own', TWO('a[i] * b[i]', 'return [b.map((v, i) => dy[i] * v)];'), 'db is undefined'],
  ['own', SUM('x[0] += 1; return x.reduce((s, v) => s + v, 0);', 'return [x.map(() => dy[0])];'), 'changed its inputs'],
  ['own', SUM('return x.map(v => 2 * v);', 'return [[1, 2]];'), 'answered dx of shape .2., need .2,3.'],
];
