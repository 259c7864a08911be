// SPDX-License-Identifier: Apache-2.0

import ProofKit

/// A presenter of an app's own.
private struct Shown: ChallengePresenter {
  func present(_ page: ChallengePage) async throws(PresenterError) -> String {
    throw page.options.isDismissible ? .cancelled : .cannotBeShown
  }
}

func probeChallenges() throws {
  var settings = ChallengeSettings(
    presenter: Shown(), page: .init(layout: .embedded), workLevelMax: 18, memoryWorkLevelMax: 4,
    threadCount: 1)
  settings.presenter = BrowserPresenter(command: ["xdg-open"])
  settings.presenter = TerminalPresenter(write: { print($0) })
  settings.page.layout = .popUp
  settings.page.language = "de"
  settings.page.page = "https://pages.example.com/check"
  settings.page.isDismissible = false
  settings.workLevelMax = 17
  settings.memoryWorkLevelMax = 3
  settings.threadCount = 2
  try expect(settings.workLevelMax == 17 && settings.memoryWorkLevelMax == 3)
  try expect(ChallengePage.Layout.allCases.map(\.rawValue) == ["embedded", "popup"])
  try expect(BrowserPresenter().command == ["xdg-open"])
  try expect(ChallengeTimes.page > ChallengeTimes.share)
  try expect(ChallengePage.result(of: #"{"failed":"1005"}"#) == .failure(.cancelled))

  let errors: [ChallengeError] = [
    .malformed(reason: "x"), .tooHard(level: 2, allowed: 1), .outOfMemory, .presenterMissing,
    .page(.system), .bodyNotRepeatable, .unknownName("x"), .rejected(status: 403),
  ]
  try expect(Set(errors.map(\.description)).count == errors.count)
  let codes: [PresenterError] = [
    .verificationFailed, .system, .parameter, .cancelled, .cannotBeShown, .abnormalData, .internal,
    .network,
  ]
  try expect(codes == PresenterError.allCases && codes[0].code == "1001")
  try expect(PresenterError(code: "8004") == .network)
  try expect(Set(codes.map(\.description)).count == 8)
}

/// A page in a web view.
func probeBridge(_ attestor: Attestor) throws {
  let origin = try PageBridge.Origin("https://shop.example.com")
  try expect(PageBridge.Origin(of: "https://shop.example.com/cart") == origin)
  try expect(origin.description == "https://shop.example.com")
  let bridge = PageBridge(attestor, origins: [origin: [3301]])
  let frame = PageBridge.Frame(url: "https://shop.example.com/cart", isTop: false)
  try expect(frame.url.hasSuffix("cart") && !frame.isTop)
  do throws(BridgeError) {
    _ = try bridge.answer("{}") { frame }
  } catch { try expect(error == .frame && !error.description.isEmpty) }
  try expect(bridge.reply(to: "{}") { nil } == #"{"error":"frame"}"#)
  try expect(PageBridge.script.contains("postMessage") && PageBridge.handlerName == "proofkit")
  try expect(PageBridge.messageByteCountMax == 4096)
  let words: [BridgeError] = [.origin, .frame, .message, .event, .moved]
  try expect(words == BridgeError.allCases)
}
