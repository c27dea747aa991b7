// SPDX-License-Identifier: Apache-2.0
// Names that another file system takes for a name that git keeps for itself (case b13;
// CVE-2014-9390 and its kin). HFS+ leaves some code points out of a name; NTFS knows '\' as a
// separator, drops spaces and dots at the end, reads what follows ':' as a stream, and gives every
// long name a short one. Both are looked for at once and everywhere, whatever this host's file
// system does: a tree that is exported may be checked out on any.
#pragma once

#include <string_view>

namespace bailiff::policy {

// Whether some file system takes `component` for `name` (lower case), or it is that name in any
// case of ASCII letters.
bool LooksLike(std::string_view component, std::string_view name);

// Whether some file system takes `component`, which is neither, for "." or "..".
bool LooksLikeDots(std::string_view component);

// ".git", also by its short name "git~1".
bool LooksLikeDotGit(std::string_view component);

// ".gitmodules", also by the short names NTFS makes of it. Only of interest for a link: git follows
// no link there, and refuses a tree that has one.
bool LooksLikeDotGitModules(std::string_view component);

}  // namespace bailiff::policy
