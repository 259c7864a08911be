// SPDX-License-Identifier: Apache-2.0

import AccountStores
import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The bounds of the service are those of docs/MANAGEMENT.md, docs/SERVICE.md and docs/RUNNING.md,
/// with the numbers written out.
@Suite struct BoundsTests {
  /// docs/MANAGEMENT.md, *Settings of the policy*.
  @Test
  func `a new account has the numbers of the page`() {
    let policy = Policy()
    #expect(policy.tokenLifetime == 300 && policy.saltLifetime == 60)
    #expect(policy.limitLog2 == 33 && policy.cloneWindow == 86_400)
    #expect(policy.deviceRetention == 400)
    #expect(policy.firstFetchRate == 10_000 && policy.firstFetchAlarm == 1_000)
    #expect(policy.deviceRate == 5 && policy.addressRate == 200)
    #expect(Policy.saltLifetimes == 5...600)
  }

  @Test
  func `a device's strings have their bounds`() {
    #expect(DeviceStrings.valueMax == 65_535)
    #expect(DeviceStrings.countMax == 32 && DeviceStrings.bytesMax == 131_072)
    #expect(SecureString.nameMax == 64)
    #expect(StringSecret.byteCount == 32)
  }

  @Test
  func `a device's note has 16 machines, 4,096 bytes of properties and a version of 64`() {
    #expect(DeviceNote.machineMax == 16)
    #expect(DeviceNote.saidMax == 4_096 && DeviceNote.versionMax == 64)
    #expect(RecentDevices.count == 4_096 && RecentDevices.noteMax == 4_096)
  }

  /// docs/SERVICE.md, sections 1 and 4.
  @Test
  func `challenges, reports and clocks have their bounds`() {
    #expect(AttestationService.bodyMax == 1_048_576)
    #expect(AttestationService.judgementsMax == 32)
    #expect(ClockWatch.differenceMax == 30)
    #expect(SaltTerms.longestLife == 660)
    #expect(SaltFields.byteCount == 8)
    #expect(SpentRing.slotCount == 64)
    #expect(SpentRing.placeBytes == [0, 7, 6])
    #expect(FirstFetches.addressPart == 10)
    #expect(Sweeper.devicesMax == 1_000 && Sweeper.markMargin == 120)
    #expect(SQLiteStore.checkedPagesMax == 2_048 && SQLiteReaders.countMax == 8)
  }

  /// docs/ROTATION.md: the old key is kept for a minute after its last token's end, and a public
  /// key is published for 300 s before it signs.
  @Test
  func `keys are kept and published for their seconds`() {
    #expect(Management.endMargin == 60)
    #expect(KeySetKey.publishedSeconds == 300)
    #expect(TokenKey.block == 4_096)
    #expect(OwnKey.secret.byteCount == 64 && OwnKey.custom.byteCount == 64)
    #expect(OwnKey.sealing.byteCount == 32 && OwnKey.message.byteCount == 32)
  }

  /// docs/MANAGEMENT.md, *Gates*, and docs/SERVICE.md, section 10.
  @Test
  func `an account's gates have their bounds`() {
    #expect(Gate.countMax == 16 && Gate.revocationsMax == 256)
    #expect(Gate.lives == 60...86_400)
    #expect(NamedChallenge.countMax == 64 && NamedChallenge.lives == 10...3_600)
    #expect(NamedRisk.countMax == 64)
    #expect(EventRange.standard == 3_300...3_400 && EventRange.audienceMax == 64)
    let range = EventRange(3_300...3_300, at: "gate", for: "shop")
    #expect(range.life == 60 && range.measured == 10)
    let kinds: [(NamedChallenge.Kind, ClosedRange<Int>, Int)] = [
      (.token, 0...0, 60), (.proof, 0...0, 60), (.work, 1...24, 120), (.memory, 1...7, 120),
      (.person, 0...0, 600),
    ]
    for (kind, levels, life) in kinds {
      #expect(kind.levels == levels && kind.life == life, "\(kind)")
    }
  }

  @Test
  func `other lists of an account have their bounds`() {
    #expect(RegionAddresses.countMax == 32 && Prediction.recordsMax == 4_096)
    #expect(ManagementTokens.countMax == 64)
    #expect(GateConfiguration.useSeconds == 604_800 && AttestationService.gatePeriod == 900)
    #expect(FactoryKey.byteCount == 32)
  }

  /// docs/MANAGEMENT.md, *Account, store, lock*.
  @Test
  func `a passphrase is stretched with two passes in 64 MiB, and a lock takes its bounds`() {
    #expect(WrappedKey.passes == 2 && WrappedKey.memory == 67_108_864)
    #expect(WrappedKey.passesAllowed == 1...16)
    #expect(WrappedKey.memoryAllowed == 8_192...1_073_741_824)
    #expect(CoreSodium.keyByteCount == 32 && CoreSodium.passwordSaltByteCount == 16)
    #expect(CoreSodium.nonceByteCount == 24 && CoreSodium.tagByteCount == 16)
  }

  /// Numbers that stand in files and databases, which other versions read.
  @Test
  func `stores have the numbers that other versions know`() {
    #expect(SQLiteStatement.applicationID == 0x5066_5374)
    #expect(SQLiteStatement.schemaVersion == 3)
    #expect(SQLiteMove.movedID == 0x5066_4D76)
    let tables: [(StoreTable, UInt8)] = [
      (.account, 1), (.api, 2), (.registration, 3), (.sdkBuild, 4), (.key, 5), (.hardware, 6),
      (.pin, 7), (.secureString, 8), (.deviceString, 9), (.deviceRule, 10), (.gate, 11),
    ]
    for (table, number) in tables { #expect(table.rawValue == number, "\(table)") }
    #expect(tables.count == StoreTable.allCases.count)
  }

  /// The numbers stand in response codes, which an operator keeps.
  @Test
  func `properties have their numbers`() {
    let properties: [Property] = [
      .debug, .preload, .injected, .patched, .hooked, .emulator, .root, .appNotRegistered,
      .sdkVersion, .clonedStorage, .developmentKey, .measurementError, .developmentApp,
      .developmentSDK, .forcedPass, .forcedFail, .firstFetch, .unreadable, .automatedLaunch,
      .installationKeyChanged, .installationKeyMissing, .installationKeyUnproved,
      .withheldBasic, .withheldUnique, .withheldExtra, .copySeen,
    ]
    for (number, property) in properties.enumerated() {
      #expect(property.rawValue == number, "\(property)")
      #expect(Properties([property]).rawValue == 1 << number, "\(property)")
    }
    #expect(properties.count == Property.allCases.count && properties.count == 26)
  }

  @Test
  func `a store in a database has four lanes, and tries again for three seconds`() {
    let settings = PostgresAccountStore.Settings()
    #expect(settings.lanes == 4 && settings.patience == 3_000 && settings.readers == nil)
  }
}
