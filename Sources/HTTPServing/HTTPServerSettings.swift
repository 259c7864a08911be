// SPDX-License-Identifier: Apache-2.0

/// The address that a server listens on, and its limits on clients.
public struct HTTPServerSettings: Sendable, Hashable {
  /// The IPv4 or IPv6 address to listen on; or `unix:` and the path of a Unix socket. Its folder must be writable for
  /// its owner alone.
  public var address: String

  /// The mode of a Unix socket: who may connect. Requests from there come from a trusted proxy.
  public var socketMode: UInt32 = 0o660

  /// Whether the address is a Unix socket.
  public var isLocalSocket: Bool { address.hasPrefix("unix:") }

  /// The port to listen on; 0 lets the system choose.
  public var port: UInt16

  /// The certificate for HTTPS; `nil` for plain HTTP, behind a proxy.
  public var certificate: HTTPCertificateFiles?

  /// The limits on clients.
  public var limits: HTTPLimits

  /// Addresses of proxies whose `X-Forwarded-For` is trusted.
  public var trustedProxies: Set<String>

  /// Whether only programs of this machine reach the address.
  public var isForThisMachineOnly: Bool {
    isLocalSocket || IPAddress(address)?.isLoopback ?? false
  }

  /// A server's settings.
  public init(
    address: String = "127.0.0.1", port: UInt16 = 0, certificate: HTTPCertificateFiles? = nil,
    limits: HTTPLimits = HTTPLimits(), trustedProxies: Set<String> = []
  ) {
    self.address = address
    self.port = port
    self.certificate = certificate
    self.limits = limits
    self.trustedProxies = trustedProxies
  }
}

/// The files of a server's certificate.
public struct HTTPCertificateFiles: Sendable, Hashable {
  /// The certificate with the intermediate ones, in PEM.
  public var chain: String

  /// The private key, in PEM, unencrypted, and not readable by every user.
  public var privateKey: String

  /// The two files.
  public init(chain: String, privateKey: String) {
    self.chain = chain
    self.privateKey = privateKey
  }
}

/// The limits that a server sets on its clients.
public struct HTTPLimits: Sendable, Hashable {
  /// Threads that answer, 1 to 256. A handler that waits without ``HTTPHandler/answer(to:)`` needs
  /// one for each request that waits.
  public var threads = 8

  /// Connections open at once, over all threads. When a further one comes, one is closed. The order
  /// is: the oldest that has sent nothing, the oldest between two requests, the oldest whose
  /// request is still arriving, the new one.
  public var connections = 1024

  /// Connections open at once from one address, closed in the same order. IPv6 addresses with the same
  /// first 64 bits count as one. 0 means no such limit; trusted proxies have none.
  public var connectionsPerAddress = 64

  /// Bytes of request line and headers, 1 KiB to 1 MiB.
  public var headByteCount = 32 << 10

  /// Bytes of a request's body, at most 1 GiB.
  public var bodyByteCount = 1 << 20

  /// Bytes of all bodies that are being received at once.
  public var bodiesByteCount = 64 << 20

  /// The time limit of a request from its first line to its last byte. The same limit holds before
  /// the first line of a connection, and until the answer is sent.
  public var requestTime = Duration.seconds(10)

  /// The longest time that a connection may stay open between two requests.
  public var idleTime = Duration.seconds(60)

  /// Makes the default limits, which suit an attestation service.
  public init() {}
}
