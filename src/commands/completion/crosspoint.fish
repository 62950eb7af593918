# fish completion for crosspoint
# Nothing of the line that is being typed is evaluated: its words are handed over as they stand.

function __crosspoint_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l option (string match -r -- '^-[^=]*=' "$current")
    for line in (crosspoint complete -- $words[2..-1] "$current" 2>/dev/null)
        if string match -q -- '*'\t'*' $line
            printf '%s%s\n' "$option" $line
        end
    end
end

complete -c crosspoint -e
complete -c crosspoint -f -a '(__crosspoint_complete)'
