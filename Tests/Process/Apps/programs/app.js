// SPDX-License-Identifier: Apache-2.0

// An ordinary program for node: compresses, hashes, and compiles what is hot. It measures nothing itself.
//
// Standard input says what it does besides: `work` begins to compute, `later` opens what system libraries open by
// themselves at their first use. Each line is answered by `done`.

const crypto = require('node:crypto');
const dns = require('node:dns');
const readline = require('node:readline');
const zlib = require('node:zlib');

function roundOfWork() {
  let sum = 0;
  for (let i = 0; i < 100000; i++) sum += Math.imul(i, sum ^ i) % 7;
  const text = JSON.stringify({ sum, list: Array.from({ length: 500 }, (_, i) => `item ${i}`) });
  crypto.createHash('sha256').update(zlib.deflateSync(text)).digest('hex');
  /(\d+) (\w+)/g.exec(text);
  return new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
}

function work() {
  roundOfWork();
  setImmediate(work);
}

async function later() {
  for (const host of ['localhost', 'nowhere.invalid', 'nowhere.local']) {
    await dns.promises.lookup(host).catch(() => {});
  }
  require('node:os').userInfo();
}

async function main() {
  roundOfWork();
  process.dlopen({ exports: {} }, process.argv[2]);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    if (line === 'work') work();
    if (line === 'later') await later();
    console.log('done');
  }
  process.exit(0);
}

main();
