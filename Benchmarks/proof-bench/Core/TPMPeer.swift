// SPDX-License-Identifier: Apache-2.0

import CCrypto
import Glibc

/// A TPM 2.0 in software (swtpm), asked for quotes over eight registers, signed by ECDSA P-256.
///
/// It speaks the TPM's own commands over a socket (TPM 2.0 Library, Part 3), so that what is timed is
/// the quote and not a tool's start.
@safe
final class TPMPeer {
  private let process: pid_t
  private let connection: Int32
  private let folder: String
  private var handle: UInt32 = 0
  private var key: OpaquePointer?
  private let challenge = [UInt8](repeating: 7, count: 32)

  /// Starts a TPM and makes a key in it; nil if there is no swtpm on this machine.
  init?() throws {
    guard let program = Subprocess.find("swtpm") else { return nil }
    var template = Array("/tmp/proof-bench-tpm-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw PeerError("no folder for the TPM") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let path = folder + "/tpm"
    process = try Self.start([
      program, "socket", "--tpm2", "--server", "type=unixio,path=\(path)",
      "--tpmstate", "dir=\(folder)", "--flags", "not-need-init,startup-clear", "--terminate",
    ])
    do {
      connection = try Self.connect(path, whileRunning: process)
    } catch {
      Self.stop(process, folder)
      throw error
    }
    try makeKey()
  }

  deinit {
    unsafe pfj_key_free(key)
    _ = close(connection)
    Self.stop(process, folder)
  }

  /// One quote over the challenge, and its check.
  func round() throws {
    var command = TPMCommand(0x158, handle, session: true)
    command.write(sized: challenge)
    command.write([0x00, 0x10])  // The key's own scheme.
    command.write([0, 0, 0, 1, 0x00, 0x0B, 3, 0xFF, 0, 0])  // SHA-256, registers 0 to 7.
    var answer = try ask(command)
    _ = try answer.take(4)
    let quoted = try answer.takeSized()
    _ = try answer.take(4)  // ECDSA with SHA-256.
    let signature = Self.padded(try answer.takeSized()) + Self.padded(try answer.takeSized())
    guard quoted.dropFirst(6).contains(challenge),
      unsafe pfj_es256_verify(signature, key, quoted, quoted.count) == PFJ_OK
    else { throw PeerError("the TPM's quote is not signed by its key") }
  }

  private func makeKey() throws {
    var command = TPMCommand(0x131, 0x4000_0001, session: true)
    command.write(sized: [0, 0, 0, 0])  // No password, no data.
    command.write(sized: [
      0x00, 0x23, 0x00, 0x0B,  // ECC, named by SHA-256.
      0x00, 0x05, 0x00, 0x72,  // Restricted, for signing, made in this TPM and fixed to it.
      0x00, 0x00,  // No policy.
      0x00, 0x10, 0x00, 0x18, 0x00, 0x0B, 0x00, 0x03, 0x00, 0x10,  // ECDSA, SHA-256, P-256.
      0x00, 0x00, 0x00, 0x00,
    ])
    command.write([0, 0, 0, 0, 0, 0])  // No outside information, no registers.
    var answer = try ask(command)
    handle = try answer.take(4).reduce(0) { $0 << 8 | UInt32($1) }
    _ = try answer.take(4)
    var area = TPMAnswer(try answer.takeSized())
    _ = try area.take(20)
    let point = Self.padded(try area.takeSized()) + Self.padded(try area.takeSized())
    guard unsafe pfj_p256_public(&key, point) == PFJ_OK else {
      throw PeerError("the TPM's key is not on its curve")
    }
  }

  private func ask(_ command: TPMCommand) throws -> TPMAnswer {
    let bytes = command.bytes
    guard unsafe send(connection, bytes, bytes.count, 0) == bytes.count else {
      throw PeerError("the TPM takes no command")
    }
    var head = try receive(10)
    let count = head[2..<6].reduce(0) { $0 << 8 | Int($1) }
    let code = head[6..<10].reduce(0) { $0 << 8 | UInt32($1) }
    // TPM_RC_RETRY: it has not begun yet, and wants to be asked again (Part 2, section 6.6.3).
    if code == 0x922 { return try ask(command) }
    guard code == 0 else {
      throw PeerError("the TPM answers 0x" + String(code, radix: 16))
    }
    head += try receive(count - 10)
    return TPMAnswer(Array(head.dropFirst(10)))
  }

  private func receive(_ count: Int) throws -> [UInt8] {
    guard (0...4096).contains(count) else { throw PeerError("the TPM's answer has no size") }
    var bytes = [UInt8](repeating: 0, count: count)
    if count == 0 { return [] }
    guard unsafe recv(connection, &bytes, count, Int32(MSG_WAITALL)) == count else {
      throw PeerError("the TPM's answer ends early")
    }
    return bytes
  }

  private static func padded(_ number: [UInt8]) -> [UInt8] {
    [UInt8](repeating: 0, count: max(0, 32 - number.count)) + number
  }
}

extension TPMPeer {
  private static func start(_ words: [String]) throws -> pid_t {
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe arguments.forEach { unsafe free($0) } }
    var process = pid_t()
    let result = unsafe posix_spawn(&process, words[0], nil, nil, &arguments, environ)
    guard result == 0 else { throw PeerError("\(words[0]) does not start") }
    return process
  }

  private static func stop(_ process: pid_t, _ folder: String) {
    _ = kill(process, SIGKILL)
    _ = waitpid(process, nil, 0)
    for name in ["tpm", "tpm2-00.permall", ".lock"] { _ = unsafe unlink("\(folder)/\(name)") }
    _ = unsafe rmdir(folder)
  }

  /// The TPM listens some time after its start; it is asked until it does, or has ended.
  private static func connect(_ path: String, whileRunning process: pid_t) throws -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
      unsafe field.copyBytes(from: path.utf8.prefix(field.count - 1))
    }
    let connection = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    while true {
      let result = unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe Glibc.connect(connection, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      if result == 0 { return connection }
      guard waitpid(process, nil, WNOHANG) == 0 else {
        throw PeerError("swtpm has ended before it listened")
      }
      sched_yield()
    }
  }
}

/// A command in the TPM's encoding: big-endian, its size in its head.
private struct TPMCommand {
  private var body: [UInt8] = []
  private let code: UInt32

  init(_ code: UInt32, _ handle: UInt32, session: Bool) {
    self.code = code
    write(Self.big(handle))
    // One session: an empty password.
    write([0, 0, 0, 9, 0x40, 0, 0, 9, 0, 0, 0, 0, 0])
  }

  mutating func write(_ bytes: [UInt8]) { body += bytes }

  mutating func write(sized bytes: [UInt8]) {
    body += [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
  }

  var bytes: [UInt8] {
    [0x80, 0x02] + Self.big(UInt32(body.count + 10)) + Self.big(code) + body
  }

  private static func big(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }
}

/// An answer, read from its front.
private struct TPMAnswer {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  mutating func take(_ count: Int) throws -> [UInt8] {
    guard count <= rest.count else { throw PeerError("the TPM's answer is too short") }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func takeSized() throws -> [UInt8] {
    let size = try take(2)
    return try take(Int(size[0]) << 8 | Int(size[1]))
  }
}
