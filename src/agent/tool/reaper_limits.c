/* agent/tool/reaper_limits.c — control groups and RLIMIT_NPROC for the processes of a tool. Part of weft-reaper. */
#include "agent/tool/reaper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GROUP_NAME "weft-tool-"

enum { STALE_S = 60 }; /* age from which a group without processes is stale */

__attribute__((noinline)) static bool write_file(const char *folder, const char *name, const char *text)
{
    char path[1400];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    (void)close(fd);
    return ok;
}

static bool write_number(const char *folder, const char *name, unsigned long long n)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", n);
    return write_file(folder, name, text);
}

/* Removes groups that killed reapers left behind. The kernel removes no group that has a process. A new group may
 * belong to a reaper whose program is about to enter it, and the pid in its name means nothing to us if it is of
 * another pid namespace: hence the age. */
static void remove_stale(const char *parent)
{
    DIR *all = opendir(parent);
    for (struct dirent *e; all && (e = readdir(all));) {
        struct stat st;
        char *end;
        if (strncmp(e->d_name, GROUP_NAME, strlen(GROUP_NAME)) != 0)
            continue;
        long pid = strtol(e->d_name + strlen(GROUP_NAME), &end, 10);
        if (pid > 0 && !*end && kill((pid_t)pid, 0) != 0 && errno == ESRCH &&
            fstatat(dirfd(all), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime < time(NULL) - STALE_S)
            (void)unlinkat(dirfd(all), e->d_name, AT_REMOVEDIR);
    }
    if (all)
        (void)closedir(all);
}

/* Creates our own group below `parent`, if processes can be limited there. */
static bool make_below(struct reaper_limits *l, const char *parent)
{
    if (snprintf(l->folder, sizeof l->folder, "%s/" GROUP_NAME "%ld", parent, (long)getpid()) >= (int)sizeof l->folder)
        return false;
    if (mkdir(l->folder, 0755) != 0 && errno != EEXIST) /* a killed reaper's group will do */
        return false;
    if (!write_number(l->folder, "pids.max", l->processes)) {
        (void)rmdir(l->folder);
        return false;
    }
    l->memory_too = l->memory && write_number(l->folder, "memory.max", l->memory);
    if (l->memory_too) { /* best effort: swapping saves nothing, and all processes are killed together */
        (void)write_file(l->folder, "memory.swap.max", "0");
        (void)write_file(l->folder, "memory.oom.group", "1");
    }
    remove_stale(parent);
    return true;
}

/* Version 2: a group that has processes cannot have limited subgroups, except for the root group. So the parent is our
 * group, or the one above it (a service with DelegateSubgroup=, which may manage its own group). */
static bool make_v2(struct reaper_limits *l, char *path)
{
    char parent[1100];
    (void)snprintf(parent, sizeof parent, "/sys/fs/cgroup%s", strcmp(path, "/") == 0 ? "" : path);
    if (make_below(l, parent))
        return true;
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = 0;
    (void)snprintf(parent, sizeof parent, "/sys/fs/cgroup%s", path);
    return make_below(l, parent) ||
           (write_file(parent, "cgroup.subtree_control", "+pids +memory") && make_below(l, parent));
}

static bool make_v1(struct reaper_limits *l, const char *path)
{
    char parent[1100];
    (void)snprintf(parent, sizeof parent, "/sys/fs/cgroup/pids%s", strcmp(path, "/") == 0 ? "" : path);
    return make_below(l, parent);
}

static bool make_group(struct reaper_limits *l)
{
    char line[1024];
    bool made = false;
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && !made && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        if (strncmp(line, "0:", 2) == 0)
            made = make_v2(l, path);
        else if (strcmp(names + 1, "pids") == 0)
            made = make_v1(l, path);
    }
    if (f)
        (void)fclose(f);
    return made;
}

/* Enters a user namespace with the same user and group, where their other processes do not count. */
static bool enter_namespace(void)
{
    char map[64];
    unsigned uid = geteuid(), gid = getegid();
    if (unshare(CLONE_NEWUSER) != 0)
        return false;
    (void)write_file("/proc/self", "setgroups", "deny"); /* older kernels neither have nor need this file */
    (void)snprintf(map, sizeof map, "%u %u 1", uid, uid);
    if (!write_file("/proc/self", "uid_map", map))
        return false;
    (void)snprintf(map, sizeof map, "%u %u 1", gid, gid);
    return write_file("/proc/self", "gid_map", map);
}

/* Tests it in a child process: some systems allow creating a namespace, but nothing in it. */
static bool has_namespace(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(enter_namespace() ? 0 : 1);
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void reaper_limits_make(struct reaper_limits *l)
{
    l->method = REAPER_POLL;
    l->memory_too = false;
    if (!l->processes)
        return;
    if (make_group(l))
        l->method = REAPER_GROUP;
    else if (geteuid() != 0 && has_namespace()) /* RLIMIT_NPROC does not apply to root */
        l->method = REAPER_USER;
}

void reaper_limits_done(struct reaper_limits *l)
{
    if (l->method == REAPER_GROUP)
        (void)rmdir(l->folder);
}

bool reaper_limits_enter(const struct reaper_limits *l)
{
    struct rlimit n = {l->processes, l->processes};
    if (l->method == REAPER_GROUP)
        return write_file(l->folder, "cgroup.procs", "0");
    return l->method == REAPER_POLL || (enter_namespace() && setrlimit(RLIMIT_NPROC, &n) == 0);
}

const char *reaper_limits_name(const struct reaper_limits *l)
{
    if (l->method == REAPER_GROUP)
        return l->memory_too ? "processes and memory of a tool: by a control group"
                             : "processes of a tool: by a control group; memory: watched";
    return l->method == REAPER_USER ? "processes of a tool: by a user namespace; memory: watched"
                                    : "processes and memory of a tool: watched";
}
