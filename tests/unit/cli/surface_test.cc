// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "controller/cli/live_processes.h"
#include "controller/cli/surface_document.h"

namespace bailiff::controller::cli {
namespace {

using testing::HasSubstr;

std::string FileOf(const std::string& path) {
  std::ifstream file(std::string(BAILIFF_TEST_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Surface, the_committed_copy_is_the_table_that_runs) {
  EXPECT_EQ(FileOf("ipc/PROTOCOL.md"), SurfaceDocument())
      << "bailiff surface > ipc/PROTOCOL.md, and read what has changed";
}

// Every arm of every oneof of the .proto files, both directions.
TEST(Surface, every_message_of_the_proto_files_is_in_it) {
  const std::string document = SurfaceDocument();
  std::size_t arms = 0;
  for (const char* name : {"ipc/collector.proto", "ipc/warden.proto", "ipc/snapshotter.proto"}) {
    const std::string proto = FileOf(name);
    const std::regex oneof("oneof [a-z]+ \\{([^}]*)\\}");
    for (std::sregex_iterator at(proto.begin(), proto.end(), oneof), end; at != end; ++at) {
      const std::string body = (*at)[1];
      const std::regex arm("([A-Z][A-Za-z]+) [a-z_]+ = ");
      for (std::sregex_iterator message(body.begin(), body.end(), arm), last; message != last;
           ++message) {
        EXPECT_THAT(document, HasSubstr((*message)[1].str())) << name;
        ++arms;
      }
    }
  }
  EXPECT_GE(arms, 20U);
}

TEST(Surface, every_route_says_who_could_lie_and_has_a_bound) {
  for (const PeerRow& peer : Peers()) {
    for (const Route& route : peer.routes) {
      EXPECT_FALSE(route.liar.empty()) << route.message;
      EXPECT_GT(route.max_bytes, 0U) << route.message;
      EXPECT_LE(route.max_bytes, ipc::kMaxMessage) << route.message;
      EXPECT_FALSE(PhaseNames(route.phases).empty()) << route.message;
    }
  }
}

TEST(Surface, live_leaves_out_what_only_bears_the_name) {
  const auto processes = FindLiveProcesses();
  ASSERT_TRUE(processes.ok());
  for (const LiveProcess& process : *processes) EXPECT_FALSE(process.role.empty());
}

}  // namespace
}  // namespace bailiff::controller::cli
