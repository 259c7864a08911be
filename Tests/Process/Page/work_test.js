// SPDX-License-Identifier: Apache-2.0

// The page's solver against the vectors of Tests/Vectors/work.txt: the same solutions as the second implementation and
// the core. Run by run.py.
//
//   node work_test.js              the tests
//   node work_test.js --measure    nanoseconds a hash of (a), milliseconds an attempt of (b)
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const root = path.join(__dirname, "..", "..", "..");
const source = fs.readFileSync(path.join(root, "Sources", "ProofGate", "Page", "work.js"), "utf8");

// A page's script has no `require`, no `process` and no buffer.
function load() {
  const page = vm.createContext({});
  vm.runInContext(source, page);
  assert.deepStrictEqual(Object.keys(page), ["ProofWork"]);
  return page.ProofWork;
}

function blocks(file) {
  const text = fs.readFileSync(path.join(root, "Tests", "Vectors", file), "utf8");
  return text.split("\n\n").map((block) => {
    const lines = block.split("\n").filter((line) => line.includes("=") && !line.startsWith("#"));
    return Object.fromEntries(lines.map((line) => line.split("=").map((part) => part.trim())));
  }).filter((block) => block.block);
}

const text = (hex) => Buffer.from(hex, "hex").toString("base64url");

function solve(solver, milliseconds) {
  for (let steps = 0; steps < 100000; steps++) {
    const solution = solver.step(milliseconds);
    if (solution !== null) return { solution, hashes: solver.hashes, steps };
  }
  throw new Error("no end");
}

const work = load();
const solvers = { puzzle: work.puzzles, pairing: work.pairings };

const tests = {
  "solutions are those of the vectors, in one piece and in many"() {
    let count = 0;
    for (const block of blocks("work.txt")) {
      const make = solvers[block.block];
      if (!make) continue;
      for (const milliseconds of [100000, 0]) {
        const found = solve(make(text(block.id), Number(block.level)), milliseconds);
        assert.strictEqual(found.solution, text(block.solution));
        if (milliseconds === 0) assert.ok(found.steps > 1 || found.hashes < 2000);
      }
      count++;
    }
    assert.strictEqual(count, 2);
  },
  "a finished solver gives its solution again"() {
    const solver = work.puzzles("A".repeat(80), 1);
    const { solution, hashes } = solve(solver, 1000);
    assert.strictEqual(solver.step(0), solution);
    assert.strictEqual(solver.hashes, hashes);
  },
  "other ids and levels are refused"() {
    // Errors of another context are of another class.
    const refused = (error) => error.name === "RangeError";
    for (const make of Object.values(solvers)) {
      for (const id of ["", "A".repeat(79), "A".repeat(81), "+".repeat(80), null, undefined, 80]) {
        assert.throws(() => make(id, 1), refused);
      }
      for (const level of [0, 25, NaN, undefined, -1]) assert.throws(() => make("A".repeat(80), level), refused);
    }
    assert.throws(() => work.pairings("A".repeat(80), 8), refused);
  },
  "the script asks nothing of the network and stores nothing"() {
    for (const word of ["fetch", "XMLHttpRequest", "WebSocket", "import", "eval", "Function", "document", "cookie",
      "localStorage", "http"]) {
      assert.ok(!new RegExp(`\\b${word}\\b`).test(source), word);
    }
  },
};

function measure() {
  const seconds = (run) => {
    const before = process.cpuUsage().user;
    const result = run();
    return [(process.cpuUsage().user - before) / 1e6, result];
  };
  const id = text("17".repeat(60));
  for (let round = 0; round < 2; round++) {
    const [a, puzzles] = seconds(() => solve(work.puzzles(id, 15), 1000));
    const [b, pairings] = seconds(() => solve(work.pairings(id, 7), 1000));
    if (round === 0) continue;
    console.log(JSON.stringify({ nanoseconds: a / puzzles.hashes * 1e9, milliseconds: b / pairings.hashes * 1e3 }));
  }
}

if (process.argv[2] === "--measure") {
  measure();
} else {
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    try {
      test();
      console.log(`ok: ${name}`);
    } catch (error) {
      failed++;
      console.log(`failed: ${name}\n${error.stack}`);
    }
  }
  console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}
