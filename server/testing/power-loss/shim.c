/*
 * Records what a process asks of the disk below one directory, for tests of power losses.
 *
 * Preloaded into the process (LD_PRELOAD), it stands between the program and the C library: every
 * call goes through, and what succeeded is appended to a recording in the order in which it
 * happened. Writes and names are recorded under one lock together with their call; a sync is
 * recorded at its begin and its end, because only what was written before the begin is promised.
 *
 * Environment: SVC_RECORD_ROOT, the directory; SVC_RECORD_FILE, the recording, which must not
 * exist and lies elsewhere. Writes to a file named `marks` in the root become marks: the program's
 * own remarks on what it is about to do and what it was promised.
 *
 * A record, little endian: u32 bytes behind this field, u8 kind, u32 descriptor, u64 number,
 * payload. recording.ts reads them. Mapped and asynchronous kernel writes are not recorded.
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
  KIND_OPEN = 1, KIND_CLOSE, KIND_WRITE, KIND_TRUNCATE, KIND_SYNC_BEGIN, KIND_SYNC_END,
  KIND_RENAME, KIND_LINK, KIND_UNLINK, KIND_MAKE_DIRECTORY, KIND_REMOVE_DIRECTORY, KIND_MARK
};

#define DESCRIPTORS_MAX 65536
#define NEXT(name) ((__typeof__(&name))next(#name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int recording = -1;
static char root[PATH_MAX];
static size_t root_length;
/* 0: not ours, 1: below the root, 2: the marks. */
static unsigned char tracked[DESCRIPTORS_MAX];
static uint64_t next_sync = 1;

static void *next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

