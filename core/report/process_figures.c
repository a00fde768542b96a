/*
 * process_figures.c - reads /proc/self; see process_figures.h.
 */
#include "report/process_figures.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* The fields of /proc/self/stat behind the name of the program, by their number
 * in proc(5), from 3 on. */
enum { FIELD_START = 22, FIELD_SIZE = 23, FIELD_RESIDENT = 24 };

static bool read_stat(int wanted, unsigned long long *value)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    size_t length = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;
    const char *at;

    if (file != NULL) {
        fclose(file);
    }
    text[length] = '\0';
    at = strrchr(text, ')'); /* the name may hold blanks and brackets */
    for (int field = 2; at != NULL && field < wanted; field++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL && sscanf(at, "%llu", value) == 1;
}

static bool read_cpu(double *value)
{
    struct timespec used;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) {
        return false;
    }
    *value = (double)used.tv_sec + (double)used.tv_nsec / 1e9;
    return true;
}

static bool read_size(double *value)
{
    unsigned long long bytes;

    if (!read_stat(FIELD_SIZE, &bytes)) {
        return false;
    }
    *value = (double)bytes;
    return true;
}

static bool read_resident(double *value)
{
    unsigned long long pages;

    if (!read_stat(FIELD_RESIDENT, &pages)) {
        return false;
    }
    *value = (double)pages * (double)sysconf(_SC_PAGESIZE);
    return true;
}

/* The process began so many ticks after the machine. */
static bool read_start(double *value)
{
    unsigned long long ticks;
    struct timespec now, up;

    if (!read_stat(FIELD_START, &ticks) ||
        clock_gettime(CLOCK_REALTIME, &now) != 0 ||
        clock_gettime(CLOCK_BOOTTIME, &up) != 0) {
        return false;
    }
    *value = (double)(now.tv_sec - up.tv_sec) +
             (double)(now.tv_nsec - up.tv_nsec) / 1e9 +
             (double)ticks / (double)sysconf(_SC_CLK_TCK);
    return true;
}

static bool read_descriptors(double *value)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = -1; /* without the folder's own */

    if (folder == NULL) {
        return false;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    closedir(folder);
    *value = count;
    return true;
}

static bool read_limit(double *value)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return false;
    }
    *value = (double)limit.rlim_cur;
    return true;
}

const kl__process_figure kl__process_figures[KL__PROCESS_FIGURES] = {
    {"process_cpu_seconds_total",
     "Total user and system CPU time spent in seconds.", KL_METRIC_COUNTER,
     read_cpu},
    {"process_resident_memory_bytes", "Resident memory size in bytes.",
     KL_METRIC_GAUGE, read_resident},
    {"process_virtual_memory_bytes", "Virtual memory size in bytes.",
     KL_METRIC_GAUGE, read_size},
    {"process_start_time_seconds",
     "Start time of the process since unix epoch in seconds.", KL_METRIC_GAUGE,
     read_start},
    {"process_open_fds", "Number of open file descriptors.", KL_METRIC_GAUGE,
     read_descriptors},
    {"process_max_fds", "Maximum number of open file descriptors.",
     KL_METRIC_GAUGE, read_limit},
};
