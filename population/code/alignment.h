#pragma once

/// What an exported launcher asks of addresses.
namespace evo {

/// The launcher takes a tensor at any multiple of so many bytes: what TMA, cp.async and the widest loads need, and no
/// kernel may ask for more. Workspaces are cut from one piece, each at a multiple of its own.
inline constexpr int kTensorAlignment = 16;
inline constexpr int kWorkspaceAlignment = 256;

}  // namespace evo
