/* Faults below the file layer: stands before libc (LD_PRELOAD) and counts, kills at or fails the calls that change files
   below one directory. For tests, driven by tests/support/faults.py, which says what the numbers mean.

   The state is in memory that forked processes share, so that it outlives the one that was killed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { CREATE, WRITE, SYNC, LINK, RENAME, UNLINK, RMDIR, MKDIR, TRUNCATE };
enum mode { COUNT, KILL, TEAR, FAIL, FAIL_ON, LOSE, PRESS };

#define LOGGED 20000
struct step {
    int kind;
    int length;
    char path[248];
};
static struct state {
    int mode, at, error, kinds, fired, count;
    char below[PATH_MAX], path[PATH_MAX];
    struct step steps[LOGGED];
} *state;

__attribute__((constructor)) static void begin(void) {
    state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* What the driver calls. */
void faults_arm(const char *below, int mode, int at, int error, int kinds, const char *path) {
    state->below[0] = 0;
    strcpy(state->path, path);
    state->mode = mode, state->at = at, state->error = error, state->kinds = kinds;
    state->fired = state->count = 0;
    strcpy(state->below, below);
}
int faults_count(void) { return state->count; }
int faults_fired(void) { return state->fired; }
int faults_kind(int i) { return state->steps[i].kind; }
int faults_length(int i) { return state->steps[i].length; }
const char *faults_path(int i) { return state->steps[i].path; }

