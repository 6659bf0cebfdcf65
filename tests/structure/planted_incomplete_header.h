#pragma once

inline std::string forgets_its_include() {
  return {};
}
