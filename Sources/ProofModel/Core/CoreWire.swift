// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// The lengths of `wire.h` in Swift. Swift imports macros that are numbers, but not sums, so the
/// sums are computed here again from the same parts.
enum CoreWire {
  static let configMax = Int(
    PFC_CONFIG_HEAD_BYTES + PFC_CONFIG_SOURCE_BYTES * PFC_CONFIG_SOURCES_MAX
      + PFC_CONFIG_LEAF_BYTES * PFC_CONFIG_LEAVES_MAX + PFC_CONFIG_TAG_BYTES)
  static let sourcesMax = Int(PFC_CONFIG_SOURCES_MAX)
  static let leavesMax = Int(PFC_CONFIG_LEAVES_MAX)
  static let groupsLog2Max = UInt8(PFC_CONFIG_GROUPS_LOG2_MAX)
  static let limitsLog2 = UInt8(PFC_CONFIG_LIMIT_LOG2_MIN)...UInt8(PFC_CONFIG_LIMIT_LOG2_MAX)
  static let nameMax = Int(PFC_NAME_MAX)

  static let token =
    Int(PFC_TOKEN_HEAD_BYTES + PFC_SEAL_BYTES + PFC_TOKEN_BODY_BYTES)
    + Int(PFC_SIGNATURE_BYTES)
  static let order = Int(PFC_ORDER_BODY_BYTES + PFC_SIGNATURE_BYTES)
  static let issuersMax = Int(PFC_ISSUERS_MAX)
  static let classes = UInt8(PFC_CLASSES)

  static let commandMax = Int(PFC_COMMAND_MAX)
  static let challenge = Int(PFC_CHALLENGE_BYTES)
  static let challengeMessage = 8 + Int(PFC_CHALLENGE_BYTES)
  static let commandHead = 1 + 1 + Int(PFC_ID_BYTES) + 8
  static let commandIntegrity = commandHead + 2 * Int(PFC_PROOF_BYTES)
  static let verdictMessage = 1 + 2 + 8 + Int(PFC_RECEIPT_BYTES)
  static let recall = Int(PFC_ID_BYTES) + 8 + Int(PFC_NONCE_BYTES + PFC_PROOF_BYTES)
  static let status = Int(PFC_STATUS_BYTES)
  static let commandRatchet = Int(PFC_RATCHET_TAG_BYTES) + 4
  static let messageMax = commandIntegrity + commandRatchet + commandMax

  static let sealedChallenge = challengeMessage + Int(PFC_PUBLIC_KEY_BYTES)
  static let sealedIntegrityProof =
    1 + Int(PFC_SEAL_HINT_BYTES) + 8 + Int(PFC_PUBLIC_KEY_BYTES) + Int(PFC_SEAL_TAG_BYTES) + 1
  static let sealedDevice = sealedIntegrityProof + commandRatchet + Int(PFC_PROOF_BYTES)
  static let sealedIntegrity = sealedDevice + Int(PFC_PROOF_BYTES)
  static let sealedCommandMax = messageMax - sealedIntegrity
  /// A command of a channel, without its bytes.
  static let channelCommand = Int(8 + PFC_SEAL_TAG_BYTES + 1)

  static let packets = Int(PFC_PACKET_MIN)...Int(PFC_PACKET_MAX)

  static let slots = Int(PFC_SLOTS)
  static let records = 1 + slots
  static let recordMax = Int(PFC_RECORD_HEAD_BYTES + PFC_RECORD_PAYLOAD_MAX + PFC_RECORD_TAG_BYTES)

  static let gateSecret = Int(PFC_GATE_SECRET_BYTES)
  static let gateKey = Int(PFC_GATE_KEY_BYTES)
  static let gateKeysMax = Int(PFC_GATE_KEYS_MAX)
  static let gateToken =
    Int(PFC_GATE_TOKEN_HEAD_BYTES + PFC_SEAL_BYTES + PFC_GATE_TOKEN_BODY_BYTES)
    + Int(PFC_SIGNATURE_BYTES)
  static let gateLife = UInt64(PFC_GATE_LIFE_SECONDS)
  static let gateApp = Int(PFC_APP_BYTES)
  static let findingsMax = Int(PFC_FINDINGS_MAX)
  static let accountMax = Int(PFC_ACCOUNT_MAX)
  static let beaconHead = UInt8(PFC_COMPACT_VERSION << 4 | 4)
  static let compactText = Int(PFC_COMPACT_TEXT_BYTES)
  static let compactWindow = UInt32(PFC_COMPACT_WINDOW_SECONDS)

  static let challengeID = Int(PFC_CHALLENGE_ID_BYTES)

  static let featureTokenTwo = UInt32(PFC_FEATURE_TOKEN_2.rawValue)
  static let featureRatchet = UInt32(PFC_FEATURE_RATCHET.rawValue)
  static let featureSealed = UInt32(PFC_FEATURE_SEALED.rawValue)
  static let featureChannel = UInt32(PFC_FEATURE_CHANNEL.rawValue)
  static let featureLog = UInt32(PFC_FEATURE_LOG.rawValue)
  static let featureGrants = UInt32(PFC_FEATURE_GRANTS.rawValue)
  static let featureFactorySecret = UInt32(PFC_FEATURE_FACTORY_SECRET.rawValue)
  static let featureUpcoming = UInt32(PFC_FEATURE_UPCOMING.rawValue)

  static let tokenMagic = PFC_TOKEN_MAGIC
  static let gateTokenMagic = PFC_GATE_TOKEN_MAGIC
  static let orderMagic = PFC_ORDER_MAGIC

  /// Checks how a token or an order begins: two bytes of magic, a version, a suite.
  static func check(
    _ bytes: [UInt8], _ count: Int, _ magic: String, _ noun: String
  ) throws(ProofError) {
    guard bytes.count == count, bytes.starts(with: magic.utf8) else {
      throw .malformed(noun, byteCount: bytes.count)
    }
    guard bytes[2] == UInt8(PFC_VERSION), bytes[3] == UInt8(PFC_SUITE) else { throw .tooNew(noun) }
  }

  /// Checks how a measurement token begins: it has a second version, and that a second suite.
  static func checkToken(_ bytes: [UInt8]) throws(ProofError) {
    let noun = "measurement token"
    guard bytes.count == token, bytes.starts(with: tokenMagic.utf8) else {
      throw .malformed(noun, byteCount: bytes.count)
    }
    guard bytes[2] == UInt8(PFC_TOKEN_VERSION_2) else {
      return try check(bytes, token, tokenMagic, noun)
    }
    guard bytes[3] == UInt8(PFC_SUITE) || bytes[3] == UInt8(PFC_SUITE_FACTORY) else {
      throw .tooNew(noun)
    }
  }
}
