/*
 * scarce.c - see scarce.h.
 */
#include "scarce.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILLERS = 1024 };

static struct rlimit before;
static int fillers[FILLERS];
static int filler_count;

/* Fills all holes below the limit, so that no descriptor is left; then closes
 * `left` of them. */
void scarce_descriptors(int left)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = FILLERS;
    filler_count = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (filler_count < FILLERS) {
        int fd = fcntl(0, F_DUPFD_CLOEXEC, 0);

        if (fd < 0) {
            break;
        }
        fillers[filler_count++] = fd;
    }
    while (left-- > 0) {
        close(fillers[--filler_count]);
    }
}

void scarce_descriptors_end(void)
{
    while (filler_count > 0) {
        close(fillers[--filler_count]);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

void scarce_address_space(int left_mb)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    struct rlimit limit;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur =
        pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)left_mb << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

void scarce_address_space_end(void)
{
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

int scarce_count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

int64_t scarce_cpu_ms(void)
{
    struct timespec spent;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (int64_t)spent.tv_sec * 1000 + spent.tv_nsec / 1000000;
}
