// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

/// An operator's decision about one device, which overrides its reports.
public struct DeviceRule: Record, Hashable {
  /// The decision.
  public enum Decision: String, Sendable, CaseIterable {
    /// The device passes.
    case pass
    /// The device fails.
    case fail
  }

  /// The device.
  public var device: InstanceID
  /// The decision; nil if only annotations were decided.
  public var decision: Decision?
  /// Properties to annotate for this device, whatever the policy says; `all` for all.
  public var annotations: [String]

  /// A rule of these parts.
  public init(_ device: InstanceID, _ decision: Decision?, annotations: [String] = []) {
    self.device = device
    self.decision = decision
    self.annotations = annotations
  }

  /// The record's table.
  public static var table: StoreTable { .deviceRule }
  /// The word that people use for the record, for errors.
  public static var noun: String { "device rule" }
  /// The record's key in its table.
  public var key: String { device.description }

  /// The fields, all but the key.
  public var fields: JSONObject {
    var fields = JSONObject()
    fields.set("decision", decision?.rawValue)
    fields.set("annotations", annotations)
    return fields
  }

  /// Reads the output of ``fields``; nil for anything else.
  public init?(key: String, fields: JSONObject) {
    guard let device = try? InstanceID(key),
      let annotations = fields.texts("annotations")
    else { return nil }
    self.init(
      device, fields.text("decision").flatMap(Decision.init), annotations: annotations)
  }

  /// The public fields.
  public var shown: JSONObject {
    var shown = fields
    shown.set("device", key)
    return shown
  }
}
