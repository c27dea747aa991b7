// SPDX-License-Identifier: Apache-2.0
// The documents of an image, each bent in one place.
#include <gtest/gtest.h>

#include "policy/json.h"
#include "snapshotter/importer/oci_documents.h"
#include "tests/unit/snapshotter/image_support.h"

namespace bailiff::test {
namespace {

using snapshotter::MediaType;
using snapshotter::ParseDockerManifest;
using snapshotter::ParseImageConfig;
using snapshotter::ParseIndex;
using snapshotter::ParseLayoutMarker;
using snapshotter::ParseManifest;

const std::string kH(64, 'a');

std::string With(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const std::string kIndex =
    R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":)"
    R"("application/vnd.oci.image.manifest.v1+json","digest":"sha256:)" +
    kH +
    R"(","size":7,"platform":{"architecture":"amd64","os":"linux"},"annotations":{"a":"b"}}]})";
const std::string kManifest =
    R"({"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:)" +
    kH +
    R"(","size":1},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:)" +
    kH + R"(","size":2}]})";
const std::string kConfig =
    R"({"architecture":"amd64","os":"linux","config":{"Env":["PATH=/bin","A="],"Cmd":["sh"],"User":"root",)"
    R"("WorkingDir":"/proc/self/fd/7","Volumes":null,"Healthcheck":null},"rootfs":{"type":"layers","diff_ids":["sha256:)" +
    kH + R"("]},"history":[{"created_by":"x"}]})";
const std::string kDocker =
    R"([{"Config":")" + kH +
    R"(.json","RepoTags":null,"Layers":["a/layer.tar","b.tar"],"LayerSources":{}}])";

TEST(OciDocuments, good_ones_say_what_they_say) {
  EXPECT_TRUE(ParseLayoutMarker(R"({"imageLayoutVersion":"1.0.0"})", "oci-layout").ok());
  const auto index = ParseIndex(kIndex, "index.json");
  ASSERT_TRUE(index.ok()) << Why(index);
  ASSERT_EQ(index->size(), 1U);
  EXPECT_EQ(index->front().type, MediaType::kManifest);
  EXPECT_EQ(index->front().digest.hex(), kH);
  EXPECT_EQ(index->front().size, 7U);
  EXPECT_TRUE(index->front().has_platform);
  EXPECT_TRUE(index->front().for_us);
  const auto manifest = ParseManifest(kManifest, "m");
  ASSERT_TRUE(manifest.ok()) << Why(manifest);
  EXPECT_EQ(manifest->config.size, 1U);
  ASSERT_EQ(manifest->layers.size(), 1U);
  EXPECT_EQ(manifest->layers.front().type, MediaType::kLayerGzip);
  const auto config = ParseImageConfig(kConfig, "c");
  ASSERT_TRUE(config.ok()) << Why(config);
  EXPECT_EQ(config->facts, (policy::ImageFacts{{"PATH=/bin", "A="}, false, false}));
  EXPECT_EQ(config->diff_ids.size(), 1U);
  const auto docker = ParseDockerManifest(kDocker, "manifest.json");
  ASSERT_TRUE(docker.ok()) << Why(docker);
  EXPECT_EQ(docker->config, kH + ".json");
  EXPECT_EQ(docker->layers, (std::vector<std::string>{"a/layer.tar", "b.tar"}));
}

TEST(OciDocuments, every_media_type_of_a_layer_is_known_and_no_other) {
  for (const auto& [name, type] : std::map<std::string, MediaType>{
           {"application/vnd.oci.image.layer.v1.tar", MediaType::kLayer},
           {"application/vnd.oci.image.layer.v1.tar+zstd", MediaType::kLayerZstd},
           {"application/vnd.docker.image.rootfs.diff.tar", MediaType::kLayer},
           {"application/vnd.docker.image.rootfs.diff.tar.gzip", MediaType::kLayerGzip},
           {"application/vnd.docker.image.rootfs.diff.tar.zstd", MediaType::kLayerZstd}}) {
    const auto manifest =
        ParseManifest(With(kManifest, "application/vnd.oci.image.layer.v1.tar+gzip", name), "m");
    ASSERT_TRUE(manifest.ok()) << name << ": " << Why(manifest);
    EXPECT_EQ(manifest->layers.front().type, type) << name;
  }
  for (const char* name : {"application/vnd.oci.image.layer.v1.tar+gzip+encrypted",
                           "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
                           "application/vnd.oci.image.config.v1+json", "text/plain"})
    EXPECT_EQ(CodeOf(ParseManifest(
                  With(kManifest, "application/vnd.oci.image.layer.v1.tar+gzip", name), "m")),
              "image.media_type.refused")
        << name;
  EXPECT_EQ(CodeOf(ParseManifest(With(kManifest, "application/vnd.oci.image.config.v1+json",
                                      "application/vnd.cncf.helm.config.v1+json"),
                                 "m")),
            "image.media_type.refused");
}

