// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// An account's demand on the keys of its installations.
public enum InstallationKeyRule: String, Sendable, CaseIterable {
  /// No demand: apps without a key pass. A device that has shown a key must keep using it.
  case any
  /// Each report is signed by the key of its installation.
  case signed
  /// Each report is signed, and the key is proved to be in a TPM that one of the operator's
  /// authorities vouches for.
  case hardware

  /// The properties that reject under this rule, whatever the setting `rejection` says.
  var rejection: Properties {
    switch self {
    case .any: []
    case .signed: Properties([.installationKeyMissing, .installationKeyChanged])
    case .hardware:
      Properties([
        .installationKeyMissing, .installationKeyChanged, .installationKeyUnproved,
      ])
    }
  }
}

/// The key of an installation, as the service knows it.
struct InstallationKeyNote: Sendable, Hashable {
  /// The place of the key, as far as the service knows.
  enum Kind: String, Sendable {
    /// In a file; or in a TPM that has shown no evidence.
    case storage
    /// In a TPM by the app's own claim, with no evidence.
    case unproved = "tpm-unproved"
    /// In a TPM, shown by evidence.
    case tpm
  }

  let point: InstallationPoint
  var kind: Kind
  /// The time when the device first showed it.
  let since: UnixTime

  init(_ point: InstallationPoint, _ kind: Kind, since: UnixTime) {
    self.point = point
    self.kind = kind
    self.since = since
  }

  init?(_ fields: JSONObject) {
    guard let bytes = fields.bytes("point"), let point = try? InstallationPoint(bytes),
      let kind = fields.text("kind").flatMap(Kind.init), let since = fields.time("since")
    else { return nil }
    self.init(point, kind, since: since)
  }

  var fields: JSONObject {
    var fields = JSONObject()
    fields.set("point", point.bytes)
    fields.set("kind", kind.rawValue)
    fields.set("since", since)
    return fields
  }
}

/// The key of an authenticated report, whose signature was verified.
struct InstallationKeySighting: Sendable {
  /// The objections of the rule, and of the device's earlier reports.
  let properties: Properties
  /// The note for the device; nil for none.
  let note: InstallationKeyNote?

  /// - Parameters:
  ///   - claim: The key that signed; nil for none.
  ///   - isProved: Whether the report contained the secret of a credential for this key.
  ///   - known: The device's key.
  ///   - rule: The account's rule.
  ///   - now: The time.
  init(
    _ claim: InstallationClaim?, isProved: Bool, known: InstallationKeyNote?,
    under rule: InstallationKeyRule, at now: UnixTime
  ) {
    guard let claim else {
      // A device that has a key cannot avoid it by not using it.
      properties = known != nil || rule != .any ? Properties([.installationKeyMissing]) : []
      note = known
      return
    }
    var kind: InstallationKeyNote.Kind = claim.place == .tpm ? .unproved : .storage
    if isProved { kind = .tpm }
    var seen: Properties = []
    if let known, known.point != claim.point {
      seen.insert(.installationKeyChanged)
      note = known
    } else {
      // Evidence stays valid once shown, because the key does not leave its TPM.
      if known?.kind == .tpm { kind = .tpm }
      note = InstallationKeyNote(claim.point, kind, since: known?.since ?? now)
    }
    if rule == .hardware, kind != .tpm { seen.insert(.installationKeyUnproved) }
    properties = seen
  }
}
