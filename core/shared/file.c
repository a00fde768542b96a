/*
 * file.c - makes the memory of a shared map: a memfd, or an unlinked file if
 * the system has none, or a named file. All its pages are reserved here, so
 * that no later access can fail with SIGBUS. A named file is opened only if no
 * other user could have made it, can write it or can put another one there.
 */
#include "shared/map.h"

#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    NOREPLACE = 1U, /* renameat2: not if the new name is there */
    TRIES = 64,
    PAUSE_MS = 1 /* another process gives the file its name meanwhile */
};

/* A named file, and its folder: the file is made and opened relative to the
 * descriptor of the folder that was checked. */
typedef struct place {
    const char *path;
    const char *name; /* the part of `path` behind the last "/" */
    int folder;
} place;

static kl_code set_errno_error(kl_error *err, const char *what,
                               const char *path)
{
    kl_code code = errno == ENOMEM ? KL_ENOMEM : KL_EIO;

    return kl_error_set(err, code, "%s %s: %s", what, path, strerror(errno));
}

/* Reads a number from a file of the kernel, from the line that begins with
 * `label`; UINT64_MAX: there is none ("max" in a file of a cgroup). */
static uint64_t read_number(const char *folder, const char *name,
                            const char *label)
{
    uint64_t number = UINT64_MAX;
    char line[128], path[PATH_MAX];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, label, strlen(label)) == 0 &&
            sscanf(line + strlen(label), "%" SCNu64, &number) == 1) {
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return number;
}

/* A number of bytes, or 0. */
static uint64_t read_bytes(const char *folder, const char *name,
                           const char *label)
{
    uint64_t number = read_number(folder, name, label);

    return number != UINT64_MAX ? number : 0;
}

/* The kernel would not refuse a memfd that needs more: it takes the memory, and
 * then kills processes (seen with Linux 6.18). */
uint64_t kl__shared_memory_left(const char *cgroup)
{
    uint64_t free_kb = read_number("/proc", "meminfo", "MemAvailable:");
    uint64_t most = read_number(cgroup, "memory.max", "");
    uint64_t used = read_bytes(cgroup, "memory.current", "");
    uint64_t left = free_kb < UINT64_MAX / 1024 ? free_kb * 1024 : UINT64_MAX;
    uint64_t cached = read_bytes(cgroup, "memory.stat", "inactive_file ") +
                      read_bytes(cgroup, "memory.stat", "active_file ");

    /* The page cache counts as used; the kernel gives it up for a map. */
    used -= cached < used ? cached : used;
    if (most != UINT64_MAX) {
        most = most > used ? most - used : 0;
        left = most < left ? most : left;
    }
    return left;
}

/* Reserves the pages and writes the head. */
static bool write_head(int descriptor, const kl__shared_head *head,
                       kl_error *err)
{
    int failed = head->size > kl__shared_memory_left("/sys/fs/cgroup")
                     ? ENOMEM
                     : posix_fallocate(descriptor, 0, (off_t)head->size);

    if (failed != 0) {
        kl_error_set(err, failed == ENOMEM ? KL_ENOMEM : KL_EIO,
                     "no %" PRIu64 " bytes of memory for a shared map (%s): "
                     "give it a smaller size, or the machine or container "
                     "more memory",
                     head->size, strerror(failed));
        return false;
    }
    if (pwrite(descriptor, head, sizeof(*head), 0) != sizeof(*head)) {
        set_errno_error(err, "cannot write", "a shared map");
        return false;
    }
    return true;
}

/* Opens an unlinked file in one of the folders for temporary files. */
static int open_unlinked(void)
{
    const char *folders[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    int descriptor = -1;

    for (size_t i = 0; i < 3 && descriptor < 0; i++) {
        char *path = folders[i] != NULL
                         ? kl__strprintf("%s/kubelua-XXXXXX", folders[i])
                         : NULL;

        descriptor = path != NULL ? mkostemp(path, O_CLOEXEC) : -1;
        if (descriptor >= 0) {
            unlink(path);
        }
        kl__free(path);
    }
    return descriptor;
}

static int make_unnamed(const kl__shared_head *head, kl_error *err)
{
    int descriptor =
        memfd_create("kubelua-shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (descriptor < 0) {
        descriptor = open_unlinked();
    }
    if (descriptor < 0) {
        set_errno_error(err, "cannot make", "a shared map");
        return -1;
    }
    if (!write_head(descriptor, head, err)) {
        close(descriptor);
        return -1;
    }
    /* only a memfd has seals; no other process can open an unlinked file */
    fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return descriptor;
}

/* Refuses a file or folder of another user, or with permissions in `forbidden`.
 */
static kl_code check_access(const struct stat *file, mode_t forbidden,
                            const char *what, const char *path, kl_error *err)
{
    if (file->st_uid != geteuid() && file->st_uid != 0) {
        return kl_error_set(
            err, KL_ECONFIG,
            "%s: %s belongs to user %lu, and this process runs as user %lu: "
            "that user could read and change the map; remove it, or choose "
            "another path",
            path, what, (unsigned long)file->st_uid, (unsigned long)geteuid());
    }
    if ((file->st_mode & forbidden) != 0) {
        return kl_error_set(
            err, KL_ECONFIG,
            "%s: %s has mode %04o: other users could change the map; "
            "choose a path in a folder that only this user can write, such as "
            "one of mode 0700, where the file gets mode 0600",
            path, what, (unsigned)(file->st_mode & 07777));
    }
    return KL_OK;
}

/* Opens the folder of `path`, if only this user and root can write it. Files in
 * a folder with the sticky bit, such as /tmp, can be made by each user first.
 */
static kl_code open_folder(const char *path, place *at, kl_error *err)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL   ? 0
                    : slash == path ? 1
                                    : (size_t)(slash - path);
    char *name = slash == NULL ? kl__strdup(".") : kl__strndup(path, length);
    struct stat folder;
    kl_code code;

    if (name == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory");
    }
    *at = (place){.path = path, .name = slash != NULL ? slash + 1 : path};
    at->folder = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at->folder < 0 || fstat(at->folder, &folder) != 0) {
        code = set_errno_error(err, "cannot open the folder of", path);
    } else {
        code =
            check_access(&folder, S_IWGRP | S_IWOTH, "its folder", path, err);
    }
    if (code != KL_OK && at->folder >= 0) {
        close(at->folder);
    }
    kl__free(name);
    return code;
}

