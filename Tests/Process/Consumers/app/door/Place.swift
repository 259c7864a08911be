// SPDX-License-Identifier: Apache-2.0

import Glibc
import ProofKit
import ProofKitHTTP
import ProofModel

/// Where the app is: `door BUNDLE STORAGE LOCK CONFIGURATION [BACKEND]`. Without the last one it is
/// offline.
struct Place {
  let configuration: Configuration
  let lock: HardwareID
  let transport = CurlTransport(.init(allowsPlainLoopback: true))
  /// The address that issues measurement tokens.
  let backend: String?

  init(_ arguments: [String]) throws {
    guard arguments.count == 5 || arguments.count == 6 else {
      throw Refusal("usage: door BUNDLE STORAGE LOCK CONFIGURATION [BACKEND]")
    }
    lock = try HardwareID(arguments[3])
    configuration = Configuration(
      account: arguments[4], bundle: arguments[1], storage: arguments[2])
    backend = arguments.count == 6 ? arguments[5] + "/unlock-grant" : nil
  }
}

/// Why the app does nothing.
struct Refusal: Error {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}

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
