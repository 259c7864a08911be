// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SimulatedDevices
import Synchronization

/// The simulated devices, each made when it is first used and kept: its making is no part of what is
/// measured.
final class Fleet: Sendable {
  private let options: LoadOptions
  private let devices: Mutex<[SimulatedDevice?]>

  init(_ options: LoadOptions) {
    self.options = options
    devices = Mutex(Array(repeating: nil, count: options.devices))
  }

  func device(_ number: Int) throws(ProofError) -> SimulatedDevice {
    if let known = devices.withLock({ $0[number] }) { return known }
    let device = try SimulatedDevice(number, records: options.records, account: options.account)
    devices.withLock { $0[number] = device }
    return device
  }
}
