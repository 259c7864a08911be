// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofBackend
import ProofKit
import ProofKitKeys
import ProofKitTPM
import ProofModel
import ProofRequest

// A signer and verifier of RFC 9421 beside other people's: `request-peer FOLDER [TPM]` answers each
// line of its standard input, which is one JSON object, with one line of JSON. With a TPM's device or
// socket the installation's key is there.
//
//   method, url, fields       the request; fields is a list of pairs
//   body, key                 in hexadecimal; without `key` the installation's key in FOLDER signs
//   created, nonce, keyid     of a signature that is to be made: answers `fields`, and `point` of the
//                             installation's key
//   prove                     true: the gate's key proves the request as well; `fields` have the token
//   judge                     a point: answers `judged` by a RequestVerifier whose route demands that
//                             installation's key, and `word`
//   word                      the gate's word on the time, for `prove`
//   verify                    true: answers `refusal`, a number or -1 for a signature that is right
//
// `request-peer replay FILE TIME` answers each line, any text, with `new` or `used` by a replay store.

struct Question: Decodable {
  let method: String
  let url: String
  let fields: [[String]]
  let body: String?
  let key: String?
  let created: Int64?
  let nonce: String?
  let keyid: String?
  let verify: Bool?
  let prove: Bool?
  let judge: String?
  let word: String?
}

struct Answer: Encodable {
  var fields: [[String]] = []
  var point: String?
  var refusal: Int?
  var judged: String?
  var word: String?
}

func answer(_ question: Question, _ key: any InstallationKey, _ door: Door) throws -> Answer {
  var head = try RequestHead(
    method: question.method, url: question.url,
    fields: HeaderFields(question.fields.map { ($0[0], $0[1]) }))
  let secret = try question.key.map { text in
    guard let bytes = Hexadecimal.decode(text) else { throw CocoaError(.formatting) }
    return bytes
  }
  if question.verify == true {
    guard let secret else { throw CocoaError(.formatting) }
    return Answer(refusal: refusal(of: head, secret))
  }
  let body = question.body.flatMap(Hexadecimal.decode).map { ContentDigest(of: $0.span) }
  let created = UnixTime(seconds: question.created ?? 0)
  let (nonce, keyID) = (question.nonce ?? "", question.keyid ?? "")
  var answer = Answer()
  if let judge = question.judge {
    (answer.judged, answer.word) = try door.judge(question, head, installation: judge)
    return answer
  }
  if question.prove == true { try door.prove(&head, body: body, question) }
  if let secret {
    try SecretBytes(copying: secret.span).withBytes { key in
      try StandardForm().sign(
        &head, body: body, with: key, keyID: keyID, created: created, nonce: nonce)
    }
  } else {
    try StandardForm().sign(
      &head, body: body, keyID: question.prove == true ? door.name : keyID, created: created,
      nonce: nonce, byInstallation: key.signature)
    answer.point = try key.identity().point.description
  }
  answer.fields = head.fields.fields.map { [$0.name, $0.value] }
  return answer
}

func refusal(of head: RequestHead, _ key: [UInt8]) -> Int {
  do throws(RequestRefusal) {
    let proof = try StandardProof(reading: head)
    let isSigned = SecretBytes(copying: key.span).withBytes { proof.isSigned(with: $0) }
    return isSigned ? -1 : Int(RequestRefusal.wrongSignature.rawValue)
  } catch {
    return Int(error.rawValue)
  }
}

if CommandLine.arguments[1] == "replay" {
  let store = try SQLiteReplayStore(at: CommandLine.arguments[2])
  let now = UnixTime(clamping: UInt64(CommandLine.arguments[3]) ?? 0)
  print("gap", try store.begin(at: now).gap.map { "\($0)" } ?? "none")
  fflush(nil)
  while let line = readLine() {
    let digest = Digest(hashing: Array(line.utf8))
    let key = try ReplayKey(Array(digest.bytes.prefix(24)))
    let isNew = try store.insert(key, until: now + 150, at: now)
    print(isNew ? "new" : "used")
    fflush(nil)
  }
  exit(0)
}

let door = try Door()
let key: any InstallationKey =
  CommandLine.arguments.count > 2
  ? TPMInstallationKey(
    folder: CommandLine.arguments[1],
    options: .init(
      device: CommandLine.arguments[2], signingTime: .seconds(5), provingTime: .seconds(10)))
  : StoredInstallationKey(folder: CommandLine.arguments[1])
while let line = readLine() {
  do {
    let question = try JSONDecoder().decode(Question.self, from: Data(line.utf8))
    let text = try JSONEncoder().encode(answer(question, key, door))
    print(String(decoding: text, as: UTF8.self))
  } catch {
    let text = try JSONEncoder().encode(["error": "\(type(of: error))", "words": "\(error)"])
    print(String(decoding: text, as: UTF8.self))
  }
  fflush(nil)
}
