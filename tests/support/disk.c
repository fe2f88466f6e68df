/* support/disk.c — a VFS of files in memory, and what a crash leaves of them. Its memory is the test's, not the
 * product's: plain malloc. */
#include "support/disk.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stores/sqlite/vfs.h"

enum { SECTOR = 512, FILES = 16, SLOTS = 8, REGIONS = 64 };
enum { CLEAN, DIRTY, TWICE /* written again before a sync: there is an older one */ };

struct shm {
    unsigned refs;
    void *region[REGIONS];
    unsigned shared[SLOTS];
    void *exclusive[SLOTS];
};

struct content {
    unsigned char *p;
    size_t n, cap;
};

struct inode {
    char name[128];
    bool used, durable;                /* durable: its name is on disk */
    struct content now, synced, older; /* older: sectors as they were written first, where they were written again */
    unsigned char *dirty;              /* by sector of `now` */
    size_t dirty_cap;
    unsigned shared; /* locks of SQLite's first kind */
    void *reserved, *pending, *exclusive;
    struct shm *shm;
    unsigned handles;
};

struct disk {
    sqlite3_vfs vfs;
    char name[32];
    uint64_t random, life, syncs, writes, crash_in, fail_sync_in, fail_read_in, room;
    bool crashed, powersafe, lies, bad_writes;
    struct inode files[FILES];
};

struct handle {
    sqlite3_file base;
    struct disk *d;
    struct inode *i;
    uint64_t life;
    int level;
    bool drop; /* delete on close */
    struct shm *shm;
    unsigned shm_shared, shm_exclusive; /* bits */
};

static void *need(void *p)
{
    if (!p)
        abort();
    return p;
}

