// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// The configuration that apps get; see SERVICE.md, section 6.
enum AccountConfiguration {
  /// The signed form.
  static func signed(
    _ account: String, _ settings: ConfigurationSettings, _ key: JSONWebKey, apis: [String: API],
    pins: [HostPins]
  ) throws(ServiceError) -> String {
    var hosts = JSONObject()
    for api in apis.values { hosts[api.host] = .string(api.kind.rawValue) }
    var pinned = JSONObject()
    // An API's host with no pins is known, and not pinned.
    for host in apis.keys { pinned[host] = .array([]) }
    for host in pins { pinned[host.host] = .array(host.pins.map { .string($0) }) }
    var claims: JSONObject = [
      "acc": .string(account), "url": .string(settings.url), "pin": .object(pinned),
      "dom": .object(hosts),
      "key": .string(Base64.encode(key.publicBytes ?? [], .url)),
    ]
    claims.set("ser", Int64(settings.serial))
    claims.set("iat", settings.changed)
    claims.set("fps", Int64(settings.forcedPinsSerial))
    claims.set("spk", settings.servicePins)
    claims.set("alt", settings.failover)
    if !settings.regions.isEmpty {
      claims["reg"] = .object(RegionAddresses.object(settings.regions, failover: "alt"))
    }
    if !settings.handovers.isEmpty { claims.set("hnd", settings.handovers) }
    let payload = Array(JSONValue.object(claims).text.utf8)
    do {
      return try JWSSigner(key).sign(payload: payload.span, type: nil)
    } catch {
      throw .jose(error)
    }
  }

  /// A handover: a key names the key after it, in a JWS of a type of its own, so that it is no
  /// configuration.
  static func handover(
    of account: String, from old: JSONWebKey, to new: JSONWebKey
  ) throws(ServiceError) -> String {
    let claims: JSONObject = [
      "acc": .string(account), "key": .string(Base64.encode(old.publicBytes ?? [], .url)),
      "nxt": .string(Base64.encode(new.publicBytes ?? [], .url)),
    ]
    let payload = Array(JSONValue.object(claims).text.utf8)
    return try ServiceError.ofJOSE { () throws(JOSEError) in
      try JWSSigner(old).sign(payload: payload.span, type: AttestationWire.handoverType)
    }
  }

  /// The short form: the service's address, and the fingerprint of its key.
  static func initial(
    _ account: String, _ settings: ConfigurationSettings, _ key: JSONWebKey
  ) -> String {
    let label = Array(AttestationWire.configLabel.utf8)
    let fingerprint = Digest(hashing: label + (key.publicBytes ?? []))
    return "#\(account)@\(ServiceURL.authority(settings.url))#\(Base64.encode(fingerprint.bytes))"
  }
}
