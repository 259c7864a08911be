// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
public import ProofModel

/// Facts of a registration about a build or an environment that is still to come.
///
/// Only an operator's registration is a source of predicted digests, never an app's report.
public struct Prediction: Sendable, Hashable {
  /// The build that it updates; nil for an environment.
  public var updates: AppDigest?
  /// Its records, as a reference machine has them. Those of the files are among them.
  public var records: EvidenceSet
  /// The key id of the SDK build in it; nil if that does not change.
  public var keyID: KeyID?

  /// The most records of one registration.
  public static let recordsMax = 4_096

  /// A prediction.
  public init(updates: AppDigest? = nil, records: EvidenceSet, keyID: KeyID? = nil) {
    self.updates = updates
    self.records = records
    self.keyID = keyID
  }

  /// Sources of which the records of a build are all there is: its files.
  static let files = Set(
    AppDigest.sources.compactMap { try? SourceID(.app, $0) })

  /// The sources that are asked for, and whose records for this build are missing.
  func missing(of sources: [SourceID]) -> [SourceID] {
    guard updates != nil else { return [] }
    return EvidenceRecord.ofExecutable.filter { source in
      sources.contains(source)
        && !records.records.contains { $0.source == source && $0.isOfExecutable }
    }
  }

  /// The name of an environment: it never equals that of a build.
  static func name(ofEnvironment records: EvidenceSet) throws(ServiceError) -> AppDigest {
    let digest = Digest(hashing: Array("pfs1.environment".utf8) + records.recordBytes)
    guard let name = try? AppDigest(digest.bytes) else {
      throw .invalid("records", value: "\(records.records.count)", allowed: "records")
    }
    return name
  }

  /// Reads records, in base64url.
  static func records(_ text: String) throws(ServiceError) -> EvidenceSet {
    guard let bytes = Base64.decode(text, .url),
      let records = try? EvidenceSet(recordBytes: bytes),
      (1...recordsMax).contains(records.records.count)
    else {
      throw .invalid(
        "records", value: "\(text.utf8.count) characters",
        allowed: "1 to \(recordsMax) records in base64url, in their order")
    }
    return records
  }

  /// Reads the arguments of `registration/add`; nil without `upcoming`.
  init?(_ arguments: inout ManagementArguments) throws(ServiceError) {
    let records = try arguments.optionalText("records")
    let keyID = try arguments.optionalText("keyID")
    guard let text = try arguments.optionalText("upcoming") else {
      guard records == nil, keyID == nil else {
        throw .invalid(
          records == nil ? "keyID" : "records", value: "without upcoming",
          allowed: "an update of a registered build")
      }
      return nil
    }
    guard let updates = try? AppDigest(text) else {
      throw .invalid("upcoming", value: text, allowed: "the digest of a registered build")
    }
    guard let records else {
      throw .invalid("records", value: "", allowed: "a text; it is missing")
    }
    self.init(updates: updates, records: try Self.records(records))
    if let keyID {
      guard let id = try? KeyID(keyID) else {
        throw .invalid("keyID", value: keyID, allowed: "the id of an SDK build's key")
      }
      self.keyID = id
    }
  }

  /// Checks a prediction against the account before it is stored.
  func check(for registration: Registration, under snapshot: Snapshot) throws(ServiceError) {
    guard let updates else { return }
    guard AppDigest(of: records) == registration.digest else {
      throw .invalid(
        "records", value: "of another build", allowed: "those of build \(registration.digest)")
    }
    guard updates != registration.digest, let present = snapshot.registrations[updates],
      present.prediction == nil || present.prediction?.updates != nil
    else { throw .unknown(Registration.noun, name: updates.description) }
    if let keyID, snapshot.builds[keyID] == nil {
      throw .unknown(SDKBuild.noun, name: keyID.description)
    }
  }

  /// The stored fields.
  var fields: JSONObject {
    var fields = JSONObject()
    fields.set("updates", updates?.description)
    fields.set("records", Base64.encode(records.recordBytes, .url))
    fields.set("keyID", keyID?.description)
    return fields
  }

  init?(_ fields: JSONObject) {
    guard let text = fields.text("records"), let bytes = Base64.decode(text, .url),
      let records = try? EvidenceSet(recordBytes: bytes)
    else { return nil }
    self.init(records: records)
    if let text = fields.text("updates") {
      guard let updates = try? AppDigest(text) else { return nil }
      self.updates = updates
    }
    if let text = fields.text("keyID") {
      guard let keyID = try? KeyID(text) else { return nil }
      self.keyID = keyID
    }
  }

  /// The fields for people: the number of records instead of the records.
  var shown: JSONObject {
    var shown = JSONObject()
    shown.set("updates", updates?.description)
    shown.set("records", Int64(records.records.count))
    shown.set("keyID", keyID?.description)
    return shown
  }
}

extension Management {
  /// A registration for people. An upcoming one tells why its measurement cannot be predicted, if so.
  func shown(_ registration: Registration) throws(ServiceError) -> JSONObject {
    var shown = registration.shown
    guard let prediction = registration.prediction, case .object(var upcoming) = shown["upcoming"]
    else { return shown }
    let snapshot = try account.snapshot()
    let obstacle = Predictions.obstacle(of: prediction, under: snapshot)
    upcoming.set("predicted", obstacle == nil)
    upcoming.set("reason", obstacle?.description)
    shown["upcoming"] = .object(upcoming)
    return shown
  }
}
