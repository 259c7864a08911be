// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

// Devices, tokens and response codes.

/// The operator's view of a device.
public struct DeviceSummary: Sendable {
  /// The device.
  public var device: InstanceID
  /// The time when it was first seen.
  public var firstSeen: UnixTime
  /// The time when it was last seen.
  public var lastSeen: UnixTime
  /// The highest generation of a measurement.
  public var generation: UInt32
  /// The findings of its last report.
  public var note: JSONObject
  /// The operator's decision about it; nil if there is none.
  public var rule: DeviceRule?
  /// How far the fields may be behind: they may have been read from a replica.
  public var age: SurveyAge

  /// The fields as JSON.
  public var shown: JSONObject {
    var shown = note
    shown["machines"] = nil
    if case .object(let key) = note["key"] { shown.set("key", key.text("kind")) }
    shown.set("device", device.description)
    shown.set("did", Base64.encode(device.bytes))
    shown.set("firstSeen", firstSeen)
    shown.set("lastSeen", lastSeen)
    shown.set("generation", Int64(generation))
    shown.set("rule", rule?.decision?.rawValue)
    if let rule, !rule.annotations.isEmpty { shown.set("annotations", rule.annotations) }
    shown["age"] = age.shown
    return shown
  }
}

extension SurveyAge {
  /// The age as a member of JSON: seconds, or `unknown`; nil for the present.
  var shown: JSONValue? {
    switch self {
    case .present: nil
    case .atMost(let seconds): .number(JSONNumber(seconds))
    case .unknown: .string("unknown")
    }
  }
}

extension Management {
  /// The devices seen last, the latest first. A store with replicas reads them there, and tells their age.
  ///
  /// - Parameter count: The most devices to list.
  /// - Returns: The devices.
  /// - Throws: ``ServiceError``.
  public func devices(latest count: Int = 50) throws(ServiceError) -> [DeviceSummary] {
    let found = try ServiceError.ofStore { () throws(StoreError) in
      try store.surveyedDevices(latest: count)
    }
    let rules = try account.snapshot().rules
    var summaries: [DeviceSummary] = []
    for row in found.content {
      guard case .object(let note) = try? JSONValue(parsing: row.note.span) else {
        throw .damaged("device “\(row.device)”")
      }
      summaries.append(
        DeviceSummary(
          device: row.device, firstSeen: row.firstSeen, lastSeen: row.lastSeen,
          generation: row.generation, note: note, rule: rules[row.device],
          age: found.age))
    }
    return summaries
  }

  /// Finds a device by the text that a person typed.
  ///
  /// - Parameter text: A device id in hexadecimal or base64, or `latest` for the one seen last.
  /// - Returns: The device.
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func device(named text: String) throws(ServiceError) -> InstanceID {
    if text == "latest" {
      // A decision about it follows, so no replica is asked.
      let seen = try ServiceError.ofStore { () throws(StoreError) in try store.devices(latest: 1) }
      guard let latest = seen.first else { throw .unknown("device", name: "latest") }
      return latest.device
    }
    let bytes = Hexadecimal.decode(text) ?? Base64.decode(text) ?? []
    guard let device = try? InstanceID(bytes) else {
      throw .invalid(
        "device", value: String(text.prefix(80)),
        allowed: "a device id (32 hexadecimal digits or 24 characters of base64), or latest")
    }
    return device
  }

  /// Lets a device pass or fail whatever its reports say.
  ///
  /// - Parameters:
  ///   - decision: Pass, fail, or nil to take an earlier decision back.
  ///   - device: The device; it need not have been seen.
  /// - Throws: ``ServiceError``.
  public func set(
    _ decision: DeviceRule.Decision?, for device: InstanceID
  ) throws(ServiceError) {
    try rewriteRule(of: device) { $0.decision = decision }
  }

  /// Annotates a device's tokens with properties beyond the policy's.
  ///
  /// - Parameters:
  ///   - annotations: The properties.
  ///   - device: The device.
  /// - Throws: ``ServiceError``.
  public func annotate(_ annotations: Properties, for device: InstanceID) throws(ServiceError) {
    try rewriteRule(of: device) { $0.annotations = annotations.names }
  }

  /// Rewrites a rule, and deletes one that has become empty.
  private func rewriteRule(
    of device: InstanceID, _ change: (inout DeviceRule) -> Void
  ) throws(ServiceError) {
    let key = device.description
    try rewrite(key, of: .deviceRule) { present throws(ServiceError) in
      var rule = DeviceRule(device, nil)
      if let present { rule = try DeviceRule(StoreRow(key, present)) }
      change(&rule)
      return rule.decision == nil && rule.annotations.isEmpty ? nil : rule.bytes
    }
  }

  // MARK: Response codes

  /// Reads a response code.
  ///
  /// - Parameter text: Ten characters, in either case.
  /// - Returns: The code's content.
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)`` if it is not one of this account's.
  public func read(responseCode text: String) throws(ServiceError) -> ResponseCode {
    guard let code = ResponseCode(text, key: account.vault.responseCodeKey()) else {
      throw .invalid(
        "response code", value: String(text.prefix(40)),
        allowed: "ten letters and digits 2 to 7 that this account's service made")
    }
    return code
  }

  // MARK: Metrics

  /// The store's counts.
  public func metrics() throws(ServiceError) -> JSONObject {
    let counts = try ServiceError.ofStore { () throws(StoreError) in try store.surveyedCounts() }
    let snapshot = try account.snapshot()
    var fields = JSONObject()
    fields.set("devices", Int64(counts.content.devices))
    fields["devicesAge"] = counts.age.shown
    fields.set("apis", Int64(snapshot.apis.count))
    fields.set("registrations", Int64(snapshot.registrations.count))
    fields.set("sdkBuilds", Int64(snapshot.builds.count))
    fields.set("keys", Int64(snapshot.keys.count))
    fields.set("configurationSerial", Int64(snapshot.configuration.serial))
    return fields
  }
}
