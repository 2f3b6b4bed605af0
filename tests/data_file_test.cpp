#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reel/data/file.h"
#include "reel/data/sha256.h"
#include "reel/tests/data_support.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using namespace reel::data;
using namespace reel::test;

namespace {

constexpr int kPieces = 64;
constexpr std::size_t kPiece = 10'000;

/// Writes kPieces pieces of one letter; kills the own process before piece `kill_at`.
void write_letters(const std::string& path, char letter, int kill_at = -1) {
  const std::string piece(kPiece, letter);
  write_atomically(path, [&](Writer& out) {
    for (int i = 0; i < kPieces; ++i) {
      if (i == kill_at) raise(SIGKILL);
      out.write(piece.data(), piece.size());
    }
    if (kill_at == kPieces) raise(SIGKILL);
  });
}

std::string letters(char c) {
  return std::string(kPieces * kPiece, c);
}

}  // namespace

TEST_CASE("read_file gives plain and compressed content", "[data]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 700'000; ++i) text += static_cast<char>(i * 7 + i / 251);
  CHECK(read_file(put_file(folder / "plain", text)) == text);
  CHECK(read_file(put_file(folder / "empty", "")).empty());
  CHECK(read_file(folder / "plain", 700'000) == text);
  CHECK(message_of([&] { read_file(folder / "plain", 699'999); }).find("700000") != std::string::npos);
  CHECK_THROWS_AS(read_file(folder / "absent"), IoError);
  CHECK_THROWS_AS(read_file(folder.path()), IoError);
  if (!has_zlib()) return;
  const std::string packed = gzip_stored(text);
  CHECK(read_file(put_file(folder / "packed", packed)) == text);
  CHECK(read_file(put_file(folder / "two", packed + gzip_stored("more"))) == text + "more");
  CHECK(read_file(folder / "packed", 700'000) == text);
  CHECK_THROWS_AS(read_file(folder / "packed", 699'999), DataError);
  CHECK_THROWS_AS(read_file(put_file(folder / "tail", packed + "garbage")), DataError);
}

TEST_CASE("damaged gzip content is found at every byte", "[data]") {
  if (!has_zlib()) return;
  const TemporaryFolder folder;
  const std::string packed = gzip_stored("some content that is compressed");
  for (std::size_t n = 2; n < packed.size(); ++n) {
    INFO("cut at " << n);
    CHECK_THROWS_AS(read_file(put_file(folder / "cut", packed.substr(0, n))), DataError);
  }
  for (std::size_t i = 10; i < packed.size(); ++i) {  // the ten bytes before hold times and flags
    std::string damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    INFO("bit flipped in byte " << i);
    CHECK_THROWS_AS(read_file(put_file(folder / "flip", damaged)), DataError);
  }
}

TEST_CASE("sizes beyond 4 GiB are whole numbers", "[data]") {
  const TemporaryFolder folder;
  const std::string path = put_file(folder / "sparse", "x");
  std::filesystem::resize_file(path, 5'000'000'000u);
  Reader reader(path);
  CHECK(*reader.remaining() == 5'000'000'000);
  const std::string error = message_of([&] { reader.read_rest({1'000, 5'000'001}); });
  CHECK(error.find("5000001000") != std::string::npos);
  CHECK(error.find("5000000000") != std::string::npos);
}

TEST_CASE("write_atomically replaces the whole file and keeps its mode", "[data]") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_letters(path, 'a');
  CHECK(get_file(path) == letters('a'));
  REQUIRE(chmod(path.c_str(), 0640) == 0);
  write_letters(path, 'b');
  CHECK(get_file(path) == letters('b'));
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
  CHECK(folder.files() == 1);
}

TEST_CASE("a failed write keeps the old file and leaves nothing behind", "[data]") {
  const TemporaryFolder folder;
  const std::string path = put_file(folder / "file", "old");
  SECTION("the writer throws") {
    CHECK_THROWS_WITH(write_atomically(path,
                                       [](Writer& out) {
                                         out.write("new", 3);
                                         throw std::runtime_error("mine");
                                       }),
                      "mine");
  }
  SECTION("the disk is full") {  // a limit on the size of files acts like it
    rlimit old{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
    const rlimit small{100'000, old.rlim_max};
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const std::string error = message_of<IoError>([&] { write_letters(path, 'n'); });
    REQUIRE(setrlimit(RLIMIT_FSIZE, &old) == 0);
    signal(SIGXFSZ, handler);
    CHECK(error.find(path) == 0);
    CHECK(error.find("writing failed") != std::string::npos);
  }
  CHECK(get_file(path) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("folders that cannot be written are named", "[data]") {
  const TemporaryFolder folder;
  CHECK(message_of<IoError>([&] { write_letters(folder / "absent/file", 'a'); }).find("absent") != std::string::npos);
  CHECK_THROWS_AS(write_letters(put_file(folder / "file", "") + "/below", 'a'), IoError);
  CHECK_THROWS_AS(write_letters(folder.path() + "/", 'a'), IoError);
  REQUIRE(mkdir((folder / "folder").c_str(), 0755) == 0);
  CHECK_THROWS_AS(write_letters(folder / "folder", 'a'), IoError);  // rename refuses
  CHECK(folder.files() == 2);

  REQUIRE(chmod(folder.path().c_str(), 0555) == 0);
  const bool root = geteuid() == 0;  // to whom no folder is closed
  if (root) REQUIRE(seteuid(65534) == 0);
  const std::string error = message_of<IoError>([&] { write_letters(folder / "new", 'a'); });
  if (root) REQUIRE(seteuid(0) == 0);
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  CHECK(error.find("ermission denied") != std::string::npos);
  CHECK(folder.files() == 2);
}

TEST_CASE("a writer killed at any piece leaves the old file", "[data]") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_letters(path, 'a');
  for (int at = 0; at <= kPieces; ++at) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      write_letters(path, 'b', at);
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    INFO("killed before piece " << at);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(get_file(path) == letters('a'));
  }
  write_letters(path, 'c');  // what the killed ones left is no hindrance
  CHECK(get_file(path) == letters('c'));
}

TEST_CASE("a writer killed at any moment leaves a whole file", "[data]") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_letters(path, 'a');
  for (int k = 0; k < 60; ++k) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (char letter = 'b';; letter = letter == 'b' ? 'a' : 'b') {
        write_letters(path, letter);
        if (write(ready[1], "x", 1) != 1) _exit(1);
      }
    }
    close(ready[1]);
    char byte;
    const bool wrote = read(ready[0], &byte, 1) == 1;  // the kill comes after a first replacement
    usleep(static_cast<unsigned>(k * 37));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ready[0]);
    REQUIRE(wrote);
    const std::string content = get_file(path);
    const bool whole = content == letters('a') || content == letters('b');
    REQUIRE(whole);
  }
}

TEST_CASE("SHA-256 gives the digests of FIPS 180-4", "[data]") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnop"
                   "qklmnopqrlmnopqrs"
                   "mnopqrstnopqrstu") == "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  const std::string million(1'000'000, 'a');
  const std::string digest = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
  CHECK(sha256_hex(million) == digest);
  for (const std::size_t piece : {1u, 63u, 64u, 65u, 4097u}) {
    Sha256 h;
    for (std::size_t at = 0; at < million.size(); at += piece)
      h.update(million.data() + at, std::min(piece, million.size() - at));
    CHECK(h.hex() == digest);
  }
  const TemporaryFolder folder;
  CHECK(sha256_of_file(put_file(folder / "million", million)) == digest);
}
