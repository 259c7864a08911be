// SPDX-License-Identifier: Apache-2.0

import ProofKit

/// A presenter of an app's own.
private struct Shown: ChallengePresenter {
  func present(_ page: ChallengePage) async throws(PresenterError) -> String {
    throw page.options.isDismissible ? .cancelled : .cannotBeShown
  }
}

func probeChallenges(_ client: ProtectedClient, _ request: Request) async throws {
  try expect(client.challenges.presenter == nil && client.challenges.threadCount == 2)
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
  try expect(settings.workLevelMax == 17 && settings.memoryWorkLevelMax == 3)
  try expect(ChallengePage.Layout.allCases.map(\.rawValue) == ["embedded", "popup"])
  try expect(BrowserPresenter().command == ["xdg-open"])
  try expect(ChallengeTimes.page > ChallengeTimes.share)
  try expect(ChallengePage.result(of: #"{"failed":"1005"}"#) == .failure(.cancelled))
  let own = ProtectedClient(client.session, over: nil, challenges: settings)
  try expect(own.challenges.page.layout == .popUp)

  let id = "FwEM" + String(repeating: "A", count: 76)
  let challenge: ProtectedClient.Challenge = try .init(id)
  try expect(challenge.id == id && challenge.kind == .work && challenge.level == 12)
  try expect(challenge.expiry == 0 && !challenge.needsPerson)
  try expect(ProtectedClient.Challenge.characterCount == 80)
  try expect(ProtectedClient.Challenge.Kind.allCases.count == 5)
  let kinds: [ProtectedClient.Challenge.Kind] = [.work, .memoryWork, .person]
  try expect(Set(kinds).isSubset(of: ProtectedClient.Challenge.Kind.allCases))
  try expect(try ProtectedClient.challenge(in: Response(status: 200), cookies: "") == nil)
  let found = try ProtectedClient.challenge(
    status: 428, fields: [HeaderField(GateField.challenge, id)], cookies: "", body: [])
  try expect(found == challenge && request.isRepeatable)
  try expect(GateField.answer == "proof-answer" && GateField.ticket == "proof-ticket")
  try expect(GateField.clearance == "proof-clearance")
  try expect(client.clearance(for: "api.example.com") == nil)
  try expect(client.session.clearance(for: "api.example.com") == nil)
  try expect(client.session.unguarded(request).url == request.url)
  do throws(GateError) {
    _ = try client.answerAndWait(to: challenge, for: request)
  } catch { try expect(error == .notStarted) }
  do throws(GateError) {
    _ = try await client.answer(to: challenge, for: request)
  } catch { try expect(error == .notStarted) }
  do throws(GateError) {
    _ = try client.attestAndWait("login", within: .seconds(1))
  } catch { try expect(error == .notStarted) }
  do throws(GateError) {
    _ = try await client.attest("login")
  } catch { try expect(error == .notStarted) }
  client.attest("login") { _ in }

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
  try probeBridge(client.session)
}

/// A page in a web view.
private func probeBridge(_ session: GateSession) throws {
  let origin = try PageBridge.Origin("https://shop.example.com")
  try expect(PageBridge.Origin(of: "https://shop.example.com/cart") == origin)
  try expect(origin.description == "https://shop.example.com")
  let bridge = PageBridge(session, origins: [origin: [3301]])
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
