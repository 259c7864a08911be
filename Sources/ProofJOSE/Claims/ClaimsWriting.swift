// SPDX-License-Identifier: Apache-2.0

extension Claims {
  /// The claims as canonical JSON. They have no measurement, because the text is not a secret.
  func clearJSON() throws(JOSEError) -> [UInt8] {
    precondition(measurement == nil, "A measurement is written into memory for secrets.")
    let members = try members()
    return TextWriter.bytes { writer, text in writer.json(members, into: &text) }
  }

  /// The claims as canonical JSON, in memory for secrets.
  func secretJSON() throws(JOSEError) -> JOSESecret {
    let members = try members()
    return TextWriter.secret { writer, text in writer.json(members, into: &text) }
  }

  private func members() throws(JOSEError) -> [(name: String, member: JSONMember)] {
    try checkForms()
    var members: [(name: String, member: JSONMember)] = []
    func add(_ name: String, _ value: JSONValue?) {
      if let value { members.append((name, .value(value))) }
    }
    add("exp", (expiry?.number).map(JSONValue.number))
    add("iat", (issuedAt?.number).map(JSONValue.number))
    add("nbf", (notBefore?.number).map(JSONValue.number))
    add("iss", issuer.map(JSONValue.string))
    switch audience.count {
    case 0: break
    case 1: add("aud", .string(audience[0]))
    default: add("aud", .array(audience.map(JSONValue.string)))
    }
    add("sub", subject.map(JSONValue.string))
    add("did", instance.map { .string(Self.base64($0)) })
    add("ip", address.map(JSONValue.string))
    add("arc", attestationCode.map(JSONValue.string))
    add("anno", (annotations?.map(JSONValue.string)).map(JSONValue.array))
    add("pay", (binding?.text).map(JSONValue.string))
    add("mskid", messageKeyID.map(JSONValue.string))
    add("ipk", installPublicKey.map { .string(Claims.base64($0)) })
    for (name, value) in others.members { add(name, value) }
    if let measurement { members += measurement.members }
    return members
  }
}
