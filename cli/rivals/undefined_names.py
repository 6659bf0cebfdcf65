"""Which names the reference of a Definition of flashinfer-bench reads and nobody gives, for evo: prints a line of JSON.
usage: python3 - FILE.json < undefined_names.py

Needs no torch: scopes are those of the compiler."""

import ast
import builtins
import json
import symtable
import sys

#: What a module has beside what it defines.
OF_MODULES = {"__name__", "__file__", "__doc__", "__builtins__", "__spec__", "__loader__", "__package__", "__annotations__"}


def globals_read(table):
    """The names that a scope and those within it look up in the module."""
    for symbol in table.get_symbols():
        of_module = table.get_type() == "module" and not (symbol.is_assigned() or symbol.is_imported())
        if symbol.is_referenced() and (symbol.is_global() or of_module):
            yield symbol.get_name()
    for child in table.get_children():
        yield from globals_read(child)


def globals_made(table):
    """The names that the module's own scope, or a `global` of a function, gives values."""
    for symbol in table.get_symbols():
        here = table.get_type() == "module" or symbol.is_declared_global()
        if here and (symbol.is_assigned() or symbol.is_imported()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from globals_made(child)


def undefined(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and any(name.name == "*" for name in node.names):
            return []
    module = symtable.symtable(code, "reference", "exec")
    known = set(globals_made(module)) | set(dir(builtins)) | OF_MODULES
    return sorted(set(globals_read(module)) - known)


try:
    with open(sys.argv[1], encoding="utf-8-sig") as file:
        print(json.dumps({"names": undefined(json.load(file)["reference"])}))
except SyntaxError as error:
    print(json.dumps({"error": f"its reference is no Python: line {error.lineno}: {error.msg}"}))
except (ValueError, RecursionError, MemoryError) as error:
    print(json.dumps({"error": f"its reference is no Python: {str(error) or type(error).__name__}"}))