static uint64_t below(struct disk *d, uint64_t n)
{
    uint64_t z = d->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

/* ---- Content --------------------------------------------------------------------------------------- */

static void resize(struct content *c, size_t n)
{
    if (n > c->cap) {
        size_t cap = c->cap ? c->cap : 4096;
        while (cap < n)
            cap *= 2;
        c->p = need(realloc(c->p, cap));
        c->cap = cap;
    }
    if (n > c->n)
        memset(c->p + c->n, 0, n - c->n);
    c->n = n;
}

static void copy(struct content *to, const struct content *from)
{
    to->n = 0;
    resize(to, from->n);
    if (from->n)
        memcpy(to->p, from->p, from->n);
}

/* Before a write: what stands in sectors that no sync has followed may be what is on disk in the end. */
static void keep_older(struct disk *d, struct inode *i, size_t from, size_t to)
{
    for (size_t s = from / SECTOR; s * SECTOR < to && s < i->dirty_cap; s++) {
        size_t at = s * SECTOR;
        if (i->dirty[s] == CLEAN || at + SECTOR > i->now.n || below(d, 2))
            continue;
        if (i->older.n < at + SECTOR)
            resize(&i->older, at + SECTOR);
        memcpy(i->older.p + at, i->now.p + at, SECTOR);
        i->dirty[s] = TWICE;
    }
}

static void touch(struct inode *i, size_t from, size_t to)
{
    size_t last = (to + SECTOR - 1) / SECTOR;
    if (last > i->dirty_cap) {
        size_t cap = i->dirty_cap ? i->dirty_cap : 64;
        while (cap < last)
            cap *= 2;
        i->dirty = need(realloc(i->dirty, cap));
        memset(i->dirty + i->dirty_cap, 0, cap - i->dirty_cap);
        i->dirty_cap = cap;
    }
    for (size_t s = from / SECTOR; s < last && to > from; s++)
        i->dirty[s] = i->dirty[s] == CLEAN ? DIRTY : i->dirty[s];
}

static void forget(struct inode *i)
{
    free(i->now.p);
    free(i->synced.p);
    free(i->older.p);
    free(i->dirty);
    struct shm *shm = i->shm;
    *i = (struct inode){.shm = shm};
}

/* ---- Losing power ---------------------------------------------------------------------------------- */

/* One sector that was written and not synced. Without powersafe overwrite a torn one may hold anything. */
static void crash_sector(struct disk *d, struct inode *i, struct content *to, size_t at)
{
    size_t n = i->now.n - at < SECTOR ? i->now.n - at : SECTOR;
    size_t chose = below(d, 5);
    if (chose == 0)
        return; /* dropped */
    if (at + n > to->n)
        resize(to, at + n);
    if (chose == 4 && i->dirty[at / SECTOR] == TWICE && at + SECTOR <= i->older.n) {
        memcpy(to->p + at, i->older.p + at, n); /* the later write is the one that was dropped */
        return;
    }
    if (chose != 3) {
        memcpy(to->p + at, i->now.p + at, n);
        return;
    }
    size_t cut = below(d, n + 1);
    memcpy(to->p + at, i->now.p + at, cut);
    if (!d->powersafe)
        for (size_t k = cut; k < n; k++)
            to->p[at + k] = (unsigned char)below(d, 256);
}

static void crash_file(struct disk *d, struct inode *i)
{
    if (!i->durable && below(d, 2)) {
        i->used = false;
        return;
    }
    struct content after = {0};
    copy(&after, &i->synced);
    if (i->now.n < after.n && below(d, 2))
        after.n = i->now.n; /* the truncation came through */
    for (size_t s = 0; s * SECTOR < i->now.n; s++)
        if (s < i->dirty_cap && i->dirty[s])
            crash_sector(d, i, &after, s * SECTOR);
    copy(&i->now, &after);
    copy(&i->synced, &after);
    free(after.p);
    if (i->dirty_cap)
        memset(i->dirty, 0, i->dirty_cap);
    i->durable = true;
}

void disk_crash(struct disk *d)
{
    d->crashed = true;
    d->crash_in = 0;
    d->life++;
    for (int k = 0; k < FILES; k++) {
        struct inode *i = &d->files[k];
        if (i->used)
            crash_file(d, i);
        i->shared = 0;
        i->reserved = i->pending = i->exclusive = NULL;
        i->shm = NULL; /* handles of before keep theirs */
        if (!i->used)
            forget(i);
    }
}

void disk_crash_after(struct disk *d, uint64_t n)
{
    d->crash_in = n;
}

bool disk_crashed(struct disk *d)
{
    bool crashed = d->crashed;
    d->crashed = false;
    return crashed;
}

/* True: power is gone before this step. */
static bool step(struct handle *h)
{
    if (h->d->crash_in && --h->d->crash_in == 0)
        disk_crash(h->d);
    return h->life != h->d->life;
}

static struct handle *handle(sqlite3_file *f)
{
    return (struct handle *)(void *)f;
}

static bool dead(const struct handle *h)
{
    return h->life != h->d->life;
}

/* ---- Reading and writing --------------------------------------------------------------------------- */

static int f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    struct handle *h = handle(f);
    const struct content *c = &h->i->now;
    if (dead(h))
        return SQLITE_IOERR_READ;
    if (h->d->fail_read_in && --h->d->fail_read_in == 0)
        return SQLITE_IOERR_CORRUPTFS; /* as SQLite's own files say of EIO */
    size_t have = (size_t)at < c->n ? c->n - (size_t)at : 0;
    have = have < (size_t)n ? have : (size_t)n;
    if (have)
        memcpy(p, c->p + at, have);
    memset((char *)p + have, 0, (size_t)n - have);
    return have < (size_t)n ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

/* Power may go in the middle: then a beginning of it was written, and is as unsynced as all else. */
static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    struct handle *h = handle(f);
    size_t end = (size_t)at + (size_t)n;
    if (dead(h) || h->d->bad_writes)
        return SQLITE_IOERR_WRITE;
    if (end > h->i->now.n) {
        if (h->d->room < end - h->i->now.n)
            return SQLITE_FULL;
        h->d->room -= end - h->i->now.n;
        resize(&h->i->now, end);
    }
    keep_older(h->d, h->i, (size_t)at, end);
    memcpy(h->i->now.p + at, p, (size_t)n);
    touch(h->i, (size_t)at, end);
    h->d->writes++;
    return step(h) ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    struct handle *h = handle(f);
    if (dead(h))
        return SQLITE_IOERR_TRUNCATE;
    if ((size_t)n < h->i->now.n)
        h->d->room += h->d->room < UINT64_MAX / 2 ? h->i->now.n - (size_t)n : 0;
    resize(&h->i->now, (size_t)n);
    return step(h) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int f_sync(sqlite3_file *f, int flags)
{
    struct handle *h = handle(f);
    (void)flags;
    if (dead(h) || step(h))
        return SQLITE_IOERR_FSYNC;
    if (h->d->fail_sync_in && --h->d->fail_sync_in == 0) { /* as Linux does: the pages are clean now, and lost */
        if (h->i->dirty_cap)
            memset(h->i->dirty, 0, h->i->dirty_cap);
        return SQLITE_IOERR_FSYNC;
    }
    if (h->d->lies)
        return SQLITE_OK;
    for (size_t s = 0; s * SECTOR < h->i->now.n; s++) /* only what is dirty: what a failed sync lost stays lost */
        if (s < h->i->dirty_cap && h->i->dirty[s]) {
            size_t at = s * SECTOR, n = h->i->now.n - at < SECTOR ? h->i->now.n - at : SECTOR;
            if (at + n > h->i->synced.n)
                resize(&h->i->synced, at + n);
            memcpy(h->i->synced.p + at, h->i->now.p + at, n);
            h->i->dirty[s] = 0;
        }
    if (h->i->synced.n > h->i->now.n)
        h->i->synced.n = h->i->now.n;
    for (size_t k = (h->i->now.n + SECTOR - 1) / SECTOR; k < h->i->dirty_cap; k++)
        h->i->dirty[k] = CLEAN; /* what was cut off is cut off for good */
    h->i->durable = true;
    h->d->syncs++;
    return SQLITE_OK;
}

static int f_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    *ret = (sqlite3_int64)handle(f)->i->now.n;
    return dead(handle(f)) ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

/* ---- Locks of files -------------------------------------------------------------------------------- */

static int f_unlock(sqlite3_file *f, int level)
{
    struct handle *h = handle(f);
    if (!dead(h) && h->level > level) {
        struct inode *i = h->i;
        if (level < SQLITE_LOCK_EXCLUSIVE && i->exclusive == h)
            i->exclusive = NULL;
        if (level < SQLITE_LOCK_PENDING && i->pending == h)
            i->pending = NULL;
        if (level < SQLITE_LOCK_RESERVED && i->reserved == h)
            i->reserved = NULL;
        if (level == SQLITE_LOCK_NONE && h->level >= SQLITE_LOCK_SHARED)
            i->shared--;
    }
    h->level = h->level > level ? level : h->level;
    return SQLITE_OK;
}

static int f_lock(sqlite3_file *f, int level)
{
    struct handle *h = handle(f);
    struct inode *i = h->i;
    if (dead(h))
        return SQLITE_IOERR_LOCK;
    if (h->level >= level)
        return SQLITE_OK;
    if (level == SQLITE_LOCK_SHARED) {
        if ((i->pending && i->pending != h) || (i->exclusive && i->exclusive != h))
            return SQLITE_BUSY;
        i->shared++;
    } else if (level == SQLITE_LOCK_RESERVED) {
        if (i->reserved && i->reserved != h)
            return SQLITE_BUSY;
        i->reserved = h;
    } else {
        if ((i->pending && i->pending != h) || (i->reserved && i->reserved != h))
            return SQLITE_BUSY;
        i->pending = h;
        if (i->shared > 1)
            return SQLITE_BUSY;
        i->exclusive = h;
    }
    h->level = level;
    return SQLITE_OK;
}

static int f_reserved(sqlite3_file *f, int *ret)
{
    *ret = handle(f)->i->reserved != NULL;
    return SQLITE_OK;
}

/* ---- Shared memory --------------------------------------------------------------------------------- */

static void shm_unref(struct shm *s)
{
    if (!s || --s->refs)
        return;
    for (int i = 0; i < REGIONS; i++)
        free(s->region[i]);
    free(s);
}

static int f_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
    struct handle *h = handle(f);
    *ret = NULL;
    if (dead(h) || page >= REGIONS)
        return SQLITE_IOERR_SHMMAP;
    if (!h->shm) {
        if (!h->i->shm)
            h->i->shm = need(calloc(1, sizeof *h->i->shm));
        h->shm = h->i->shm;
        h->shm->refs++;
    }
    if (!h->shm->region[page] && extend)
        h->shm->region[page] = need(calloc(1, (size_t)size));
    *ret = h->shm->region[page];
    return SQLITE_OK;
}

