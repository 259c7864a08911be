/// The tags of reports and answers: keys of their own, derived from the measurement proof key and
/// the challenge's salt.
enum AttestationTag {
  static func tag(
    _ bytes: ArraySlice<UInt8>, label: String, salt: Salt, key: MeasurementProofKey
  ) -> Digest {
    salt.withBytes { salt in
      CoreDerivedMAC.tag(label: label, key: key, info: salt, bytes.span)
    }
  }
}
