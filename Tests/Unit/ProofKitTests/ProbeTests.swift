// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofKit

/// An installed app: a bundle folder and a storage folder, gone when the test is over.
private final class Installation {
  let folder: URL
  var bundle: String { folder.appendingPathComponent("bundle").path }
  var storage: String { folder.appendingPathComponent("storage").path }

  init() throws {
    folder = URL(fileURLWithPath: "/var/tmp/proofkit-\(UUID().uuidString)")
    for path in [bundle, storage] {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    try write("doors stay shut\n", to: "rules")
    try write("view\n", to: "view")
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: bundle).appendingPathComponent(name))
  }

  func probe() throws -> Probe {
    try Probe(.init(bundle: bundle, storage: storage, hardens: false))
  }

  func baseline(
    _ probe: Probe, _ policy: MeasurementPolicy, of sources: [Source],
    with key: MeasurementProofKey = .sdk
  ) async throws -> MeasurementConfig {
    let draft = try BaselineDraft(salt: Salt(Array(1...16)), sources: sources, policy: policy)
    return try MeasurementConfig(
      baseline: await probe.evidence(of: sources, policy: policy), draft, with: key)
  }
}

/// The device, the files, the system: all that does not look into this process, in which other suites
/// run at the same time and load libraries.
private let files = Probe.sources.filter { source in
  source.id.description != "app 1"
    && !(source.id.evidenceClass == .environment && source.id.number <= 7)
}

