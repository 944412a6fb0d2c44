/*
 * A disk that fails on demand and records its operations. Tests preload this library (LD_PRELOAD) into the
 * service. `test/support/faulty-disk.ts` compiles it, sets its switches and reads its trace.
 *
 * FAULTY_FOLDER   the folder whose files it observes, with all folders in it; a real path
 * FAULTY_SWITCHES a file of `struct switches`, mapped into memory, which tests can change at any time
 * FAULTY_TRACE    the file to which it appends a record of each operation; optional
 *
 * With a trace, syncs take `sync_us` and do not reach the disk: the trace records what they make durable.
 * The shared memory of SQLite (-shm) is not recorded, because a power failure erases it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

struct switches {
  int32_t log_sync_fails;      /* n > 0: the n-th sync of a log (-wal) from now on fails with EIO */
  int32_t database_sync_fails; /* the same for a database file (.db) */
  int32_t is_full;             /* 1: no file can grow (ENOSPC); 2: only the shared memory of SQLite cannot */
  int32_t is_read_only;        /* nothing can be opened for writing, created, changed or removed (EROFS) */
  int32_t sync_us;             /* the duration of a sync with a trace */
  int32_t growth_left;         /* with is_full = 1: bytes that files can still grow by; truncating adds to it */
};

enum kind { WRITE = 1, TRUNCATE, SYNC_BEGIN, SYNC_END, SYNC_FAILED, CREATE, UNLINK, RENAME, LINK, MKDIR };

/* Followed by `name_length` bytes of a name and `data_length` bytes of data. */
struct record {
  uint32_t kind;
  uint32_t name_length;
  uint64_t inode;
  uint64_t offset; /* the number of a sync */
  uint64_t data_length;
};

#define DESCRIPTORS 65536

static struct {
  uint64_t inode;
  char *name; /* relative to the folder; NULL: not observed */
  int is_shared_memory;
  uint32_t failures_seen;
} files[DESCRIPTORS];

