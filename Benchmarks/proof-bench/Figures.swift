// SPDX-License-Identifier: Apache-2.0

import AllocationCounter
import ProofBench
import ProofCore
import ProofModel

/// Figures that do not depend on the machine and are counted in this process: bytes, packets,
/// allocations, memory, stack, the link.
enum Figures {
  static func all(_ sample: Sample) throws -> [Figure] {
    let own = try bytes(sample) + packets() + allocations(sample) + memory() + stack(sample)
    let figures = own.map { name, value in
      value.map { Figure(name, $0) }
        ?? Figure(name, uncounted: "this build has a sanitizer, or its allocator is not glibc's")
    }
    return try figures + linkFigures()
  }

  /// Stack that the calls take on their thread, all that they call included.
  private static func stack(_ sample: Sample) throws -> [(String, Int?)] {
    let state = ProofKeyState(integrity: sample.key)
    let nonce = ProofNonce.random()
    let raw = RawProof()
    let proof = state.proof(for: nonce, of: sample.measurement)
    return [
      ("stack.proof.c", Instrument.stackByteCount { raw.make() }),
      (
        "stack.proof.swift",
        Instrument.stackByteCount { _ = state.proof(for: nonce, of: sample.measurement) }
      ),
      (
        "stack.check.swift",
        Instrument.stackByteCount {
          try? state.check(proof, for: nonce, of: sample.measurement)
        }
      ),
    ]
  }

  private static func bytes(_ sample: Sample) throws -> [(String, Int?)] {
    let challenge = try Challenge(counter: 1, bytes: [UInt8](repeating: 1, count: 32))
    let secrets = sample.secrets
    func command(_ kind: ProofKind, _ count: Int) throws -> ProvedCommand {
      ProvedCommand(
        try Command([UInt8](repeating: 0, count: count), class: 1), proving: kind,
        from: sample.instance, to: sample.hardware.identity.id, answering: challenge, with: secrets)
    }
    let proved = try command(.integrity, 8)
    let answer = Answer(.accepted, counter: 1, to: proved.nonce, with: secrets)
    let order = try Order(.epoch(sample.hardware.identity.id), issued: 1).signed(by: sample.issuer)
    return try [
      ("bytes.token", sample.token().bytes.count),
      ("bytes.order", order.bytes.count),
      ("bytes.challenge", challenge.message.bytes.count),
      ("bytes.command.integrity.8", proved.message.bytes.count),
      ("bytes.command.device.8", command(.device, 8).message.bytes.count),
      ("bytes.command.longest", command(.integrity, 256).message.bytes.count),
      ("bytes.verdict", answer.message.bytes.count),
      ("bytes.recall", proved.recall.message.bytes.count),
      ("bytes.status", sample.verifier().status.message.bytes.count),
      ("bytes.config.smallest", sample.config.bytes.count),
      ("bytes.config.largest", largestConfig(sample).bytes.count),
    ]
  }

  /// 24 sources with 128 groups together.
  private static func largestConfig(_ sample: Sample) throws -> MeasurementConfig {
    let device = try Source(SourceID(.device, 1), groupsLog2: 6)
    let wide = try Source(SourceID(.app, 1), groupsLog2: 5)
    let rest = try (2...23).map { number in
      // 10 sources of 2 groups and 12 of 1: 32 more.
      try Source(SourceID(.app, UInt8(number)), groupsLog2: number < 12 ? 1 : 0)
    }
    let sources = [device, wide] + rest
    let evidence = try EvidenceSet(
      sources.map { try EvidenceRecord($0.id, name: "x", digest: nil) })
    return try MeasurementConfig(
      baseline: evidence, BaselineDraft(salt: .random(), sources: sources), with: sample.key)
  }

  private static func packets() throws -> [(String, Int?)] {
    let messages: [(String, MessageType, Int)] = [
      ("ask", .ask, 1), ("challenge", .challenge, 40), ("token", .token, 288),
      ("command", .command, 98), ("verdict", .verdict, 43),
    ]
    return try [20, 182].flatMap { size in
      let counts = try messages.map { name, type, count in
        (name, try Frame.packetCount(of: type, byteCount: count, packetSize: size))
      }
      let count = Dictionary(uniqueKeysWithValues: counts)
      let once = ["ask", "challenge", "command", "verdict"].compactMap { count[$0] }.reduce(0, +)
      let totals = [
        ("first-contact", once + ["token", "verdict"].compactMap { count[$0] }.reduce(0, +)),
        ("repeat", once),
      ]
      return (counts + totals).map { ("packets.\(size).\($0)", Optional($1)) }
    }
  }

  private static func memory() -> [(String, Int?)] {
    [
      ("memory.proof.swift", MemoryLayout<Proof>.size),
      ("memory.nonce.swift", MemoryLayout<ProofNonce>.size),
      ("memory.session.c", MemoryLayout<pfc_session>.size),
      ("memory.measurement.c", MemoryLayout<pfc_measurement>.size),
      ("memory.verifier.c", unsafe MemoryLayout<pfc_verifier>.size),
    ]
  }
}

