#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evaluator/device/device.h"
#include "evaluator/device/device_memory.h"
#include "evaluator/device/draws.h"
#include "evaluator/device/input_drawer.h"
#include "evaluator/device/input_recipe.h"
#include "evaluator/device/quantisation.h"

namespace evo {

/// Draws inputs on a device, bit for bit as the host does (draw_kernels.cu). To the host it leaves what is drawn as a
/// whole (draws.h) or from given numbers, elements of 4 bits, strides, zero points, the step heavy_tail, and steps
/// whose tables are large.
class DeviceDrawer final : public InputDrawer {
 public:
  /// `module`: judge_program, compiled. Both must outlive it.
  DeviceDrawer(Device& device, const Module& module) : device_(&device), module_(&module) {}

  bool draws(const CaseRecipe& recipe, std::size_t input) const override;
  bool draw(const CaseRecipe& recipe, std::size_t input, DeviceAddress to) override;

  /// Why it draws nothing more; empty: it does.
  const std::string& why_unfit() const { return why_unfit_; }

 private:
  struct Tables;
  Tables tables_for(const InputRecipe& input) const;
  /// Of the groups of an input of codes, for the codes and for their scales; null where they are not the host's.
  const std::vector<Quantiser>* quantisers_of(const CaseRecipe& recipe, std::size_t codes);
  /// Whether the elements at either end, or the scales of groups there, are the host's. Else it is unfit from now on.
  bool as_the_host(const CaseRecipe& recipe, const InputRecipe& input, const std::vector<Quantiser>& of_groups,
                   DeviceAddress drawn);
  bool scales_as_the_host(const CaseRecipe& recipe, const InputRecipe& input, const std::vector<Quantiser>& of_groups);
  template <class Draw>
  bool as_the_host(const InputRecipe& input, DType dtype, std::uint64_t elements, DeviceAddress drawn, Draw draw);
  bool draw_elements_there(const ElementDraw& draw, const InputRecipe& input, DeviceAddress to);
  void draw_no_more(const InputRecipe& differs);
  void run(const char* kernel, const CaseRecipe& recipe, const InputRecipe& input, const Tables& tables,
           std::vector<DeviceAddress> addresses) const;
  DeviceMemory uploaded(const void* data, std::size_t bytes) const;

  Device* device_;
  const Module* module_;
  std::string why_unfit_;
  std::string quantised_;  ///< The fingerprint of the recipe that the next ones are of.
  std::map<std::size_t, std::vector<Quantiser>> quantisers_;
};

}  // namespace evo
