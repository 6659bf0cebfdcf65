# Completion of evo's commands in fish. evo itself says what may stand in the place of the last word.
function __evo_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l answer ($words[1] complete $words[2..-1] $word 2>/dev/null)
    set -l option (string match -r -- '^--[^=]+=' $word)
    for candidate in $answer[2..-1]
        echo "$option$candidate"
    end
    set -l start (string replace -- "$option" "" $word)
    switch "$answer[1]"
        case files
            for file in (__fish_complete_path $start)
                echo "$option$file"
            end
        case folders
            for folder in (__fish_complete_directories $start)
                echo "$option$folder"
            end
    end
end
complete -c evo -f -a '(__evo_complete)'
