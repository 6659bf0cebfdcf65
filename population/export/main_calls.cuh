inline size_t workspace_bytes([[maybe_unused]] const long long* p) {
//% if workspace
${parameters}
  return ${launcher}_workspace_bytes(${sizes});
//% else
  return 0;
//% end
}

inline cudaError_t call(const std::vector<void*>& buffers, [[maybe_unused]] void* workspace, const long long* p, cudaStream_t stream) {
${parameters}
  return ${launcher}(${addresses}, ${sizes}, ${workspace ? 'workspace, ' : ''}stream);
}
