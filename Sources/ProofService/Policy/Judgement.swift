// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// Whether an app passes, and the reasons if it does not.
struct Judgement: Sendable {
  /// The findings.
  var properties: Properties
  /// The reasons why the app fails; empty if it passes, or an operator decided.
  var reasons: Properties
  /// Whether the app passes.
  var isPassed: Bool
  /// The digest of the app's build.
  let app: AppDigest
  /// The machine, as far as the app shows it.
  let machine: MachineSight
  /// The registration of the app's build, if it has one.
  var registration: Registration?

  /// Decides about an authenticated report.
  ///
  /// - Parameters:
  ///   - report: The report.
  ///   - build: The SDK's build, with the mode of its key.
  ///   - note: The device's note from earlier reports; nil at its first report.
  ///   - key: The report's installation key.
  ///   - snapshot: The account.
  ///   - now: Unix seconds.
  init(
    of report: AttestationReport, build: SDKBuild, note: DeviceNote?, key: InstallationKeySighting,
    under snapshot: Snapshot, at now: Int64
  ) {
    let policy = snapshot.policy
    app = AppDigest(of: report.evidence)
    machine = MachineSight(of: report)
    let registered = snapshot.registrations[app]
    registration = registered.flatMap { ($0.expiry ?? .max) > now ? $0 : nil }
    // The SDK reports findings also about sources that it was not asked to measure: leave those out
    // too.
    var leftOut = LeftOutEvidence(snapshot.leftOut(of: build))
    if let registration { leftOut = leftOut.union(registration.without) }
    var seen = EvidenceReading.properties(of: report, without: leftOut)
    if registration == nil { seen.insert(.appNotRegistered) }
    if !policy.sdkVersions.isEmpty, !policy.sdkVersions.contains(report.sdkVersion) {
      seen.insert(.sdkVersion)
    }
    seen.formUnion(key.properties)
    seen.formUnion(report.withheld.properties)
    if build.mode == .development { seen.insert(.developmentSDK) }
    if note == nil { seen.insert(.firstFetch) }
    if let note, note.isActiveElsewhere(than: machine, since: now - Int64(policy.cloneWindow)) {
      seen.insert(.clonedStorage)
    }
    if report.tellsOfCopy
      || (note?.copyReported).map({ $0 >= now - Int64(policy.cloneWindow) }) == true
    {
      seen.insert(.copySeen)
    }
    if let key = snapshot.developmentKey,
      CoreSodium.areEqual(key, Array(report.subject.developmentKey.utf8))
    {
      seen.insert(.developmentKey)
    }

    var counting = policy.rejection.union(policy.installationKey.rejection)
      .union(policy.withholding.rejection)
    if registration?.isDevelopment == true {
      seen.insert(.developmentApp)
      counting.subtract(Properties([.debug]))
    }
    reasons = seen.intersection(counting)
    isPassed = reasons.isEmpty || seen.contains(.developmentKey)
    // The operator's decision about this one device overrides the rest.
    switch snapshot.rules[report.device]?.decision {
    case .pass:
      seen.insert(.forcedPass)
      isPassed = true
    case .fail:
      seen.insert(.forcedFail)
      isPassed = false
      reasons.insert(.forcedFail)
    case nil: break
    }
    if isPassed { reasons = [] }
    properties = seen
  }
}

/// The service's note about a device, updated at each report.
struct DeviceNote: Sendable {
  /// One machine that the device was seen on.
  struct Machine: Sendable, Hashable {
    var sight: MachineSight
    var lastSeen: Int64
  }

  /// The most machines that are noted: four, each as four collection modes show it, so that reports
  /// of one machine under other modes push no other machine out.
  static let machineMax = 16
  /// The most bytes of JSON kept of the app's own statements. The rest is left out, because a note
  /// that is too long to be read would be lost, and its machines with it.
  static let saidMax = 4_096
  /// The most characters kept of the SDK's version.
  static let versionMax = 64