// Allocations

extension Figures {
  private static func allocations(_ sample: Sample) throws -> [(String, Int?)] {
    let state = ProofKeyState(integrity: sample.key)
    let nonce = ProofNonce.random()
    let raw = RawProof()
    let proof = state.proof(for: nonce, of: sample.measurement)
    let challenge = try Challenge(counter: 1, bytes: [UInt8](repeating: 1, count: 32))
    let hardware = sample.hardware.identity.id
    let secrets = sample.secrets
    let answer = Answer(.accepted, counter: 1, to: nonce, with: secrets)
    return try [
      ("allocations.proof.c", count { raw.make() }),
      ("allocations.proof.swift", count { _ = state.proof(for: nonce, of: sample.measurement) }),
      (
        "allocations.check.swift",
        count { try state.check(proof, for: nonce, of: sample.measurement) }
      ),
      (
        "allocations.nonce.swift",
        count {
          _ = ProofNonce(for: hardware, answering: challenge, of: .integrity, sample.command)
        }
      ),
      ("allocations.receipt.swift", count { _ = try Receipt(answer, to: nonce, with: secrets) }),
      ("allocations.reassemble.packet.swift", try reassembly()),
      (
        "allocations.command.swift",
        count {
          _ = ProvedCommand(
            sample.command, proving: .integrity, from: sample.instance, to: hardware,
            answering: challenge, with: secrets)
        }
      ),
    ] + receiving(sample, secrets) + signing(sample) + judging(sample)
  }

  /// Requests and events; the digest of a request's body is made beforehand.
  private static func signing(_ sample: Sample) throws -> [(String, Int?)] {
    let request = try RequestSample(sample)
    let event = try EventSample(sample)
    return try [
      ("allocations.request.sign.swift", count { _ = try request.sign() }),
      ("allocations.request.verify.swift", count { try request.verify() }),
      ("allocations.request.compact.sign.swift", count { _ = try request.compact() }),
      ("allocations.request.compact.verify.swift", count { try request.verifyCompact() }),
      ("allocations.event.make.swift", count { _ = try event.make() }),
      ("allocations.event.verify.swift", count { try event.verify() }),
    ]
  }

  /// Questions of a proxy, which are made beforehand.
  private static func judging(_ sample: Sample) throws -> [(String, Int?)] {
    let door = try GateDoor(sample)
    var proven = try (0...repetitions).map { _ in try door.proven() }
    return try [
      ("allocations.gate.standard.swift", count { try door.ask(proven.removeLast(), 200) }),
      ("allocations.gate.clearance.swift", count { try door.ask(door.cleared, 200) }),
      ("allocations.gate.challenge.swift", count { try door.ask(door.bare, 428) }),
    ]
  }

  private static func reassembly() throws -> Int? {
    let message = try Message(.verdict, [1] + [UInt8](repeating: 0, count: 42))
    let packets = try message.packets(of: 20)
    var reassembler = Reassembler()
    return count { for packet in packets.dropLast() { _ = reassembler.receive(packet.span) } }
  }

  private static func receiving(
    _ sample: Sample, _ secrets: HardwareSecrets
  ) throws -> [(String, Int?)] {
    let verifier = try sample.verifier()
    var session = VerifierSession()
    _ = verifier.receive(try sample.token().message, in: &session)
    let challenge = count { _ = verifier.receive(.askForChallenge, in: &session) }
    let noise = [UInt8](repeating: 0xA5, count: 288)
    let garbage = count { _ = verifier.receive(type: 3, noise, in: &session) }
    // Only the command's own part is counted; asking and proving come before it.
    var counted = 0
    for _ in 0..<repetitions {
      let reply = verifier.receive(.askForChallenge, in: &session).reply
      let message = try sample.proved(answering: reply, secrets).message
      let before = allocation_count()
      _ = verifier.receive(message, in: &session)
      counted += allocation_count() - before
    }
    return [
      ("allocations.receive.challenge.swift", challenge),
      (
        "allocations.receive.command.swift",
        isCounting ? (counted + repetitions - 1) / repetitions : nil
      ),
      ("allocations.receive.garbage.swift", garbage),
    ]
  }

  private static let repetitions = 100

  /// Whether what Swift allocates is seen: a counter that is deaf would find everything in order.
  private static let isCounting: Bool = {
    let before = allocation_count()
    let made = Allocated()
    return withExtendedLifetime(made) {
      allocation_count_works() == 1 && allocation_count() == before + 1
    }
  }()

  private final class Allocated {
    @inline(never) init() {}
  }

  /// How many allocations one time takes, rounded up: a hundred times are counted, after one that
  /// pays for whatever is made once.
  private static func count(_ body: () throws -> Void) rethrows -> Int? {
    guard isCounting else { return nil }
    try body()
    let before = allocation_count()
    for _ in 0..<repetitions { try body() }
    return (allocation_count() - before + repetitions - 1) / repetitions
  }
}
