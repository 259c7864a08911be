// SPDX-License-Identifier: Apache-2.0

/// The reason why a server cannot listen, or cannot use its certificate.
public enum HTTPServerError: Error, Sendable, Hashable {
  /// A text is no IP address.
  case address(String)
  /// A limit is out of its range.
  case limit(String, value: String, allowed: String)
  /// The system refuses to let the server listen there; with the system's number and words.
  case cannotListen(address: String, port: UInt16, code: Int32, reason: String)
  /// A file cannot be read; with the system's words.
  case unreadable(file: String, reason: String)
  /// A file holds no certificate.
  case noCertificate(file: String)
  /// A file holds more certificates than a chain may have.
  case longChain(file: String, most: Int)
  /// A file holds no private key that can be used.
  case noPrivateKey(file: String)
  /// Every user of the machine can read the private key.
  case exposedPrivateKey(file: String)
  /// Certificate and private key do not belong together.
  case certificateMismatch(certificate: String, privateKey: String)
  /// The server speaks plain HTTP and has no certificate to renew.
  case plain
  /// The system has no threads, files or memory left for a server.
  case resources
}

extension HTTPServerError: CustomStringConvertible {
  /// The failure and the next step, as text.
  public var description: String {
    switch self {
    case .address(let text):
      "\(text) is no IP address: write one such as 127.0.0.1, 0.0.0.0 or ::1"
    case .limit(let name, let value, let allowed):
      "\(name) is \(value); it must be \(allowed)"
    case .cannotListen(let address, _, let code, let reason) where address.hasPrefix("unix:"):
      "cannot listen on \(address): \(reason); \(Self.socketAdvice(code))"
    case .cannotListen(let address, let port, let code, let reason):
      "cannot listen on port \(port) of \(address): \(reason); \(Self.advice(code))"
    case .unreadable(let file, let reason):
      "cannot read \(file): \(reason)"
    case .noCertificate(let file):
      "\(file) holds no certificate: it must be in PEM, between BEGIN CERTIFICATE and END CERTIFICATE"
    case .longChain(let file, let most):
      "\(file) holds more than \(most) certificates: keep the server's own and those that lead from it"
        + " to the root"
    case .noPrivateKey(let file):
      "\(file) holds no usable private key: it must be in PEM and without a passphrase"
    case .exposedPrivateKey(let file):
      "everyone on this machine can read the private key in \(file): chmod o-rwx \(file), and consider"
        + " whether somebody has"
    case .certificateMismatch(let certificate, let privateKey):
      "the certificate in \(certificate) was not made for the private key in \(privateKey)"
    case .plain:
      "this server speaks plain HTTP and has no certificate to renew"
    case .resources:
      "the system has no threads, open files or memory left for a server: lower the limits of"
        + " connections and threads, or raise the system's (ulimit -n)"
    }
  }

  private static func socketAdvice(_ code: Int32) -> String {
    switch code {
    case CoreSystem.addressInUse: "stop the program that listens there, or choose another path"
    case CoreSystem.notPermitted:
      "its folder must belong to this user or root, and only the owner may write to it"
    default: "choose another path"
    }
  }

  private static func advice(_ code: Int32) -> String {
    switch code {
    case CoreSystem.addressInUse: "stop the program that listens there, or choose another port"
    case CoreSystem.accessDenied: "ports below 1024 need root, or the capability to bind them"
    case CoreSystem.addressNotAvailable: "this machine has no such address"
    default: "choose another address or port"
    }
  }
}
