// SPDX-License-Identifier: Apache-2.0

/// ProofCore: measurement, proof, measurement token, verifier. Both sides, any CPU, no heap, no operating system.
///
/// The headers stand in the order in which data flows:
/// evidence, measurement, configuration, proof, token, frames, log, verifier, verdict, receipt. Those of gates, which
/// verify over HTTP, follow: refusals, keys, gate token, request, compact token, answers to challenges, puzzles.
/// Firmware does not link them.

#ifndef PROOFCORE_H
#define PROOFCORE_H

#include "version.h"
#include "wire.h"
#include "result.h"
#include "sha256.h"
#include "crypto.h"
#include "key.h"
#include "config.h"
#include "measurement.h"
#include "proof.h"
#include "ratchet.h"
#include "grant.h"
#include "grant_record.h"
#include "hardware.h"
#include "token.h"
#include "order.h"
#include "message.h"
#include "sealed.h"
#include "channel.h"
#include "frame.h"
#include "record.h"
#include "slot.h"
#include "ledger.h"
#include "logbook.h"
#include "logbook_reader.h"
#include "logbook_ring.h"
#include "verifier.h"
#include "base64url.h"
#include "reason.h"
#include "refusal.h"
#include "gate.h"
#include "gate_token.h"
#include "http.h"
#include "compact.h"
#include "gate_proof.h"
#include "puzzle.h"
#include "pairing.h"

#endif
