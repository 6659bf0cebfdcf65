#pragma once

#include <string_view>

/// The parts of an exported file that are the same for every task. filled() replaces @NAME@.
namespace evo {

extern const std::string_view kHostHelpers;    ///< @HOST@ @CHECKED_TO_REAL@ @WITHIN_REALS@
extern const std::string_view kCheckedToReal;  ///< For real numbers that follow from sizes.
extern const std::string_view kWithinReals;
extern const std::string_view kTensorMapHelper;
extern const std::string_view kSharedMemoryHelper;      ///< Where it is known how much a kernel needs at most.
extern const std::string_view kMoreSharedMemoryHelper;  ///< Where it depends on the call.
extern const std::string_view kFillHelper;              ///< Where calls fill variables of the program.

extern const std::string_view kMainHead;   ///< Stands before the reference's kernels.
extern const std::string_view kMainTypes;  ///< @MAIN@ @RANK@ @DTYPES@ @DRAW_TYPE@ @DRAW_FIELDS@ @EQUAL_FIELD@
extern const std::string_view kMainData;   ///< Random numbers and places of elements. Elements: main_numbers.h.
extern const std::string_view kMainDraw;   ///< @DRAWN_BY_KIND@ @QUANTISED@
extern const std::string_view kMainCompare;
extern const std::string_view kMainBuffers;
extern const std::string_view kMainRun;  ///< @MAIN@ @RANK@ @TASK@ @LAUNCHER@ @CLAIMANT@ @GOT_AT@ @RESTORE@ ...
extern const std::string_view kMainGotAt;

/// For what only some tasks have.
extern const std::string_view kMainDrawType;  ///< Draws other than N(0, 1).
extern const std::string_view kMainDrawFields;
extern const std::string_view kMainDrawByKind;
extern const std::string_view kMainScales;       ///< @AFFINE_U8@ @NEXT_POWER@
extern const std::string_view kMainNextPower;    ///< Scales of e8m0.
extern const std::string_view kMainScaledGotAt;  ///< @ZERO_ELEMENTS@ @CODE_TYPE@ @MINUS_ZERO@
extern const std::string_view kMainZeroElements;
extern const std::string_view kMainMinusZero;
extern const std::string_view kMainEqual;  ///< any_of_equal
extern const std::string_view kMainEqualField;
extern const std::string_view kMainInout;

}  // namespace evo
