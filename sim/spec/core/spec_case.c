/*
 * spec_case.c - see spec_case.h; the main function of the simulator's specs.
 */
#include "spec_case.h"

enum { MOST_CASES = 160, LONGEST_LINE = 512 };

static struct CMUnitTest cases[MOST_CASES];
static size_t count;
static text_case texts[MOST_CASES];
static size_t text_count;
static CMFixtureFunction at_end;

void spec_add_case(struct CMUnitTest added)
{
    if (count == MOST_CASES) {
        abort();
    }
    cases[count++] = added;
}

void spec_set_end(CMFixtureFunction end)
{
    at_end = end;
}

/* Adds a line without its end, for the next one may go on with it. */
static void add_line(kl__buf *lines, char *line)
{
    char *text = line + strspn(line, " ");

    line[strcspn(line, "\n")] = '\0';
    if (*text != '\0' && *text != '#') {
        kl__buf_putc(lines, text != line ? ' ' : '\n');
        kl__buf_puts(lines, text);
    }
}

void spec_read_cases(const char *path, CMUnitTestFunction run,
                     CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    FILE *file = fopen(path, "r");
    char line[LONGEST_LINE];
    text_case *read = NULL;

    if (file == NULL) {
        fprintf(stderr, "%s cannot be read; run this in the root of the tree\n",
                path);
        exit(1);
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "case ", 5) == 0) {
            read = &texts[text_count++];
            snprintf(read->name, sizeof(read->name), "%.*s",
                     (int)strcspn(line + 5, " \n"), line + 5);
            snprintf(read->options, sizeof(read->options), "%s",
                     line + 5 + strlen(read->name));
            spec_add_case(
                (struct CMUnitTest){read->name, run, set_up, tear_down, read});
        } else if (read != NULL) {
            add_line(&read->lines, line);
        }
    }
    fclose(file);
    if (read == NULL) { /* else an empty file would be green */
        fprintf(stderr, "%s has no case\n", path);
        exit(1);
    }
}

int main(void)
{
    int failed = _cmocka_run_group_tests("cases", cases, count, NULL, at_end);

    for (size_t i = 0; i < text_count; i++) {
        kl__buf_deinit(&texts[i].lines);
    }
    return failed;
}
