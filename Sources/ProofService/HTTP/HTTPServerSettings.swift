/// Where a server listens, and what it lets clients do.
public struct HTTPServerSettings: Sendable, Hashable {
  /// The IPv4 or IPv6 address to listen on.
  public var address: String

  /// The port to listen on; 0 lets the system choose.
  public var port: UInt16

  /// The certificate for HTTPS; `nil` for plain HTTP, behind a proxy.
  public var certificate: HTTPCertificateFiles?

  /// The limits on clients.
  public var limits: HTTPLimits

  /// Addresses of proxies whose `X-Forwarded-For` is believed.
  public var trustedProxies: Set<String>

  /// Whether only programs of this machine reach the address.
  public var isForThisMachineOnly: Bool { IPAddress(address)?.isLoopback ?? false }

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

/// Where a server finds its certificate.
public struct HTTPCertificateFiles: Sendable, Hashable {
  /// The certificate with those that lead to a known authority, in PEM.
  public var chain: String

  /// The private key, in PEM, unencrypted, not readable by everyone.
  public var privateKey: String

  /// The two files.
  public init(chain: String, privateKey: String) {
    self.chain = chain
    self.privateKey = privateKey
  }
}

/// The limits that a server sets on its clients.
public struct HTTPLimits: Sendable, Hashable {
  /// Threads that answer, 1 to 256.
  public var threads = 8

  /// Connections open at once, over all threads. When a further one comes, one is closed: the eldest that
  /// has sent nothing, else the eldest between two requests, else the eldest whose request is still
  /// arriving, else the new one.
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

  /// How long a request may take from its first line to its last byte; as long again may pass before the
  /// first line of a connection, and until the answer is sent.
  public var requestTime = Duration.seconds(10)

  /// How long a connection may stay open between two requests.
  public var idleTime = Duration.seconds(60)

  /// The limits that suit an attestation service.
  public init() {}
}
