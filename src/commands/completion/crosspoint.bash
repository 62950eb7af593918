# bash completion for crosspoint
# Nothing of the line that is being typed is evaluated: its words are handed over as they stand.

__crosspoint_complete() {
    local words=() last=-1 head='' piece i
    # Readline takes words apart at = and :, and replaces what comes behind the last one alone: not the head.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if ((last >= 0)) && [[ $piece == [=:]* || ${words[last]} == *[=:] ]]; then
            head=${words[last]}
            words[last]=$head$piece
            [[ $piece == [=:] ]] && head=${words[last]}
        else
            head=''
            words+=("$piece")
            ((last += 1))
        fi
    done

    local current=${words[last]} quote='' option=''
    case $current in
        [\'\"]*) quote=${current:0:1} current=${current:1} ;;
        *) current=${current//\\/} ;;
    esac
    words[last]=$current
    [[ $current == -*=* ]] && option=${current%%=*}=

    COMPREPLY=()
    local line value
    while IFS= read -r line; do
        [[ $line == *$'\t'* ]] || continue
        value=$option${line%%$'\t'*}
        value=${value#"$head"}
        # A file may have any name, and is not to become a command when the line is run.
        if [[ -z $quote ]]; then
            printf -v value %q "$value"
        elif [[ $value == *[\'\"\$\`\\!]* ]]; then
            continue
        fi
        COMPREPLY+=("$value")
    done < <(crosspoint complete -- "${words[@]}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -F __crosspoint_complete crosspoint