struct Bend {
  const char* name;
  const std::string& document;
  std::string from;
  std::string to;
};

TEST(OciDocuments, b09_g01_what_two_readers_could_take_differently_is_refused) {
  const std::string big = "9223372036854775808";
  for (const Bend& bend : std::vector<Bend>{
           {"a member twice", kManifest, R"("schemaVersion":2,)",
            R"("schemaVersion":2,"schemaVersion":2,)"},
           {"a member twice, escaped", kManifest, R"("schemaVersion":2,)",
            R"("schemaVersion":2,"l\u0061yers":[],)"},
           {"another case", kManifest, R"("schemaVersion":2,)",
            R"("schemaVersion":2,"Layers":[],)"},
           {"another case of digest", kManifest, R"("size":2)", R"("size":2,"DIGEST":"x")"},
           {"another case of a platform", kIndex, R"("os":"linux")",
            R"("os":"linux","OS":"windows")"},
           {"another case of manifests", kIndex, R"("schemaVersion":2,)",
            R"("schemaVersion":2,"Manifests":[],)"},
           {"another case of Env", kConfig, R"("Cmd")", R"("env":["X=1"],"Cmd")"},
           {"another case of Volumes", kConfig, R"("Cmd")", R"("volumes":{"/x":{}},"Cmd")"},
           {"another case of rootfs", kConfig, R"("os":"linux",)", R"("os":"linux","RootFS":{},)"},
           {"another case of Config", kDocker, R"("RepoTags")", R"("config":"x","RepoTags")"},
           {"b09 a digest that is a path", kManifest, "sha256:" + kH, "sha256:../../../../tmp/pwn"},
           {"b09 63 digits", kManifest, "sha256:" + kH, "sha256:" + kH.substr(1)},
           {"b09 65 digits", kManifest, "sha256:" + kH, "sha256:a" + kH},
           {"b09 upper case", kManifest, "sha256:" + kH, "SHA256:" + kH},
           {"b09 upper-case digits", kManifest, "sha256:" + kH, "sha256:" + std::string(64, 'A')},
           {"b09 another algorithm", kManifest, "sha256:" + kH, "sha512:" + kH + kH},
           {"b09 no algorithm", kManifest, "sha256:" + kH, kH},
           {"b09 a digest that is a number", kManifest, R"("sha256:)" + kH + "\"", "7"},
           {"b09 a negative size", kManifest, R"("size":2)", R"("size":-2)"},
           {"b09 2^63", kManifest, R"("size":2)", R"("size":)" + big},
           {"b09 a size with a fraction", kManifest, R"("size":2)", R"("size":2.5)"},
           {"b09 a size as text", kManifest, R"("size":2)", R"("size":"2")"},
           {"b09 no size", kManifest, R"(,"size":2)", ""},
           {"b09 no digest", kIndex, R"("digest":"sha256:)" + kH + "\",", ""},
           {"no media type", kIndex, R"("mediaType":"application/vnd.oci.image.manifest.v1+json",)",
            ""},
           {"another schema version", kIndex, R"("schemaVersion":2)", R"("schemaVersion":1)"},
           {"no schema version", kManifest, R"("schemaVersion":2,)", ""},
           {"b09 it says it is something else", kManifest, R"("schemaVersion":2,)",
            R"("schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json",)"},
           {"no layers", kManifest, R"("layers":[)", R"("layers":[],"others":[)"},
           {"layers that are none", kManifest, R"("layers":[)", R"("layers":{},"others":[)"},
           {"layers null", kManifest, R"("layers":[)", R"("layers":null,"others":[)"},
           {"no config", kManifest, R"("config")", R"("konfig")"},
           {"a descriptor that is none", kManifest, R"("layers":[)", R"("layers":[7,)"},
           {"a platform that is none", kIndex,
            R"("platform":{"architecture":"amd64","os":"linux"})", R"("platform":"linux")"},
           {"a platform without os", kIndex, R"(,"os":"linux")", ""},
           {"no manifests", kIndex, R"("manifests")", R"("other")"},
           {"Env of numbers", kConfig, R"(["PATH=/bin","A="])", "[7]"},
           {"Env that is no list", kConfig, R"(["PATH=/bin","A="])", R"("PATH=/bin")"},
           {"Env with NUL", kConfig, "A=", R"(A=\u0000)"},
           {"Env with half a surrogate", kConfig, "A=", R"(A=\ud800)"},
           {"Env over its bound", kConfig, "A=", "A=" + std::string(32 * 1024, 'x')},
           {"Volumes that are no object", kConfig, R"("Volumes":null)", R"("Volumes":["/data"])"},
           {"Healthcheck that is no object", kConfig, R"("Healthcheck":null)",
            R"("Healthcheck":"true")"},
           {"Test that is no list", kConfig, R"("Healthcheck":null)",
            R"("Healthcheck":{"Test":"true"})"},
           {"another case of Test", kConfig, R"("Healthcheck":null)",
            R"("Healthcheck":{"test":["CMD","x"]})"},
           {"config that is no object", kConfig,
            R"("config":{"Env":["PATH=/bin","A="],"Cmd":["sh"],"User":"root",)",
            R"("config":7,"x":{"Cmd":["sh"],)"},
           {"no architecture", kConfig, R"("architecture":"amd64",)", ""},
           {"no os", kConfig, R"("os":"linux",)", ""},
           {"no rootfs", kConfig, R"("rootfs")", R"("root")"},
           {"another type of rootfs", kConfig, R"("type":"layers")", R"("type":"flat")"},
           {"no diff_ids", kConfig, R"("diff_ids":[)", R"("diff_ids":[],"x":[)"},
           {"a diff_id that is none", kConfig, R"("diff_ids":[)", R"("diff_ids":[7,)"},
           {"Layers null", kDocker, R"(["a/layer.tar","b.tar"])", "null"},
           {"Layers empty", kDocker, R"(["a/layer.tar","b.tar"])", "[]"},
           {"Layers of numbers", kDocker, R"(["a/layer.tar","b.tar"])", "[1]"},
           {"a layer without a name", kDocker, "b.tar", ""},
           {"a layer with a long name", kDocker, "b.tar", std::string(256, 'b')},
           {"no Config", kDocker, R"("Config":")" + kH + ".json\",", ""},
           {"Config null", kDocker, "\"" + kH + ".json\"", "null"},
           {"an image that is none", kDocker, R"([{"Config")", R"([[],{"Config")"},
           {"a byte order mark", kIndex, "{", "\xef\xbb\xbf{"},
           {"text after it", kIndex, "]}", "]}x"},
           {"two documents", kManifest, "}]}", "}]}" + kManifest},
           {"cut short", kManifest, "}]}", "}"},
           {"not UTF-8", kConfig, "root", "r\xffot"},
           {"a comment", kConfig, "{", "{/**/"}}) {
    const std::string bent = With(bend.document, bend.from, bend.to);
    std::string code;
    if (&bend.document == &kIndex) code = CodeOf(ParseIndex(bent, "index.json"));
    if (&bend.document == &kManifest) code = CodeOf(ParseManifest(bent, "m"));
    if (&bend.document == &kConfig) code = CodeOf(ParseImageConfig(bent, "c"));
    if (&bend.document == &kDocker) code = CodeOf(ParseDockerManifest(bent, "manifest.json"));
    const bool several = std::string(bend.name) == "an image that is none";
    EXPECT_EQ(code, several ? "image.manifest.ambiguous" : "image.document.malformed")
        << bend.name << "\n"
        << bent.substr(0, 400);
  }
}

