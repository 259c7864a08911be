/// The tags of reports and answers: keys of their own, derived from the measurement proof key and
/// the challenge's salt.
enum AttestationTag {
  static func tag(
    _ bytes: some Sequence<UInt8>, label: String, salt: Salt, key: MeasurementProofKey
  ) -> Digest {
    let proofKey = key.withBytes { SecretBytes(copying: $0) }
    let tagKey = salt.withBytes { CoreCrypto.derive(label: label, key: proofKey, info: $0) }
    return CoreCrypto.hmac(key: tagKey, Array(bytes).span)
  }
}
