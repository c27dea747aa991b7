// SPDX-License-Identifier: Apache-2.0
// The hash that names git's objects refuses what the published collision attacks on SHA-1 make. No
// git object with such bytes is known: git hashes a header first, and a collision holds for the
// header it was computed for (a new one costs 2^63 steps). So this asks the very function that
// every object goes through, inside libgit2, about the published messages themselves.
#include <gtest/gtest.h>
#include <openssl/sha.h>

#include <array>
#include <string>

#include "snapshotter/importer/git_store.h"

extern "C" {
int git_hash_buf(unsigned char* out, const void* data, std::size_t len, int algorithm);
struct git_str_vec {
  void* data;
  std::size_t len;
};
int git_hash_vec(unsigned char* out, git_str_vec* parts, std::size_t n, int algorithm);
}

namespace bailiff::test {
namespace {

constexpr int kSha1 = 1;  // GIT_HASH_ALGORITHM_SHA1 of libgit2 1.5

std::string Bytes(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

// M. Stevens, E. Bursztein, P. Karpman, A. Albertini, Y. Markov: The first collision for full SHA-1
// (2017). The header of a PDF, two blocks that nearly collide, and what is different in the second
// message: the same bits in both blocks.
const std::string kPrefix =
    "%PDF-1.3\n%\xe2\xe3\xcf\xd3\n\n\n1 0 obj\n<</Width 2 0 R/Height 3 0 R/Type 4 0 R/Subtype 5 0 "
    "R/"
    "Filter 6 0 R/ColorSpace 7 0 R/Length 8 0 R/BitsPerComponent 8>>\nstream\n" +
    Bytes("ffd8fffe0024") + "SHA-1 is dead!!!!!" + Bytes("852fec092339759c39b1a1c63c4c97e1fffe01");
const std::string kBlocks = Bytes(
    "7346dc9166b67e118f029ab621b2560ff9ca67cca8c7f85ba84c79030c2b3de2"
    "18f86db3a90901d5df45c14f26fedfb3dc38e96ac22fe7bd728f0e45bce046d2"
    "3c570feb141398bb552ef5a0a82be331fea48037b8b5d71f0e332edf93ac3500"
    "eb4ddc0decc1a864790c782c76215660dd309791d06bd0af3f98cda4bc4629b1");
const std::string kDifference = Bytes(
    "0c000002c0000010b400001c3c000004bc00001a200000102400001cec000014"
    "0c000002c0000010b400001c2c000004bc000018b00000100000000cb8000010");

std::array<std::string, 2> Collision() {
  std::string other = kBlocks;
  for (std::size_t i = 0; i < other.size(); ++i)
    other[i] = static_cast<char>(other[i] ^ kDifference[i % kDifference.size()]);
  return {kPrefix + kBlocks, kPrefix + other};
}

std::string Sha1(const std::string& bytes) {
  std::string digest(SHA_DIGEST_LENGTH, '\0');
  SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
       reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

// As libgit2 hashes a header and a body: in two parts, cut at `cut`. Nothing when it refuses.
std::string Libgit2Sha1(std::string bytes, std::size_t cut) {
  std::string digest(SHA_DIGEST_LENGTH, '\0');
  std::array<git_str_vec, 2> parts{{{bytes.data(), cut}, {bytes.data() + cut, bytes.size() - cut}}};
  const int status = git_hash_vec(reinterpret_cast<unsigned char*>(digest.data()), parts.data(),
                                  parts.size(), kSha1);
  return status == 0 ? digest : "";
}

TEST(GitSha1, b12_the_two_messages_collide_for_a_hash_that_does_not_look) {
  const auto [one, two] = Collision();
  ASSERT_EQ(one.size(), 320U);
  ASSERT_NE(one, two);
  EXPECT_EQ(Sha1(one), Sha1(two));
}

TEST(GitSha1, b12_libgit2_refuses_both_and_whatever_follows_them) {
  ASSERT_TRUE(snapshotter::InitialiseGit().ok());
  for (const std::string& message : Collision()) {
    for (const std::size_t cut : {0U, 7U, 64U, 192U, 256U, 300U}) {
      EXPECT_EQ(Libgit2Sha1(message, cut), "") << cut;
      EXPECT_EQ(Libgit2Sha1(message + "more of the file", cut), "") << cut;
    }
    std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
    EXPECT_NE(git_hash_buf(digest.data(), message.data(), message.size(), kSha1), 0);
  }
}

TEST(GitSha1, b12_libgit2_takes_everything_else_and_gives_its_sha1) {
  ASSERT_TRUE(snapshotter::InitialiseGit().ok());
  for (std::string message : Collision()) {
    EXPECT_EQ(Libgit2Sha1(message.substr(0, 256), 64), Sha1(message.substr(0, 256)));
    message[200] = static_cast<char>(message[200] ^ 1);
    EXPECT_EQ(Libgit2Sha1(message, 64), Sha1(message));
    // Behind a header of git's the same bytes collide with nothing, and are an object like others.
    const auto id = snapshotter::HashGitObject(snapshotter::GitType::kBlob, Collision()[0]);
    ASSERT_TRUE(id.ok());
    EXPECT_EQ(id->raw(), Sha1(std::string("blob 320") + '\0' + Collision()[0]));
  }
}

}  // namespace
}  // namespace bailiff::test
