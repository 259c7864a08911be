// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// Makes the token, secure string or custom token that an authenticated report asked for.
struct TokenMinter {
  let work: ReportWork
  let judgement: Judgement
  let code: String
  /// The measurement and its generation, if the report is for one.
  let measurement: (Measurement, UInt32)?

  var report: AttestationReport { work.report }
  var snapshot: Snapshot { work.snapshot }
  private var policy: Policy { work.snapshot.policy }

  /// Values that the caller stores and notes with the answer.
  struct Result {
    /// The content of the gate token; nil for other purposes.
    var granted: GateGrant?
    /// The change that the report makes to the device's strings.
    var strings = DeviceSighting.StringsChange.none
    /// Why an app that takes pairs to come got none, or less; for the operator's log.
    var obstacles: [Predictions.Obstacle] = []
  }

  /// The answer.
  ///
  /// - Parameter result: Gets the values that the caller stores and notes.
  /// - Returns: The answer.
  /// - Throws: ``Refusal``.
  func answer(_ result: inout Result) throws(Refusal) -> AttestationAnswer {
    let answer =
      switch report.subject.purpose {
      case .token, .measurement: try tokenAnswer(&result)
      case .secureString: try stringAnswer(&result.strings)
      case .customJWT: try customAnswer()
      case .gate: try gateAnswer(&result.granted)
      case .stringKey: stringKeyAnswer()
      }
    return dressed(answer)
  }

  /// Adds the fields that every answer to an authenticated report has.
  func dressed(_ answer: AttestationAnswer) -> AttestationAnswer {
    var answer = answer
    answer.responseCode = code
    if policy.tellsReasons, !judgement.isPassed {
      answer.rejectionReasons = judgement.reasons.names.joined(separator: ",")
    }
    return answer
  }

  // MARK: Tokens

  private func tokenAnswer(_ result: inout Result) throws(Refusal) -> AttestationAnswer {
    guard let api = snapshot.apis[report.subject.name.lowercased()] else {
      return work.answer(.unknownDomain)
    }
    // An API behind a gate takes proofs, and no token of this kind.
    guard api.kind != .none, api.kind != .proof else { return work.answer(.unprotectedDomain) }
    if measurement != nil, api.kind != .measurement { return work.answer(.notEncrypted) }
    guard let key = snapshot.key(of: api) else {
      throw .unanswered("The account has no key for “\(api.host)”.")
    }
    var claims = claims()
    let signer = snapshot.signer(of: api)
    if snapshot.hasAudience(api) { claims.audience = [api.host] }
    claims.messageKeyID = snapshot.messageKey?.id
    let general = claims
    if let (measurement, generation) = measurement {
      try add(measurement, generation, work.key, to: &claims)
    }
    var answer = work.answer(.done)
    // Set it for a failing app's token too, so that the two look alike.
    answer.tokenLifetime = UInt32(policy.tokenLifetime)
    answer.token = try minted { () throws(ServiceError) in
      judgement.isPassed
        ? try key.token(claims, signedBy: signer) : try key.decoy(claims, signedBy: signer)
    }
    // A failing app gets a decoy key, as with the token: it cannot tell, and no backend trusts its
    // signatures.
    answer.messageKey =
      judgement.isPassed ? snapshot.messageKey?.key : snapshot.messageDecoy
    if let (_, base) = measurement, report.takesUpcoming {
      let predictions = Predictions(
        of: report, judgement, under: snapshot, work.terms, with: work.key, at: work.now.whole)
      result.obstacles = predictions.obstacles
      for pair in predictions.pairs {
        var claims = general
        try add(pair.measurement, pair.config.generation, pair.key, to: &claims)
        claims.others["mgb"] = .number(JSONNumber(Int64(base)))
        claims.others["mup"] = .bool(true)
        let token = try minted { () throws(ServiceError) in
          judgement.isPassed && pair.isForApp
            ? try key.token(claims, signedBy: signer) : try key.decoy(claims, signedBy: signer)
        }
        answer.upcoming.append(UpcomingPair(pair.config, token: token, label: pair.label))
      }
    }
    return answer
  }

  private func claims() -> Claims {
    var claims = Claims(expiry: work.now.whole + policy.tokenLifetime)
    claims.instance = report.device.bytes
    if policy.tracksAddress { claims.address = work.peer.isEmpty ? nil : work.peer }
    if !code.isEmpty { claims.attestationCode = code }
    var annotated = policy.annotations
    if let rule = snapshot.rules[report.device] {
      annotated.formUnion(Properties(rule.annotations.compactMap(Property.init(name:))))
    }
    if !annotated.isEmpty {
      claims.annotations = judgement.properties.intersection(annotated).names
    }
    if let hash = report.subject.dataHash {
      claims.binding = try? Claims.Binding(digest: hash.bytes)
    }
    if !policy.issuer.isEmpty { claims.issuer = policy.issuer }
    if policy.hasIssuedAt { claims.issuedAt = UnixTime(seconds: work.now.seconds) }
    if policy.hasSubject { claims.subject = Base64.encode(report.device.bytes) }
    return claims
  }

