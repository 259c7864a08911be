// SPDX-License-Identifier: Apache-2.0

import Foundation

/// All parts of the first act: a lock, and what opens it.
struct World {
  let cast: Cast
  let tool: Tool
  let service: AttestationSide
  let backend: BackendSide
  let lock: Lock
  let phone: Phone
  /// Another person's phone, with rights at the same lock.
  let otherPhone: Phone
  /// A guest's phone, whose token opens nothing.
  let guestPhone: Phone

  /// Makes all parts; none runs yet.
  init(_ cast: Cast, _ tool: Tool, _ service: AttestationSide, hardware: String?) throws {
    self.cast = cast
    self.tool = tool
    self.service = service
    backend = try BackendSide(cast, tool, service: service)
    lock = try Lock(cast, tool, backend: backend, program: hardware)
    phone = Phone("phone", cast, tool)
    otherPhone = Phone("other-phone", cast, tool)
    guestPhone = Phone("guest-phone", cast, tool)
  }

  /// Starts service and backend, at the same place as before.
  func goOnline() throws {
    try service.start()
    try backend.start(sealingKey: service.sealingKey())
  }

  /// Starts the backend anew, for guests or for owners.
  func serve(guests: Bool) throws {
    backend.stop()
    try backend.start(sealingKey: service.sealingKey(), isForGuests: guests)
  }

  /// Ends service and backend.
  func goOffline() {
    service.stop()
    backend.stop()
  }

  /// Registers the app on a phone, as it is now.
  func register(_ phone: Phone) throws {
    try service.register(tool.path("proof-demo"), bundle: phone.bundle)
  }
}
