// SPDX-License-Identifier: Apache-2.0

// The page of a gate: solves a challenge of kind work, memoryWork or person, and hands the result to its host. Values of
// the address are data in JSON; nothing of them becomes markup or code. docs/PAGE.md lists hosts, results and codes.
(function () {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const texts = data.texts;
  const part = (id) => document.getElementById(id);
  const parts = ["status", "bar", "puzzle", "ending", "submit", "again", "without", "retry", "cancel", "slider"];
  const [status, bar, puzzle, ending, submit, again, without, retry, cancel, slider] = parts.map(part);
  // The pictures have 280 pixels in a row.
  const WIDTH = 280;
  let round = data.round, mark = null, ended = false, worker = null, turn = 0, timers = [];

  class Failure extends Error {
    constructor(code, text) {
      super(code);
      this.code = code;
      this.text = text;
    }
  }

  // Showing --------------------------------------------------------------------------------------------------------

  function show(text, shown) {
    status.textContent = text;
    bar.hidden = !shown.includes("bar");
    for (const one of [puzzle, submit, again, without, retry]) one.hidden = !shown.includes(one.id);
    cancel.hidden = !data.dismissible || ended;
  }

  function tellPosition() {
    const position = Number(slider.value);
    part("piece").style.left = (position * 100) / WIDTH + "%";
    slider.setAttribute("aria-valuetext", texts.at.replace("{0}", position).replace("{1}", slider.max));
  }

  // Hosts ----------------------------------------------------------------------------------------------------------

  // Hands the result to an app's web view, to the page that opened or frames this one, or to a presenter's server on
  // this machine. The gate has checked the origin and the port.
  const view = window.webkit && window.webkit.messageHandlers && window.webkit.messageHandlers.proofkit;
  const other = window.parent !== window ? window.parent : window.opener;

  function tell(result) {
    const text = JSON.stringify(result);
    if (view) return view.postMessage(text);
    if (data.origin && other) return other.postMessage(text, data.origin);
    if (data.loopback) {
      const values = new URLSearchParams({ state: data.loopback.state });
      if (result.success) values.set("data", result.success.data);
      else values.set("code", result.failed);
      window.location.replace("http://127.0.0.1:" + data.loopback.port + "/done?" + values);
    } else if (result.success && data.back) {
      const back = new URL(data.back, window.location.origin);
      if (back.origin === window.location.origin) window.location.replace(back);
    }
  }

  function stop() {
    turn++;
    for (const timer of timers) clearTimeout(timer);
    timers = [];
    if (worker) worker.terminate();
    worker = null;
    ending.hidden = true;
  }

  function end(text, result, shown = []) {
    if (ended) return;
    stop();
    ended = true;
    show(text, shown);
    status.focus();
    tell(result);
  }

  function fail(error) {
    const code = error instanceof Failure ? error.code : "8003";
    const text = (error instanceof Failure && error.text) || texts.failed;
    end(text, { failed: code }, code === "8004" || code === "8001" ? ["retry"] : []);
  }

  // Asking the gate ------------------------------------------------------------------------------------------------

  async function ask(path, members) {
    const body = { challenge: round.challenge, method: data.method, target: data.target, ...members };
    if (data.handle) body.handle = data.handle;
    const sent = JSON.stringify(body);
    let response;
    try {
      response = await fetch(data.base + path, {
        method: "POST", headers: { "content-type": "application/json" }, body: sent,
        credentials: "same-origin", redirect: "error",
      });
    } catch (error) {
      throw new Failure("8004", texts.network);
    }
    let found;
    try {
      found = await response.json();
    } catch (error) {
      throw new Failure(response.ok ? "8002" : "1002");
    }
    if (response.ok || (response.status === 422 && found.round)) return found;
    const busy = response.status === 429 ? texts.busy : response.status === 410 ? texts.expired : null;
    throw new Failure(typeof found.code === "string" ? found.code : "1002", busy);
  }

  // Work -----------------------------------------------------------------------------------------------------------

  // Solves in a worker, or in slices where no worker can be made. `turn` changes when the work is not wanted any more.
  function solve(kind, id, level) {
    const own = turn;
    const make = kind === "work" ? "puzzles" : "pairings";
    return new Promise((resolve, reject) => {
      const slices = () => {
        const solver = window.ProofWork[make](id, level);
        const slice = () => {
          if (own !== turn) return;
          try {
            const solution = solver.step(20);
            if (solution) resolve(solution);
            else timers.push(setTimeout(slice, 0));
          } catch (error) {
            reject(error);
          }
        };
        slice();
      };
      try {
        const loop = "onmessage = (e) => { const s = ProofWork[e.data[0]](e.data[1], e.data[2]); let found = null;"
          + " while (!found) found = s.step(1000); postMessage(found); };";
        const url = URL.createObjectURL(new Blob([part("work").textContent, loop], { type: "text/javascript" }));
        worker = new Worker(url);
        URL.revokeObjectURL(url);
        worker.onmessage = (event) => {
          if (own === turn) resolve(event.data);
        };
        worker.onerror = (event) => {
          event.preventDefault();
          if (own !== turn) return;
          worker = null;
          slices();
        };
        worker.postMessage([make, id, level]);
      } catch (error) {
        worker = null;
        slices();
      }
    });
  }

  function succeed(found) {
    if (typeof found.clearance !== "string") throw new Failure("8002");
    end(texts.done, { success: { data: found.clearance } });
  }

  // Runs a part of the work; a failure ends the check, unless something else has begun meanwhile.
  async function run(work) {
    const own = turn;
    try {
      await work(() => own === turn && !ended);
    } catch (error) {
      if (own === turn) fail(error);
    }
  }

  function silent() {
    show(texts.checking, ["bar"]);
    run(async (isWanted) => {
      const found = await ask("answer", { answer: await solve(data.kind, round.challenge, data.level) });
      if (!isWanted()) return;
      if (!found.round) return succeed(found);
      round = found.round;
      silent();
    });
  }

  // The person -----------------------------------------------------------------------------------------------------

  function load(image, bytes) {
    return new Promise((resolve, reject) => {
      image.onload = resolve;
      image.onerror = () => reject(new Failure("8001"));
      image.src = "data:image/png;base64," + bytes;
    });
  }

  function begin(text) {
    stop();
    mark = null;
    show(text || texts.checking, ["bar", "without"]);
    timers.push(setTimeout(() => {
      ending.hidden = false;
      again.setAttribute("aria-label", texts.more);
    }, Math.max(0, (round.seconds - 120) * 1000)));
    timers.push(setTimeout(() => fail(new Failure("1001", texts.expired)), round.seconds * 1000));
    run(async (isWanted) => {
      const solution = await solve("work", round.work.challenge, round.work.level);
      const shown = await ask("picture", { work: round.work.challenge, answer: solution });
      if (!isWanted()) return;
      if (typeof shown.mark !== "string") throw new Failure("8002");
      await Promise.all([load(part("picture"), shown.picture), load(part("piece"), shown.piece)]);
      if (!isWanted()) return;
      mark = shown.mark;
      again.setAttribute("aria-label", texts.again);
      slider.value = 0;
      tellPosition();
      show(text ? text + " " + texts.slide : texts.slide, ["puzzle", "submit", "again", "without"]);
      // The person may have gone on to a button meanwhile: the focus stays there.
      if (document.activeElement === document.body || document.activeElement === status) slider.focus();
    });
  }

  function answer(text) {
    run(async (isWanted) => {
      const found = await ask("answer", { answer: text });
      if (!isWanted()) return;
      if (!found.round) return succeed(found);
      round = found.round;
      begin(texts.wrong);
    });
  }

  puzzle.addEventListener("submit", (event) => {
    event.preventDefault();
    if (mark === null || ended) return;
    const text = "slider " + slider.value + " " + mark;
    mark = null;
    answer(text);
  });
  slider.addEventListener("input", tellPosition);
  slider.addEventListener("keydown", (event) => {
    // Firefox sends no form by Enter on a slider.
    if (event.key !== "Enter") return;
    event.preventDefault();
    puzzle.requestSubmit();
  });
  again.addEventListener("click", () => {
    stop();
    show(texts.checking, ["bar"]);
    run(async (isWanted) => {
      const found = await ask("again", {});
      if (!isWanted()) return;
      round = found.round;
      begin();
    });
  });
  without.addEventListener("click", () => {
    stop();
    show(texts.working, ["bar"]);
    timers.push(setTimeout(() => fail(new Failure("1001", texts.expired)), round.seconds * 1000));
    run(async (isWanted) => {
      const solution = await solve("memoryWork", round.long.challenge, round.long.level);
      if (isWanted()) answer("work " + round.long.challenge + " " + solution);
    });
  });
  retry.addEventListener("click", () => window.location.reload());
  cancel.addEventListener("click", () => end(texts.cancelled, { failed: "1005" }));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && data.dismissible) end(texts.cancelled, { failed: "1005" });
  });
  window.addEventListener("error", (event) => fail(event.error));

  // A browser alone passes by its cookie. Without one, the refusal would send it here again and again.
  const isAlone = !view && !(data.origin && other) && !data.loopback && data.back;
  if (isAlone && !navigator.cookieEnabled) fail(new Failure("1002", texts.cookies));
  else if (data.failed) fail(new Failure(data.failed, texts[data.reason]));
  else if (data.kind === "person") begin();
  else silent();
})();
