"use strict";
// Unpack votes and distances, select members as COMEP does, and count votes.

const ALIKE = -1; // distance of pairs with equal votes on all samples, which COMEP skips
const TIE = 1e-12; // relative tolerance of ties, as in Python, so that rounding does not decide

/** Return the array that `pack_array` in _schema.py packed. */
async function unpack(packed) {
  let bytes = Uint8Array.from(atob(packed.base64), (letter) => letter.charCodeAt(0));
  if (packed.deflated) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  }
  const length = packed.shape.reduce((product, side) => product * side, 1);
  const view = new DataView(bytes.buffer);
  if (packed.bits === 64) return Float64Array.from({ length }, (_, i) => view.getFloat64(8 * i, true));
  if (packed.bits === 16) return Uint16Array.from({ length }, (_, i) => view.getUint16(2 * i, true));
  return unpackBits(bytes, packed.bits, length);
}

function unpackBits(bytes, bits, length) {
  if (bits === 8) return bytes;
  const values = new Uint8Array(length);
  const each = 8 / bits;
  const mask = (1 << bits) - 1;
  for (let i = 0; i < length; i++) {
    values[i] = (bytes[Math.floor(i / each)] >> (bits * (i % each))) & mask;
  }
  return values;
}

/** Return a symmetric matrix from its triangle of pairs i < j. */
function fromTriangle(triangle, n, diagonal) {
  const matrix = new Float64Array(n * n).fill(diagonal);
  let next = 0;
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      matrix[i * n + j] = matrix[j * n + i] = triangle[next++];
    }
  }
  return matrix;
}

/** Order all members as COMEP does: after the start, always add the largest sum of distances. */
function comepOrder(apart, relevance, weight, start) {
  const n = relevance.length;
  const sums = new Float64Array(n);
  const free = new Uint8Array(n).fill(1);
  const order = [];
  let member = start;
  for (;;) {
    order.push(member);
    free[member] = 0;
    if (order.length === n) return order;
    for (let other = 0; other < n; other++) {
      const distance = apart[member * n + other];
      if (distance === ALIKE) continue;
      const meanRelevance = (relevance[member] + relevance[other]) / 2;
      sums[other] += weight * distance + (1 - weight) * meanRelevance;
    }
    member = bestMember(sums, free);
  }
}

/** Return the free member with the largest score; the first of several in a tie. */
function bestMember(scores, free) {
  let best = -Infinity;
  for (let i = 0; i < scores.length; i++) if (free[i] && scores[i] > best) best = scores[i];
  const enough = best - TIE * Math.max(1, Math.abs(best));
  for (let i = 0; i < scores.length; i++) if (free[i] && scores[i] >= enough) return i;
  return -1;
}

/** Unpack votes; samples are sorted by true class, so `packed.truth` has only their counts. */
async function readVotes(packed) {
  const truth = new Uint16Array(packed.n_rows);
  let row = 0;
  packed.truth.forEach((count, label) => {
    truth.fill(label, row, (row += count));
  });
  const weights = packed.sample_weights ? await unpack(packed.sample_weights)
    : new Float64Array(packed.n_rows).fill(1);
  return { votes: await unpack(packed.votes), truth, weights, nClasses: packed.truth.length };
}

/** Sum the weights of samples that the vote classifies correctly with 1, 2, … members; the lowest class wins ties. */
function rightBySize(table, members) {
  const { votes, truth, weights, nClasses } = table;
  const nRows = truth.length;
  const tally = new Uint16Array(nRows * nClasses);
  const winner = new Uint16Array(nRows).fill(nClasses); // no class until a member votes
  const most = new Uint16Array(nRows);
  let right = 0;
  return members.map((member) => {
    for (let row = 0; row < nRows; row++) {
      const code = votes[member * nRows + row];
      if (code >= nClasses) continue; // missing prediction
      const count = ++tally[row * nClasses + code];
      if (count < most[row] || (count === most[row] && code > winner[row])) continue;
      most[row] = count;
      if (winner[row] === code) continue;
      right += weights[row] * ((code === truth[row]) - (winner[row] === truth[row]));
      winner[row] = code;
    }
    return right;
  });
}

/** Sum the weights of samples that a weighted vote classifies correctly; the lowest class wins near ties. */
function rightByWeights(table, members, weights) {
  const { votes, truth, nClasses } = table;
  const nRows = truth.length;
  let right = 0;
  for (let row = 0; row < nRows; row++) {
    const tally = new Float64Array(nClasses);
    members.forEach((member, i) => {
      const code = votes[member * nRows + row];
      if (code < nClasses) tally[code] += weights[i];
    });
    const most = Math.max(...tally);
    const winner = most > 0 ? tally.findIndex((value) => value >= most - TIE) : nClasses;
    right += table.weights[row] * (winner === truth[row]);
  }
  return right;
}

/** Return the Pareto-optimal points [cost, accuracy], the cheapest first. */
function paretoFront(points) {
  const sorted = [...points].sort(([a, x], [b, y]) => a - b || y - x);
  let best = -Infinity;
  return sorted.filter(([, accuracy]) => {
    const better = accuracy > best;
    if (better) best = accuracy;
    return better;
  });
}
