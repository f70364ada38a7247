// SPDX-License-Identifier: BSD-3-Clause
#include "topology/facts_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, MOUNTS_BYTES = 512 * 1024 };

void fc_gap_set(struct fc_gap *gap, const char *reason, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(gap->right, sizeof gap->right, fmt, args);
    va_end(args);
    gap->reason = reason;
}

void fc_gap_errno(struct fc_gap *gap, const struct fc_source *source, const char *path,
                  int error)
{
    char what[128];
    switch (error) {
    case EACCES:
    case EPERM:
        fc_gap_set(gap, "EACCES", "root, to read %s", path);
        return;
    case ENOENT:
    case ENOTDIR:
        if (fc_source_masked(source, path, what, sizeof what))
            fc_gap_set(gap, "masked", "the host's %s: %s", path, what);
        else
            fc_gap_set(gap, "ENOENT", "no right helps: there is no %s here", path);
        return;
    case EINVAL:
    case ENODEV:
    case ENXIO:
    case ENODATA:
    case ENOSYS:
    case EOPNOTSUPP:
        fc_gap_set(gap, "unsupported", "no right helps: %s: %s", path, strerror(error));
        return;
    default:
        fc_gap_set(gap, "error", "no right helps: %s: %s", path, strerror(error));
    }
}

static void note(const struct fc_source *source, const char *path)
{
    if (source->note)
        source->note(source->arg, path);
}

bool fc_source_path(const struct fc_source *source, const char *path, char *out,
                    size_t bytes, struct fc_gap *gap)
{
    int n = snprintf(out, bytes, "%s%s", source->root, path);
    if (n >= 0 && (size_t)n < bytes)
        return true;
    fc_gap_set(gap, "error", "no right helps: %.100s…: the path is too long", path);
    return false;
}

