/*
 * replay_spec.c - runs every input of every corpus through its target, without
 * libFuzzer and with any compiler. So a fault that was found once is found
 * again.
 */
#include "fuzz.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct target {
    const char *name;
    void (*run)(const char *bytes, size_t length);
} target;

/* Reads `length` bytes into memory of the caller. */
static char *read_bytes(FILE *file, size_t length)
{
    char *bytes = malloc(length + 1);

    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, length, file), length);
    return bytes;
}

static void replay(const target *self, FILE *file, size_t length)
{
    char *bytes = read_bytes(file, length);
    char *block = fuzz_block((fuzz_text){bytes, length});

    free(bytes);
    fuzz_run(self->run, block, length);
    free(block);
}

static void replay_file(const target *self, const char *path)
{
    FILE *file = fopen(path, "rb");
    long length;

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    length = ftell(file);
    rewind(file);
    /* If the input crashes the process, this is the last line. */
    fprintf(stderr, "%s\n", path);
    replay(self, file, (size_t)length);
    fclose(file);
}

/* The inputs in one file: for each a line with its length and perhaps a name,
 * its bytes, and a line feed (seeds.lua). A target need not have such a file.
 */
static void replay_seeds(const target *self, const char *path)
{
    FILE *file = fopen(path, "rb");
    unsigned long length;
    char name[80];

    while (file != NULL && fscanf(file, "%lu", &length) == 1) {
        assert_non_null(fgets(name, sizeof(name), file));
        name[strcspn(name, "\n")] = '\0';
        fprintf(stderr, "%s, before byte %ld:%s\n", path, ftell(file), name);
        replay(self, file, length);
        assert_int_equal(fgetc(file), '\n');
    }
    if (file != NULL) {
        assert_true(feof(file));
        fclose(file);
    }
}

static void corpus_holds(void **state)
{
    const target *self = *state;
    char folder[4096], path[sizeof(folder) + 300];
    struct dirent *entry;
    DIR *files;
    int count = 0;

    snprintf(folder, sizeof(folder), "%s/%s", KUBELUA_FUZZ_CORPUS, self->name);
    files = opendir(folder);
    assert_non_null(files);
    while ((entry = readdir(files)) != NULL) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            replay_file(self, path);
            count++;
        }
    }
    closedir(files);
    assert_true(count > 0);
    snprintf(path, sizeof(path), "%s.seeds", folder);
    replay_seeds(self, path);
}

int main(void)
{
#define TARGET(name) {#name, fuzz_##name},
    static target targets[] = {FUZZ_TARGETS(TARGET)};
#undef TARGET
    enum { COUNT = sizeof(targets) / sizeof(targets[0]) };
    static char names[COUNT][64];
    struct CMUnitTest tests[COUNT] = {0};

    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "the_corpus_of_%s_holds",
                 targets[i].name);
        tests[i].name = names[i];
        tests[i].test_func = corpus_holds;
        tests[i].initial_state = &targets[i];
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
