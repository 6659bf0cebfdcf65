#compdef evo
# Completion of evo's commands in zsh. evo itself says what may stand in the place of the last word.
_evo() {
  local -a answer candidates
  local line
  answer=("${(@f)$(${(Q)words[1]} complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  [[ $PREFIX == --*=* ]] && compset -P 1 '*='
  for line in "${(@)answer[2,-1]}"; do
    candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  (( $#candidates )) && _describe evo candidates
  case ${answer[1]} in
    files) _files ;;
    folders) _files -/ ;;
  esac
}
# Autoloaded, the file is the function; sourced, it defines the function.
if [[ ${funcstack[1]-} == _evo ]]; then
  _evo "$@"
else
  compdef _evo evo
fi