TEST(OciDocuments, another_platform_is_refused_as_such) {
  for (const char* other : {R"("architecture":"arm64")", R"("architecture":"AMD64")"})
    EXPECT_EQ(CodeOf(ParseImageConfig(With(kConfig, R"("architecture":"amd64")", other), "c")),
              "image.platform.refused");
  EXPECT_EQ(CodeOf(ParseImageConfig(With(kConfig, R"("os":"linux")", R"("os":"windows")"), "c")),
            "image.platform.refused");
  EXPECT_FALSE(ParseIndex(With(kIndex, "amd64", "arm64"), "i")->front().for_us);
}

TEST(OciDocuments, one_image_of_docker_and_not_two) {
  const std::string one = kDocker.substr(1, kDocker.size() - 2);
  EXPECT_EQ(CodeOf(ParseDockerManifest("[" + one + "," + one + "]", "m")),
            "image.manifest.ambiguous");
  EXPECT_EQ(CodeOf(ParseDockerManifest("[]", "m")), "image.document.malformed");
  EXPECT_EQ(CodeOf(ParseDockerManifest(one, "m")), "image.document.malformed");
}

TEST(OciDocuments, R5_13_R5_14_volumes_and_health_commands_are_seen) {
  for (const auto& [text, volumes] :
       std::map<std::string, bool>{{R"({})", false},
                                   {"null", false},
                                   {R"({"/data":{}})", true},
                                   {R"({"/source/v":{},"/usr/lib":{}})", true}}) {
    const auto config =
        ParseImageConfig(With(kConfig, R"("Volumes":null)", R"("Volumes":)" + text), "c");
    ASSERT_TRUE(config.ok()) << text << ": " << Why(config);
    EXPECT_EQ(config->facts.volumes, volumes) << text;
  }
  for (const auto& [text, health] :
       std::map<std::string, bool>{{"{}", false},
                                   {"null", false},
                                   {R"({"Test":null})", false},
                                   {R"({"Test":[]})", false},
                                   {R"({"Test":["NONE"]})", false},
                                   {R"({"Interval":30000000000})", false},
                                   {R"({"Test":["CMD","true"]})", true},
                                   {R"({"Test":["CMD-SHELL","true"]})", true},
                                   {R"({"Test":["NONE","x"]})", true}}) {
    const auto config =
        ParseImageConfig(With(kConfig, R"("Healthcheck":null)", R"("Healthcheck":)" + text), "c");
    ASSERT_TRUE(config.ok()) << text << ": " << Why(config);
    EXPECT_EQ(config->facts.health_command, health) << text;
  }
}

