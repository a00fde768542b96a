/*
 * file.c - makes the memory of a shared map: a memfd, or an unlinked file if
 * the system has none, or a named file. All its pages are reserved here, so
 * that no later access can fail with SIGBUS.
 */
#include "shared/map.h"

#include "base/mem.h"
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
#include <unistd.h>

enum { TRIES = 16 };

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

/* Writes the file under a temporary name and then links it to `path`, so that
 * no process opens half a map. -1 with errno EEXIST: another process has made
 * the file meanwhile. */
static int make_named(const char *path, const kl__shared_head *head,
                      kl_error *err)
{
    char *fresh = kl__strprintf("%s.XXXXXX", path);
    int descriptor, saved;

    if (fresh == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        errno = ENOMEM;
        return -1;
    }
    descriptor = mkostemp(fresh, O_CLOEXEC);
    if (descriptor < 0) {
        set_errno_error(err, "cannot make", path);
        goto done;
    }
    if (!write_head(descriptor, head, err)) {
        errno = EIO;
    } else if (link(fresh, path) == 0) {
        unlink(fresh);
        goto done;
    } else if (errno != EEXIST) {
        set_errno_error(err, "cannot make", path);
    }
    saved = errno;
    close(descriptor);
    unlink(fresh);
    descriptor = -1;
    errno = saved;
done:
    kl__free(fresh);
    return descriptor;
}

int kl__shared_file_open(const char *path, const kl__shared_head *head,
                         kl_error *err)
{
    int descriptor;

    if (path == NULL) {
        return make_unnamed(head, err);
    }
    for (int i = 0; i < TRIES; i++) {
        descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (descriptor >= 0) {
            return descriptor;
        }
        if (errno != ENOENT) {
            set_errno_error(err, "cannot open", path);
            return -1;
        }
        descriptor = make_named(path, head, err);
        if (descriptor >= 0 || errno != EEXIST) {
            return descriptor;
        }
    }
    kl_error_set(err, KL_EIO, "%s is removed again and again", path);
    return -1;
}
