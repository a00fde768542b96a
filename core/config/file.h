/*
 * file.h - small files that are read whole and may be replaced at any moment:
 * kubeconfigs, tokens, certificates. No lock is needed to read one, and a
 * caller that shares a kl__file guards it.
 */
#ifndef KL_CONFIG_FILE_H
#define KL_CONFIG_FILE_H

#include "base/buf.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* No kubeconfig, token or certificate is as large; a mistaken path may be. */
enum { KL__MAX_FILE = 16 * 1024 * 1024 };

/*
 * Appends what is in the file; pipes and devices are read to their end.
 * KL_ECONFIG with path and reason (`missing`, may be NULL, tells whether it is
 * that there is no such file), KL_ETOO_LARGE, KL_ENOMEM.
 */
kl_code kl__file_read(const char *path, kl__buf *out, bool *missing,
                      kl_error *err);

/* What tells a file from what it was. */
typedef struct kl__file_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    int64_t modified_ns;
    int64_t changed_ns;
} kl__file_stamp;

/* A file whose content is kept, and read again when it changes. */
typedef struct kl__file {
    char *path; /* owned; NULL: there is no file, `text` stands alone */
    char *text; /* owned, wiped when replaced; NULL: not read yet */
    kl__file_stamp stamp;
    bool settled; /* the stamp is old enough to tell of every later change */
    bool warned;  /* that it cannot be used any more */
    /* What is wrong with a text ("holds no PEM"), or NULL; may be NULL. */
    const char *(*complaint)(const char *text);
} kl__file;

/* Frees and wipes; zeroes it. */
void kl__file_deinit(kl__file *file);

/*
 * Reads the file if it is not what it was. `*changed` is set (never cleared)
 * when the text is another one. A file that was read once and cannot be read
 * now, or is being written, keeps its text, and the log says so. KL_ECONFIG: it
 * was never read; KL_ENOMEM.
 */
kl_code kl__file_refresh(kl__file *file, bool *changed, kl_error *err);

#endif