  var fields: JSONObject
  var machines: [Machine]
  /// The installation's key; nil until it has shown one.
  var key: InstallationKeyNote?
  /// The time of the latest report that told of a copy, in Unix seconds; nil for none.
  private(set) var copyReported: Int64?
  /// The newest handle of the installation at each gate, by the gate's name: an operator finds the device of a
  /// handle in a gate's log.
  private var handles = JSONObject()

  init?(_ bytes: [UInt8]) {
    guard case .object(let fields) = try? JSONValue(parsing: bytes.span),
      case .array(let values) = fields["machines"]
    else { return nil }
    self.fields = fields
    if case .object(let key) = fields["key"] {
      guard let key = InstallationKeyNote(key) else { return nil }
      self.key = key
    }
    if case .object(let handles) = fields["handles"] { self.handles = handles }
    copyReported = fields.integer("copy")
    machines = []
    for case .object(let machine) in values {
      guard let digest = machine.bytes("machine"), let time = machine.integer("seen") else {
        return nil
      }
      let sight = MachineSight(digest: digest, parts: machine.bytes("parts"))
      machines.append(Machine(sight: sight, lastSeen: time))
    }
  }

  init() {
    fields = JSONObject()
    machines = []
  }

  /// Whether another machine with the same storage secret was seen recently.
  func isActiveElsewhere(than machine: MachineSight, since time: Int64) -> Bool {
    machines.contains { $0.lastSeen >= time && $0.sight.isOther(than: machine) }
  }

  /// Notes a handle, and forgets those of gates that are gone.
  mutating func note(_ handle: GateHandle, at gate: String, of gates: some Sequence<String>) {
    let gates = Set(gates)
    for (name, _) in handles.members where !gates.contains(name) { handles[name] = nil }
    handles.set(gate, handle.description)
  }

  /// Notes a report.
  mutating func note(
    _ report: AttestationReport, _ judgement: Judgement, key: InstallationKeySighting,
    code: String, peer: String?, at now: Int64
  ) {
    self.key = key.note
    if report.tellsOfCopy { copyReported = now }
    let machine = judgement.machine
    machines.removeAll { $0.sight.digest == machine.digest }
    machines.insert(Machine(sight: machine, lastSeen: now), at: 0)
    machines.removeLast(max(0, machines.count - Self.machineMax))

    fields = JSONObject()
    fields.set("passed", judgement.isPassed)
    fields.set("properties", judgement.properties.names)
    fields.set("arc", code)
    fields.set("sdk", String(report.sdkVersion.unicodeScalars.prefix(Self.versionMax)))
    fields.set("app", judgement.app.description)
    fields.set("appName", judgement.registration?.name)
    fields.set("keyID", report.keyID.description)
    if !report.withheld.isEmpty { fields.set("withheld", report.withheld.text) }
    fields.set("ip", peer)
    if !report.subject.userProperty.isEmpty {
      fields.set("userProperty", report.subject.userProperty)
    }
    var said = JSONObject()
    var room = Self.saidMax
    for property in report.subject.properties {
      let size = JSONValue.object([property.name: .string(property.value)]).text.utf8.count
      guard size <= room else { continue }
      room -= size
      said.set(property.name, property.value)
    }
    if !said.members.isEmpty { fields["said"] = .object(said) }
  }

  var bytes: [UInt8] {
    var fields = fields
    fields["key"] = key.map { .object($0.fields) }
    fields["handles"] = handles.members.isEmpty ? nil : .object(handles)
    fields.set("copy", copyReported)
    fields["machines"] = .array(
      machines.map { machine in
        var object = JSONObject()
        object.set("machine", machine.sight.digest)
        if let parts = machine.sight.parts { object.set("parts", parts) }
        object.set("seen", machine.lastSeen)
        return .object(object)
      })
    return Array(JSONValue.object(fields).text.utf8)
  }
}

extension AttestationReport {
  /// Whether hardware has told the app of a copy since its last report.
  fileprivate var tellsOfCopy: Bool {
    subject.properties.contains { $0.name == Ratchet.copyProperty }
  }
}
