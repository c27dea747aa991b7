// SPDX-License-Identifier: Apache-2.0
// Every document that comes from outside the store. The first byte says which is meant; what is
// accepted must survive its own canonical form.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/context.h"
#include "policy/recipe.h"
#include "policy/request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bailiff::policy;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Faults faults;
  switch (data[0] % 4) {
    case 0: {
      const auto recipe = ParseRecipe(text, faults);
      if (!recipe) break;
      const auto again = ParseStoredRecipe(CanonicalRecipe(*recipe));
      if (!again.ok() || !(*again == *recipe)) std::abort();
      break;
    }
    case 1: {
      const auto recipe = ParseAnyRecipe(text, faults);
      if (recipe) (void)DigestOf(*recipe);
      break;
    }
    case 2: {
      const auto request = ParseRequest(text, faults);
      if (!request) break;
      const auto canonical = CanonicalRequest(*request);
      Faults none;
      if (!canonical.ok() || !(ParseRequest(*canonical, none) == request)) std::abort();
      if (!CheckSameRequest(*canonical, *canonical).ok()) std::abort();
      (void)CheckSameRequest(*canonical, text);
      break;
    }
    default: {
      const auto context = ParseContext(text, faults);
      if (context) (void)ContextValue(*context);
      break;
    }
  }
  return 0;
}
