// SPDX-License-Identifier: Apache-2.0
// Revisions, images, names and the ids a person types.
#include <algorithm>

#include "tests/unit/store/support.h"

namespace bailiff::controller {
namespace {

using namespace test;

class Objects : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  Data data_{directory_.path()};
  Store store_ = data_.Open();
};

TEST_F(Objects, revision_in_full_and_by_unique_prefix) {
  ASSERT_OK(store_.InsertRevision(SampleRevision(1)));
  ASSERT_OK(store_.InsertRevision(SampleRevision(1)));  // the same row again
  RevisionRow far = SampleRevision(2);
  far.revision = "b" + far.revision.substr(1);
  ASSERT_OK(store_.InsertRevision(far));
  EXPECT_EQ(store_.FindRevision(SampleRevision(1).revision)->bytes, 1234);
  EXPECT_EQ(store_.FindRevision(far.revision.substr(0, 12))->revision, far.revision);
  ASSERT_OK(store_.InsertRevision(SampleRevision(3)));
  ASSERT_CODE(ErrorCode::kPrefixAmbiguous, store_.FindRevision(std::string(12, 'a')));
  ASSERT_CODE(ErrorCode::kPrefixShort, store_.FindRevision(far.revision.substr(0, 11)));
  ASSERT_CODE(ErrorCode::kRevisionUnknown, store_.FindRevision(std::string(12, '0')));
  ASSERT_CODE(ErrorCode::kRevisionUnknown, store_.FindRevision("main"));
  ASSERT_CODE(ErrorCode::kRevisionUnknown, store_.FindRevision(std::string(65, 'a')));
  ASSERT_CODE(ErrorCode::kRevisionUnknown, store_.FindRevision(""));
  EXPECT_EQ(store_.ListRevisions()->size(), 3U);
}

TEST_F(Objects, an_id_never_changes_what_it_means) {
  ASSERT_OK(store_.InsertRevision(SampleRevision()));
  RevisionRow other = SampleRevision();
  other.tree = std::string(64, '9');
  ASSERT_CODE(ErrorCode::kRowDiffers, store_.InsertRevision(other));
  EXPECT_EQ(store_.FindRevision(other.revision)->tree, SampleRevision().tree);

  ASSERT_OK(store_.InsertImage(SampleImage(), "busybox"));
  ImageRow image = SampleImage();
  image.source_sha256 = std::string(64, '1');  // the same image out of another archive
  ASSERT_OK(store_.InsertImage(image, ""));
  image.tree = std::string(64, '9');  // an importer that gives its own root a trusted id
  ASSERT_CODE(ErrorCode::kRowDiffers, store_.InsertImage(image, "mine"));
  ASSERT_CODE(ErrorCode::kImageUnknown, store_.FindImage("mine"));
  EXPECT_EQ(store_.FindImage("busybox")->tree, SampleImage().tree);
  image = SampleImage();
  image.config += " ";
  ASSERT_CODE(ErrorCode::kStoreValue, store_.InsertImage(image, ""));
}

TEST_F(Objects, image_by_id_prefix_and_local_name) {
  const ImageRow image = SampleImage();
  ASSERT_OK(store_.InsertImage(image, "gcc12"));
  ASSERT_OK(store_.InsertImage(SampleImage(2), ""));
  const std::string digits = image.image.substr(7);
  for (const std::string& text : {image.image, digits, digits.substr(0, 12),
                                  "sha256:" + digits.substr(0, 20), std::string("gcc12")}) {
    const auto found = store_.FindImage(text);
    ASSERT_OK(found);
    EXPECT_EQ(found->image, image.image);
    EXPECT_EQ(found->names, std::vector<std::string>{"gcc12"});
  }
  ASSERT_CODE(ErrorCode::kImageTag, store_.FindImage("ubuntu:24.04"));
  ASSERT_CODE(ErrorCode::kImageTag, store_.FindImage("library/ubuntu"));
  ASSERT_CODE(ErrorCode::kImageUnknown, store_.FindImage("debian"));
  ASSERT_CODE(ErrorCode::kPrefixShort, store_.FindImage(digits.substr(0, 11)));
  EXPECT_EQ(store_.ListImages()->size(), 2U);
  ASSERT_OK(store_.NameImage(SampleImage(2).image, "gcc12"));  // the name moves, the ids do not
  EXPECT_EQ(store_.FindImage("gcc12")->image, SampleImage(2).image);
  ASSERT_CODE(ErrorCode::kStoreValue, store_.NameImage(image.image, "abcdef012345"));
  ASSERT_CODE(ErrorCode::kStoreValue, store_.NameImage(image.image, "-x"));
  ASSERT_CODE(ErrorCode::kImageUnknown, store_.NameImage("sha256:" + std::string(64, '0'), "x"));
}

TEST_F(Objects, what_is_in_use_is_not_removed) {
  ASSERT_OK(store_.InsertImage(SampleImage(), "one"));
  const AttemptRow pending = PendingRun(store_, 1);
  const auto refused = store_.RemoveImage(SampleImage().image);
  ASSERT_CODE(ErrorCode::kRowInUse, refused);
  EXPECT_NE(refused.error().why.find(pending.id), std::string::npos);
  ASSERT_CODE(ErrorCode::kRowInUse, store_.RemoveRevision(SampleRevision().revision));
  ASSERT_OK(store_.Cancel(pending.id, 0, "r"));
  ASSERT_OK(store_.RemoveImage(SampleImage().image));
  ASSERT_CODE(ErrorCode::kImageUnknown, store_.FindImage("one"));
  ASSERT_CODE(ErrorCode::kImageUnknown, store_.RemoveImage(SampleImage().image));
  // A revision an attempt was ever bound to stays.
  ASSERT_CODE(ErrorCode::kRowInUse, store_.RemoveRevision(SampleRevision().revision));
  ASSERT_OK(store_.InsertRevision(SampleRevision(2)));
  ASSERT_OK(store_.RemoveRevision(SampleRevision(2).revision));
  ASSERT_CODE(ErrorCode::kRevisionUnknown, store_.RemoveRevision(SampleRevision(2).revision));
}

TEST_F(Objects, references_are_what_the_rows_name) {
  ASSERT_OK(store_.InsertImage(SampleImage(), "one"));
  const AttemptRow pending = PendingRun(store_, 1);
  ASSERT_OK(store_.InsertRevision(SampleRevision(2)));
  auto rows = store_.GetReferences();
  ASSERT_OK(rows);
  EXPECT_EQ(rows->images, std::vector<std::string>{SampleImage().image.substr(7)});
  EXPECT_EQ(rows->revisions.size(), 2U);
  EXPECT_TRUE(std::is_sorted(rows->revisions.begin(), rows->revisions.end()));
  EXPECT_EQ(rows->open_trees, std::vector<std::string>{SampleRevision().tree});
  EXPECT_TRUE(rows->running.empty());
  ASSERT_OK(store_.Claim({pending.id, 0, "native", "{}", "{}"}));
  rows = store_.GetReferences();
  ASSERT_OK(rows);
  EXPECT_EQ(rows->running, std::vector<std::string>{pending.id});
  EXPECT_EQ(rows->open_trees, std::vector<std::string>{SampleRevision().tree});
  const AttemptRow second = PendingRun(store_, 2);
  ASSERT_OK(store_.Cancel(second.id, 0, "r"));
  ASSERT_OK(store_.AuditRemoval("{}"));
}

TEST_F(Objects, a_copy_is_the_database_of_one_moment_and_opens_as_one) {
  const AttemptRow pending = PendingRun(store_, 1);
  const std::string path = data_.path + "/staging/copy.sqlite";
  ASSERT_OK(store_.CopyTo(path));
  ASSERT_OK(store_.Cancel(pending.id, 0, "after the copy"));
  auto copy = Store::Open(
      {.path = path, .operator_json = kOperator, .repository = store_.GetAuthority()->repository});
  ASSERT_OK(copy);
  ASSERT_OK(copy->CheckIntegrity(true));
  EXPECT_EQ(copy->GetAttempt(pending.id)->state, AttemptState::kPending);
  EXPECT_EQ(store_.GetAttempt(pending.id)->state, AttemptState::kCancelled);
  ASSERT_OK(copy->Cancel(pending.id, 0, "in the copy"));  // it can be written, too
}

TEST_F(Objects, run_of_an_unknown_revision_is_refused) {
  RunChangeInput input = SampleRun();
  input.revision = SampleRevision(9).revision;
  ASSERT_CODE(ErrorCode::kRevisionUnknown, store_.CreateRunChange(input));
}

}  // namespace
}  // namespace bailiff::controller
