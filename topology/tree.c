// SPDX-License-Identifier: BSD-3-Clause
#include "topology/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

/* A path that does not fit is one that is not there. */
#define FORMAT_PATH(full, path)                                                        \
    char full[PATH_BYTES];                                                             \
    va_list args;                                                                      \
    va_start(args, path);                                                              \
    int length = vsnprintf(full, sizeof full, path, args);                             \
    va_end(args);                                                                      \
    bool fits = length >= 0 && (size_t)length < sizeof full

static void trim_end(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\n", text[n - 1]))
        n--;
    text[n] = '\0';
}

/* Not fc_source_read: why a file is missing costs a look at all mounts, and of a
 * picture most files of most functions are missing. */
static bool read_file(const struct fc_source *source, const char *path, char *out,
                      size_t bytes)
{
    char full[PATH_BYTES * 4];
    struct fc_gap gap;
    struct stat st = {0};
    size_t used = 0;
    ssize_t n = 0;
    if (!fc_source_path(source, path, full, sizeof full, &gap))
        return false;
    if (source->note)
        source->note(source->arg, path);
    int fd = open(full, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    while (regular && used < bytes - 1) {
        n = read(fd, out + used, bytes - 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    close(fd);
    out[used] = '\0';
    trim_end(out);
    return regular && n >= 0;
}

static bool read_at(const struct fc_tree *tree, const char *path, char *out,
                    size_t bytes)
{
    if (!tree->json)
        return read_file(&tree->source, path, out, bytes);
    const char *text = json_string_value(json_object_get(tree->json, path));
    if (!text)
        return false;
    snprintf(out, bytes, "%s", text);
    trim_end(out);
    return true;
}

bool fc_tree_read(const struct fc_tree *tree, char *out, size_t bytes, const char *path,
                  ...)
{
    FORMAT_PATH(full, path);
    return fits && read_at(tree, full, out, bytes);
}

bool fc_tree_int(const struct fc_tree *tree, int64_t *out, const char *path, ...)
{
    char text[64], *end;
    FORMAT_PATH(full, path);
    if (!fits || !read_at(tree, full, text, sizeof text))
        return false;
    long long value = strtoll(text, &end, 0);
    if (end == text || *end)
        return false;
    *out = value;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The next part of each key below `path`, each once. */
static struct fc_names list_keys(const json_t *json, const char *path)
{
    struct fc_names names = {calloc(FC_NAMES_MAX, sizeof *names.name), 0};
    size_t prefix = strlen(path), kept = 0;
    for (void *i = json_object_iter((json_t *)(uintptr_t)json);
         i && names.name && names.count < FC_NAMES_MAX;
         i = json_object_iter_next((json_t *)(uintptr_t)json, i)) {
        const char *key = json_object_iter_key(i);
        if (strncmp(key, path, prefix) != 0 || key[prefix] != '/')
            continue;
        size_t n = strcspn(key + prefix + 1, "/");
        if (n == 0 || n >= sizeof *names.name || key[prefix + 1] == '.')
            continue;
        memcpy(names.name[names.count], key + prefix + 1, n);
        names.name[names.count++][n] = '\0';
    }
    if (!names.name)
        return names;
    qsort(names.name, names.count, sizeof *names.name, by_name);
    for (size_t i = 0; i < names.count; i++)
        if (kept == 0 || strcmp(names.name[kept - 1], names.name[i]) != 0)
            memmove(names.name[kept++], names.name[i], sizeof *names.name);
    names.count = kept;
    return names;
}

struct fc_names fc_tree_list(const struct fc_tree *tree, const char *path, ...)
{
    struct fc_names names = {0};
    struct fc_gap gap;
    FORMAT_PATH(full, path);
    if (fits && tree->json)
        return list_keys(tree->json, full);
    if (!fits || !fc_source_exists(&tree->source, full) ||
        !fc_source_list(&tree->source, full, &names, &gap))
        return (struct fc_names){0};
    return names;
}

bool fc_tree_exists(const struct fc_tree *tree, const char *path, ...)
{
    FORMAT_PATH(full, path);
    if (!fits)
        return false;
    if (!tree->json)
        return fc_source_exists(&tree->source, full);
    struct fc_names names = list_keys(tree->json, full);
    bool found = names.count > 0 || json_object_get(tree->json, full);
    fc_names_free(&names);
    return found;
}

static bool link_at(const struct fc_tree *tree, const char *path, char *out,
                    size_t bytes)
{
    char full[PATH_BYTES * 4];
    struct fc_gap gap;
    if (tree->json || !fc_source_path(&tree->source, path, full, sizeof full, &gap))
        return false;
    if (tree->source.note)
        tree->source.note(tree->source.arg, path);
    ssize_t n = readlink(full, out, bytes - 1);
    if (n <= 0)
        return false;
    out[n] = '\0';
    return true;
}

bool fc_tree_link(const struct fc_tree *tree, char *out, size_t bytes, const char *path,
                  ...)
{
    FORMAT_PATH(full, path);
    return fits && link_at(tree, full, out, bytes);
}

bool fc_tree_link_name(const struct fc_tree *tree, char *out, size_t bytes,
                       const char *path, ...)
{
    char target[PATH_BYTES];
    FORMAT_PATH(full, path);
    if (!fits || !link_at(tree, full, target, sizeof target))
        return false;
    const char *last = strrchr(target, '/');
    snprintf(out, bytes, "%s", last ? last + 1 : target);
    return true;
}
