// SPDX-License-Identifier: Apache-2.0

// Solves the work that a gate asks a page for: docs/SPEC.md, section 16. A plain script without any other; it defines
// ProofWork, and runs in a page, in a worker and in node.
//
//   const solver = ProofWork.puzzles(id, level)    kind work (a): 16 searches for a SHA-256 that begins with zeros
//   const solver = ProofWork.pairings(id, level)   kind work (b): `level` birthday problems, in 32 MiB
//   solver.step(milliseconds)                      works for about so long, and returns the solution or null
//   solver.hashes                                  how many hashes, or attempts, it took so far
//
// `id` is the challenge's 80 characters. A solution is text in base64url. A page calls step until it gets one, and lets
// others run in between.
(function (root) {
  "use strict";

  // base64url ------------------------------------------------------------------------------------------------------

  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

  function decode(text) {
    const bytes = new Uint8Array((text.length * 3) >> 2);
    let bits = 0, count = 0, at = 0;
    for (const letter of text) {
      const value = DIGITS.indexOf(letter);
      if (value < 0) throw new RangeError("The challenge is no base64url.");
      bits = ((bits << 6) | value) & 0xffff;
      count += 6;
      if (count >= 8) bytes[at++] = bits >> (count -= 8);
    }
    return bytes;
  }

  function encode(bytes) {
    let text = "", bits = 0, count = 0;
    for (const byte of bytes) {
      bits = ((bits << 8) | byte) & 0xffff;
      for (count += 8; count >= 6;) text += DIGITS[(bits >> (count -= 6)) & 63];
    }
    return count > 0 ? text + DIGITS[(bits << (6 - count)) & 63] : text;
  }

  function bytesOf(id) {
    if (typeof id !== "string" || id.length !== 80) throw new RangeError("A challenge has 80 characters.");
    return decode(id);
  }

  // SHA-256 --------------------------------------------------------------------------------------------------------

  const K = new Int32Array(64), FIRST = new Int32Array(8);
  (function () {
    // The first 32 bits of the fractional parts of the roots of primes, as FIPS 180-4 has them.
    let found = 0;
    for (let n = 2; found < 64; n++) {
      let isPrime = true;
      for (let d = 2; d * d <= n; d++) if (n % d === 0) isPrime = false;
      if (!isPrime) continue;
      const cube = Math.cbrt(n), square = Math.sqrt(n);
      K[found] = Math.floor((cube - Math.floor(cube)) * 4294967296);
      if (found < 8) FIRST[found] = Math.floor((square - Math.floor(square)) * 4294967296);
      found++;
    }
  })();
  const W = new Int32Array(64);

  // Compresses the 16 words in W into a state.
  function compress(state) {
    for (let i = 16; i < 64; i++) {
      const p = W[i - 15], q = W[i - 2];
      W[i] = (((p >>> 7) | (p << 25)) ^ ((p >>> 18) | (p << 14)) ^ (p >>> 3)) + W[i - 7]
        + (((q >>> 17) | (q << 15)) ^ ((q >>> 19) | (q << 13)) ^ (q >>> 10)) + W[i - 16] | 0;
    }
    let a = state[0] | 0, b = state[1] | 0, c = state[2] | 0, d = state[3] | 0;
    let e = state[4] | 0, f = state[5] | 0, g = state[6] | 0, h = state[7] | 0;
    for (let i = 0; i < 64; i++) {
      const t = h + (((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7)))
        + (g ^ (e & (f ^ g))) + K[i] + W[i] | 0;
      const u = (((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10)))
        + ((a & b) | (c & (a | b))) | 0;
      h = g; g = f; f = e; e = d + t | 0; d = c; c = b; b = a; a = t + u | 0;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d;
    state[4] += e; state[5] += f; state[6] += g; state[7] += h;
  }

  function sha256(label, bytes) {
    const size = label.length + bytes.length, padded = new Uint8Array((size + 72) & ~63);
    for (let i = 0; i < label.length; i++) padded[i] = label.charCodeAt(i);
    padded.set(bytes, label.length);
    padded[size] = 0x80;
    const view = new DataView(padded.buffer), state = new Int32Array(FIRST);
    view.setUint32(padded.length - 4, size * 8);
    for (let at = 0; at < padded.length; at += 64) {
      for (let i = 0; i < 16; i++) W[i] = view.getInt32(at + 4 * i);
      compress(state);
    }
    const digest = new DataView(new ArrayBuffer(32));
    for (let i = 0; i < 8; i++) digest.setInt32(4 * i, state[i]);
    return new Uint8Array(digest.buffer);
  }

  // Kind work (a) --------------------------------------------------------------------------------------------------

  const PUZZLES = 16;

  function swapped(word) {
    return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
  }

  function puzzles(id, level) {
    if (!(level >= 1 && level <= 24)) throw new RangeError("A level is 1 to 24.");
    const text = new Uint8Array(44);
    const label = "pfc1.puzzle.....";
    for (let i = 0; i < 16; i++) text[i] = label.charCodeAt(i);
    text.set(sha256("pfc1.puzzle-seed", bytesOf(id)).subarray(0, 28), 16);
    const words = new DataView(text.buffer), state = new Int32Array(8), solution = new Uint8Array(4 * PUZZLES);
    const found = new DataView(solution.buffer);
    let index = 0, counter = 0;
    const solver = {
      hashes: 0,
      step(milliseconds) {
        const end = Date.now() + milliseconds;
        while (index < PUZZLES) {
          for (let tries = 0; tries < 1024; tries++) {
            for (let i = 0; i < 11; i++) W[i] = words.getInt32(4 * i);
            W[11] = swapped(index);
            W[12] = swapped(counter);
            W[13] = 0x80000000 | 0;
            W[14] = 0;
            W[15] = 52 * 8;
            state.set(FIRST);
            compress(state);
            solver.hashes++;
            if (state[0] >>> (32 - level) === 0) {
              found.setUint32(4 * index, counter, true);
              index++;
              counter = 0;
              if (index === PUZZLES) return encode(solution);
            } else {
              counter++;
            }
          }
          if (Date.now() >= end) return null;
        }
        return encode(solution);
      },
    };
    return solver;
  }

  // Kind work (b) --------------------------------------------------------------------------------------------------

  const BITS = 18, MASK = (1 << BITS) - 1, LEAVES = 2 << BITS, ROOM = LEAVES + (LEAVES >> 5), CHOSEN = 16;

  function makeLeaves(words, key) {
    const view = new DataView(key.buffer);
    const k = [];
    for (let i = 0; i < 8; i++) k.push(view.getInt32(4 * i, true));
    const [k0, k1, k2, k3, k4, k5, k6, k7] = k;
    for (let n = 0; n < LEAVES / 4; n++) {
      let a0 = 0x61707865, a1 = 0x3320646e, a2 = 0x79622d32, a3 = 0x6b206574;
      let b0 = k0, b1 = k1, b2 = k2, b3 = k3, c0 = k4, c1 = k5, c2 = k6, c3 = k7, d0 = n, d1 = 0, d2 = 0, d3 = 0;
      for (let i = 0; i < 10; i++) {
        a0 = a0 + b0 | 0; d0 ^= a0; d0 = (d0 << 16) | (d0 >>> 16);
        c0 = c0 + d0 | 0; b0 ^= c0; b0 = (b0 << 12) | (b0 >>> 20);
        a0 = a0 + b0 | 0; d0 ^= a0; d0 = (d0 << 8) | (d0 >>> 24);
        c0 = c0 + d0 | 0; b0 ^= c0; b0 = (b0 << 7) | (b0 >>> 25);
        a1 = a1 + b1 | 0; d1 ^= a1; d1 = (d1 << 16) | (d1 >>> 16);
        c1 = c1 + d1 | 0; b1 ^= c1; b1 = (b1 << 12) | (b1 >>> 20);
        a1 = a1 + b1 | 0; d1 ^= a1; d1 = (d1 << 8) | (d1 >>> 24);
        c1 = c1 + d1 | 0; b1 ^= c1; b1 = (b1 << 7) | (b1 >>> 25);
        a2 = a2 + b2 | 0; d2 ^= a2; d2 = (d2 << 16) | (d2 >>> 16);
        c2 = c2 + d2 | 0; b2 ^= c2; b2 = (b2 << 12) | (b2 >>> 20);
        a2 = a2 + b2 | 0; d2 ^= a2; d2 = (d2 << 8) | (d2 >>> 24);
        c2 = c2 + d2 | 0; b2 ^= c2; b2 = (b2 << 7) | (b2 >>> 25);
        a3 = a3 + b3 | 0; d3 ^= a3; d3 = (d3 << 16) | (d3 >>> 16);
        c3 = c3 + d3 | 0; b3 ^= c3; b3 = (b3 << 12) | (b3 >>> 20);
        a3 = a3 + b3 | 0; d3 ^= a3; d3 = (d3 << 8) | (d3 >>> 24);
        c3 = c3 + d3 | 0; b3 ^= c3; b3 = (b3 << 7) | (b3 >>> 25);
        a0 = a0 + b1 | 0; d3 ^= a0; d3 = (d3 << 16) | (d3 >>> 16);
        c2 = c2 + d3 | 0; b1 ^= c2; b1 = (b1 << 12) | (b1 >>> 20);
        a0 = a0 + b1 | 0; d3 ^= a0; d3 = (d3 << 8) | (d3 >>> 24);
        c2 = c2 + d3 | 0; b1 ^= c2; b1 = (b1 << 7) | (b1 >>> 25);
        a1 = a1 + b2 | 0; d0 ^= a1; d0 = (d0 << 16) | (d0 >>> 16);
        c3 = c3 + d0 | 0; b2 ^= c3; b2 = (b2 << 12) | (b2 >>> 20);
        a1 = a1 + b2 | 0; d0 ^= a1; d0 = (d0 << 8) | (d0 >>> 24);
        c3 = c3 + d0 | 0; b2 ^= c3; b2 = (b2 << 7) | (b2 >>> 25);
        a2 = a2 + b3 | 0; d1 ^= a2; d1 = (d1 << 16) | (d1 >>> 16);
        c0 = c0 + d1 | 0; b3 ^= c0; b3 = (b3 << 12) | (b3 >>> 20);
        a2 = a2 + b3 | 0; d1 ^= a2; d1 = (d1 << 8) | (d1 >>> 24);
        c0 = c0 + d1 | 0; b3 ^= c0; b3 = (b3 << 7) | (b3 >>> 25);
        a3 = a3 + b0 | 0; d2 ^= a3; d2 = (d2 << 16) | (d2 >>> 16);
        c1 = c1 + d2 | 0; b0 ^= c1; b0 = (b0 << 12) | (b0 >>> 20);
        a3 = a3 + b0 | 0; d2 ^= a3; d2 = (d2 << 8) | (d2 >>> 24);
        c1 = c1 + d2 | 0; b0 ^= c1; b0 = (b0 << 7) | (b0 >>> 25);
      }
      const at = 16 * n;
      words[at] = a0 + 0x61707865; words[at + 1] = a1 + 0x3320646e;
      words[at + 2] = a2 + 0x79622d32; words[at + 3] = a3 + 0x6b206574;
      words[at + 4] = b0 + k0; words[at + 5] = b1 + k1; words[at + 6] = b2 + k2; words[at + 7] = b3 + k3;
      words[at + 8] = c0 + k4; words[at + 9] = c1 + k5; words[at + 10] = c2 + k6; words[at + 11] = c3 + k7;
      words[at + 12] = d0 + n; words[at + 13] = d1; words[at + 14] = d2; words[at + 15] = d3;
    }
  }

  function sort(room, words, count, round) {
    const ends = room.ends, order = room.order;
    ends.fill(0);
    for (let i = 0; i < count; i++) ends[words[4 * i + round] & MASK]++;
    for (let digit = 0, sum = 0; digit <= MASK; digit++) {
      const own = ends[digit];
      ends[digit] = sum;
      sum += own;
    }
    for (let i = 0; i < count; i++) order[ends[words[4 * i + round] & MASK]++] = i;
  }

  function pair(room, count, round) {
    const from = room.words[round % 2], to = room.words[1 - round % 2], pairs = room.pairs[round];
    const ends = room.ends, order = room.order;
    let made = 0, start = 0;
    sort(room, from, count, round);
    for (let digit = 0; digit <= MASK; digit++) {
      const end = ends[digit];
      for (let i = start; i < end; i++) {
        const a = order[i], x = 4 * a;
        for (let k = i + 1; k < end && made < ROOM; k++) {
          const b = order[k], y = 4 * b, z = 4 * made;
          to[z] = from[x] ^ from[y];
          to[z + 1] = from[x + 1] ^ from[y + 1];
          to[z + 2] = from[x + 2] ^ from[y + 2];
          to[z + 3] = from[x + 3] ^ from[y + 3];
          pairs[2 * made] = a;
          pairs[2 * made + 1] = b;
          made++;
        }
      }
      start = end;
    }
    return made;
  }

  // The leaves below two entries of the last round, with the lower first leaf of each pair of subtrees on the left.
  function unfold(room, a, b) {
    let chosen = [a, b];
    for (let round = 2; round >= 0; round--) {
      const pairs = room.pairs[round];
      chosen = chosen.flatMap((entry) => [pairs[2 * entry], pairs[2 * entry + 1]]);
    }
    for (let half = 1; half < CHOSEN; half *= 2) {
      for (let i = 0; i < CHOSEN; i += 2 * half) {
        if (chosen[i] <= chosen[i + half]) continue;
        chosen.splice(i, 2 * half, ...chosen.slice(i + half, i + 2 * half), ...chosen.slice(i, i + half));
      }
    }
    return new Set(chosen).size === CHOSEN ? chosen : null;
  }

  function lastDigit(words, at) {
    return (words[at] >>> BITS) | (((words[at + 1] >>> BITS) & 15) << 14);
  }

  function finish(room, count) {
    const words = room.words[1];
    sort(room, words, count, 3);
    for (let digit = 0, start = 0; digit <= MASK; digit++) {
      const end = room.ends[digit];
      for (let i = start; i < end; i++) {
        for (let k = i + 1; k < end; k++) {
          const a = room.order[i], b = room.order[k];
          if (lastDigit(words, 4 * a) !== lastDigit(words, 4 * b)) continue;
          const chosen = unfold(room, a, b);
          if (chosen) return chosen;
        }
      }
      start = end;
    }
    return null;
  }

  function pairings(id, level) {
    if (!(level >= 1 && level <= 7)) throw new RangeError("A level is 1 to 7.");
    const bytes = bytesOf(id), solution = [];
    const room = {
      words: [new Int32Array(4 * ROOM), new Int32Array(4 * ROOM)],
      pairs: [0, 1, 2].map(() => new Uint32Array(2 * ROOM)),
      ends: new Uint32Array(MASK + 1),
      order: new Uint32Array(ROOM),
    };
    let index = 0, attempt = 0, round = -1, count = 0;
    function finished() {
      const chosen = finish(room, count);
      round = -1;
      attempt++;
      if (!chosen) return;
      solution.push((attempt - 1) & 255, (attempt - 1) >> 8);
      for (let i = 0; i < CHOSEN; i += 2) {
        const [a, b] = [chosen[i], chosen[i + 1]];
        solution.push(a & 255, (a >> 8) & 255, (a >> 16) | ((b & 15) << 4), (b >> 4) & 255, b >> 12);
      }
      index++;
      attempt = 0;
    }
    const solver = {
      hashes: 0,
      step(milliseconds) {
        const end = Date.now() + milliseconds;
        while (index < level) {
          if (round < 0) {
            const text = new Uint8Array(63);
            text.set(bytes);
            text.set([index, attempt & 255, attempt >> 8], 60);
            makeLeaves(room.words[0], sha256("pfc1.pairing....", text));
            count = LEAVES;
            solver.hashes++;
            round = 0;
          } else if (round < 3) {
            count = pair(room, count, round++);
          } else {
            finished();
          }
          if (Date.now() >= end) break;
        }
        return index < level ? null : encode(solution);
      },
    };
    return solver;
  }

  root.ProofWork = { puzzles, pairings };
})(globalThis);