TEST(OciDocuments, bounds_hold_to_the_last_item) {
  const auto layers = [](std::size_t count) {
    std::vector<Layer> many;
    for (std::size_t i = 0; i < count; ++i) many.push_back({std::to_string(i)});
    return MadeImage{many};
  };
  EXPECT_TRUE(ParseManifest(layers(128).Manifest(), "m").ok());
  EXPECT_TRUE(ParseImageConfig(layers(128).Config(), "c").ok());
  EXPECT_EQ(CodeOf(ParseManifest(layers(129).Manifest(), "m")), "image.document.malformed");
  EXPECT_EQ(CodeOf(ParseImageConfig(layers(129).Config(), "c")), "image.document.malformed");
  const auto environment = [](std::size_t count) {
    std::string list = "[";
    for (std::size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + std::string(R"("A=")");
    return With(kConfig, R"(["PATH=/bin","A="])", list + "]");
  };
  EXPECT_TRUE(ParseImageConfig(environment(64), "c").ok());
  EXPECT_EQ(CodeOf(ParseImageConfig(environment(65), "c")), "image.document.malformed");
}

TEST(OciDocuments, g06_deep_and_huge_documents_are_refused_at_once) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += R"({"a":)";
  for (const std::string& bytes :
       {deep, nested,
        With(kManifest, R"("schemaVersion":2,)", R"("schemaVersion":2,"x":)" + deep + ","),
        std::string(policy::kMaxDocument + 1, ' '), std::string("\0", 1), std::string()}) {
    EXPECT_EQ(CodeOf(ParseIndex(bytes, "i")), "image.document.malformed");
    EXPECT_EQ(CodeOf(ParseManifest(bytes, "m")), "image.document.malformed");
    EXPECT_EQ(CodeOf(ParseImageConfig(bytes, "c")), "image.document.malformed");
    EXPECT_EQ(CodeOf(ParseDockerManifest(bytes, "d")), "image.document.malformed");
    EXPECT_EQ(CodeOf(ParseLayoutMarker(bytes, "l")), "image.document.malformed");
  }
  for (const char* bytes : {R"({"imageLayoutVersion":"1.0.1"})", R"({"imageLayoutVersion":1})",
                            "{}", R"({"imageLayoutVersion":"1.0.0","ImageLayoutVersion":"2"})"})
    EXPECT_EQ(CodeOf(ParseLayoutMarker(bytes, "l")), "image.document.malformed") << bytes;
}

}  // namespace
}  // namespace bailiff::test