__attribute__((constructor)) static void start(void) {
  const char *directory = getenv("SVC_RECORD_ROOT");
  const char *file = getenv("SVC_RECORD_FILE");
  if (directory == NULL || file == NULL || strlen(directory) >= PATH_MAX) return;
  strcpy(root, directory);
  root_length = strlen(root);
  recording = (int)syscall(SYS_openat, AT_FDCWD, file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
}

/* Call with the lock held. */
static void record(int kind, int descriptor, uint64_t number, const void *payload, size_t length) {
  unsigned char head[17];
  uint32_t size = (uint32_t)(13 + length), fd = (uint32_t)descriptor;
  memcpy(head, &size, 4);
  head[4] = (unsigned char)kind;
  memcpy(head + 5, &fd, 4);
  memcpy(head + 9, &number, 8);
  struct iovec parts[2] = {{head, sizeof head}, {(void *)payload, length}};
  size_t left = sizeof head + length;
  while (left > 0) {
    long done = syscall(SYS_writev, recording, parts, 2);
    if (done <= 0) abort();
    left -= (size_t)done;
    for (int part = 0; part < 2; part++) {
      size_t taken = (size_t)done < parts[part].iov_len ? (size_t)done : parts[part].iov_len;
      parts[part].iov_base = (char *)parts[part].iov_base + taken;
      parts[part].iov_len -= taken;
      done -= (long)taken;
    }
  }
}

/* The absolute form of `path` when it is the root or below it; NULL otherwise. */
static const char *below_root(int directory, const char *path, char *absolute) {
  if (recording < 0 || path == NULL) return NULL;
  if (path[0] == '/') {
    if (strlen(path) >= PATH_MAX) return NULL;
    strcpy(absolute, path);
  } else {
    char base[PATH_MAX], link[64];
    if (directory == AT_FDCWD) {
      if (getcwd(base, sizeof base) == NULL) return NULL;
    } else {
      snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
      ssize_t length = readlink(link, base, sizeof base - 1);
      if (length < 0) return NULL;
      base[length] = 0;
    }
    if (snprintf(absolute, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return NULL;
  }
  if (strncmp(absolute, root, root_length) != 0) return NULL;
  return absolute[root_length] == 0 || absolute[root_length] == '/' ? absolute : NULL;
}

static int is_tracked(int descriptor) {
  return recording >= 0 && descriptor >= 0 && descriptor < DESCRIPTORS_MAX ? tracked[descriptor] : 0;
}

/* Call with the lock held, after a successful open. */
static void opened(int descriptor, int flags, const char *path) {
  if (descriptor < 0 || descriptor >= DESCRIPTORS_MAX) return;
  tracked[descriptor] = 0;
  if (path == NULL) return;
  if (strcmp(path + root_length, "/marks") == 0) {
    tracked[descriptor] = 2;
    return;
  }
  tracked[descriptor] = 1;
  record(KIND_OPEN, descriptor, (uint64_t)flags, path, strlen(path));
}

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

static int open_recorded(int directory, const char *path, int flags, mode_t mode) {
  char absolute[PATH_MAX];
  const char *ours = below_root(directory, path, absolute);
  pthread_mutex_lock(&lock);
  int descriptor = (int)syscall(SYS_openat, directory, path, flags, mode);
  int problem = errno;
  opened(descriptor, flags, ours);
  pthread_mutex_unlock(&lock);
  errno = problem;
  return descriptor;
}

#define OPEN(name)                                        \
  int name(const char *path, int flags, ...) {            \
    va_list arguments;                                    \
    va_start(arguments, flags);                           \
    mode_t mode = mode_of(flags, arguments);              \
    va_end(arguments);                                    \
    return open_recorded(AT_FDCWD, path, flags, mode);    \
  }
#define OPEN_AT(name)                                             \
  int name(int directory, const char *path, int flags, ...) {     \
    va_list arguments;                                            \
    va_start(arguments, flags);                                   \
    mode_t mode = mode_of(flags, arguments);                      \
    va_end(arguments);                                            \
    return open_recorded(directory, path, flags, mode);           \
  }
OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)

int close(int descriptor) {
  if (!is_tracked(descriptor)) return NEXT(close)(descriptor);
  pthread_mutex_lock(&lock);
  if (tracked[descriptor] == 1) record(KIND_CLOSE, descriptor, 0, "", 0);
  tracked[descriptor] = 0;
  int result = NEXT(close)(descriptor);
  pthread_mutex_unlock(&lock);
  return result;
}

/* Call with the lock held, after `done` bytes were written ending at the file's position. */
static void written(int descriptor, const void *data, ssize_t done, off_t offset) {
  if (done <= 0) return;
  if (tracked[descriptor] == 2) {
    record(KIND_MARK, descriptor, 0, data, (size_t)done);
    return;
  }
  if (offset < 0) offset = lseek(descriptor, 0, SEEK_CUR) - done;
  record(KIND_WRITE, descriptor, (uint64_t)offset, data, (size_t)done);
}

ssize_t write(int descriptor, const void *data, size_t length) {
  if (!is_tracked(descriptor)) return NEXT(write)(descriptor, data, length);
  pthread_mutex_lock(&lock);
  ssize_t done = NEXT(write)(descriptor, data, length);
  int problem = errno;
  written(descriptor, data, done, -1);
  pthread_mutex_unlock(&lock);
  errno = problem;
  return done;
}

static ssize_t pwrite_recorded(int descriptor, const void *data, size_t length, off_t offset) {
  if (!is_tracked(descriptor)) return syscall(SYS_pwrite64, descriptor, data, length, offset);
  pthread_mutex_lock(&lock);
  ssize_t done = syscall(SYS_pwrite64, descriptor, data, length, offset);
  int problem = errno;
  written(descriptor, data, done, offset);
  pthread_mutex_unlock(&lock);
  errno = problem;
  return done;
}
ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset) {
  return pwrite_recorded(descriptor, data, length, offset);
}
ssize_t pwrite64(int descriptor, const void *data, size_t length, off64_t offset) {
  return pwrite_recorded(descriptor, data, length, offset);
}

/* Vectors are written part by part; each part is recorded as a write. */
static ssize_t vector_recorded(int descriptor, const struct iovec *parts, int count, off_t offset) {
  ssize_t total = 0;
  for (int part = 0; part < count; part++) {
    ssize_t done = offset < 0
        ? write(descriptor, parts[part].iov_base, parts[part].iov_len)
        : pwrite_recorded(descriptor, parts[part].iov_base, parts[part].iov_len, offset + total);
    if (done < 0) return total > 0 ? total : done;
    total += done;
    if ((size_t)done < parts[part].iov_len) break;
  }
  return total;
}
ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  if (!is_tracked(descriptor)) return NEXT(writev)(descriptor, parts, count);
  return vector_recorded(descriptor, parts, count, -1);
}
ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
  if (!is_tracked(descriptor)) return NEXT(pwritev)(descriptor, parts, count, offset);
  return vector_recorded(descriptor, parts, count, offset);
}
ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
  if (!is_tracked(descriptor)) return NEXT(pwritev64)(descriptor, parts, count, offset);
  return vector_recorded(descriptor, parts, count, offset);
}

static int truncate_recorded(int descriptor, off_t size) {
  if (!is_tracked(descriptor)) return (int)syscall(SYS_ftruncate, descriptor, size);
  pthread_mutex_lock(&lock);
  int result = (int)syscall(SYS_ftruncate, descriptor, size);
  if (result == 0) record(KIND_TRUNCATE, descriptor, (uint64_t)size, "", 0);
  pthread_mutex_unlock(&lock);
  return result;
}
int ftruncate(int descriptor, off_t size) { return truncate_recorded(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) { return truncate_recorded(descriptor, size); }

/* Reserving beyond the end grows the file unless it asks to keep the size. */
static int allocate_recorded(int descriptor, int mode, off_t offset, off_t length) {
  struct stat status;
  if (!is_tracked(descriptor) || (mode & FALLOC_FL_KEEP_SIZE) != 0) {
    return (int)syscall(SYS_fallocate, descriptor, mode, offset, length);
  }
  pthread_mutex_lock(&lock);
  int result = (int)syscall(SYS_fallocate, descriptor, mode, offset, length);
  if (result == 0 && fstat(descriptor, &status) == 0) {
    record(KIND_TRUNCATE, descriptor, (uint64_t)status.st_size, "", 0);
  }
  pthread_mutex_unlock(&lock);
  return result;
}
int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  return allocate_recorded(descriptor, mode, offset, length);
}
int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) {
  return allocate_recorded(descriptor, mode, offset, length);
}
int posix_fallocate(int descriptor, off_t offset, off_t length) {
  return allocate_recorded(descriptor, 0, offset, length) == 0 ? 0 : errno;
}
int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
  return allocate_recorded(descriptor, 0, offset, length) == 0 ? 0 : errno;
}

