// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// A factory secret, in a block that is wiped when the last reference goes.
struct CoreFactorySecret: Sendable {
  static let byteCount = Int(PFC_FACTORY_SECRET_BYTES)

  private let secret: CoreSecret<(UInt64, UInt64, UInt64, UInt64)>

  init(of hardware: HardwareID, drawn: borrowing SecretBytes) throws(ProofError) {
    try drawn.checkCount(Self.byteCount, of: "factory secret")
    let isZero = unsafe drawn.withPointer { unsafe pfc_is_zero($0, Self.byteCount) }
    guard isZero == 0 else { throw .allZeros(of: "factory secret") }
    secret = unsafe CoreSecret { target in
      let target = unsafe UnsafeMutableRawPointer(target).assumingMemoryBound(to: UInt8.self)
      unsafe drawn.withPointer { drawn in
        hardware.withBytes { id in
          unsafe id.withUnsafeBufferPointer {
            unsafe pfc_factory_secret(target, drawn, $0.baseAddress)
          }
        }
      }
    }
  }

  func withPointer<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withPointer { secret throws(E) in
      try unsafe body(UnsafeRawPointer(secret).assumingMemoryBound(to: UInt8.self))
    }
  }
}
