// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Signs and opens orders, which are public.
enum CoreOrder {
  static var epochStep: UInt64 { UInt64(PFC_EPOCH_STEP) }

  static func sign(_ order: Order, by issuer: CoreIssuer) -> [UInt8] {
    var raw = pfc_order()
    raw.issued = order.issued.unsigned
    switch order.action {
    case .epoch(let hardware):
      raw.type = UInt8(PFC_ORDER_EPOCH.rawValue)
      hardware.storage.copy(to: &raw.hardware_id)
    case .revoke(let instance, let generation, let hardware):
      raw.type = UInt8(PFC_ORDER_REVOKE.rawValue)
      raw.generation = generation ?? PFC_GENERATION_ALL
      instance.storage.copy(to: &raw.instance_id)
      hardware.storage.copy(to: &raw.hardware_id)
    case .floor(let hardware):
      raw.type = UInt8(PFC_ORDER_FLOOR.rawValue)
      hardware.storage.copy(to: &raw.hardware_id)
    }
    return unsafe [UInt8](unsafeUninitializedCapacity: SignedOrder.byteCount) { buffer, count in
      unsafe issuer.withSigningKey { key in
        unsafe CoreResult(pfc_order_create(buffer.baseAddress, &raw, key)).mustBeOK()
      }
      count = SignedOrder.byteCount
    }
  }

  static func checkHead(_ bytes: [UInt8], by hardware: CoreHardware) throws(ProofError) {
    let result = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe hardware.withHardware { hardware in
        unsafe CoreResult(pfc_order_check_head(bytes.baseAddress, bytes.count, hardware))
      }
    }
    try result.orThrow(opening: "order", byteCount: bytes.count)
  }

  static func open(_ bytes: [UInt8], by hardware: CoreHardware) throws(ProofError) -> Order {
    var raw = pfc_order()
    let result = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe hardware.withHardware { hardware in
        unsafe CoreResult(pfc_order_open(&raw, bytes.baseAddress, bytes.count, hardware))
      }
    }
    try result.orThrow(opening: "order", byteCount: bytes.count)
    let hardware = HardwareID(storage: InlineBytes(tuple: raw.hardware_id))
    let action: Order.Action
    switch UInt32(raw.type) {
    case PFC_ORDER_EPOCH.rawValue:
      action = .epoch(hardware)
    case PFC_ORDER_REVOKE.rawValue:
      action = .revoke(
        InstanceID(storage: InlineBytes(tuple: raw.instance_id)),
        through: raw.generation == PFC_GENERATION_ALL ? nil : raw.generation, hardware)
    default:
      action = .floor(hardware)
    }
    return known(try? Order(action, issued: UnixTime(clamping: raw.issued)))
  }
}
