// SPDX-License-Identifier: Apache-2.0

import MemoryWitness
import ProofModel
import Synchronization
import Testing

/// Serialized because the witness watches one pattern at a time.
@Suite("A secret", .serialized)
struct SecretBytesTests {
  /// How many bytes the watched secret has: those of a measurement.
  static let size = 32

  @Test("lends the bytes it was filled with")
  func lends() {
    let filled = SecretBytes(count: 5) { span in
      for index in span.indices { span[index] = UInt8(index) }
    }
    #expect(copy(filled) == [0, 1, 2, 3, 4])
    #expect(filled.count == 5)
    #expect(copy(secret([9, 8])) == [9, 8])
    #expect(filled.withBytes { copy(SecretBytes(copying: $0)) } == [0, 1, 2, 3, 4])
  }

  @Test("begins as zeros, whatever the fill leaves out")
  func zeros() {
    let secret = SecretBytes(count: 64) { span in span[0] = 7 }
    #expect(copy(secret) == [7] + [UInt8](repeating: 0, count: 63))
  }

  @Test("is wiped before its memory goes back to the system")
  func wiped() {
    witness_begin(Self.size)
    do {
      let secret = witnessed()
      #expect(secret.count == Self.size)
    }
    #expect(witness_unmapped() > 0)
    #expect(witness_unmapped_unwiped() == 0)
    #expect(witness_copies() == 0)
  }