static int f_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    struct handle *h = handle(f);
    if (dead(h) || !h->shm)
        return SQLITE_IOERR_SHMLOCK;
    struct shm *s = h->shm;
    for (int i = at; i < at + n; i++) { /* all or none: first look */
        bool mine = h->shm_shared >> i & 1;
        if (flags & SQLITE_SHM_UNLOCK)
            continue;
        if (s->exclusive[i] && s->exclusive[i] != h)
            return SQLITE_BUSY;
        if (flags & SQLITE_SHM_EXCLUSIVE && s->shared[i] > mine)
            return SQLITE_BUSY;
    }
    for (int i = at; i < at + n; i++) {
        unsigned bit = 1u << i;
        if (flags & SQLITE_SHM_UNLOCK) {
            if (h->shm_exclusive & bit)
                s->exclusive[i] = NULL;
            s->shared[i] -= (h->shm_shared & bit) != 0;
            h->shm_exclusive &= ~bit;
            h->shm_shared &= ~bit;
        } else if (flags & SQLITE_SHM_EXCLUSIVE) {
            s->exclusive[i] = h;
            h->shm_exclusive |= bit;
        } else if (!(h->shm_shared & bit)) {
            s->shared[i]++;
            h->shm_shared |= bit;
        }
    }
    return SQLITE_OK;
}

