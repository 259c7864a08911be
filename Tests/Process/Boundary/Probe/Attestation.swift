// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// App and service in one process: a question, a challenge, a report and an answer.
func probeAttestation(_ baseline: BaselineProbe) throws {
  let key = baseline.key
  let evidence = try evidence()
  let device = InstanceID(of: evidence, account: "acme")
  try expect(InstanceID.byteCount == 16 && InstanceID.secretSource == 5)
  try expect(AppDigest(of: evidence).bytes.count == 32 && AppDigest.sources.contains(3))

  let asked = AttestationQuestion(
    keyID: key.id, device: device, purpose: .measurement, configSerial: 4, account: "acme",
    sdkVersion: "1.0")
  let question = try AttestationQuestion(asked.bytes)
  try expect(question == asked && question.keyID == key.id && question.device == device)
  try expect(question.purpose == AttestationPurpose(rawValue: 2) && question.configSerial == 4)
  try expect(question.account == "acme" && question.sdkVersion == "1.0")
  try expect(question.withheld.isEmpty)
  let purposes: [AttestationPurpose] = [
    .token, .measurement, .secureString, .customJWT, .gate, .stringKey,
  ]
  try expect(AttestationPurpose.allCases == purposes)

  let draft = try BaselineDraft(salt: .random(), sources: baseline.config.sources)
  let sent = AttestationChallenge(draft, lifetime: 30, configSerial: 5)
  let challenge = try AttestationChallenge(sent.bytes)
  try expect(challenge == sent && challenge.draft == draft)
  try expect(challenge.lifetime == 30 && challenge.configSerial == 5)

  let property = AttestationReport.Property("os", "Debian")
  try expect(property.name == "os" && property.value == "Debian")
  let subject = AttestationReport.Subject(
    .measurement, name: "api.example.com", payload: [1], userProperty: "beta",
    developmentKey: "let me in", dataHash: Digest(hashing: [3]), properties: [property])
  let made = try AttestationReport.make(
    subject, of: evidence, answering: challenge, account: "acme", configSerial: 4,
    sdkVersion: "1.0", with: key)
  let report = try AttestationReport(made.bytes)
  try expect(report.withheld == [])
  let head = try AttestationReport.Head(made.bytes)
  try expect(report.head == head && head.purpose == .measurement)
  try expect(report.subject == subject && report.subject.purpose == .measurement)
  try expect(report.subject.payload == [1] && report.subject.userProperty == "beta")
  try expect(report.subject.developmentKey.count == 9 && report.subject.dataHash != nil)
  try expect(report.subject.properties == [property] && report.subject.name.hasPrefix("api"))
  try expect(report.account == "acme" && report.configSerial == 4 && report.sdkVersion == "1.0")
  try expect(report.keyID == key.id && report.salt == draft.salt && report.device == device)
  try expect(report.evidence == evidence && report.description.contains("acme"))
  try expect(report.customMirror.children.count == 1)
  let believed = try report.measurement(under: draft, with: key)
  try expect(believed.config == made.config)
  try expect(believed.measurement.description == "Measurement(secret)")

  let outcomes: [AttestationAnswer.Outcome] = [
    .done, .unknownDomain, .unprotectedDomain, .rejected, .disabled, .unknownKey, .badKey,
    .badPayload, .askAgain, .unbelievable, .notEncrypted, .noGate,
  ]
  try expect(AttestationAnswer.Outcome.allCases == outcomes && outcomes[10].rawValue == 11)
  var answer = AttestationAnswer(to: draft.salt, .done, token: "a.b.c")
  answer.configSerial = 5
  answer.forcedPinsSerial = 2
  answer.tokenLifetime = 300
  answer.responseCode = "ABCDEFGHIJ"
  answer.rejectionReasons = "debug"
  answer.secureString = "secret"
  let messageKey = try MessageKey(.random(count: MessageKey.byteCount))
  try expect(messageKey != .random() && Set([messageKey]).contains(messageKey))
  let signature = messageKey.signature(of: "open")
  try expect(signature.count == MessageKey.signatureByteCount)
  try expect(messageKey.isSignature(signature.span, of: "open"))
  try expect(messageKey.description == "MessageKey(secret)")
  try expect(messageKey.customMirror.children.count == 1)
  answer.messageKey = messageKey
  let stringKey = try StringKey(.random(count: StringKey.byteCount))
  try expect(stringKey.description == "StringKey(secret)" && Set([stringKey]).count == 1)
  try expect(stringKey.customMirror.children.count == 1 && answer.stringKeys.isEmpty)
  answer.stringKeys = [stringKey]
  let received = try AttestationAnswer(answer.bytes(with: key), to: draft.salt, with: key)
  try expect(received == answer && received.salt == draft.salt && received.outcome == .done)
  try expect(received.token == "a.b.c" && received.tokenLifetime == 300)
  try expect(received.admission == nil && question.host.isEmpty)
}
