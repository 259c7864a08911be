// SPDX-License-Identifier: Apache-2.0

/// Whether the tests run under a sanitizer.

#ifndef PROBE_SANITIZED_H
#define PROBE_SANITIZED_H

/// 1 under a sanitizer: memory is mostly the sanitizer's, and everything takes ten times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/// 1 under the thread sanitizer: a child has a thread of the sanitizer's beside its own.
#if defined(__SANITIZE_THREAD__)
#define SANITIZED_THREAD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZED_THREAD 1
#endif
#endif
#ifndef SANITIZED_THREAD
#define SANITIZED_THREAD 0
#endif

#endif
