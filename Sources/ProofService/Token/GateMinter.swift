// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

// Admissions to gates. An app that fails gets one as well: its token's sealed flags say so, and nothing else
// differs.

extension TokenMinter {
  /// The admission that a believed report asked for.
  ///
  /// - Parameter granted: The content of the gate token; nil where there is no admission.
  /// - Returns: The answer.
  /// - Throws: ``Refusal``.
  func gateAnswer(_ granted: inout GateGrant?) throws(Refusal) -> AttestationAnswer {
    guard let api = snapshot.apis[report.subject.name.lowercased()] else {
      return work.answer(.unknownDomain)
    }
    guard api.kind == .proof, let open = api.gate.flatMap({ snapshot.gates[$0] }) else {
      return work.answer(.noGate)
    }
    guard let (measurement, generation) = measurement else {
      throw .unanswered("A report for a gate was believed without a measurement.")
    }
    do {
      let instance = try InstanceID(report.device.bytes)
      let secret = try GateSecret(
        of: measurement, for: open.gate.id, instance: instance, generation: generation,
        with: work.key)
      let grant = try grant(open, instance, secret)
      let token = try grant.sealed(to: open.recipient, signedBy: open.issuer)
      granted = grant
      var answer = work.answer(.done)
      answer.admission = try GateAdmission(
        gate: open.gate.id, generation: generation, life: UInt32(open.gate.life), token: token,
        accountKey: open.accountKey, form: open.gate.form, headers: open.gate.headers,
        freshness: UInt8(open.gate.freshness), hosts: open.hosts, events: open.events)
      return answer
    } catch {
      throw .unanswered("There is no admission to gate “\(open.gate.name)”. \(error)")
    }
  }

  private func grant(
    _ open: OpenGate, _ instance: InstanceID, _ secret: GateSecret
  ) throws(ProofError) -> GateGrant {
    let issued = max(1, work.now.whole)
    let firstSeen = work.desk.known.map { max(1, $0.firstSeen) } ?? issued
    var grant = GateGrant(
      for: open.gate.id, instance: instance, mode: work.key.mode, issued: issued,
      notAfter: issued + open.gate.life, firstSeen: min(firstSeen, issued), secret: secret)
    grant.isFailed = !judgement.isPassed
    grant.isForced =
      judgement.properties.contains(.forcedPass)
      || judgement.properties.contains(.forcedFail)
    grant.properties = judgement.properties.rawValue
    grant.responseCode = code.isEmpty ? nil : code
    grant.findings = Self.findings(in: report.subject.properties)
    grant.app = Array(judgement.app.bytes.prefix(GateGrant.appByteCount))
    return grant
  }

  /// The first findings of `finding.CLASS.NUMBER` and `finding.CLASS.NUMBER.NAME`, each once and in order.
  static func findings(in properties: [AttestationReport.Property]) -> [GateFinding] {
    let found = properties.compactMap { property -> GateFinding? in
      let parts = property.name.split(separator: ".", maxSplits: 3)
      guard parts.count >= 3, parts[0] == "finding", let category = UInt8(parts[1]),
        (1...3).contains(category), let number = UInt8(parts[2]), number > 0
      else { return nil }
      return GateFinding(category: category, number: number)
    }
    return Array(Set(found).sorted().prefix(GateFinding.countMax))
  }
}
