// Puts the files of a directory into a C++ source file, for assets.h:
//
//   embed_assets DIRECTORY OUTPUT.cc
//
// Writes OUTPUT.cc, and OUTPUT.cc.bin with the compressed contents, which the
// assembler includes: a large array in C++ compiles slowly. A directory that is
// missing has no files.

#include <openssl/sha.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

// The files that a page consists of. Others, such as maps of sources, are left
// out.
const std::pair<const char*, const char*> kTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/vnd.microsoft.icon"},
    {".woff2", "font/woff2"},
    {".json", "application/json"},
    {".txt", "text/plain; charset=utf-8"},
    {".webmanifest", "application/manifest+json"},
};

std::string TypeOf(const fs::path& path) {
  for (const auto& [extension, type] : kTypes) {
    if (path.extension() == extension) return type;
  }
  return "";
}

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "embed_assets: %s\n", message.c_str());
  std::exit(1);
}

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string contents((std::istreambuf_iterator<char>(file)),
                       std::istreambuf_iterator<char>());
  if (file.bad()) Fail("cannot read " + path.string());
  return contents;
}

void Write(const fs::path& path, const std::string& contents) {
  std::ofstream file(path, std::ios::binary);
  file << contents;
  file.close();
  if (!file) Fail("cannot write " + path.string());
}

// The header has no time, so that equal files give equal bytes.
std::string Gzip(const std::string& contents) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 9,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    Fail("zlib has no memory");
  }
  std::string compressed(deflateBound(&stream, contents.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
  stream.avail_in = static_cast<uInt>(contents.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) Fail("zlib failed");
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  return compressed;
}

std::string Tag(const std::string& contents) {
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(contents.data()),
         contents.size(), hash);
  std::string text;
  for (int i = 0; i < 8; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", hash[i]);
    text += digits;
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) Fail("usage: embed_assets DIRECTORY OUTPUT.cc");
  const fs::path directory = argv[1];
  const fs::path output = argv[2];
  std::map<std::string, fs::path> files;  // by path in the page
  std::error_code missing;
  for (auto entry = fs::recursive_directory_iterator(directory, missing);
       entry != fs::recursive_directory_iterator(); ++entry) {
    if (!entry->is_regular_file() || TypeOf(entry->path()).empty()) continue;
    files["/" + entry->path().lexically_relative(directory).generic_string()] =
        entry->path();
  }
  std::string table;
  std::string bytes;
  for (const auto& [path, file] : files) {
    if (path.find_first_of("\"\\") != path.npos) Fail("odd name: " + path);
    const std::string contents = Read(file);
    const std::string compressed = Gzip(contents);
    table += "    {\"" + path + "\", \"" + TypeOf(file) + "\", \"\\\"" +
             Tag(contents) + "\\\"\", {fleetperf_page + " +
             std::to_string(bytes.size()) + ", " +
             std::to_string(compressed.size()) + "}, " +
             std::to_string(contents.size()) + "},\n";
    bytes += compressed;
  }
  const std::string blob = output.string() + ".bin";
  Write(blob, bytes);
  std::string code =
      "// Made by embed_assets.\n"
      "#include \"aggregator/web/assets.h\"\n\n";
  if (!files.empty()) {
    code +=
        "asm(\".section .rodata\\n.hidden fleetperf_page\\n"
        ".globl fleetperf_page\\nfleetperf_page:\\n.incbin \\\"" +
        blob +
        "\\\"\\n.previous\\n\");\n"
        "extern \"C\" const char fleetperf_page[];\n\n";
  }
  code +=
      "namespace fleetperf::aggregator::web {\n\n"
      "Assets Assets::OfExecutable() {\n";
  if (files.empty()) {
    code += "  return Assets({});\n";
  } else {
    code += "  static const Asset kAssets[] = {\n" + table +
            "  };\n  return Assets(kAssets);\n";
  }
  code += "}\n\n}  // namespace fleetperf::aggregator::web\n";
  Write(output, code);
  return 0;
}
