/*
 * file.c - see file.h.
 */
#include "config/file.h"

#include "base/mem.h"
#include "base/remedy.h"
#include "base/str.h"
#include "kubelua/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A second write within one tick of the file system's clock leaves the stamp
 * unchanged; on NFS and FAT a tick is up to 2 s. So a stamp younger than this
 * is not trusted. */
static const int64_t SETTLE_NS = 3000000000;

/* How often a read that waits for a pipe looks if it was cancelled. */
enum { LOOK_MS = 20 };

static kl_code cannot_read(const char *path, int number, kl_error *err)
{
    const char *remedy = kl__remedy(number);

    if (number == EACCES || number == EPERM) {
        remedy = "; let this user read it, or name another file";
    } else if (number == EISDIR) {
        remedy = "; name the file in it";
    } else if (number == ENOENT) {
        remedy = "; check the path";
    }
    return kl_error_set(err, KL_ECONFIG, "cannot read %s: %s%s", path,
                        strerror(number), remedy);
}

/* Waits until a read does not have to wait. False: cancelled before. */
static bool await_bytes(int fd, const kl__cancel *cancel)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};

    while (cancel != NULL && poll(&readable, 1, LOOK_MS) <= 0) {
        if (kl__cancel_fired(cancel)) {
            return false;
        }
    }
    return true;
}

/* Reads to the end of the file. Returns 0 or an errno; EFBIG: too large,
 * ECANCELED: cancelled. */
static int read_all(int fd, kl__buf *out, const kl__cancel *cancel)
{
    for (;;) {
        enum { STEP = 16384 };
        char *to = kl__buf_reserve(out, STEP);
        ssize_t count;

        if (to == NULL) {
            return ENOMEM;
        }
        if (!await_bytes(fd, cancel)) {
            return ECANCELED;
        }
        count = read(fd, to, STEP);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return errno;
        }
        out->length += (size_t)count;
        out->bytes[out->length] = '\0';
        if (count == 0) {
            return 0;
        }
        if (out->length > KL__MAX_FILE) {
            return EFBIG;
        }
    }
}

/* O_NONBLOCK only for open(): opening a pipe without a writer must not block.
 * Reading must block, for a pipe such as a shell's "<(command)". */
static int open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd >= 0 && fcntl(fd, F_SETFL, O_RDONLY) < 0) {
        int number = errno;

        close(fd);
        errno = number;
        return -1;
    }
    return fd;
}

/* How a file is read, and what its reader learns of it. */
typedef struct reading {
    const kl__cancel *cancel; /* as in kl__file_refresh */
    struct stat status;       /* result: of the file that was read */
    bool is_missing;          /* result: there is no such file */
} reading;

/* As kl__file_read. */
static kl_code read_stamped(const char *path, kl__buf *out, reading *how,
                            kl_error *err)
{
    int fd = open_file(path);
    int number = fd < 0 ? errno : 0;

    how->is_missing = number == ENOENT || number == ENOTDIR;
    if (number == 0 && fstat(fd, &how->status) < 0) {
        number = errno;
    }
    if (number == 0) {
        number = read_all(fd, out, how->cancel);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (number == ENOMEM && out->failed) {
        return kl_error_set(err, KL_ENOMEM, "out of memory reading %s", path);
    }
    if (number == EFBIG) {
        return kl_error_set(err, KL_ETOO_LARGE,
                            "%s is larger than %d MB; check the path", path,
                            KL__MAX_FILE / (1024 * 1024));
    }
    if (number == ECANCELED) {
        return kl_error_set(err, KL_ECANCELED, "cancelled reading %s", path);
    }
    return number == 0 ? KL_OK : cannot_read(path, number, err);
}

kl_code kl__file_read(const char *path, kl__buf *out, bool *missing,
                      kl_error *err)
{
    reading how = {.cancel = NULL};
    kl_code code = read_stamped(path, out, &how, err);

    if (missing != NULL) {
        *missing = how.is_missing;
    }
    return code;
}

static void wipe_free(char *text, size_t length)
{
    if (text != NULL) {
        kl__wipe(text, length);
        kl__free(text);
    }
}

void kl__file_deinit(kl__file *file)
{
    if (file->text != NULL) {
        wipe_free(file->text, strlen(file->text));
    }
    kl__free(file->path);
    *file = (kl__file){0};
}

static int64_t in_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static kl__file_stamp stamp_of(const struct stat *status)
{
    return (kl__file_stamp){.device = status->st_dev,
                            .inode = status->st_ino,
                            .size = status->st_size,
                            .modified_ns = in_ns(status->st_mtim),
                            .changed_ns = in_ns(status->st_ctim)};
}

static bool same_stamp(const kl__file_stamp *a, const kl__file_stamp *b)
{
    return a->device == b->device && a->inode == b->inode &&
           a->size == b->size && a->modified_ns == b->modified_ns &&
           a->changed_ns == b->changed_ns;
}

static bool is_current(const kl__file *file)
{
    struct stat status;
    kl__file_stamp stamp;

    if (file->text == NULL || !file->settled ||
        stat(file->path, &status) != 0) {
        return false;
    }
    stamp = stamp_of(&status);
    return same_stamp(&stamp, &file->stamp);
}

bool kl__file_may_wait(const kl__file *file)
{
    struct stat status;

    return file->path != NULL && stat(file->path, &status) == 0 &&
           !S_ISREG(status.st_mode);
}

/* Keeps the old text, if there is one, and logs a warning: the file may be in
 * the middle of being replaced. */
static kl_code keep_old(kl__file *file, const kl_error *why, kl_error *err)
{
    if (file->text == NULL || why->code == KL_ENOMEM ||
        why->code == KL_ECANCELED) {
        return kl_error_set(err, why->code, "%s", why->message);
    }
    if (!file->warned) {
        kl_log(KL_LOG_WARN, "%s; what was read before stays in use",
               why->message);
        file->warned = true;
    }
    return KL_OK;
}

/* Reads the file into `text` and checks the text. */
static kl_code read_usable(const kl__file *file, kl__buf *text, reading *how,
                           kl_error *err)
{
    const char *complaint;
    kl_code code = read_stamped(file->path, text, how, err);

    if (code != KL_OK) {
        return code;
    }
    complaint = strlen(text->bytes) != text->length ? "holds a NUL byte"
                : file->complaint != NULL ? file->complaint(text->bytes)
                                          : NULL;
    return complaint == NULL
               ? KL_OK
               : kl_error_set(err, KL_ECONFIG, "%s %s", file->path, complaint);
}

kl_code kl__file_refresh(kl__file *file, bool *changed,
                         const kl__cancel *cancel, kl_error *err)
{
    kl__buf text = {0};
    reading how = {.cancel = cancel};
    struct timespec now;
    kl_error why;

    if (file->path == NULL || is_current(file)) {
        return KL_OK;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    if (read_usable(file, &text, &how, &why) != KL_OK) {
        wipe_free(text.bytes, text.capacity);
        return keep_old(file, &why, err);
    }
    file->stamp = stamp_of(&how.status);
    file->settled = in_ns(now) - file->stamp.changed_ns > SETTLE_NS &&
                    in_ns(now) - file->stamp.modified_ns > SETTLE_NS;
    file->warned = false;
    if (kl__streq(text.bytes, file->text)) {
        wipe_free(text.bytes, text.capacity);
        return KL_OK;
    }
    if (file->text != NULL) {
        wipe_free(file->text, strlen(file->text));
    }
    file->text = text.bytes;
    *changed = true;
    return KL_OK;
}
