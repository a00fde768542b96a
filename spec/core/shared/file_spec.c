/*
 * file_spec.c - which named files are opened as a shared map: only those that
 * no other user can read, write, replace or truncate.
 */
#include "kubelua/shared.h"
#include "temp_files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { OTHER_USER = 65534, PROCESSES = 8, ROUNDS = 50 };

static const char *path; /* a file in a folder that only this user can write */

static int begin(void **state)
{
    int failed = temp_files_setup(state);

    if (failed == 0 && mkdir(temp_path("own"), 0700) != 0) {
        failed = -1;
    }
    path = temp_path("own/map");
    return failed;
}

static kl_shared *open_at(const char *at, kl_error *err)
{
    return kl_shared_open(&(kl_shared_options){.path = at, .size = 1 << 20},
                          err);
}

static void assert_opens(const char *at)
{
    kl_error err;
    kl_shared *map = open_at(at, &err);

    if (map == NULL) {
        fail_msg("%s", err.message);
    }
    kl_shared_close(map);
}

static void assert_refused(const char *at, const char *reason)
{
    kl_error err;

    if (open_at(at, &err) != NULL) {
        fail_msg("%s was opened, and not refused: %s", at, reason);
    }
    if (err.code != KL_ECONFIG || strstr(err.message, reason) == NULL ||
        strstr(err.message, at) == NULL) {
        fail_msg("%s expected, not %s", reason, err.message);
    }
}

static void a_file_that_others_may_open_is_refused(void **state)
{
    const mode_t modes[] = {0666, 0660, 0606, 0620, 0602, 0640, 0604, 0610};

    (void)state;
    assert_opens(path);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        char expected[32];

        snprintf(expected, sizeof(expected), "the file has mode %04o",
                 (unsigned)modes[i]);
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_refused(path, expected);
    }
    assert_int_equal(chmod(path, 0600), 0);
    assert_opens(path);
}

static void a_file_of_another_user_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root can give a file away */
    }
    assert_opens(path);
    assert_int_equal(chown(path, OTHER_USER, (gid_t)-1), 0);
    assert_refused(path, "the file belongs to user 65534");
    assert_int_equal(chown(path, 0, (gid_t)-1), 0);
    assert_opens(path);
}

static void a_file_with_a_second_name_is_refused(void **state)
{
    const char *second = temp_path("own/second");

    (void)state;
    assert_opens(path);
    assert_int_equal(link(path, second), 0);
    assert_refused(path, "2 names (hard links)");
    assert_refused(second, "2 names (hard links)");
    assert_int_equal(unlink(second), 0);
    assert_opens(path);
}

static void a_symbolic_link_is_refused_even_to_an_open_map(void **state)
{
    const char *way = temp_path("own/way");
    kl_shared *map = open_at(path, NULL);

    (void)state;
    assert_non_null(map);
    assert_int_equal(symlink(path, way), 0);
    assert_refused(way, "symbolic link");
    kl_shared_close(map);
    assert_refused(way, "symbolic link");
    assert_int_equal(unlink(path), 0);
    assert_refused(way, "symbolic link"); /* it leads to no file now */
    assert_int_equal(access(path, F_OK), -1);
}

static void what_is_no_regular_file_is_refused_without_waiting(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, "no regular file");
    assert_int_equal(unlink(path), 0);
    assert_refused("/dev/null", "no regular file");
    if (open_at(temp_path("own"), NULL) != NULL) {
        fail_msg("a folder was opened");
    }
}

static void a_folder_that_others_can_write_is_refused(void **state)
{
    const mode_t modes[] = {0777, 01777, 0770, 0775, 0720, 0702, 01770};

    (void)state;
    for (int has_file = 0; has_file < 2; has_file++) {
        for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
            assert_int_equal(chmod(temp_path("own"), modes[i]), 0);
            assert_refused(path, "its folder has mode");
            assert_int_equal(access(path, F_OK), has_file ? 0 : -1);
        }
        assert_int_equal(chmod(temp_path("own"), 0755), 0);
        assert_opens(path);
    }
    assert_refused("/tmp/kubelua-spec-map", "its folder has mode 1777");
}

static void a_folder_of_another_user_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chown(temp_path("own"), OTHER_USER, (gid_t)-1), 0);
    assert_refused(path, "its folder belongs to user 65534");
}

static void a_path_without_a_folder_is_in_the_current_one(void **state)
{
    char former[4096];

    (void)state;
    assert_non_null(getcwd(former, sizeof(former)));
    assert_int_equal(chdir(temp_path("own")), 0);
    assert_opens("map");
    assert_int_equal(chmod(".", 0777), 0);
    assert_refused("map", "its folder has mode 0777");
    assert_int_equal(chdir(former), 0);
    assert_int_equal(access(path, F_OK), 0);
}

/* Processes that start together: one makes the file, and each opens it, also
 * while it gets its name. */
static void processes_that_start_together_open_one_file(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int gate[2], failures = 0;
        pid_t pids[PROCESSES];

        assert_int_equal(pipe(gate), 0);
        for (int i = 0; i < PROCESSES; i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                char byte;

                close(gate[1]);
                _exit(read(gate[0], &byte, 1) == 0 &&
                              open_at(path, NULL) != NULL
                          ? 0
                          : 1);
            }
        }
        close(gate[0]);
        close(gate[1]);
        for (int i = 0; i < PROCESSES; i++) {
            int status = 0;

            assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
            failures += status != 0;
        }
        assert_int_equal(failures, 0);
        assert_int_equal(unlink(path), 0);
    }
}

#define CASE(name) \
    cmocka_unit_test_setup_teardown(name, begin, temp_files_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_file_that_others_may_open_is_refused),
        CASE(a_file_of_another_user_is_refused),
        CASE(a_file_with_a_second_name_is_refused),
        CASE(a_symbolic_link_is_refused_even_to_an_open_map),
        CASE(what_is_no_regular_file_is_refused_without_waiting),
        CASE(a_folder_that_others_can_write_is_refused),
        CASE(a_folder_of_another_user_is_refused),
        CASE(a_path_without_a_folder_is_in_the_current_one),
        CASE(processes_that_start_together_open_one_file),
    };

    return cmocka_run_group_tests_name("core/shared/file", tests, NULL, NULL);
}
