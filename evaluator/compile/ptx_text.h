#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

/// PTX as text, for gates that apply on every device, not only where the virtual GPU parses the program. PTX ISA 4.1,
/// "Source Format".
namespace evo::ptx_text {

/// Letters, digits, _ $ %.
bool is_name_character(char c);
bool is_blank(char c);
std::string_view trimmed(std::string_view text);

/// The text with blanks in place of comments and strings.
std::string without_remarks(std::string_view ptx);

/// The statements of a text without comments. Semicolons and blocks divide them, not lines: a line may hold several.
std::vector<std::string_view> statements(std::string_view text);

/// The statement without its labels, source locations and guard predicate: it begins with the opcode.
std::string_view instruction_of(std::string_view statement);

/// The names of the kernels, in the order of the text.
std::vector<std::string> kernels(std::string_view ptx);

/// The kernels with a griddepcontrol.wait (PTX ISA 9.7.13), in themselves or in a function that they call.
std::set<std::string> waiting_kernels(std::string_view ptx);

/// The kernels that ask for the grid's barrier, in themselves or in a function that they call: they must be launched
/// cooperatively. Its address is in %envreg1 and %envreg2 (cooperative_groups/details/driver_abi.h).
std::set<std::string> cooperative_kernels(std::string_view ptx);

/// These kernels and the functions that they reach by calls.
std::set<std::string> reached_routines(std::string_view ptx, const std::set<std::string>& kernels);

/// The lines of the source file of that name that instructions of these kernels and functions come from.
std::set<int> source_lines(std::string_view ptx, const std::set<std::string>& routines, std::string_view file);

}  // namespace evo::ptx_text
