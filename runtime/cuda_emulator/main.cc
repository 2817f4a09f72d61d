// The runner: library and request in, buffers changed in their file. A request is lines of text:
//   blocks threads cluster shared resident seed dependent arguments
//   p <constant> <offset> <bytes> <name>     a buffer at an offset of the data file
//   s <hex>                                      a scalar's bytes as one number
//   m <argument> <bytes> <swizzle> <axes> {<extent> <stride> <box>}   a tensor map of a buffer
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner.h"

struct Argument { bool buffer, constant; size_t offset, bytes; unsigned long long value; TensorBox box; };

// A tensor map: every kernel's parameter of 128 bytes begins with the box.
static_assert(sizeof(TensorBox) <= 128, "a tensor map has 128 bytes");

bool read_map(FILE* request, TensorBox& box, int& of) {
  if (fscanf(request, "%d %u %u %d", &of, &box.size, &box.swizzle, &box.rank) != 4 || box.rank > 5) return false;
  box.elements = 1;
  for (int d = 0; d < box.rank; ++d) {
    if (fscanf(request, "%lld %lld %u", &box.extents[d], &box.strides[d], &box.box[d]) != 3) return false;
    box.elements *= box.box[d];
  }
  return true;
}

int main(int count, char** words) {
  if (count != 4) return 2;
  void* library = dlopen(words[1], RTLD_NOW);
  if (!library) emu_fail("%s", dlerror());
  void (*launch)(void**) = (void (*)(void**))dlsym(library, "emu_launch");
  FILE* request = fopen(words[2], "r");
  unsigned blocks, threads, cluster, shared, resident, dependent, arguments;
  unsigned long long seed;
  if (!launch || !request ||
      fscanf(request, "%u %u %u %u %u %llu %u %u", &blocks, &threads, &cluster, &shared, &resident, &seed, &dependent, &arguments) != 8)
    return 2;
  const int file = open(words[3], O_RDWR);
  struct stat about;
  if (file < 0 || fstat(file, &about)) return 2;
  unsigned char* data = nullptr;
  if (about.st_size) {
    data = (unsigned char*)mmap(nullptr, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) return 2;
  }
  emu_random.state = seed * 0x9e3779b97f4a7c15ull + 0x1234567;
  set_shared(shared);
  std::vector<Argument> given(arguments);  // never moved: addresses into it are handed on
  std::vector<void*> addresses;
  for (Argument& a : given) {
    char kind, name[256];
    int constant;
    if (fscanf(request, " %c", &kind) != 1) return 2;
    a.buffer = kind == 'p';
    if (kind == 'm') {
      int of;
      if (!read_map(request, a.box, of)) return 2;
      a.box.base = (unsigned char*)(uintptr_t)given[(size_t)of].value;
      addresses.push_back(&a.box);
      continue;
    }
    if (!a.buffer) {
      if (fscanf(request, "%llx", &a.value) != 1) return 2;
    } else {
      size_t align;
      if (fscanf(request, "%d %zu %zu %zu %255s", &constant, &a.offset, &a.bytes, &align, name) != 5) return 2;
      a.constant = constant;
      a.value = (unsigned long long)(uintptr_t)guarded(name, data + a.offset, a.bytes, align, a.constant);
    }
    addresses.push_back(&a.value);
  }
  install_handlers();
  run_grid(launch, addresses.data(), blocks, threads, cluster, resident, seed % 2, dependent);
  check_guards();
  for (const Argument& a : given)
    if (a.buffer && !a.constant) memcpy(data + a.offset, (void*)(uintptr_t)a.value, a.bytes);
  return 0;
}