  private func add(
    _ measurement: Measurement, _ generation: UInt32, _ key: MeasurementProofKey,
    to claims: inout Claims
  ) throws(Refusal) {
    claims.measurement = try minted { () throws(ServiceError) in
      try ServiceError.ofJOSE { () throws(JOSEError) in
        let integrity = measurement.withBytes(of: .integrity) { JOSESecret(copying: $0) }
        let device = measurement.withBytes(of: .device) { JOSESecret(copying: $0) }
        let proofKey = key.withBytes { JOSESecret(copying: $0) }
        let deviceKey = measurement.withBytes(of: .deviceKey) { JOSESecret(copying: $0) }
        return try integrity.withBytes { integrity throws(JOSEError) in
          try device.withBytes { device throws(JOSEError) in
            try proofKey.withBytes { proofKey throws(JOSEError) in
              try deviceKey.withBytes { deviceKey throws(JOSEError) in
                try MeasurementClaims(
                  integrityMeasurement: integrity, deviceMeasurement: device, proofKey: proofKey,
                  deviceKey: deviceKey)
              }
            }
          }
        }
      }
    }
    claims.others["mgn"] = .number(JSONNumber(Int64(generation)))
    claims.others["mmd"] = .string(key.mode.word)
  }

  // MARK: Secure strings

  private func stringAnswer(
    _ strings: inout DeviceSighting.StringsChange
  ) throws(Refusal) -> AttestationAnswer {
    guard policy.hasSecureStrings else { return work.answer(.disabled) }
    let name = report.subject.name
    guard (1...SecureString.nameMax).contains(name.count) else { return work.answer(.badKey) }
    guard judgement.isPassed else { return work.answer(.rejected) }
    var own = try DeviceStrings(of: report.device, work.service)
    var answer = work.answer(.done)
    if let definition = work.definition {
      guard own.set(name, to: definition) else { return work.answer(.badKey) }
      strings = own.change
      answer.secureString = definition
      return answer
    }
    if let value = try own.value(of: name) {
      answer.secureString = value
    } else if let predefined = snapshot.secureStrings[Array(name.utf8)] {
      let vault = work.service.account.vault
      answer.secureString = try minted { () throws(ServiceError) in
        try vault.text(predefined.sealedValue, for: SecureString.place(of: name))
      }
    } else {
      return work.answer(.unknownKey)
    }
    return answer
  }

  /// Gives the keys of the installation's own strings. An app that fails gets as many, which open nothing.
  private func stringKeyAnswer() -> AttestationAnswer {
    guard policy.hasSecureStrings else { return work.answer(.disabled) }
    var answer = work.answer(.done)
    answer.stringKeys = snapshot.stringSecrets.map { secret in
      secret.key(of: report.device, isPassed: judgement.isPassed)
    }
    return answer
  }

  // MARK: Custom tokens

  private func customAnswer() throws(Refusal) -> AttestationAnswer {
    guard policy.hasCustomTokens else { return work.answer(.disabled) }
    guard judgement.isPassed else { return work.answer(.rejected) }
    var claims: Claims
    do throws(CustomClaims.Refusal) {
      claims = try CustomClaims.read(report.subject.payload, allowing: policy.customClaims)
    } catch {
      return badPayload(error.words)
    }
    // The service sets the end, the device and the names that API tokens use.
    claims.expiry = work.now.whole + policy.tokenLifetime
    claims.instance = report.device.bytes
    do {
      var answer = work.answer(.done)
      answer.tokenLifetime = UInt32(policy.tokenLifetime)
      answer.token = try snapshot.customKey.customToken(claims)
      return answer
    } catch .jose(let error) {
      return badPayload(error.description)
    } catch {
      throw .unanswered("There is no custom token. \(error)")
    }
  }

  /// Returns the defect in the claims of an app that passed. The app sent the claims, so the answer
  /// reveals nothing of others.
  private func badPayload(_ words: String) -> AttestationAnswer {
    var answer = work.answer(.badPayload)
    answer.rejectionReasons = words
    return answer
  }

  private func minted<R>(_ body: () throws(ServiceError) -> R) throws(Refusal) -> R {
    do { return try body() } catch { throw .unanswered("There is no token. \(error)") }
  }
}
