// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

/// A registered build of an app, or a registered environment: the state of systems to come.
public struct Registration: Record, Hashable {
  /// The digest of the build: its executable and its bundle.
  public var digest: AppDigest
  /// The name that people use for it, such as `door 1.4`.
  public var name: String
  /// Whether it is a build for development: debuggers are no reason to reject it.
  public var isDevelopment: Bool
  /// The time when it was registered.
  public var added: UnixTime
  /// The end of the registration; nil for never.
  public var expiry: UnixTime?
  /// The evidence to ignore when the build's reports are checked.
  public var without: LeftOutEvidence
  /// The prediction, where it is still to come; nil for a build that is here.
  public var prediction: Prediction?

  /// A registration of these parts.
  public init(
    _ digest: AppDigest, name: String, isDevelopment: Bool = false, added: UnixTime,
    expiry: UnixTime? = nil, without: LeftOutEvidence = .none, prediction: Prediction? = nil
  ) {
    self.digest = digest
    self.name = name
    self.isDevelopment = isDevelopment
    self.added = added
    self.expiry = expiry
    self.without = without
    self.prediction = prediction
  }

  /// The record's table.
  public static var table: StoreTable { .registration }
  /// The word that people use for the record, for errors.
  public static var noun: String { "registration" }
  /// The record's key in its table.
  public var key: String { digest.description }

  /// The fields, all but the key.
  public var fields: JSONObject {
    var fields: JSONObject = ["name": .string(name), "development": .bool(isDevelopment)]
    fields.set("added", added)
    fields.set("expiry", expiry)
    if without != .none { fields.set("without", without.text) }
    if let prediction { fields["upcoming"] = .object(prediction.fields) }
    return fields
  }

  /// Reads the output of ``fields``; nil for anything else.
  public init?(key: String, fields: JSONObject) {
    guard let digest = try? AppDigest(key),
      let name = fields.text("name"), let isDevelopment = fields.flag("development"),
      let added = fields.time("added"),
      let without = try? LeftOutEvidence(parsing: fields.text("without") ?? "none")
    else { return nil }
    var prediction: Prediction?
    if case .object(let fields) = fields["upcoming"] {
      prediction = Prediction(fields)
      guard prediction != nil else { return nil }
    }
    self.init(
      digest, name: name, isDevelopment: isDevelopment, added: added,
      expiry: fields.time("expiry"), without: without, prediction: prediction)
  }

  /// The public fields.
  public var shown: JSONObject {
    var shown = fields
    if let prediction { shown["upcoming"] = .object(prediction.shown) }
    shown.set("digest", key)
    return shown
  }
}