/* Opens a regular file without waiting for anything; -1 and a gap otherwise. */
static int open_file(const struct fc_source *source, const char *path,
                     struct fc_gap *gap)
{
    char full[PATH_BYTES];
    struct stat st = {0};
    if (!fc_source_path(source, path, full, sizeof full, gap))
        return -1;
    note(source, path);
    int fd = open(full, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        fc_gap_errno(gap, source, path, errno);
        return -1;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    /* Containers hide single files by laying /dev/null over them. */
    if (S_ISCHR(st.st_mode))
        fc_gap_set(gap, "masked", "the host's %s: the container lays a device over it",
                   path);
    else
        fc_gap_set(gap, "unsupported", "no right helps: %s is no regular file", path);
    close(fd);
    return -1;
}

bool fc_source_read(const struct fc_source *source, const char *path, char *out,
                    size_t bytes, struct fc_gap *gap)
{
    size_t used = 0;
    ssize_t n = 0;
    int fd = open_file(source, path, gap);
    if (fd < 0)
        return false;
    while (used < bytes - 1) {
        n = read(fd, out + used, bytes - 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    int error = errno;
    close(fd);
    if (n < 0) {
        fc_gap_errno(gap, source, path, error);
        return false;
    }
    while (used > 0 && strchr(" \t\n", out[used - 1]))
        used--;
    out[used] = '\0';
    return true;
}

bool fc_source_int(const struct fc_source *source, const char *path, int64_t *out,
                   struct fc_gap *gap)
{
    char text[64], *end;
    if (!fc_source_read(source, path, text, sizeof text, gap))
        return false;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    if (errno || end == text || *end) {
        fc_gap_set(gap, "error",
                   "no right helps: %s holds \"%.40s\", which is no integer", path,
                   text);
        return false;
    }
    *out = value;
    return true;
}

bool fc_source_link(const struct fc_source *source, const char *path, char *out,
                    size_t bytes, struct fc_gap *gap)
{
    char full[PATH_BYTES], target[PATH_BYTES];
    if (!fc_source_path(source, path, full, sizeof full, gap))
        return false;
    note(source, path);
    ssize_t n = readlink(full, target, sizeof target - 1);
    if (n < 0) {
        fc_gap_errno(gap, source, path, errno);
        return false;
    }
    target[n] = '\0';
    const char *last = strrchr(target, '/');
    snprintf(out, bytes, "%s", last ? last + 1 : target);
    return true;
}

bool fc_source_exists(const struct fc_source *source, const char *path)
{
    char full[PATH_BYTES];
    struct fc_gap gap;
    if (!fc_source_path(source, path, full, sizeof full, &gap))
        return false;
    note(source, path);
    return access(full, F_OK) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

bool fc_source_list(const struct fc_source *source, const char *path,
                    struct fc_names *out, struct fc_gap *gap)
{
    char full[PATH_BYTES];
    if (!fc_source_path(source, path, full, sizeof full, gap))
        return false;
    note(source, path);
    DIR *dir = opendir(full);
    if (!dir) {
        fc_gap_errno(gap, source, path, errno);
        return false;
    }
    struct fc_names names = {calloc(FC_NAMES_MAX, sizeof *names.name), 0};
    for (struct dirent *e;
         names.name && names.count < FC_NAMES_MAX && (e = readdir(dir));) {
        size_t length = strlen(e->d_name);
        if (e->d_name[0] != '.' && length < sizeof *names.name)
            memcpy(names.name[names.count++], e->d_name, length + 1);
    }
    closedir(dir);
    if (!names.name) {
        fc_gap_errno(gap, source, path, ENOMEM);
        return false;
    }
    qsort(names.name, names.count, sizeof *names.name, by_name);
    *out = names;
    return true;
}

void fc_names_free(struct fc_names *names)
{
    free(names->name);
    *names = (struct fc_names){0};
}

/* True when `path` is `mount` or lies below it. */
static bool covers(const char *mount, const char *path)
{
    size_t n = strlen(mount);
    if (strcmp(mount, "/") == 0)
        return true;
    return strncmp(mount, path, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Mount point (fifth word) and file system type (first after " - ") of a line of
 * mountinfo. */
static bool parse_mount(char *line, char **out_point, char **out_type)
{
    char *dash = strstr(line, " - "), *save = NULL, *word = NULL;
    if (!dash)
        return false;
    *dash = '\0';
    *out_type = strtok_r(dash + 3, " ", &save);
    save = NULL;
    for (int i = 0; i < 5; i++)
        word = strtok_r(i == 0 ? line : NULL, " ", &save);
    *out_point = word;
    return word && *out_type;
}

/* The mount that `path` is seen through; of several at one point the last one counts.
 */
static void covering_mount(char *mounts, const char *path, char *point, char *type,
                           size_t bytes)
{
    char *save = NULL, *this_point, *this_type;
    snprintf(point, bytes, "/");
    snprintf(type, bytes, "none");
    for (char *line = strtok_r(mounts, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (!parse_mount(line, &this_point, &this_type) || !covers(this_point, path) ||
            strlen(this_point) < strlen(point))
            continue;
        snprintf(point, bytes, "%s", this_point);
        snprintf(type, bytes, "%s", this_type);
    }
}

bool fc_source_masked(const struct fc_source *source, const char *path, char *what,
                      size_t bytes)
{
    static const char mountinfo[] = "/proc/self/mountinfo";
    static const char *const foreign[] = {"tmpfs", "devtmpfs", "overlay", "ext4",
                                          "xfs"};
    char point[256], type[256];
    struct fc_gap gap;
    const char *tree = covers("/proc", path)  ? "/proc"
                       : covers("/sys", path) ? "/sys"
                                              : NULL;
    /* The table of mounts cannot explain its own absence. */
    if (!tree || covers("/sys/fs/cgroup", path) || strcmp(path, mountinfo) == 0)
        return false;
    char *mounts = malloc(MOUNTS_BYTES);
    if (!mounts || !fc_source_read(source, mountinfo, mounts, MOUNTS_BYTES, &gap)) {
        free(mounts);
        return false;
    }
    covering_mount(mounts, path, point, type, sizeof point);
    free(mounts);
    if (!covers(tree, point)) {
        snprintf(what, bytes, "no %s is mounted here", tree);
        return true;
    }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strcmp(type, foreign[i]) == 0) {
            snprintf(what, bytes, "the container lays a %s over %s", type, point);
            return true;
        }
    return false;
}