static void f_shm_barrier(sqlite3_file *f)
{
    (void)f;
}

static int f_shm_unmap(sqlite3_file *f, int drop)
{
    struct handle *h = handle(f);
    if (!h->shm)
        return SQLITE_OK;
    (void)f_shm_lock(f, 0, SLOTS, SQLITE_SHM_UNLOCK);
    if (!dead(h) && (drop || h->shm->refs == 1) && h->i->shm == h->shm)
        h->i->shm = NULL;
    shm_unref(h->shm);
    h->shm = NULL;
    return SQLITE_OK;
}

/* ---- The rest -------------------------------------------------------------------------------------- */

static int f_control(sqlite3_file *f, int op, void *arg)
{
    if (op != WS_VFS_ROOM)
        return SQLITE_NOTFOUND;
    *(int64_t *)arg = (int64_t)(handle(f)->d->room < INT64_MAX ? handle(f)->d->room : INT64_MAX);
    return SQLITE_OK;
}

static int f_sector(sqlite3_file *f)
{
    (void)f;
    return SECTOR;
}

static int f_traits(sqlite3_file *f)
{
    return handle(f)->d->powersafe ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0;
}

static int f_close(sqlite3_file *f)
{
    struct handle *h = handle(f);
    (void)f_shm_unmap(f, 0);
    (void)f_unlock(f, SQLITE_LOCK_NONE);
    if (!dead(h) && h->drop)
        forget(h->i);
    return SQLITE_OK;
}

static struct inode *find(struct disk *d, const char *name)
{
    for (int k = 0; k < FILES; k++)
        if (d->files[k].used && strcmp(d->files[k].name, name) == 0)
            return &d->files[k];
    return NULL;
}

static struct inode *make(struct disk *d, const char *name)
{
    for (int k = 0; k < FILES; k++)
        if (!d->files[k].used) {
            d->files[k] = (struct inode){.used = true};
            (void)snprintf(d->files[k].name, sizeof d->files[k].name, "%s", name);
            return &d->files[k];
        }
    abort();
}

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out)
{
    static const sqlite3_io_methods methods = {
        2,         f_close,  f_read,   f_write,   f_truncate, f_sync,        f_size,      f_lock, f_unlock, f_reserved,
        f_control, f_sector, f_traits, f_shm_map, f_shm_lock, f_shm_barrier, f_shm_unmap, NULL,   NULL};
    struct disk *d = v->pAppData;
    struct handle *h = handle(f);
    char temp[32];
    memset(h, 0, sizeof *h);
    if (!name) {
        (void)snprintf(temp, sizeof temp, "temp-%llu", (unsigned long long)below(d, UINT64_MAX));
        name = temp;
    }
    struct inode *i = find(d, name);
    if (!i && !(flags & SQLITE_OPEN_CREATE))
        return SQLITE_CANTOPEN;
    h->i = i ? i : make(d, name);
    h->d = d;
    h->life = d->life;
    h->drop = flags & SQLITE_OPEN_DELETEONCLOSE;
    if (out)
        *out = flags;
    h->base.pMethods = &methods;
    return SQLITE_OK;
}

