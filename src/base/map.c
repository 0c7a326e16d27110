#include "base/map.h"
#include "base/file.h"
#include <sys/mman.h>
#include <unistd.h>

bool file_map(const char *path, FileMap *m, Error *e) {
    uintmax_t bytes;
    void *data = MAP_FAILED;
    *m = (FileMap){0};
    int fd = file_open(path, &bytes, e);
    if (fd < 0) return false;
    if (bytes && bytes <= SIZE_MAX)
        data = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data != MAP_FAILED) *m = (FileMap){data, (size_t)bytes};
    return m->data || !bytes ||
           error_set(e, STATUS_NO_MEMORY, "%s: no memory for its %ju bytes", path, bytes);
}

void file_unmap(FileMap *m) {
    if (m->data) munmap(m->data, m->size);
    *m = (FileMap){0};
}
