/*
 * manifest.h - reads manifests (YAML or JSON) as JSON documents.
 */
#ifndef KUBELUA_MANIFEST_H
#define KUBELUA_MANIFEST_H

#include "kubelua/error.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called with each document's JSON text, in order; any result but KL_OK ends
 * the reading. */
typedef kl_code (*kl_manifest_fn)(void *context, const char *json,
                                  size_t length, kl_error *err);

/*
 * Reads a text of YAML 1.1 documents as kubectl reads them, or of JSON values;
 * empty documents are skipped. KL_EPARSE with the line, KL_ETOO_LARGE (aliases
 * that multiply, nesting over 512 levels), KL_ENOMEM, or what `fn` returned.
 * Thread-safe.
 */
KL_API kl_code kl_manifest_each(const char *text, size_t length,
                                kl_manifest_fn fn, void *context,
                                kl_error *err);

#ifdef __cplusplus
}
#endif
#endif
