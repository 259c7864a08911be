// SPDX-License-Identifier: Apache-2.0

/// Modules that the system's own libraries open for themselves: when an app looks a name up, converts a character set,
/// verifies a certificate, draws. Their names stand in the system's configuration, and which of them are open depends
/// on what the app has done so far.
///
/// Such a module is a *system module* if all of this holds:
///
/// 1. nothing that the executable needs explains it;
/// 2. its file is where one of PATTERNS says, in a library folder of the system: /lib or /usr/lib, with "", "32", "64",
///    "x32" or one folder named after the machine, such as x86_64-linux-gnu. Or it is where one of OPENED says, and the
///    library that opens it is loaded, is explained or a system module, is in a library folder, and 3 holds for it;
/// 3. file and folders, up to the root, belong to root, and only root may write to them;
/// 4. this process is in the first user namespace. In another one, an ordinary user may be called root.
///
/// A library that a system module needs is one as well, wherever in a library folder it is, if 1, 3 and 4 hold.
///
/// A library that is only *like* a module, because an app opens it by name, is not one: the app declares it.

#define _GNU_SOURCE
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/platform.h"
#include "process/process.h"

/// Below a library folder, as the kernel names the file: without links. docs/PROBE.md has the same list.
static const char *const PATTERNS[] = {
    "libnss_*.so.2",         // Name service
    "gconv/*.so",            // Character sets
    "libgcc_s.so.1",         // glibc: unwinding
    "libidn2.so.0*",         // glibc: international host names
    "ossl-modules/*.so",     // OpenSSL 3: providers
    "engines-*/*.so",        // OpenSSL: engines
    "pkcs11/*.so",           // p11-kit, GnuTLS
    "security/pam_*.so",     // PAM
    "sasl2/*.so*",           // SASL
    "krb5/plugins/*.so",     // Kerberos
    "gio/modules/*.so",      // GIO
    "gdk-pixbuf-2.0/*.so",   // Pictures
    "gtk-2.0/*.so",          // GTK: input, printing, themes
    "gtk-3.0/*.so",          //
    "gtk-4.0/*.so",          //
    "qt5/plugins/*.so",      // Qt: platforms, styles, pictures
    "qt6/plugins/*.so",      //
    "X11/locale/*.so.2*",    // X11: input
    "dri/*.so",              // Mesa
    "gbm/*.so",              //
    "libEGL_*.so.0*",        // GL vendors
    "libGLX_*.so.0*",        //
    "libvulkan_*.so*",       // Vulkan
    "vdpau/*.so*",           // Video
    "libcuda.so.*",          // NVIDIA
    "libnvidia-*.so.*",      //
    "alsa-lib/*.so",         // Sound
    "pipewire-*/*.so",       //
    "spa-*/*.so",            //
    "libtss2-tcti-*.so.0*",  // TPM
};

/// Libraries that programs open by name, and that one library of the system's opens for itself: only beside that one.
static const struct {
  const char *pattern, *opener;
} OPENED[] = {
    // libepoxy, which GTK draws with, opens what it finds of OpenGL at the first question.
    {"libGL.so.1*", "libepoxy.so.0*"},        {"libEGL.so.1*", "libepoxy.so.0*"},
    {"libOpenGL.so.0*", "libepoxy.so.0*"},    {"libGLX.so.[01]*", "libepoxy.so.0*"},
    {"libGLESv1_CM.so.1*", "libepoxy.so.0*"}, {"libGLESv2.so.2*", "libepoxy.so.0*"},
};

/// The rest of a path behind the system's library folder, or NULL if it is not in one.
static const char *below_library_folder(const char *path) {
  static const char *const ENDS[] = {"32/", "64/", "x32/", "/"};
  const char *rest;
  if (strncmp(path, "/usr/lib", 8) == 0) {
    rest = path + 8;
  } else if (strncmp(path, "/lib", 4) == 0) {
    rest = path + 4;
  } else {
    return NULL;
  }
  for (size_t i = 0; i < sizeof ENDS / sizeof ENDS[0]; i++) {
    size_t size = strlen(ENDS[i]);
    if (strncmp(rest, ENDS[i], size) == 0) {
      const char *slash = strchr(rest + size, '/');
      rest += size;
      // x86_64-linux-gnu and its like.
      if (slash != NULL && memmem(rest, (size_t)(slash - rest), "-linux-", 7) != NULL) rest = slash + 1;
      return rest;
    }
  }
  return NULL;
}

