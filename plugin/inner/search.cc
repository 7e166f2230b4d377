#include "inner/search.h"

#include <optional>
#include <vector>

#include "inner/elf_file.h"

namespace nnd::inner {
namespace {

Hit fail(Trouble trouble, std::string why) { return {0, Method::kNone, trouble, std::move(why)}; }

std::string words(std::size_t bytes) { return std::to_string(bytes / sizeof(void*)) + " words"; }

Hit by_symbol(const Module& module, const std::vector<Segment>& code, const char* symbol,
              const Shape& shape, const std::vector<ElfW(Sym)>& objects) {
  const std::string name = std::string("its symbol ") + symbol;
  if (objects.size() > 1) {
    return fail(Trouble::kSeveralFound,
                name + " occurs " + std::to_string(objects.size()) + " times");
  }
  const ElfW(Sym)& object = objects.front();
  if (object.st_size != shape.size()) {
    return fail(Trouble::kUnfit, name + " has " + words(object.st_size) + " where " +
                                     words(shape.size()) + " are expected");
  }
  const std::uintptr_t address = module.base + object.st_value;
  const std::string wrong = mismatch(module, code, shape, address);
  if (!wrong.empty()) return fail(Trouble::kUnfit, name + " does not fit: " + wrong);
  return {address, Method::kSymtab, Trouble::kNone, {}};
}

}  // namespace

Hit search(const Module& module, const char* symbol, const Shape& shape) {
  std::string why;
  const std::optional<ElfFile> file = ElfFile::open(module, &why);
  if (!file) return fail(Trouble::kFileReplaced, "its file " + why);
  why = file->differs_from(module);
  if (!why.empty()) return fail(Trouble::kFileReplaced, "its file was replaced: it " + why);

  const std::vector<Segment> code = code_ranges(module, *file);
  std::vector<ElfW(Sym)> objects;
  file->for_each_object(symbol, [&](const ElfW(Sym) & s) { objects.push_back(s); });
  if (!objects.empty()) return by_symbol(module, code, symbol, shape, objects);

  const std::vector<std::uintptr_t> places = scan(module, code, shape);
  const std::string quoted = '"' + std::string(shape.name) + '"';
  if (places.empty()) {
    return fail(Trouble::kNotFound, "it has neither the symbol " + std::string(symbol) +
                                        " nor a table of functions named " + quoted);
  }
  if (places.size() > 1) {
    return fail(Trouble::kSeveralFound,
                std::to_string(places.size()) + " tables of functions named " + quoted + " fit");
  }
  return {places.front(), Method::kShape, Trouble::kNone, {}};
}

}  // namespace nnd::inner
