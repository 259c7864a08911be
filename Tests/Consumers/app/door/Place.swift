// SPDX-License-Identifier: Apache-2.0

import Glibc
import ProofKit
import ProofKitHTTP
import ProofModel

/// Where the app is: `door BUNDLE STORAGE LOCK [CONFIGURATION BACKEND]`. Without the last two it is
/// offline.
struct Place {
  let bundle: String
  let storage: String
  let lock: HardwareID
  let initialConfig: String?
  let transport = CurlTransport(.init(allowsPlainLoopback: true))
  private let backend: String

  init(_ arguments: [String]) throws {
    guard arguments.count == 4 || arguments.count == 6 else {
      throw Refusal("usage: door BUNDLE STORAGE LOCK [CONFIGURATION BACKEND]")
    }
    (bundle, storage) = (arguments[1], arguments[2])
    lock = try HardwareID(bytes(of: arguments[3]))
    initialConfig = arguments.count == 6 ? arguments[4] : nil
    backend = arguments.last ?? ""
  }

  /// Asks the backend for a measurement token.
  func grant(_ token: String) throws -> [UInt8] {
    var request = TransportRequest(
      url: "\(backend)/unlock-grant?hardware=\(lock)", body: [], timeout: .seconds(30))
    request.authorization = "Bearer \(token)"
    let response = try transport.send(request)
    guard response.status == 200 else {
      throw Refusal(String(decoding: response.body, as: UTF8.self))
    }
    return response.body
  }
}

/// Why the app does nothing.
struct Refusal: Error {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}

let notFetched = Refusal("nothing is stored: the app has to go online once")

/// The link: a line `TYPE BYTES` each way, bytes in hexadecimal.
func send(_ message: Message) throws -> Message {
  print("send", message.type.rawValue, hexadecimal(message.bytes))
  fflush(nil)
  let words = (readLine() ?? "").split(separator: " ").map(String.init)
  guard words.count == 2, let type = UInt8(words[0]).flatMap(MessageType.init) else {
    throw Refusal("the hardware does not answer")
  }
  return try Message(type, bytes(of: words[1]))
}

func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

func bytes(of text: String) -> [UInt8] {
  let digits = text.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count - 1, by: 2).map {
    UInt8(digits[$0] * 16 + digits[$0 + 1])
  }
}