static int has_pattern(const char *path) {
  const char *rest = below_library_folder(path);
  for (size_t i = 0; rest != NULL && i < sizeof PATTERNS / sizeof PATTERNS[0]; i++) {
    // FNM_PATHNAME is not given, so a star reaches into folders.
    if (fnmatch(PATTERNS[i], rest, 0) == 0) return 1;
  }
  return 0;
}

/// 1 if only root may write to the file, or put another one in its place.
static int only_root_writes(const char *path) {
  struct stat status;
  char folder[sizeof((struct pfp_object *)0)->path];
  const mode_t others = S_IWGRP | S_IWOTH;  // An access list's mask shows as the group's bits.
  size_t size = strlen(path);
  if (size == 0 || size >= sizeof folder || path[0] != '/') return 0;
  memcpy(folder, path, size + 1);
  if (lstat(folder, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  for (;;) {
    char *slash = strrchr(folder, '/');
    if (status.st_uid != 0 || (status.st_mode & others) != 0) return 0;
    if (strcmp(folder, "/") == 0) return 1;
    slash[slash == folder] = 0;
    // The kernel names mapped files without links.
    if (lstat(folder, &status) != 0 || !S_ISDIR(status.st_mode)) return 0;
  }
}

/// 1 if a library is loaded that opens this one for itself: one that the app needs, as root installed it.
static int is_opened_by_a_library(const struct pfp_objects *objects, const char *path) {
  const char *rest = below_library_folder(path);
  for (size_t i = 0; rest != NULL && i < sizeof OPENED / sizeof OPENED[0]; i++) {
    if (fnmatch(OPENED[i].pattern, rest, 0) != 0) continue;
    for (size_t j = 0; j < objects->count; j++) {
      const struct pfp_object *opener = &objects->items[j];
      const char *name = below_library_folder(opener->path);
      if (name == NULL || (!opener->explained && !opener->is_system_module)) continue;
      if (fnmatch(OPENED[i].opener, name, 0) == 0 && only_root_writes(opener->path)) return 1;
    }
  }
  return 0;
}

/// Marks what a module needs.
static void follow(struct pfp_objects *objects, struct pfp_object *module, unsigned depth) {
  module->is_system_module = 1;
  for (const ElfW(Dyn) *entry = module->dynamic; entry != NULL && entry->d_tag != DT_NULL && depth != 0; entry++) {
    size_t index = entry->d_tag == DT_NEEDED ? pfp_objects_needed(objects, module, entry->d_un.d_val) : SIZE_MAX;
    struct pfp_object *needed = index != SIZE_MAX ? &objects->items[index] : NULL;
    if (needed == NULL || needed->explained || needed->is_system_module) continue;
    if (below_library_folder(needed->path) != NULL && only_root_writes(needed->path)) {
      follow(objects, needed, depth - 1);
    }
  }
}

void pfp_objects_find_modules(struct pfp_objects *objects) {
  enum { DEPTH = 64 };
  int known = 0, trusted = 0;
  for (size_t i = 0; i < objects->count; i++) {
    struct pfp_object *object = &objects->items[i];
    if (object->explained || object->is_system_module) continue;
    if (!has_pattern(object->path) && !is_opened_by_a_library(objects, object->path)) continue;
    if (!known) trusted = pfp_trust_root();
    known = 1;
    if (trusted && only_root_writes(object->path)) follow(objects, object, DEPTH);
  }
}

int pfp_object_is_quiet(const struct pfp_object *object) {
  // Where private pages cannot be told, the source that tells them is absent.
  return object->is_system_module && object->readable && object->misplaced == 0 && object->private_pages <= 0 &&
         !object->replaced && !object->relocates_text;
}
