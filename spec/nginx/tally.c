/*
 * tally.c - counts the answers of the load, and prints the line of a target.
 */
#include "load.h"

#include <stdio.h>
#include <string.h>

/* Buckets of 5 %: 1 us to some 5 minutes. */
static int bucket_of(int64_t us)
{
    int bucket = 0;

    for (double bound = 1; bound < (double)us && bucket < LOAD_TIMES - 1;
         bound *= 1.05) {
        bucket++;
    }
    return bucket;
}

static void count_body(load_tally *tally, const char *text, uint64_t count)
{
    int i = 0;

    while (i < tally->body_count && strcmp(tally->bodies[i].text, text) != 0) {
        i++;
    }
    if (i == LOAD_MAX_BODIES) {
        return;
    }
    if (i == tally->body_count) {
        tally->body_count++;
        snprintf(tally->bodies[i].text, LOAD_BODY_SIZE, "%s", text);
    }
    tally->bodies[i].count += count;
}

void load_count(load_tally *tally, const load_answer *answer, int64_t us)
{
    tally->outcomes[answer->outcome]++;
    if (answer->outcome != LOAD_ANSWERED) {
        return;
    }
    if (answer->status >= 0 && answer->status < 600) {
        tally->statuses[answer->status]++;
    }
    if (answer->status == 200) {
        count_body(tally, answer->body, 1);
    }
    tally->times[bucket_of(us)]++;
    if (us > tally->longest_us) {
        tally->longest_us = us;
    }
}

void load_add(load_tally *sum, const load_tally *part)
{
    for (int i = 0; i < LOAD_OUTCOMES; i++) {
        sum->outcomes[i] += part->outcomes[i];
    }
    for (int i = 0; i < 600; i++) {
        sum->statuses[i] += part->statuses[i];
    }
    for (int i = 0; i < LOAD_TIMES; i++) {
        sum->times[i] += part->times[i];
    }
    if (part->longest_us > sum->longest_us) {
        sum->longest_us = part->longest_us;
    }
    for (int i = 0; i < part->body_count; i++) {
        count_body(sum, part->bodies[i].text, part->bodies[i].count);
    }
}

static unsigned long long find_time(const load_tally *tally, double share)
{
    uint64_t limit = (uint64_t)((double)tally->outcomes[LOAD_ANSWERED] * share);
    uint64_t seen = 0;
    double bound = 1;

    for (int i = 0; i < LOAD_TIMES; i++, bound *= 1.05) {
        seen += tally->times[i];
        if (seen > limit) {
            break;
        }
    }
    return (unsigned long long)bound;
}

void load_print(const char *name, const load_tally *tally)
{
    uint64_t requests = 0;

    for (int i = 0; i < LOAD_OUTCOMES; i++) {
        requests += tally->outcomes[i];
    }
    printf("%s requests=%llu refused=%llu broken=%llu raced=%llu late=%llu "
           "p50_us=%llu p99_us=%llu max_us=%lld",
           name, (unsigned long long)requests,
           (unsigned long long)tally->outcomes[LOAD_REFUSED],
           (unsigned long long)tally->outcomes[LOAD_BROKEN],
           (unsigned long long)tally->outcomes[LOAD_RACED],
           (unsigned long long)tally->outcomes[LOAD_LATE],
           find_time(tally, 0.5), find_time(tally, 0.99),
           (long long)tally->longest_us);
    for (int i = 0; i < 600; i++) {
        if (tally->statuses[i] > 0) {
            printf(" status.%d=%llu", i,
                   (unsigned long long)tally->statuses[i]);
        }
    }
    for (int i = 0; i < tally->body_count; i++) {
        printf(" body.%s=%llu", tally->bodies[i].text,
               (unsigned long long)tally->bodies[i].count);
    }
    puts("");
}
