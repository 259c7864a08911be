// SPDX-License-Identifier: Apache-2.0

// Everything that an app needs, by one import.
@_exported public import ProofKit
@_exported public import ProofKitHTTP
@_exported public import ProofLink
@_exported public import ProofModel
