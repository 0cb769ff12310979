/** Completions of the verbs and their options, for bash, zsh and fish. */
import type { Verb, VerbOption } from './verb.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** @param name of the program */
export function completionOf(shell: Shell, name: string, verbs: readonly Verb[]): string {
  switch (shell) {
    case 'bash':
      return bash(name, verbs);
    case 'zsh':
      return zsh(name, verbs);
    case 'fish':
      return fish(name, verbs);
  }
}

const wordsOf = ({ options }: Verb): string[] =>
  Object.entries(options).flatMap(([option, { short }]) => [
    `--${option}`,
    ...(short === undefined ? [] : [`-${short}`]),
  ]);

const withCommands = (verbs: readonly Verb[]): readonly Verb[] =>
  verbs.filter(({ commands }) => commands.length > 0);

function bash(name: string, verbs: readonly Verb[]): string {
  return `_${name}() {
  local word=\${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${verbs.map((verb) => verb.name).join(' ')}" -- "$word"))
    return
  fi
  if [ "$COMP_CWORD" -eq 2 ] && [ "\${word#-}" = "$word" ]; then
    case "\${COMP_WORDS[1]}" in
${withCommands(verbs)
  .map(
    (verb) =>
      `      ${verb.name}) COMPREPLY=($(compgen -W "${verb.commands.join(' ')}" -- "$word")); return ;;`,
  )
  .join('\n')}
    esac
  fi
  case "\${COMP_WORDS[1]}" in
${verbs.map((verb) => `    ${verb.name}) COMPREPLY=($(compgen -W "${wordsOf(verb).join(' ')}" -- "$word")) ;;`).join('\n')}
  esac
}
complete -o default -F _${name} ${name}
`;
}

/** zsh and fish quote with single quotes. */
const inQuotes = (text: string): string => text.replaceAll("'", '’');

function zsh(name: string, verbs: readonly Verb[]): string {
  const argument = ([option, { value, about }]: readonly [string, VerbOption]): string =>
    `'--${option}[${inQuotes(about).replaceAll(/[[\]]/g, '')}]${value === undefined ? '' : `:${value}:_files`}'`;
  const words = ({ commands }: Verb): string =>
    commands.length === 0 ? '' : `'1:command:(${commands.join(' ')})' `;
  return `#compdef ${name}
_${name}() {
  if (( CURRENT == 2 )); then
    local -a verbs=(
${verbs.map((verb) => `      '${verb.name}:${inQuotes(verb.summary).replaceAll(':', '\\:')}'`).join('\n')}
    )
    _describe verb verbs
    return
  fi
  # _arguments counts from the word behind the first one.
  shift words
  (( CURRENT -= 1 ))
  case $words[1] in
${verbs.map((verb) => `    ${verb.name}) _arguments ${Object.entries(verb.options).map(argument).join(' ')} ${words(verb)}'*:word:_files' ;;`).join('\n')}
  esac
}
if [ "$funcstack[1]" = "_${name}" ]; then _${name} "$@"; else compdef _${name} ${name}; fi
`;
}

function fish(name: string, verbs: readonly Verb[]): string {
  const is = `__${name}_verb_is`;
  const option = (verb: Verb, [long, { short, value, about }]: readonly [string, VerbOption]): string =>
    `complete -c ${name} -n '${is} ${verb.name}' -l ${long}${short === undefined ? '' : ` -s ${short}`}${value === undefined ? '' : ' -r'} -d '${inQuotes(about)}'`;
  return [
    // Not __fish_seen_subcommand_from: "data compare" is not the verb compare.
    `function ${is}`,
    '  set -l words (commandline -opc)',
    '  test (count $words) -ge 2; and test $words[2] = $argv[1]',
    'end',
    ...verbs.map(
      (verb) => `complete -c ${name} -n __fish_use_subcommand -a ${verb.name} -d '${inQuotes(verb.summary)}'`,
    ),
    ...withCommands(verbs).map(
      ({ name: verb, commands }) =>
        `complete -c ${name} -f -n '${is} ${verb}; and test (count (commandline -opc)) -eq 2' -a '${commands.join(' ')}'`,
    ),
    ...verbs.flatMap((verb) => Object.entries(verb.options).map((each) => option(verb, each))),
    '',
  ].join('\n');
}
