#pragma once

#include <string_view>

/// The parts of an exported file that are the same for every task. filled() replaces @NAME@.
namespace evo {

extern const std::string_view kHostHelpers;  ///< @HOST@
extern const std::string_view kTensorMapHelper;
extern const std::string_view kMainHead;   ///< Stands before the reference's kernels.
extern const std::string_view kMainTypes;  ///< @RANK@
extern const std::string_view kMainData;   ///< Drawing, encoding and comparing data.
extern const std::string_view kMainRun;    ///< @RANK@ @TASK@ @RELATIVE_L2@ @COSINE@ @MAX_ABS@ @CLAIMANT@ ...

}  // namespace evo
