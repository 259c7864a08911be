// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A Unix socket of whole packets (SOCK_SEQPACKET), as an attacker opens it, with no use of the
/// SDK.
final class PacketSocket: Sendable {
  private static let packetMax = 1024

  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { _ = Glibc.close(descriptor) }

  /// Connects to the listener at a path.
  static func connected(to path: String) throws(AttackFailure) -> PacketSocket {
    let made = try PacketSocket.made()
    let result = unsafe try withAddress(path) { address, size in
      unsafe Glibc.connect(made.descriptor, address, size)
    }
    guard result == 0 else { throw AttackFailure("\(path): \(reason())") }
    return made
  }

  /// Listens at a new path.
  static func listening(at path: String) throws(AttackFailure) -> PacketSocket {
    let made = try PacketSocket.made()
    let result = unsafe try withAddress(path) { address, size in
      unsafe Glibc.bind(made.descriptor, address, size)
    }
    guard result == 0, Glibc.listen(made.descriptor, 8) == 0 else {
      throw AttackFailure("\(path): \(reason())")
    }
    return made
  }

  /// Waits for the next connection.
  func accept() throws(AttackFailure) -> PacketSocket {
    let accepted = Glibc.accept(descriptor, nil, nil)
    guard accepted >= 0 else { throw AttackFailure("accept: \(Self.reason())") }
    return PacketSocket(accepted)
  }

  /// Sends a packet. A packet that cannot be sent is lost.
  func send(_ packet: [UInt8]) {
    _ = unsafe packet.withUnsafeBytes { bytes in
      unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }
  }

  /// Sets the timeout of `receive`.
  func limitWaiting(seconds: Int) {
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
  }

  /// Waits for the next packet; nil when the other side has closed, or after the timeout.
  func receive() -> [UInt8]? {
    let packet = unsafe [UInt8](unsafeUninitializedCapacity: Self.packetMax) { bytes, count in
      count = unsafe max(0, recv(descriptor, bytes.baseAddress, bytes.count, 0))
    }
    return packet.isEmpty ? nil : packet
  }

  /// Ends the connection, also for a thread that waits for a packet.
  func close() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

  private static func made() throws(AttackFailure) -> PacketSocket {
    let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
    guard descriptor >= 0 else { throw AttackFailure("socket: \(reason())") }
    return PacketSocket(descriptor)
  }

  private static func withAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws(AttackFailure) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
      // The last byte stays zero.
      guard bytes.count < place.count else { return false }
      unsafe place.copyBytes(from: bytes)
      return true
    }
    guard fits else { throw AttackFailure("\(path) is too long for a socket") }
    return unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  private static func reason() -> String { unsafe String(cString: strerror(errno)) }
}
