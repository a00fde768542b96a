/*
 * file.h - reads small files that may be replaced at any moment: kubeconfigs,
 * tokens, certificates. A kl__file keeps the content and reads it again when
 * the file has changed. It has no lock: a caller that shares one guards it.
 */
#ifndef KL_CONFIG_FILE_H
#define KL_CONFIG_FILE_H

#include "base/buf.h"
#include "base/cancel.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* No kubeconfig, token or certificate is that large, but a file at a wrong path
 * may be. */
enum { KL__MAX_FILE = 16 * 1024 * 1024 };

/*
 * Appends the content of the file; a pipe or device is read to its end.
 * KL_ECONFIG with path and reason; `missing` (may be NULL) is set to true if
 * there is no such file, else to false. KL_ETOO_LARGE, KL_ENOMEM.
 */
kl_code kl__file_read(const char *path, kl__buf *out, bool *missing,
                      kl_error *err);

/* Values from stat() that differ if the file was changed or replaced. */
typedef struct kl__file_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    int64_t modified_ns;
    int64_t changed_ns;
} kl__file_stamp;

/* A file whose content is kept, and read again when it changes. */
typedef struct kl__file {
    char *path; /* owned; NULL: there is no file */
    char *text; /* owned, wiped when replaced; NULL: not read yet */
    kl__file_stamp stamp;
    bool settled; /* the stamp is old enough: every later write changes it */
    bool warned;  /* logged that the file cannot be used any more */
    /* Checks a text: returns what is wrong with it ("holds no PEM"), or NULL.
     * The function may be NULL. */
    const char *(*complaint)(const char *text);
} kl__file;

/* True if a read may have to wait for another process: the path leads to a pipe
 * or a device. */
bool kl__file_may_wait(const kl__file *file);

/* Wipes and frees the text, frees the path; zeroes the struct. */
void kl__file_deinit(kl__file *file);

/*
 * Reads the file if it has changed. Sets `*changed` if the text is different;
 * never clears it. If the file was read before but cannot be used now (it is
 * missing, or half written), the old text stays and a warning is logged.
 * `cancel` (may be NULL) ends the wait for a pipe within 50 ms. KL_ECONFIG,
 * KL_ETOO_LARGE: the file was never read; KL_ENOMEM; KL_ECANCELED.
 */
kl_code kl__file_refresh(kl__file *file, bool *changed,
                         const kl__cancel *cancel, kl_error *err);

#endif
