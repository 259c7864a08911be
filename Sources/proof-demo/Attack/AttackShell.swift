// SPDX-License-Identifier: Apache-2.0

import Console
import Glibc
internal import ProofBytes
import ProofKit
import ProofModel

/// `proof-demo attack`: the thief's programs, each a process of its own with only a thief's
/// knowledge.
struct AttackShell {
  private static let known = [
    Option("--socket", "PATH", help: "where the lock listens"),
    Option("--listen", "PATH", help: "tap: where it waits for the app"),
    Option("--replace", "COMMAND", help: "tap: put in the place of the first command"),
    Option("--command", "HEX", help: "replay, read: what was recorded"),
    Option("--in-channel", help: "replay: it was recorded in a channel"),
    Option("--text", "COMMAND", help: "read: the command to look for"),
    Option("--hardware", "ID", help: "forge, spend: the lock's name"),
    Option("--key", "HEX", help: "forge: the lock's public key"),
    Option("--instance", "ID", help: "forge, read: whose token or command it is"),
    Option("--store", "FOLDER", help: "spend: a copy of the owner's stored measurement"),
    Option("--url", "URL", help: "request: the API, without a path"),
    Option("--authority", "FILE", help: "request: the certificates that vouch for the API"),
    Option("--record", "FILE", help: "request: what the API has received"),
    Option("--seen", "PATH", help: "request: sends the latest recorded one with this path"),
    Option("--with-token", help: "request: the latest that carries a gate token"),
    Option("--method", "METHOD", help: "request: another method"),
    Option("--target", "TARGET", help: "request: another path and query"),
    Option("--body", "TEXT", help: "request: another body"),
    Option("--user", "SECRET", help: "request: signs in as another user"),
    Option("--sign", help: "request: signs it with invented keys"),
    Option("--challenge", "ID", help: "solve: a gate's challenge of kind work"),
  ]

  private static let usage = Usage(
    "proof-demo attack", "tap|replay|read|forge|spend|request|solve [options]",
    "What the demonstration's thief runs. Each says the verdict of the lock, or of the API;\n"
      + "read says what of a command stands in the recording;\n"
      + "solve says the solution, how many hashes it took, and the milliseconds.",
    known,
    takesOperands: true)

  private let verb: String
  private let options: Options

  init(_ arguments: some Collection<String>) {
    options = Self.usage.made(of: arguments) { options in
      guard options.operands.count == 1 else { throw UsageError("name one attack") }
      return options
    }
    verb = options.operands[0]
  }

  func run() -> Never {
    do {
      switch verb {
      case "tap":
        try Tap(
          listeningAt: options.needed("--listen"), before: options.needed("--socket"),
          replacing: options.value("--replace")
        ).run()
      case "replay": try replay()
      case "read": try read()
      case "forge": try forge()
      case "spend": try spend()
      case "request": print(try RequestThief(options).send())
      case "solve": try solve()
      default: throw UsageError("unknown attack: \(verb)")
      }
      Terminal.end(0)
    } catch let error as UsageError {
      Self.usage.refuse(error)
    } catch {
      Terminal.complain("proof-demo attack: \(error)")
      Terminal.end(1)
    }
  }

  /// Replays a recorded command, and sends it again under a live challenge.
  private func replay() throws {
    let type: MessageType = options.has("--in-channel") ? .channelCommand : .command
    let recorded = try Message(type, bytes("--command"))
    let link = try RawLink(to: options.needed("--socket"))
    let first = try link.ask(recorded, at: .command).verdict
    _ = try link.challenge()
    let second = try link.ask(recorded, at: .command).verdict
    print(first == second ? "\(first)" : "\(first), then \(second)")
  }

  /// Looks in a recorded command for what it says and who sent it.
  private func read() throws {
    let recorded = try bytes("--command")
    let parts = [
      ("the command", Array(try options.needed("--text").utf8)),
      ("whose it is", try bytes("--instance")),
    ]
    let found = parts.filter { _, part in
      recorded.indices.contains { recorded[$0...].starts(with: part) }
    }
    print(found.isEmpty ? "neither" : found.map(\.0).joined(separator: ", and "))
  }

  /// Seals a token of the thief's own to the lock's public key, with all public fields right, and with
  /// a factory secret that he invents.
  private func forge() throws {
    let lock = try HardwareIdentity(
      id: HardwareID(bytes("--hardware")), publicKey: HardwarePublicKey(bytes("--key")))
    let grant = try MeasurementGrant(
      for: lock.id, instance: InstanceID(bytes("--instance")), mode: .development,
      integrityClasses: .all, attempts: .max, uses: .unlimited, generation: .max - 1,
      issued: .now, secrets: Self.invented(), version: .two)
    let secret = try FactorySecret(of: lock.id, drawn: .random(count: FactorySecret.byteCount))
    let token = try grant.sealed(to: lock, with: secret, signedBy: .random())
    print(try RawLink(to: options.needed("--socket")).ask(token.message, at: .token).verdict)
  }

  /// Presents the owner's own token, which the lock accepts, and proves with invented secrets. The
  /// token is sealed, so the thief cannot read the right ones.
  private func spend() throws {
    let hardware = try HardwareID(bytes("--hardware"))
    guard let stored = try MeasurementStore(folder: options.needed("--store")).load(),
      let token = stored.token(for: hardware)
    else { throw AttackFailure("there is no token for \(hardware) in the copied store") }
    let link = try RawLink(to: options.needed("--socket"))
    let held = try link.ask(token.token.message, at: .token).verdict
    let command = try ProvedCommand(
      Command("open", class: 1), proving: .integrity,
      from: stored.instance, to: hardware, answering: link.challenge(), with: Self.invented())
    print("\(held), then \(try link.ask(command.message, at: .command).verdict)")
  }

  /// Solves the work of a gate's challenge on one thread, at the processor's speed.
  private func solve() throws {
    let start = ContinuousClock.now
    var solver = try WorkSolver(
      options.needed("--challenge"), puzzleLevelMax: .max, pairingLevelMax: .max)
    var solution: String?
    while solution == nil { solution = solver.step() }
    let time = (ContinuousClock.now - start) / .milliseconds(1)
    print("\(solution ?? "") \(solver.hashes) \(Int(time.rounded()))")
  }

  private static func invented() throws -> HardwareSecrets {
    try HardwareSecrets(
      integrityKey: .random(count: 16), integrity: .random(count: 32),
      deviceKey: .random(count: 16), device: .random(count: 32), form: .diversified)
  }

  private func bytes(_ name: String) throws(UsageError) -> [UInt8] {
    guard let bytes = Hexadecimal.decode(try options.needed(name)) else {
      throw UsageError("\(name) is not hexadecimal")
    }
    return bytes
  }
}
