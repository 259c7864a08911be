// SPDX-License-Identifier: Apache-2.0

/// Measures the app that calls it: this process, its files, its environment, its device.
///
///     struct pfp_probe *probe;
///     struct pfp_probe_options options = {.bundle = "…", .storage = "…", .harden = 1};
///     if (pfp_probe_create(&probe, &options) == PFP_OK) {
///       result = pfp_probe_measure(&measured, probe, mc, mc_size, &pfc_sdk_key);
///       …
///       pfp_probe_free(probe);
///     }
///
/// No function tells whether something was tampered with. What the probe sees becomes digests, and the digests a
/// measurement; there is no branch to patch. What differs is told, in words, by diagnosis.h: for people, never as a
/// condition.
///
/// One thread at a time may use a probe. While it measures, no other thread may unload a library (dlclose). What the
/// app loads later with dlopen must be loaded before the first measurement, and named in `plugins`. Modules that the
/// system's libraries open for themselves need neither (docs/PROBE.md, "System modules").

#ifndef PFP_PROBE_H
#define PFP_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "files.h"
#include "key.h"
#include "measurement.h"
#include "message.h"
#include "probe_result.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFP_FOLDERS_MAX 8
#define PFP_FOLDER_NAME_MAX 64

/// A further folder of the app. The limit on bytes, and the cache, count for each folder by itself.
struct pfp_probe_folder {
  const char *name;  ///< 1 to PFP_FOLDER_NAME_MAX bytes, without a slash, one of each; the same on every device
  const char *path;
};

/// Options of a probe. Strings and arrays are copied. All zeros is valid.
struct pfp_probe_options {
  /// NULL for /proc/self/exe.
  const char *executable;
  /// The folder that is the app's bundle. NULL: source PFP_APP_BUNDLE is absent.
  const char *bundle;
  /// Further folders that belong to the app, such as an interpreter's libraries: at most PFP_FOLDERS_MAX. Each is one
  /// more record of source PFP_APP_BUNDLE, by its name. Without any, the source is as it is for one folder.
  const struct pfp_probe_folder *folders;
  size_t folder_count;
  /// The folder of the storage secret (storage.h). NULL: source PFP_DEVICE_SECRET is absent.
  const char *storage;
  /// SONAMEs of the libraries that the app itself opens at run time: they, and what they need, count as explained.
  const char *const *plugins;
  size_t plugin_count;
  /// 1: makes this process hard to look into (`pfp_harden`), after opening what must stay readable.
  int harden;
  /// For the policies incremental and trusting: see files.h.
  uint32_t descriptors;
  /// For the policies incremental and trusting: the limit of the memory for what is known of the bundle, and as much of
  /// each further folder; 0 is PFP_CACHE_BYTES. It is taken only as entries are kept: see files.h.
  uint32_t cache_bytes;
  /// Called now and then by the measuring thread. Any answer but 0 cancels. May be NULL.
  pfp_progress_fn progress;
  void *user;
};

/// A probe: open descriptors, and what earlier measurements learned.
struct pfp_probe;

/// PFP_E_RESOURCE without memory, PFP_E_ARGUMENT for folders that are too many, or whose names are not as above.
/// `*probe` is NULL on failure.
PFP_MUST_USE int pfp_probe_create(struct pfp_probe **probe, const struct pfp_probe_options *options);
/// NULL is fine.
void pfp_probe_free(struct pfp_probe *probe);

/// Forgets what earlier measurements learned: the next one reads everything, whatever the policy.
void pfp_probe_forget(struct pfp_probe *probe);

/// Asks the measurement in progress to end with PFP_E_CANCELLED; without one, the next. Any thread, at any time.
void pfp_probe_cancel(struct pfp_probe *probe);

/// Takes one record, in the order of `pfc_measurement_update` and with its meaning. Anything but 0 ends the collection
/// with PFP_E_CORE.
typedef int (*pfp_sink)(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                        const uint8_t *digest);