  @Test("is wiped even if filling it fails halfway")
  func wipedAfterFailure() {
    witness_begin(Self.size)
    #expect(throws: ProofError.storageFailed) {
      _ = try SecretBytes(count: Self.size) { span throws(ProofError) in
        unsafe span.withUnsafeMutableBufferPointer { unsafe witness_fill($0.baseAddress) }
        throw .storageFailed
      }
    }
    #expect(witness_unmapped() > 0)
    #expect(witness_unmapped_unwiped() == 0)
    #expect(witness_copies() == 0)
  }

  @Test("a mapping that goes back unwiped is seen: the witness works")
  func witnessSeesTheUnwiped() {
    witness_begin(Self.size)
    witness_unmap_unwiped()
    #expect(witness_unmapped_unwiped() == 1)
  }

  @Test("stands in memory once, wherever it is moved, and not at all afterwards")
  func movesLeaveNothing() {
    witness_begin(Self.size)
    let first = witnessed()
    #expect(witness_copies() == 1)
    let holder = Holder(moved(first))
    #expect(witness_copies() == 1)
    #expect(holder.secret.count == Self.size)
    holder.secret = secret([1])
    #expect(witness_copies() == 0)
  }

  @Test("a copy in an array is seen: the witness works")
  func witnessSeesCopies() {
    witness_begin(Self.size)
    let original = witnessed()
    let array = copy(original)
    #expect(witness_copies() >= 2)
    #expect(array.count == Self.size)
  }

  @Test("leaves nothing behind after it was measured with, sealed, opened, held and proved")
  func wholeLife() throws {
    witness_begin(Self.size)
    let platform = ForgetfulPlatform()
    do {
      let world = try World(allowsLiteral: true)
      let hardware = world.hardware.identity
      // The literal form, so that the measurement itself is what travels.
      let measurement = try Measurement(
        integrity: witnessed(), device: .random(count: 32), deviceKey: .random(count: 16))
      let secrets = measurement.secrets(for: hardware.id, with: world.key, form: .literal)
      let grant = try MeasurementGrant(
        for: hardware.id, instance: world.instance, mode: .production,
        integrityClasses: World.classes, attempts: 1, uses: .limited(9), generation: 1, issued: 1,
        secrets: secrets)
      let token = try world.token(grant)
      let opened = try world.hardware.open(token)
      #expect(witness_copies() >= 3)

      try Verifier.provision(world.hardware, on: platform)
      var link = Link(try Verifier(world.hardware, on: platform))
      platform.forget()
      #expect(try opened.secrets.form == .literal && link.present(token).verdict == .held)
      #expect(try link.command(world, openDoor, with: secrets).outcome.verdict == .accepted)
      let nonce = ProofNonce.random()
      let state = ProofKeyState(.integrity, secrets)
      try state.check(state.proof(for: nonce, of: secrets), for: nonce, of: measurement)
    }
    #expect(witness_copies() == 0)
    #expect(witness_unmapped_unwiped() == 0)
  }

  @Test("is gone from memory although it was the key of a baseline, a measurement, proofs and tags")
  func keyLife() throws {
    witness_begin(16)
    do {
      let bytes = SecretBytes(count: 16) { span in
        unsafe span.withUnsafeMutableBufferPointer { unsafe witness_fill($0.baseAddress) }
      }
      let key = try MeasurementProofKey(bytes, mode: .production)
      let evidence = try World.evidence()
      let draft = try BaselineDraft(salt: .random(), sources: World.sources())
      let config = try MeasurementConfig(baseline: evidence, draft, with: key)
      let measurement = try Measurement(of: evidence, under: config, with: key)
      let nonce = ProofNonce.random()
      let proof = measurement.proof(of: .integrity, for: nonce, with: key)
      try ProofKeyState(integrity: key).check(proof, for: nonce, of: measurement)
      #expect(try Difference(of: evidence, under: config, with: key).isEmpty)
      // A tag's key is loaded into a block that waits for the next work afterwards.
      let answer = AttestationAnswer(to: draft.salt, .done, token: "a token")
      #expect(try AttestationAnswer(answer.bytes(with: key), to: draft.salt, with: key) == answer)
      #expect(witness_copies() == 1)
    }
    #expect(witness_copies() == 0)
    #expect(witness_unmapped_unwiped() == 0)
  }

  @Test("matches bytes that are equal and no others, of any count")
  func matches() {
    #expect(match([1, 2, 3], [1, 2, 3]))
    #expect(!match([1, 2, 3], [1, 2, 4]))
    #expect(!match([1, 2, 3], [1, 2]))
  }

  @Test("of random bytes is another each time, and not zeros")
  func random() {
    let first = copy(SecretBytes.random(count: 32))
    #expect(first != copy(SecretBytes.random(count: 32)))
    #expect(first != [UInt8](repeating: 0, count: 32))
  }

  @Test("is read-only once it is filled: a write ends the process")
  func readOnly() async {
    await #expect(processExitsWith: .failure) {
      SecretBytes.random(count: 32).withBytes { span in
        unsafe span.withUnsafeBytes { bytes in
          unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress!)
            .storeBytes(of: 1, as: UInt8.self)
        }
      }
    }
  }

  @Test("has a guard behind it: a read past the last byte ends the process")
  func guarded() async {
    await #expect(processExitsWith: .failure) {
      let beyond = SecretBytes.random(count: 32).withBytes { span in
        unsafe span.withUnsafeBytes { bytes in
          unsafe (bytes.baseAddress! + bytes.count).load(as: UInt8.self)
        }
      }
      print(beyond)
    }
  }

  @Test("without a byte is a secret that no key can be made of")
  func empty() throws {
    for make in [
      { SecretBytes.random(count: 0) }, { SecretBytes(copying: [UInt8]().span) },
      { SecretBytes(count: 0) { _ in } },
      { SecretBytes.random(count: 0).withBytes { SecretBytes(copying: $0) } },
    ] {
      let empty = make()
      let count = empty.count
      let lent = empty.withBytes { $0.byteCount }
      #expect(count == 0 && lent == 0)
      let isSame = empty.matches(SecretBytes.random(count: 0))
      let isOther = empty.matches(SecretBytes.random(count: 1))
      #expect(isSame && !isOther)
    }
    func isRefused(_ make: (consuming SecretBytes) throws(ProofError) -> Void) -> Bool {
      do throws(ProofError) {
        try make(SecretBytes.random(count: 0))
        return false
      } catch {
        if case .wrongLength(_, _, let actual) = error { return actual == 0 }
        return false
      }
    }
    #expect(isRefused { secret throws(ProofError) in _ = try MessageKey(secret) })
    #expect(isRefused { secret throws(ProofError) in _ = try StringKey(secret) })
    #expect(isRefused { secret throws(ProofError) in _ = try IssuerKey(seed: secret) })
    #expect(isRefused { secret throws(ProofError) in _ = try GateAccountKey(secret, number: 1) })
    #expect(
      isRefused { secret throws(ProofError) in
        _ = try MeasurementProofKey(secret, mode: .production)
      })
  }

  @Test("with a negative length ends the process")
  func negative() async {
    await #expect(processExitsWith: .failure) { _ = SecretBytes.random(count: -1) }
  }

  @Test("that no memory can hold ends the process")
  func tooLarge() async {
    await #expect(processExitsWith: .failure) { _ = SecretBytes.random(count: .max / 2) }
  }

  @Test("is never shown by what holds one", arguments: 0..<7)
  func holdersShowNothing(index: Int) throws {
    let world = try World(seed: 5)
    let grant = try world.grant()
    let holders: [Any] = [
      world.measurement, world.secrets, world.key, world.issuer, world.hardware,
      ProofKeyState(integrity: world.key), grant,
    ]
    var shown = "\(holders[index])" + String(reflecting: holders[index])
    dump(holders[index], to: &shown)
    let secrets =
      Measurement.Part.allCases.map { copy(world.measurement, $0) }
      + HardwareSecrets.Part.allCases.map { copy(world.secrets, $0) }
      + [world.key.withBytes(copy)]
    for secret in secrets { #expect(!shows(shown, secret)) }
  }

  @Test("what shows a secret is noticed, in each of its forms")
  func shownInAnyForm() {
    struct Shower {
      let bytes: [UInt8]
    }
    let shower = Shower(bytes: [1, 200, 3, 255, 5])
    var dumped = ""
    dump(shower, to: &dumped)
    for text in ["\(shower)", dumped, "key 01C803FF05", "key 01c803ff05"] {
      #expect(shows(text, shower.bytes), "\(text)")
    }
    #expect(!shows(dumped, [1, 200, 3, 254]))
  }

  /// Four bytes in a row, in hexadecimal or as a list, would be no accident.
  private func shows(_ text: String, _ secret: [UInt8]) -> Bool {
    let start = secret.prefix(4)
    let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: "\n")
    return lines.lowercased().contains(Hexadecimal.encode(start))
      || lines.contains(start.map(String.init).joined(separator: ", "))
      || lines.contains(start.map { "- \($0)" }.joined(separator: "\n"))
  }

  /// Storage that keeps nothing more once it is told to forget: what hardware stores is secret, and
  /// would be found.
  private final class ForgetfulPlatform: Platform {
    private let areas = Mutex<[StorageArea: [UInt8]]>([:])
    private let forgets = Atomic<Bool>(false)

    var seconds: (@Sendable () -> UInt32)? { nil }

    func forget() { forgets.store(true, ordering: .relaxed) }

    func fillRandom(_ bytes: inout MutableSpan<UInt8>) throws(PlatformFailure) {
      for index in bytes.indices { bytes[index] = .random(in: .min ... .max) }
    }

    func read(_ bytes: inout MutableSpan<UInt8>, from area: StorageArea) throws(PlatformFailure) {
      guard let stored = areas.withLock({ $0[area] }) else { throw PlatformFailure() }
      for index in bytes.indices { bytes[index] = stored[index] }
    }

    func write(_ bytes: Span<UInt8>, to area: StorageArea) throws(PlatformFailure) {
      guard !forgets.load(ordering: .relaxed) else { return }
      let copied = bytes.indices.map { bytes[$0] }
      areas.withLock { $0[area] = copied }
    }
  }

  /// A secret that the witness knows, filled in C.
  private func witnessed() -> SecretBytes {
    SecretBytes(count: Self.size) { span in
      unsafe span.withUnsafeMutableBufferPointer { unsafe witness_fill($0.baseAddress) }
    }
  }

  private func match(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    secret(left).matches(secret(right))
  }

  private func moved(_ secret: consuming SecretBytes) -> SecretBytes { secret }

  private final class Holder {
    var secret: SecretBytes
    init(_ secret: consuming SecretBytes) { self.secret = secret }
  }
}
