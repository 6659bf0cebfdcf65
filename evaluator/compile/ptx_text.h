#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

/// PTX as text, for gates that look at what a program says whatever the virtual GPU makes of it. PTX ISA 4.1, "Source
/// Format".
namespace evo::ptx_text {

/// Letters, digits, _ $ %.
bool is_name_character(char c);
bool is_blank(char c);
std::string_view trimmed(std::string_view text);

/// The text with blanks in place of comments and strings.
std::string without_remarks(std::string_view ptx);

/// What semicolons and blocks divide in a text without remarks, wherever its lines end: a line may hold several
/// instructions.
std::vector<std::string_view> statements(std::string_view text);

/// What is left of a statement behind labels, places in the source and a guard: it begins with the opcode.
std::string_view instruction_of(std::string_view statement);

/// The kernels that have a griddepcontrol.wait (PTX ISA 9.7.13), themselves or, where they call any, in a function.
std::set<std::string> waiting_kernels(std::string_view ptx);

}  // namespace evo::ptx_text