/// Collects what `config` asks for and gives it to the sink, in canonical order, after all of it was collected: a
/// failure leaves the sink untouched.
///
/// PFP_E_UNSUPPORTED; PFP_E_MISSING, PFP_E_TYPE, PFP_E_UNREADABLE, PFP_E_DEEP for the bundle folder itself;
/// PFP_E_LIMIT if the bundle has more bytes than the policy's limit; PFP_E_CHANGING if something changed or libraries
/// were loaded while it was read, twice; PFP_E_CANCELLED; PFP_E_RESOURCE.
PFP_MUST_USE int pfp_probe_collect(struct pfp_probe *probe, const struct pfc_config *config, pfp_sink sink,
                                   void *context);

/// Takes what one record says is wrong by itself, whatever the baseline: its name, and words for people.
typedef void (*pfp_alarm_fn)(void *context, uint8_t class_, uint8_t number, const char *name, const char *words);

/// `pfp_probe_collect`, and then gives `alarm` each record that says by itself what is wrong.
PFP_MUST_USE int pfp_probe_observe(struct pfp_probe *probe, const struct pfc_config *config, pfp_sink sink,
                                   pfp_alarm_fn alarm, void *context);

/// Decodes the configuration, collects, folds: IM and DM of this app, now. PFP_E_CORE if the configuration does not
/// decode. On failure `*measured` is all zeros.
PFP_MUST_USE int pfp_probe_measure(struct pfc_measured *measured, struct pfp_probe *probe, const uint8_t *config,
                                   size_t size, const struct pfc_key *key);

// Proofs. A measurement ends with a look at what can watch the process: tracers, breakpoints in debug registers,
// personality. After the last MAC of a proof the probe looks again. The proof is masked under the first look's answer
// and unmasked under the second's, with a key that is drawn for this call and wiped: the same answer twice leaves the
// proof as it was, and any other answer leaves a wrong proof of the same length. No branch decides.

/// Looks again, and releases a proof that was made of this thread's last measurement. PFP_E_RESOURCE if no descriptor,
/// memory or random number is left: the proof is then all zeros.
PFP_MUST_USE int pfp_probe_release(struct pfp_probe *probe, uint8_t proof[PFC_PROOF_BYTES]);

/// The same for a proof of the same message as the one that this thread released last, compared with the look of that
/// release. A debugger that the first release saw has made the first proof a wrong one; the second is still right, so
/// that the hardware answers *integrity differs*, and not that it is another device.
PFP_MUST_USE int pfp_probe_release_next(struct pfp_probe *probe, uint8_t proof[PFC_PROOF_BYTES]);

/// `pfc_command_create`, each proof released. PFP_E_CORE with the core's answer, or as `pfp_probe_release`; on failure
/// `*size` is 0.
PFP_MUST_USE int pfp_probe_command(uint8_t *message, size_t capacity, size_t *size, uint8_t nonce[PFC_NONCE_BYTES],
                                   struct pfp_probe *probe, const struct pfc_request *request,
                                   const struct pfc_secrets *secrets);

/// From here to `pfp_probe_let_go` the calling thread holds all of its breakpoints, so that no other program can set
/// one between the measurement and the release. Calls nest. Each measurement and each look holds them by itself, too.
void pfp_probe_hold(void);
void pfp_probe_let_go(void);

/// A complete configuration from a draft (`pfc_measurement_baseline_init`), taken from this app as it is now. For tests
/// and demonstrations where service and app are one; elsewhere the app sends its records and the service makes the
/// baseline.
PFP_MUST_USE int pfp_probe_baseline(struct pfc_config *config, struct pfp_probe *probe,
                                    const struct pfc_config *draft, const struct pfc_key *key);

/// About the last call that failed. Valid until the next call.
struct pfp_probe_failure {
  int result;        ///< enum pfp_result
  int core;          ///< The core's own answer (enum pfc_result) for PFP_E_CORE, otherwise 0
  int error;         ///< errno, or 0
  const char *path;  ///< The file, or the unsupported source's name; "" for nothing in particular
};
const struct pfp_probe_failure *pfp_probe_failure(const struct pfp_probe *probe);

/// Makes this process hard to look into for other processes of the same user: not dumpable (no ptrace, no
/// /proc/PID/mem, no core file), and no new privileges for it and its children. No protection against root.
/// A probe must be created before, or `harden` set in its options. 0, or an errno.
PFP_MUST_USE int pfp_harden(void);

#ifdef __cplusplus
}
#endif

#endif
