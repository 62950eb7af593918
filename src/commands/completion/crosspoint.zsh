#compdef crosspoint
# zsh completion for crosspoint
# Nothing of the line that is being typed is evaluated: quotes are taken off its words, and they are handed over.

_crosspoint() {
    local line value about
    local -a given values shown folders
    given=("${(@Q)words[2,CURRENT]}")
    # Of the word that is being typed only what stands before the cursor.
    given[-1]=${(Q)PREFIX}
    for line in "${(@f)$(crosspoint complete -- "${given[@]}" 2>/dev/null)}"; do
        [[ $line == *$'\t'* ]] || continue
        value=${line%%$'\t'*}
        about=${line#*$'\t'}
        if [[ $value == */ ]]; then
            folders+=("$value")
        else
            values+=("$value")
            shown+=("$value${about:+  -- $about}")
        fi
    done
    # What is offered for --profile=wo is the part behind the sign.
    compset -P '-*='
    local -i missing=1
    compadd -l -d shown -a values && missing=0
    compadd -S '' -a folders && missing=0
    return missing
}

# Sourced, or found as the file _crosspoint among those that zsh loads by itself.
if [[ ${funcstack[1]} == _crosspoint ]]; then
    _crosspoint "$@"
else
    compdef _crosspoint crosspoint
fi