static int sync_recorded(int descriptor, long number) {
  if (is_tracked(descriptor) != 1) return (int)syscall(number, descriptor);
  pthread_mutex_lock(&lock);
  uint64_t token = next_sync++;
  record(KIND_SYNC_BEGIN, descriptor, token, "", 0);
  pthread_mutex_unlock(&lock);
  int result = (int)syscall(number, descriptor);
  int problem = errno;
  if (result == 0) {
    pthread_mutex_lock(&lock);
    record(KIND_SYNC_END, descriptor, token, "", 0);
    pthread_mutex_unlock(&lock);
  }
  errno = problem;
  return result;
}
int fsync(int descriptor) { return sync_recorded(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_recorded(descriptor, SYS_fdatasync); }

/* `call` has one or two names; both are resolved before it runs. */
#define NAMES(kind, first, second, call)                                   \
  char one[PATH_MAX], two[PATH_MAX];                                       \
  const char *from = first, *to = second;                                  \
  pthread_mutex_lock(&lock);                                               \
  int result = (int)(call);                                                \
  int problem = errno;                                                     \
  if (result == 0 && from != NULL && to != NULL) {                         \
    char names[2 * PATH_MAX + 1];                                          \
    size_t length = (size_t)sprintf(names, "%s%c%s", from, 0, to);         \
    record(kind, 0, 0, names, length);                                     \
  }                                                                        \
  pthread_mutex_unlock(&lock);                                             \
  errno = problem;                                                         \
  return result

static int rename_recorded(int a, const char *old, int b, const char *new, unsigned flags) {
  NAMES(KIND_RENAME, below_root(a, old, one), below_root(b, new, two),
        syscall(SYS_renameat2, a, old, b, new, flags));
}
int rename(const char *old, const char *new) {
  return rename_recorded(AT_FDCWD, old, AT_FDCWD, new, 0);
}
int renameat(int a, const char *old, int b, const char *new) {
  return rename_recorded(a, old, b, new, 0);
}
int renameat2(int a, const char *old, int b, const char *new, unsigned flags) {
  return rename_recorded(a, old, b, new, flags);
}

static int link_recorded(int a, const char *old, int b, const char *new, int flags) {
  NAMES(KIND_LINK, below_root(a, old, one), below_root(b, new, two),
        syscall(SYS_linkat, a, old, b, new, flags));
}
int link(const char *old, const char *new) {
  return link_recorded(AT_FDCWD, old, AT_FDCWD, new, 0);
}
int linkat(int a, const char *old, int b, const char *new, int flags) {
  return link_recorded(a, old, b, new, flags);
}

static int unlink_recorded(int directory, const char *path, int flags) {
  int kind = (flags & AT_REMOVEDIR) != 0 ? KIND_REMOVE_DIRECTORY : KIND_UNLINK;
  NAMES(kind, below_root(directory, path, one), (two[0] = 0, two),
        syscall(SYS_unlinkat, directory, path, flags));
}
int unlink(const char *path) { return unlink_recorded(AT_FDCWD, path, 0); }
int unlinkat(int directory, const char *path, int flags) {
  return unlink_recorded(directory, path, flags);
}
int remove(const char *path) {
  int result = unlink_recorded(AT_FDCWD, path, 0);
  if (result == 0 || (errno != EISDIR && errno != EPERM)) return result;
  return unlink_recorded(AT_FDCWD, path, AT_REMOVEDIR);
}
int rmdir(const char *path) { return unlink_recorded(AT_FDCWD, path, AT_REMOVEDIR); }

static int mkdir_recorded(int directory, const char *path, mode_t mode) {
  NAMES(KIND_MAKE_DIRECTORY, below_root(directory, path, one), (two[0] = 0, two),
        syscall(SYS_mkdirat, directory, path, mode));
}
int mkdir(const char *path, mode_t mode) { return mkdir_recorded(AT_FDCWD, path, mode); }
int mkdirat(int directory, const char *path, mode_t mode) {
  return mkdir_recorded(directory, path, mode);
}