/* As on Linux: a failed sync is reported once to each descriptor that was open then, and to no later one. */
#define FAILED_FILES 64
static struct {
  uint64_t inode;
  uint32_t failures;
} failed[FAILED_FILES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static size_t folder_length;
static struct switches none;
static struct switches *switches = &none;
static int trace = -1;
static uint64_t syncs;

#define REAL(type, name, ...)                        \
  static type (*real_##name)(__VA_ARGS__);           \
  static void find_##name(void) {                    \
    if (!real_##name) *(void **)&real_##name = dlsym(RTLD_NEXT, #name); \
  }
REAL(int, open, const char *, int, ...)
REAL(int, close, int)
REAL(ssize_t, write, int, const void *, size_t)
REAL(ssize_t, writev, int, const struct iovec *, int)
REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)
REAL(ssize_t, pwritev, int, const struct iovec *, int, off_t)
REAL(int, ftruncate64, int, off64_t)
REAL(int, fsync, int)
REAL(int, fdatasync, int)
REAL(int, unlink, const char *)
REAL(int, rename, const char *, const char *)
REAL(int, link, const char *, const char *)
REAL(int, mkdir, const char *, mode_t)
REAL(int, access, const char *, int)
REAL(int, statfs64, const char *, struct statfs64 *)

__attribute__((constructor)) static void start(void) {
  find_open(), find_close(), find_write(), find_writev(), find_pwrite64(), find_pwritev(), find_ftruncate64();
  find_fsync(), find_fdatasync(), find_unlink(), find_rename(), find_link(), find_mkdir(), find_access();
  find_statfs64();
  const char *observed = getenv("FAULTY_FOLDER");
  if (!observed) return;
  folder_length = strlen(observed);
  memcpy(folder, observed, folder_length + 1);
  const char *shared = getenv("FAULTY_SWITCHES");
  if (shared) {
    int file = real_open(shared, O_RDWR | O_CLOEXEC);
    void *mapped = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || mapped == MAP_FAILED) abort();
    switches = mapped;
    real_close(file);
  }
  const char *recorded = getenv("FAULTY_TRACE");
  if (recorded) {
    trace = real_open(recorded, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (trace < 0) abort();
  }
}

static int ends_in(const char *text, const char *end) {
  size_t length = strlen(text), wanted = strlen(end);
  return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* The name within the observed folder ("" is the folder itself); NULL: outside of it. */
static const char *name_of(const char *path) {
  if (folder_length == 0 || strncmp(path, folder, folder_length) != 0) return NULL;
  if (path[folder_length] == 0) return path + folder_length;
  return path[folder_length] == '/' ? path + folder_length + 1 : NULL;
}

/* A descriptor can be closed without this library and then reused for another file. */
static int observed(int fd) {
  if (fd < 0 || fd >= DESCRIPTORS || !files[fd].name) return 0;
  struct stat status;
  if (fstat(fd, &status) == 0 && status.st_ino == files[fd].inode) return 1;
  files[fd].name = NULL;
  return 0;
}

static int recorded(int fd) { return trace >= 0 && observed(fd) && !files[fd].is_shared_memory; }

/* One write, because processes that share the trace must not mix their records. */
static void record(enum kind kind, const char *name, uint64_t inode, uint64_t offset, const struct iovec *data,
                   int count, size_t length) {
  struct record head = {kind, strlen(name), inode, offset, length};
  struct iovec parts[2 + 64] = {{&head, sizeof head}, {(void *)name, head.name_length}};
  if (count > 64) abort();
  int used = 2;
  size_t left = length;
  for (int i = 0; i < count && left > 0; i++) {
    size_t part = data[i].iov_len < left ? data[i].iov_len : left;
    parts[used++] = (struct iovec){data[i].iov_base, part};
    left -= part;
  }
  ssize_t total = sizeof head + head.name_length + length;
  if (real_writev(trace, parts, used) != total) abort();
}

static int fails(int error) {
  errno = error;
  return -1;
}

/* Whether the disk rejects a write. Sets errno. */
static int rejects(int fd, uint64_t end) {
  if (switches->is_read_only) return fails(EROFS);
  if (switches->is_full == 0 || (switches->is_full == 2 && !files[fd].is_shared_memory)) return 0;
  struct stat status;
  if (fstat(fd, &status) != 0 || end <= (uint64_t)status.st_size) return 0;
  uint64_t growth = end - status.st_size;
  if (switches->is_full == 2 || growth > (uint64_t)switches->growth_left) return fails(ENOSPC);
  switches->growth_left -= growth;
  return 0;
}

static ssize_t write_at(int fd, const struct iovec *data, int count, off64_t offset) {
  size_t length = 0;
  for (int i = 0; i < count; i++) length += data[i].iov_len;
  pthread_mutex_lock(&lock);
  ssize_t written = rejects(fd, offset + length) ? -1 : real_pwritev(fd, data, count, offset);
  int error = errno;
  if (written > 0 && recorded(fd)) record(WRITE, "", files[fd].inode, offset, data, count, written);
  pthread_mutex_unlock(&lock);
  errno = error;
  return written;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  if (!observed(fd)) return real_pwrite64(fd, data, length, offset);
  return write_at(fd, &(struct iovec){(void *)data, length}, 1, offset);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

ssize_t pwritev(int fd, const struct iovec *data, int count, off_t offset) {
  return observed(fd) ? write_at(fd, data, count, offset) : real_pwritev(fd, data, count, offset);
}

/* Writes at the descriptor's own offset, which must be advanced explicitly. */
static ssize_t write_on(int fd, const struct iovec *data, int count) {
  off64_t at = lseek64(fd, 0, SEEK_CUR);
  ssize_t written = write_at(fd, data, count, at);
  if (written > 0) lseek64(fd, at + written, SEEK_SET);
  return written;
}

ssize_t write(int fd, const void *data, size_t length) {
  if (!real_write) find_write();
  if (!observed(fd)) return real_write(fd, data, length);
  return write_on(fd, &(struct iovec){(void *)data, length}, 1);
}

ssize_t writev(int fd, const struct iovec *data, int count) {
  if (!real_writev) find_writev();
  return observed(fd) ? write_on(fd, data, count) : real_writev(fd, data, count);
}

int ftruncate64(int fd, off64_t length) {
  if (!observed(fd)) return real_ftruncate64(fd, length);
  if (switches->is_read_only) return fails(EROFS);
  pthread_mutex_lock(&lock);
  struct stat status;
  uint64_t size = fstat(fd, &status) == 0 ? status.st_size : 0;
  int result = real_ftruncate64(fd, length);
  int error = errno;
  if (result == 0 && size > (uint64_t)length) switches->growth_left += size - length;
  if (result == 0 && recorded(fd)) record(TRUNCATE, "", files[fd].inode, length, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int countdown(int32_t *count) {
  for (;;) {
    int32_t now = __atomic_load_n(count, __ATOMIC_SEQ_CST);
    if (now <= 0) return 0;
    if (__atomic_compare_exchange_n(count, &now, now - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return now == 1;
  }
}

/* Requires the lock. */
static uint32_t *failures_of(uint64_t inode) {
  for (int i = 0; i < FAILED_FILES; i++) {
    if (failed[i].inode == 0) failed[i].inode = inode;
    if (failed[i].inode == inode) return &failed[i].failures;
  }
  abort();
}

static int sync_with(int fd, int (*real)(int)) {
  if (!observed(fd)) return real(fd);
  int failing = (ends_in(files[fd].name, "-wal") && countdown(&switches->log_sync_fails)) ||
                (ends_in(files[fd].name, ".db") && countdown(&switches->database_sync_fails));
  pthread_mutex_lock(&lock);
  uint32_t *failures = failures_of(files[fd].inode);
  if (failing) ++*failures;
  int reports = files[fd].failures_seen < *failures;
  files[fd].failures_seen = *failures;
  if (!recorded(fd)) {
    pthread_mutex_unlock(&lock);
    return reports ? fails(EIO) : real(fd);
  }
  /* Each process counts its syncs separately. */
  uint64_t number = ((uint64_t)getpid() << 32) | ++syncs;
  record(SYNC_BEGIN, files[fd].name, files[fd].inode, number, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  if (switches->sync_us > 0) usleep(switches->sync_us);
  pthread_mutex_lock(&lock);
  record(failing ? SYNC_FAILED : SYNC_END, files[fd].name, files[fd].inode, number, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  return reports ? fails(EIO) : 0;
}

int fsync(int fd) { return sync_with(fd, real_fsync); }

int fdatasync(int fd) { return sync_with(fd, real_fdatasync); }

int open(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  if (!real_open) find_open();
  const char *name = name_of(path);
  if (!name) return real_open(path, flags, mode);
  pthread_mutex_lock(&lock);
  int exists = real_access ? real_access(path, F_OK) == 0 : 1;
  int changes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) || ((flags & O_CREAT) && !exists);
  int fd = changes && switches->is_read_only ? fails(EROFS) : real_open(path, flags, mode);
  int error = errno;
  struct stat status;
  if (fd >= 0 && fd < DESCRIPTORS && fstat(fd, &status) == 0) {
    free(files[fd].name);
    files[fd].name = strdup(name);
    files[fd].inode = status.st_ino;
    files[fd].is_shared_memory = ends_in(name, "-shm");
    files[fd].failures_seen = *failures_of(status.st_ino);
    if (recorded(fd) && !exists) record(CREATE, name, status.st_ino, 0, NULL, 0, 0);
    if (recorded(fd) && exists && (flags & O_TRUNC)) record(TRUNCATE, "", status.st_ino, 0, NULL, 0, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

int open64(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return open(path, flags, mode);
}

int close(int fd) {
  if (!real_close) find_close();
  if (!observed(fd)) return real_close(fd);
  pthread_mutex_lock(&lock);
  free(files[fd].name);
  files[fd].name = NULL;
  int result = real_close(fd);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

/* A change of a folder, which is recorded after it has succeeded. */
#define CHANGE(kind, path, call, to)                                                        \
  const char *name = name_of(path);                                                         \
  if (!name) return call;                                                                   \
  if (switches->is_read_only && (kind != MKDIR || real_access(path, F_OK) != 0)) return fails(EROFS); \
  pthread_mutex_lock(&lock);                                                                \
  int result = call;                                                                        \
  int error = errno;                                                                        \
  const char *target = to;                                                                  \
  struct iovec data = {(void *)target, target ? strlen(target) : 0};                        \
  if (result == 0 && trace >= 0 && !ends_in(name, "-shm"))                                  \
    record(kind, name, 0, 0, &data, 1, data.iov_len);                                       \
  pthread_mutex_unlock(&lock);                                                              \
  errno = error;                                                                            \
  return result

int unlink(const char *path) { CHANGE(UNLINK, path, real_unlink(path), NULL); }

int rename(const char *from, const char *path) { CHANGE(RENAME, from, real_rename(from, path), name_of(path)); }

int link(const char *from, const char *path) { CHANGE(LINK, from, real_link(from, path), name_of(path)); }

int mkdir(const char *path, mode_t mode) { CHANGE(MKDIR, path, real_mkdir(path, mode), NULL); }

int access(const char *path, int mode) {
  if (switches->is_read_only && (mode & W_OK) && name_of(path)) return fails(EROFS);
  return real_access(path, mode);
}

int statfs64(const char *path, struct statfs64 *status) {
  int result = real_statfs64(path, status);
  if (result == 0 && name_of(path) && switches->is_full == 1)
    status->f_bavail = switches->growth_left / status->f_bsize;
  return result;
}

int statfs(const char *path, struct statfs *status) { return statfs64(path, (struct statfs64 *)status); }
