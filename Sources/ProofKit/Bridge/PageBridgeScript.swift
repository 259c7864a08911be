// SPDX-License-Identifier: Apache-2.0

extension PageBridge {
  /// The script that a web view runs in the top frame of each page, in a script world of its own, at the start of the
  /// document. The file for other tools is `proofkit-bridge.js`.
  ///
  /// A page asks with `window.postMessage({proofkit: "event", id: 1, event: 3301, account: "ada", data: "…"},
  /// location.origin)` and gets a message with `proofkit: "token"`, the same `id`, and `z` or `error`. The page's own
  /// scripts cannot reach the handler.
  public static let script = """
    // SPDX-License-Identifier: Apache-2.0

    // ProofKit: gives event tokens to a page. Runs in an isolated script world of the top frame.
    (() => {
      "use strict";
      const bridge = window.webkit?.messageHandlers?.proofkit;
      const isPage = window === window.top && location.protocol === "https:";
      if (!bridge || !isPage || window.proofKitBridge) return;
      window.proofKitBridge = true;

      const { origin } = location;
      const openMax = 8;
      let open = 0;

      const answer = (id, reply) => {
        window.postMessage({ proofkit: "token", id, ...reply }, origin);
      };

      const ask = async ({ event, account, data }) => {
        try {
          return JSON.parse(
            await bridge.postMessage(JSON.stringify({ origin, event, account, data })),
          );
        } catch {
          return { error: "message" };
        }
      };

      window.addEventListener("message", async (message) => {
        // Frames and other windows may post here, too: only this window's own page is answered.
        if (message.source !== window || message.origin !== origin) return;
        const asked = message.data;
        if (typeof asked !== "object" || asked === null || asked.proofkit !== "event") return;
        const id = Number.isSafeInteger(asked.id) ? asked.id : null;
        if (id === null || open >= openMax) {
          answer(id, { error: "message" });
          return;
        }
        open += 1;
        try {
          answer(id, await ask(asked));
        } finally {
          open -= 1;
        }
      });
    })();

    """
}
