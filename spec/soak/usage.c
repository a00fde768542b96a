/*
 * usage.c - see usage.h.
 */
#include "usage.h"

#include <kubelua/kubelua.h>

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOK_MS = 5 };

double usage_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

bool usage_length_read(usage_length *length, const char *text)
{
    char *unit = NULL;
    double amount = strtod(text, &unit);

    *length = (usage_length){.count = *unit == 'm' ? 0 : (long)amount,
                             .seconds = amount * 60,
                             .began = usage_now()};
    return amount > 0 && (*unit == 'm' || *unit == '\0');
}

double usage_progress(const usage_length *length, long count)
{
    return length->count > 0 ? (double)count / (double)length->count
                             : (usage_now() - length->began) / length->seconds;
}

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count - 2;
}

int usage_threads(void)
{
    return entries("/proc/self/task");
}

int usage_descriptors(void)
{
    return entries("/proc/self/fd");
}

static long lines(const char *path)
{
    FILE *file = fopen(path, "re");
    long count = 0;
    int c;

    while (file != NULL && (c = fgetc(file)) != EOF) {
        count += c == '\n';
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static long resident_kb(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[128];
    long kb = -1;

    while (file != NULL && kb < 0 && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kb = strtol(line + 6, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kb;
}

/* KB that are allocated now, resident or not. */
static long heap_kb(void)
{
    struct mallinfo2 heap = mallinfo2();

    return (long)((heap.uordblks + heap.hblkhd) / 1024);
}

void usage_print_rest(const char *word)
{
    printf("%s\t%d\t%d\n", word, usage_descriptors(), usage_threads());
}

void usage_print_sample(const usage_length *length, long count, long extra)
{
    malloc_trim(0);
    printf("sample\t%ld\t%.1f\t%ld\t%ld\t%ld\t%d\t%d\t%ld\n", count,
           usage_now() - length->began, resident_kb(), heap_kb(),
           lines("/proc/self/maps"), usage_descriptors(), usage_threads(),
           extra);
    fflush(stdout);
}

void usage_print_alive(void)
{
    for (int i = 0; i < KL_LIVE_KINDS; i++) {
        long count = kl_live_count((kl_live_kind)i);

        if (count != 0) {
            printf("alive\t%s\t%ld\n", kl_live_name((kl_live_kind)i), count);
        }
    }
}

void usage_rest(int threads, int descriptors, int patience_ms)
{
    const struct timespec moment = {.tv_nsec = LOOK_MS * 1000000};

    for (int i = 0; i < patience_ms / LOOK_MS; i++) {
        if (usage_threads() <= threads && usage_descriptors() <= descriptors) {
            break;
        }
        nanosleep(&moment, NULL);
    }
}