/* Refuses an open file that is not this user's alone. `links` gets the number
 * of its names: with more than one, another folder leads to it as well. */
static kl_code check_file(int descriptor, const char *path, nlink_t *links,
                          kl_error *err)
{
    struct stat file;

    *links = 1;
    if (fstat(descriptor, &file) != 0) {
        return set_errno_error(err, "cannot read", path);
    }
    if (!S_ISREG(file.st_mode)) {
        return kl_error_set(err, KL_ECONFIG,
                            "%s: this is no regular file, so it is no shared "
                            "map; choose another path",
                            path);
    }
    *links = file.st_nlink;
    if (file.st_nlink > 1) {
        return kl_error_set(err, KL_ECONFIG,
                            "%s: the file has %lu names (hard links), and a "
                            "shared map has one; remove it, and start again",
                            path, (unsigned long)file.st_nlink);
    }
    return check_access(&file, S_IRWXG | S_IRWXO, "the file", path, err);
}

/* Opens the file and checks it. -1 with errno ENOENT: there is none. */
static int open_named(const place *at, nlink_t *links, kl_error *err)
{
    /* O_NONBLOCK: an open of a FIFO or a device must not wait. */
    int descriptor =
        openat(at->folder, at->name,
               O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    *links = 1;
    if (descriptor < 0) {
        int saved = errno;

        if (saved == ELOOP) {
            kl_error_set(err, KL_ECONFIG,
                         "%s: this is a symbolic link, and a shared map is "
                         "not opened through one; choose another path",
                         at->path);
        } else {
            set_errno_error(err, "cannot open", at->path);
        }
        errno = saved;
        return -1;
    }
    if (check_file(descriptor, at->path, links, err) != KL_OK) {
        close(descriptor);
        errno = EACCES;
        return -1;
    }
    return descriptor;
}

/* Gives the new file its name, unless a file has it: then errno is EEXIST. */
static bool name_file(const place *at, const char *fresh)
{
    /* musl has no function for it. */
    if (syscall(SYS_renameat2, at->folder, fresh, at->folder, at->name,
                NOREPLACE) == 0) {
        return true;
    }
    /* A file system that cannot do it: for a moment the file has two names. */
    return (errno == EINVAL || errno == ENOSYS) &&
           linkat(at->folder, fresh, at->folder, at->name, 0) == 0 &&
           unlinkat(at->folder, fresh, 0) == 0;
}

/* Writes the file under a temporary name and then gives it its own, so that no
 * process opens half a map. -1 with errno EEXIST: another process has made the
 * file meanwhile. */
static int make_named(const place *at, const kl__shared_head *head,
                      kl_error *err)
{
    char *fresh = kl__strprintf("%s.%016" PRIx64, at->name,
                                kl__random_seed(at) ^ (uint64_t)getpid());
    int descriptor, saved;

    if (fresh == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        errno = ENOMEM;
        return -1;
    }
    descriptor = openat(at->folder, fresh,
                        O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                        S_IRUSR | S_IWUSR);
    if (descriptor < 0) {
        set_errno_error(err, "cannot make", at->path);
        goto done;
    }
    if (!write_head(descriptor, head, err)) {
        errno = EIO;
    } else if (name_file(at, fresh)) {
        goto done;
    } else if (errno != EEXIST) {
        set_errno_error(err, "cannot make", at->path);
    }
    saved = errno;
    close(descriptor);
    unlinkat(at->folder, fresh, 0);
    descriptor = -1;
    errno = saved;
done:
    saved = errno;
    kl__free(fresh);
    errno = saved;
    return descriptor;
}

static int open_or_make(const place *at, const kl__shared_head *head,
                        kl_error *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    nlink_t links = 1;

    for (int i = 0; i < TRIES; i++) {
        int descriptor = open_named(at, &links, err);

        if (descriptor >= 0) {
            return descriptor;
        }
        if (errno == ENOENT) {
            descriptor = make_named(at, head, err);
            if (descriptor >= 0 || errno != EEXIST) {
                return descriptor;
            }
        } else if (links == 1) {
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    if (links == 1) {
        kl_error_set(err, KL_EIO, "%s is removed again and again", at->path);
    }
    return -1;
}

int kl__shared_file_open(const char *path, const kl__shared_head *head,
                         kl_error *err)
{
    int descriptor;
    place at;

    if (path == NULL) {
        return make_unnamed(head, err);
    }
    if (open_folder(path, &at, err) != KL_OK) {
        return -1;
    }
    descriptor = open_or_make(&at, head, err);
    close(at.folder);
    return descriptor;
}
