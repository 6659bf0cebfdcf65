# Completion of evo's commands in bash. evo itself says what may stand in the place of the last word.
_evo() {
  local line=${COMP_LINE:0:COMP_POINT} words=() word answer candidate files=() i
  # bash splits words at the ':' of a device's name and at '='. What no blank separates is one word.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $i -gt 0 && $line == [![:space:]]* ]]; then
      ((i < COMP_CWORD)) || word=$line
      words[${#words[@]} - 1]+=$word
    else
      line=${line#"${line%%[![:space:]]*}"}
      ((i < COMP_CWORD)) || word=$line
      words+=("$word")
    fi
    line=${line#"$word"}
  done
  word=${words[${#words[@]} - 1]}

  COMPREPLY=()
  mapfile -t answer < <("${1/#\~/$HOME}" complete "${words[@]:1}" 2>/dev/null)
  # evo answers with what may stand after --option=, and bash replaces what stands after its last break.
  local option="" before="" breaks=${COMP_WORDBREAKS//[!=:]/}
  [[ $word != --*=* ]] || option=${word%%=*}=
  [[ -z $breaks ]] || before=${word%"${word##*[$breaks]}"}
  for candidate in "${answer[@]:1}"; do
    candidate=$option${candidate%%$'\t'*}
    COMPREPLY+=("${candidate#"$before"}")
  done
  case ${answer[0]-} in
    files) mapfile -t files < <(compgen -f -- "${word#"$option"}") ;;
    folders) mapfile -t files < <(compgen -d -- "${word#"$option"}") ;;
  esac
  if [[ ${#files[@]} -gt 0 ]]; then
    compopt -o filenames 2>/dev/null
    for candidate in "${files[@]}"; do
      candidate=$option$candidate
      COMPREPLY+=("${candidate#"$before"}")
    done
  fi
}
complete -F _evo evo
