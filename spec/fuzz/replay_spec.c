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

static void replay_file(const target *self, const char *path)
{
    FILE *file = fopen(path, "rb");
    fuzz_text text = {NULL, 0};
    char *room, *block;

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    text.length = (size_t)ftell(file);
    rewind(file);
    room = malloc(text.length + 1);
    assert_non_null(room);
    assert_int_equal(fread(room, 1, text.length, file), text.length);
    fclose(file);
    text.bytes = room;
    block = fuzz_block(text);
    free(room);
    /* If the input crashes the process, this is the last line. */
    fprintf(stderr, "%s\n", path);
    fuzz_run(self->run, block, text.length);
    free(block);
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
