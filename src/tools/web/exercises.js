// Exercises of the editor: forward is given, `start` is where backward begins.
'use strict';
const SOFTMAX = `function softmax(x) { // of each row
  const n = x.shape.at(-1), y = zeros(x.shape);
  for (let i = 0; i < x.length; i += n) {
    let top = -Infinity, sum = 0;
    for (let j = 0; j < n; j++) top = Math.max(top, x[i + j]);
    for (let j = 0; j < n; j++) sum += y[i + j] = Math.exp(x[i + j] - top);
    for (let j = 0; j < n; j++) y[i + j] /= sum;
  }
  return y;
}`;
const EXERCISES = [
  {
    name: 'softmax', formula: 'y_ij = exp(x_ij) / Σ_k exp(x_ik)',
    given: `const inputs = {x: [3, 5]};

${SOFTMAX}
function forward(x) {
  return softmax(x);
}
`,
    start: `function backward(dy, y, x) {
  const n = x.shape.at(-1), dx = zeros(x.shape);
  for (let i = 0; i < x.length; i += n)
    for (let j = 0; j < n; j++)
      dx[i + j] = y[i + j] * dy[i + j]; // what is missing?
  return [dx];
}`,
  },
  {
    name: 'linear', formula: 'y = x Wᵀ + b',
    given: `const inputs = {x: [4, 3], W: [5, 3], b: [5]};

function forward(x, W, b) {
  const [rows, n] = x.shape, m = b.length, y = zeros([rows, m]);
  for (let i = 0; i < rows; i++)
    for (let o = 0; o < m; o++) {
      y[i * m + o] = b[o];
      for (let k = 0; k < n; k++) y[i * m + o] += x[i * n + k] * W[o * n + k];
    }
  return y;
}
`,
    start: `function backward(dy, y, x, W, b) {
  const [rows, n] = x.shape, m = b.length;
  const dx = zeros(x.shape), dW = zeros(W.shape), db = zeros(b.shape);
  for (let i = 0; i < rows; i++)
    for (let o = 0; o < m; o++)
      db[o] += dy[i * m + o]; // and dx, and dW?
  return [dx, dW, db];
}`,
  },
  {
    name: 'cross_entropy', formula: 'y = mean_i (log Σ_k exp(x_ik) − x_i,label_i)',
    given: `const inputs = {x: [4, 5], label: {shape: [4], values: [0, 3, 4, 3]}};

${SOFTMAX}
function forward(x, label) {
  const n = x.shape.at(-1), p = softmax(x);
  let sum = 0;
  for (let i = 0; i < label.length; i++) sum -= Math.log(p[i * n + label[i]]);
  return sum / label.length;
}
`,
    start: `function backward(dy, y, x, label) { // dy[0] is all that arrives
  const n = x.shape.at(-1), dx = softmax(x);
  for (let i = 0; i < label.length; i++) dx[i * n + label[i]] -= 1;
  for (let i = 0; i < dx.length; i++) dx[i] *= dy[0]; // is this all?
  return [dx];
}`,
  },
  {
    name: 'layer_norm', formula: 'y = γ (x − μ) / √(σ² + ε) + β',
    given: `const inputs = {x: [3, 4], gamma: [4], beta: [4]};
const epsilon = 1e-5;

function forward(x, gamma, beta) {
  const n = gamma.length, y = zeros(x.shape);
  for (let i = 0; i < x.length; i += n) {
    const {mean, r} = statistics(x, i, n);
    for (let j = 0; j < n; j++) y[i + j] = gamma[j] * (x[i + j] - mean) * r + beta[j];
  }
  return y;
}
function statistics(x, i, n) { // r = 1 / √(variance + ε) of the row that begins at i
  let mean = 0, variance = 0;
  for (let j = 0; j < n; j++) mean += x[i + j] / n;
  for (let j = 0; j < n; j++) variance += (x[i + j] - mean) ** 2 / n;
  return {mean, r: 1 / Math.sqrt(variance + epsilon)};
}
`,
    start: `function backward(dy, y, x, gamma, beta) {
  const n = gamma.length;
  const dx = zeros(x.shape), dgamma = zeros(gamma.shape), dbeta = zeros(beta.shape);
  for (let i = 0; i < x.length; i += n) {
    const {mean, r} = statistics(x, i, n);
    for (let j = 0; j < n; j++) {
      dgamma[j] += dy[i + j] * (x[i + j] - mean) * r;
      dbeta[j] += dy[i + j];
      dx[i + j] = dy[i + j] * gamma[j] * r; // mean and r depend on x, too
    }
  }
  return [dx, dgamma, dbeta];
}`,
  },
  {
    name: 'attention', formula: 'Y = softmax(Q Kᵀ / √d_k) V',
    given: `const inputs = {Q: [3, 4], K: [5, 4], V: [5, 2]};

${SOFTMAX}
function attention(Q, K) { // A = softmax(Q Kᵀ / √d)
  const [n, d] = Q.shape, m = K.shape[0], S = zeros([n, m]);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < m; j++)
      for (let k = 0; k < d; k++) S[i * m + j] += Q[i * d + k] * K[j * d + k] / Math.sqrt(d);
  return softmax(S);
}
function forward(Q, K, V) {
  const A = attention(Q, K), [n, m] = A.shape, v = V.shape[1], Y = zeros([n, v]);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < m; j++)
      for (let k = 0; k < v; k++) Y[i * v + k] += A[i * m + j] * V[j * v + k];
  return Y;
}
`,
    start: `function backward(dY, Y, Q, K, V) {
  const A = attention(Q, K), [n, m] = A.shape, d = Q.shape[1], v = V.shape[1];
  const dQ = zeros(Q.shape), dK = zeros(K.shape), dV = zeros(V.shape);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < m; j++)
      for (let k = 0; k < v; k++) dV[j * v + k] += A[i * m + j] * dY[i * v + k];
  return [dQ, dK, dV]; // dA, then dS as in softmax, then dQ and dK
}`,
  },
  {
    name: 'own', formula: '', given: '',
    start: `const inputs = {x: [2, 3]}; // names and shapes

function forward(x) {
  const y = zeros(x.shape);
  for (let i = 0; i < x.length; i++) y[i] = x[i] * Math.tanh(x[i]);
  return y;
}
function backward(dy, y, x) {
  const dx = zeros(x.shape);
  for (let i = 0; i < x.length; i++) dx[i] = dy[i] * Math.tanh(x[i]);
  return [dx];
}`,
  },
];