static int v_delete(sqlite3_vfs *v, const char *name, int sync_too)
{
    struct inode *i = find(v->pAppData, name);
    (void)sync_too;
    if (!i)
        return SQLITE_IOERR_DELETE_NOENT;
    forget(i);
    i->shm = NULL;
    return SQLITE_OK;
}

static int v_access(sqlite3_vfs *v, const char *name, int flags, int *ret)
{
    (void)flags;
    *ret = find(v->pAppData, name) != NULL;
    return SQLITE_OK;
}

static int v_path(sqlite3_vfs *v, const char *name, int n, char *ret)
{
    (void)v;
    (void)snprintf(ret, (size_t)n, "%s", name);
    return SQLITE_OK;
}

static int v_random(sqlite3_vfs *v, int n, char *ret)
{
    for (int i = 0; i < n; i++)
        ret[i] = (char)below(v->pAppData, 256);
    return n;
}

static int v_sleep(sqlite3_vfs *v, int us)
{
    (void)v;
    return us; /* nobody else runs meanwhile */
}

static int v_time(sqlite3_vfs *v, double *ret)
{
    (void)v;
    *ret = 2460000.5;
    return SQLITE_OK;
}

static int v_time64(sqlite3_vfs *v, sqlite3_int64 *ret)
{
    (void)v;
    *ret = INT64_C(212544043200000);
    return SQLITE_OK;
}

struct disk *disk_new(uint64_t seed)
{
    struct disk *d = need(calloc(1, sizeof *d));
    (void)snprintf(d->name, sizeof d->name, "disk-%llx", (unsigned long long)(uintptr_t)d);
    d->random = seed;
    d->room = UINT64_MAX;
    d->powersafe = below(d, 2);
    d->vfs = (sqlite3_vfs){.iVersion = 2,
                           .szOsFile = sizeof(struct handle),
                           .mxPathname = 100,
                           .zName = d->name,
                           .pAppData = d,
                           .xOpen = v_open,
                           .xDelete = v_delete,
                           .xAccess = v_access,
                           .xFullPathname = v_path,
                           .xRandomness = v_random,
                           .xSleep = v_sleep,
                           .xCurrentTime = v_time,
                           .xCurrentTimeInt64 = v_time64};
    if (sqlite3_vfs_register(&d->vfs, 0) != SQLITE_OK)
        abort();
    return d;
}

void disk_free(struct disk *d)
{
    if (!d)
        return;
    (void)sqlite3_vfs_unregister(&d->vfs);
    for (int k = 0; k < FILES; k++)
        forget(&d->files[k]);
    free(d);
}

const char *disk_name(const struct disk *d)
{
    return d->name;
}

void disk_room(struct disk *d, uint64_t bytes)
{
    d->room = bytes;
}

void disk_fail_sync(struct disk *d, uint64_t n)
{
    d->fail_sync_in = n;
}

void disk_fail_read(struct disk *d, uint64_t n)
{
    d->fail_read_in = n;
}

void disk_fail_writes(struct disk *d, bool fail)
{
    d->bad_writes = fail;
}

void disk_lie(struct disk *d, bool lies)
{
    d->lies = lies;
}

void disk_put(struct disk *d, const char *name, const void *p, size_t n)
{
    struct inode *i = find(d, name);
    i = i ? i : make(d, name);
    resize(&i->now, n);
    memcpy(i->now.p, p, n);
    copy(&i->synced, &i->now);
    i->durable = true;
}

bool disk_powersafe(const struct disk *d)
{
    return d->powersafe;
}

uint64_t disk_syncs(const struct disk *d)
{
    return d->syncs;
}

uint64_t disk_writes(const struct disk *d)
{
    return d->writes;
}

uint64_t disk_size(const struct disk *d, const char *suffix)
{
    uint64_t n = 0;
    for (int k = 0; k < FILES; k++) {
        size_t is = strlen(d->files[k].name), want = strlen(suffix);
        if (d->files[k].used && is >= want && strcmp(d->files[k].name + is - want, suffix) == 0)
            n += d->files[k].now.n;
    }
    return n;
}
