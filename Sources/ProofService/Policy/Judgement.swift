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
  ///   - now: The time.
  init(
    of report: AttestationReport, build: SDKBuild, note: DeviceNote?, key: InstallationKeySighting,
    under snapshot: Snapshot, at now: UnixTime
  ) {
    let policy = snapshot.policy
    app = AppDigest(of: report.evidence)
    machine = MachineSight(of: report)
    let registered = snapshot.registrations[app]
    registration = registered.flatMap { ($0.expiry ?? .last) > now ? $0 : nil }
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