@Suite("Probe")
struct ProbeTests {
  @Test("the same app measured twice makes the same proof", arguments: MeasurementPolicy.allCases)
  func same(policy: MeasurementPolicy) async throws {
    // In a process of its own: this one is measured as a whole, while nothing else happens in it.
    await #expect(processExitsWith: .success) { [number = policy.rawValue as UInt8] in
      let policy = try #require(MeasurementPolicy(rawValue: number))
      let installation = try Installation()
      let probe = try installation.probe()
      let config = try await installation.baseline(probe, policy, of: Probe.sources)
      let nonce = try ProofNonce(Array(1...16))
      let prover = Prover(config: config, collector: probe)
      let first = try prover.integrityMeasurementProof(nonce: nonce)
      #expect(try prover.integrityMeasurementProof(nonce: nonce) == first)
      let measured = try await probe.measure(config)
      #expect(measured.proof(of: .integrity, for: nonce, with: .sdk) == first)
      probe.forget()
      #expect(try prover.integrityMeasurementProof(nonce: nonce) == first)
    }
  }

  @Test("no proof is released where the second look finds no descriptor")
  func secondLook() async {
    await #expect(processExitsWith: .success) {
      let installation = try Installation()
      let probe = try installation.probe()
      let config = try await installation.baseline(probe, .full, of: Probe.sources)
      let nonce = try ProofNonce(Array(1...16))
      let measured = try probe.measurement(under: config, with: .sdk)
      let made = measured.proof(of: .integrity, for: nonce, with: .sdk)
      var proof = made
      while unsafe open("/dev/null", O_RDONLY) >= 0 {}
      do throws(ProofError) {
        try probe.release(&proof, after: nil)
      } catch {
        guard case .resourcesExhausted = error, proof == made else { exit(2) }
        exit(0)
      }
      exit(3)
    }
  }

  @Test("a changed file changes the integrity proof, leaves the device proof, and is named")
  func changed() async throws {
    let installation = try Installation()
    let probe = try installation.probe()
    let config = try await installation.baseline(probe, .incremental, of: files)
    let nonce = try ProofNonce(Array(1...16))
    let prover = Prover(config: config, collector: probe)
    let integrity = try prover.integrityMeasurementProof(nonce: nonce)
    let device = try prover.deviceMeasurementProof(nonce: nonce)
    #expect(try await probe.diagnose(config).findings.isEmpty)
    try installation.write("doors stand open\n", to: "rules")
    #expect(try prover.integrityMeasurementProof(nonce: nonce) != integrity)
    #expect(try prover.deviceMeasurementProof(nonce: nonce) == device)
    let diagnosis = try await probe.diagnose(config)
    #expect(diagnosis.isOfThisBuild && diagnosis.isOfThisDevice)
    #expect(diagnosis.findings.map(\.sourceName) == ["bundle"])
    #expect(diagnosis.findings.first?.name == Array("rules".utf8))
  }

  @Test("with an index the changed file of a large bundle is named, and nothing else is")
  func indexed() async throws {
    let installation = try Installation()
    for number in 0..<700 { try installation.write("view \(number)\n", to: "view-\(number)") }
    let probe = try installation.probe()
    let config = try await installation.baseline(probe, .full, of: files)
    try await probe.index(config)
    try installation.write("another view\n", to: "view-471")
    let diagnosis = try await probe.diagnose(config)
    #expect(diagnosis.findings.map(\.text) == ["bundle: view-471: changed"])
    #expect(diagnosis.findings.first?.isCertain == true)
    await #expect(throws: ProofError.self) { try await probe.index(config) }
  }

  @Test("a build of several folders is named by all of them, one of one folder as before")
  func severalFolders() throws {
    let installation = try Installation()
    let folder = installation.bundle
    func digest(_ arguments: String...) throws -> AppDigest {
      try InstalledApp(executable: "/proc/self/exe", folderArguments: arguments).digest()
    }
    let one = try InstalledApp(executable: "/proc/self/exe", bundle: folder).digest()
    #expect(try digest(folder) == one)
    let two = try digest(folder, "library=\(folder)")
    #expect(two != one)
    #expect(try digest("library=\(folder)", folder) == two)
    #expect(try digest(folder, "other=\(folder)") != two)
    #expect(throws: ProofError.self) { try digest(folder, folder) }
    #expect(throws: ProofError.self) { try digest("a=\(folder)", "a=\(folder)") }
  }

  @Test("differences that have no place are counted")
  func leftOut() {
    let one = Diagnosis(isOfThisBuild: true, isOfThisDevice: true, findings: [], leftOutCount: 1)
    #expect(one.description == "and 1 more")
  }

  @Test("each difference is a value: its source, its kind, its name, a line for people")
  func findings() async throws {
    let installation = try Installation()
    let probe = try installation.probe()
    let key = try MeasurementProofKey(.random(count: 16), mode: .production)
    let config = try await installation.baseline(probe, .full, of: files, with: key)
    #expect(try await probe.diagnose(config, key: key).description == "nothing differs")

    try installation.write("doors stand open\n", to: "rules")
    let changed = try await probe.diagnose(config, key: key)
    try #require(changed.findings.count == 1 && changed.leftOutCount == 0)
    let bundle = changed.findings[0]
    #expect(try bundle.source == SourceID(.app, 3) && bundle.kind == .changed && bundle.isCertain)
    #expect(bundle.sourceName == "bundle" && bundle.name == Array("rules".utf8))
    #expect(bundle.text.hasPrefix("bundle: rules: changed"))
    #expect(changed.description == bundle.text)

    // Another device, as far as anyone can tell: what is behind it cannot be compared.
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: installation.storage)
    let moved = try await probe.diagnose(config, key: key)
    #expect(moved.isOfThisBuild && moved.isOfThisDevice == false)
    try #require(moved.findings.count == 1)
    let secret = moved.findings[0]
    #expect(try secret.source == SourceID(.device, 5) && secret.kind == .suspicious)
    #expect(secret.text == "secret: is open to others")
    #expect(
      moved.description == """
        secret: is open to others
        configuration of another device: app and environment cannot be compared
        """)
  }

  @Test("under another key nothing can be compared, and the diagnosis says so")
  func otherKey() async throws {
    let installation = try Installation()
    let probe = try installation.probe()
    let config = try await installation.baseline(probe, .full, of: files)
    let other = try MeasurementProofKey(.random(count: 16), mode: MeasurementProofKey.sdk.mode)
    let diagnosis = try await probe.diagnose(config, key: other)
    #expect(diagnosis.isOfThisBuild == false && diagnosis.findings.isEmpty)
    #expect(
      diagnosis.description == "configuration of another SDK build: nothing to compare")
  }

  @Test("progress is told, and grows")
  func progress() async throws {
    let installation = try Installation()
    let probe = try installation.probe()
    let told = CoreLock<[Probe.Progress]>([])
    _ = try await probe.evidence(of: files) { progress in
      told.withLock { $0.append(progress) }
    }
    let seen = told.withLock { $0 }
    #expect(seen.isEmpty == false)
    #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.byteCount <= $1.byteCount })
  }

  @Test("a cancelled task stops its measurement, and the next one is whole")
  func cancelled() async throws {
    let installation = try Installation()
    let probe = try installation.probe()
    let whole = try await probe.evidence(of: files)
    let task = Task { try await probe.evidence(of: files) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await probe.evidence(of: files) == whole)
  }

  @Test(
    "a limit that no configuration can have is an error, and ends no process",
    arguments: [0, 15, 51, 63, 64, 255] as [UInt8])
  func limits(limitLog2: UInt8) async throws {
    let probe = try Probe(.init(hardens: false))
    let error = ProofError.outOfRange(
      field: "limit on bytes read", value: "2^\(limitLog2)", allowed: "2^16 to 2^50")
    await #expect(throws: error) {
      try await probe.evidence(of: files, limitLog2: limitLog2)
    }
    #expect(throws: error) {
      try probe.observe(
        files, policy: .full, limitLog2: limitLog2, cancellation: Cancellation())
    }
  }

  @Test("more sources than a configuration holds are an error, and none is left out in silence")
  func sources() async throws {
    let probe = try Probe(.init(hardens: false))
    let sources = try (1...25).map { try Source(SourceID(.app, $0), version: 1, groupsLog2: 0) }
    await #expect(
      throws: ProofError.outOfRange(field: "number of sources", value: "25", allowed: "at most 24")
    ) { try await probe.evidence(of: sources) }
  }

  @Test("a storage folder open to others is refused in words")
  func exposed() throws {
    let installation = try Installation()
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: installation.storage)
    #expect(
      throws: ProofError.evidenceUnavailable(
        reason: "storage folder \(installation.storage): is open to other users; "
          + "create it with mode 0700 as the user that the app runs as")
    ) { _ = try installation.probe() }
  }

  @Test("a bundle that is not there is an error that names it")
  func missing() async throws {
    let probe = try Probe(.init(bundle: "/nonexistent/bundle", hardens: false))
    await #expect(
      throws: ProofError.evidenceUnavailable(reason: "/nonexistent/bundle: does not exist")
    ) { _ = try await probe.evidence(of: files) }
  }
}
