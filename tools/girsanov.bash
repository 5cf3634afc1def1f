# SPDX-License-Identifier: MIT
# bash completion: the command prints the possible words; if there are none, bash
# offers files.
# shellcheck shell=bash
_girsanov() {
    local word=${COMP_WORDS[COMP_CWORD]}
    [ "$word" != = ] || word=
    mapfile -t COMPREPLY < <(compgen -W "$(
        "${COMP_WORDS[0]}" --complete \
            "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$word" 2>/dev/null
    )" -- "$word")
}
complete -o bashdefault -o default -F _girsanov girsanov