/* The path that a call means, in full. */
static int resolve(int dir, const char *path, char *out) {
    int n = 0;
    if (!state || !state->below[0]) return 0;
    if (path == NULL || path[0] != '/') {
        char link[32];
        if (dir == AT_FDCWD) strcpy(link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        n = readlink(link, out, PATH_MAX - 1);
        if (n < 0) return 0;
        if (path != NULL) out[n++] = '/';
    }
    snprintf(out + n, PATH_MAX - n, "%s", path ? path : "");
    return strncmp(out, state->below, strlen(state->below)) == 0;
}

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

/* The number of a step that is counted, or -1; dies or says in *wrong that the step must fail. */
static int step(enum kind kind, int dir, const char *path, long length, int *wrong) {
    char full[PATH_MAX];
    int before = errno, n = -1;
    *wrong = 0;
    int meant = state ? (state->kinds >> kind) & 1 : 0;
    if (resolve(dir, path, full) && (!state->path[0] || (meant && strstr(full, state->path)))) {
        n = __atomic_fetch_add(&state->count, 1, __ATOMIC_SEQ_CST);
        if (n < LOGGED) {
            state->steps[n].kind = kind, state->steps[n].length = (int)length;
            size_t size = strlen(full), most = sizeof state->steps[n].path - 1;
            strcpy(state->steps[n].path, full + (size > most ? size - most : 0));
        }
        if (n == state->at && state->mode == KILL) state->fired = 1, die();
        if (n == state->at && state->mode == PRESS) state->fired = 1, kill(getpid(), SIGINT);
        if (n == state->at && state->mode == FAIL && meant) *wrong = state->error;
        if (n >= state->at && state->mode == FAIL_ON && meant) *wrong = state->error;
        if (*wrong) state->fired = 1;
    }
    errno = before;
    return n;
}

/* Behind a step that was carried out: its answer may be lost. */
static long after(int n, enum kind kind, long answer) {
    if (n < 0 || n != state->at || answer < 0) return answer;
    if (state->mode == TEAR) state->fired = 1, die();
    if (state->mode == LOSE && (state->kinds >> kind) & 1) {
        state->fired = 1, errno = state->error;
        return -1;
    }
    return answer;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)
#define STEP(kind, dir, path, length) \
    int wrong, n = step(kind, dir, path, length, &wrong); \
    if (wrong) { errno = wrong; return -1; }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; va_start(more, flags); int perm = va_arg(more, int); va_end(more); \
        REAL(int, #name, const char *, int, ...); \
        if (!(flags & (O_CREAT | O_TRUNC))) return real(path, flags, perm); \
        STEP(CREATE, AT_FDCWD, path, 0) \
        return after(n, CREATE, real(path, flags, perm)); \
    }
OPEN(open)
OPEN(open64)
#define OPENAT(name) \
    int name(int dir, const char *path, int flags, ...) { \
        va_list more; va_start(more, flags); int perm = va_arg(more, int); va_end(more); \
        REAL(int, #name, int, const char *, int, ...); \
        if (!(flags & (O_CREAT | O_TRUNC))) return real(dir, path, flags, perm); \
        STEP(CREATE, dir, path, 0) \
        return after(n, CREATE, real(dir, path, flags, perm)); \
    }
OPENAT(openat)
OPENAT(openat64)

/* A write that is torn has done its first half. */
#define TORN(n, size) if (n >= 0 && n == state->at && state->mode == TEAR && size > 1) size /= 2;

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    STEP(WRITE, fd, NULL, size)
    TORN(n, size)
    return after(n, WRITE, real(fd, data, size));
}
#define PWRITE(name, offset) \
    ssize_t name(int fd, const void *data, size_t size, offset at) { \
        REAL(ssize_t, #name, int, const void *, size_t, offset); \
        STEP(WRITE, fd, NULL, size) \
        TORN(n, size) \
        return after(n, WRITE, real(fd, data, size, at)); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    STEP(WRITE, fd, NULL, count)
    return after(n, WRITE, real(fd, parts, count));
}
#define PWRITEV(name, offset) \
    ssize_t name(int fd, const struct iovec *parts, int count, offset at) { \
        REAL(ssize_t, #name, int, const struct iovec *, int, offset); \
        STEP(WRITE, fd, NULL, count) \
        return after(n, WRITE, real(fd, parts, count, at)); \
    }
PWRITEV(pwritev, off_t)
PWRITEV(pwritev64, off64_t)

#define OF_FD(name, kind) \
    int name(int fd) { \
        REAL(int, #name, int); \
        STEP(kind, fd, NULL, 0) \
        return after(n, kind, real(fd)); \
    }
OF_FD(fsync, SYNC)
OF_FD(fdatasync, SYNC)
#define FTRUNCATE(name, offset) \
    int name(int fd, offset size) { \
        REAL(int, #name, int, offset); \
        STEP(TRUNCATE, fd, NULL, size) \
        return after(n, TRUNCATE, real(fd, size)); \
    }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

#define OF_PATH(name, kind) \
    int name(const char *path) { \
        REAL(int, #name, const char *); \
        STEP(kind, AT_FDCWD, path, 0) \
        return after(n, kind, real(path)); \
    }
OF_PATH(unlink, UNLINK)
OF_PATH(rmdir, RMDIR)
int unlinkat(int dir, const char *path, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    enum kind kind = flags & AT_REMOVEDIR ? RMDIR : UNLINK;
    STEP(kind, dir, path, 0)
    return after(n, kind, real(dir, path, flags));
}
int mkdir(const char *path, mode_t perm) {
    REAL(int, "mkdir", const char *, mode_t);
    STEP(MKDIR, AT_FDCWD, path, 0)
    return after(n, MKDIR, real(path, perm));
}
int mkdirat(int dir, const char *path, mode_t perm) {
    REAL(int, "mkdirat", int, const char *, mode_t);
    STEP(MKDIR, dir, path, 0)
    return after(n, MKDIR, real(dir, path, perm));
}
#define TWO_PATHS(name, kind) \
    int name(const char *from, const char *to) { \
        REAL(int, #name, const char *, const char *); \
        STEP(kind, AT_FDCWD, to, 0) \
        return after(n, kind, real(from, to)); \
    }
TWO_PATHS(link, LINK)
TWO_PATHS(rename, RENAME)
int linkat(int from_dir, const char *from, int dir, const char *to, int flags) {
    REAL(int, "linkat", int, const char *, int, const char *, int);
    STEP(LINK, dir, to, 0)
    return after(n, LINK, real(from_dir, from, dir, to, flags));
}
int renameat(int from_dir, const char *from, int dir, const char *to) {
    REAL(int, "renameat", int, const char *, int, const char *);
    STEP(RENAME, dir, to, 0)
    return after(n, RENAME, real(from_dir, from, dir, to));
}
int renameat2(int from_dir, const char *from, int dir, const char *to, unsigned flags) {
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
    STEP(RENAME, dir, to, 0)
    return after(n, RENAME, real(from_dir, from, dir, to, flags));
}
