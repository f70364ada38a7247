// SPDX-License-Identifier: BSD-3-Clause
#include "core/loaded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const frameworks[] = {"pml", "btl", "mtl", "coll"};

/* Adds `component` to the framework's list unless it is there: each library is mapped
 * in several pieces. */
static void add(json_t *out, const char *framework, const char *component)
{
    json_t *list = json_object_get(out, framework), *entry;
    size_t i;
    if (!list) {
        list = json_array();
        json_object_set_new(out, framework, list);
    }
    json_array_foreach(list, i, entry)
    {
        if (strcmp(json_string_value(entry), component) == 0)
            return;
    }
    json_array_append_new(list, json_string(component));
}

/* ".../mca_btl_tcp.so" is component tcp of framework btl. */
static void parse(json_t *out, const char *line)
{
    const char *name = strrchr(line, '/');
    if (!name || strncmp(name, "/mca_", 5) != 0)
        return;
    for (size_t f = 0; f < sizeof frameworks / sizeof *frameworks; f++) {
        size_t length = strlen(frameworks[f]);
        if (strncmp(name + 5, frameworks[f], length) != 0 || name[5 + length] != '_')
            continue;
        char component[64];
        snprintf(component, sizeof component, "%s", name + 6 + length);
        component[strcspn(component, ".\n")] = '\0';
        add(out, frameworks[f], component);
    }
}

json_t *fc_loaded_components(const char *maps)
{
    json_t *out = json_object();
    FILE *file = fopen(maps, "re");
    char *line = NULL;
    size_t room = 0;
    while (file && getline(&line, &room, file) > 0)
        parse(out, line);
    free(line);
    if (file)
        fclose(file);
    return out;
}
