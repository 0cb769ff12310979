/** Arguments that a script declares otherwise than argparse does: flags of absl, parameters of functions, fields of dataclasses. */

/** By name, as argparse declares them, below the script's own text. */
export function withDeclared(text: string): string {
  const made = [
    ...[...text.matchAll(FLAG)].map(([, name = '', rest = '']) => `option("--${name}", default=${rest})`),
    ...calledFunctions(text).flatMap(({ parameters, isTyper }) =>
      parameters.map((one) => optionOf(one, isTyper)),
    ),
    ...(/\btyro\.cli\(|\bsimple_parsing\b/.test(text)
      ? [...text.matchAll(FIELD)].map(([, field = '']) => optionOf(field, false))
      : []),
  ];
  return [text, ...made].join('\n');
}

/** `flags.DEFINE_string('data_dir', None, 'help', required=True)`. */
const FLAG = /\bDEFINE_\w+\(\s*["'](\w+)["']\s*,\s*([^()]*(?:\([^()]*\)[^()]*)*)\)/g;
const FIELD =
  /^[ \t]+(\w+[ \t]*:[ \t]*(?:str|int|float|bool|(?:pathlib\.)?Path)\b[^=\n]*(?:=[ \t]*[^\n]+)?)$/gm;

interface Called {
  readonly parameters: readonly string[];
  readonly isTyper: boolean;
}

/** Functions whose parameters fire or typer makes arguments. */
function calledFunctions(text: string): Called[] {
  const names = [...text.matchAll(/\b(?:typer\.run|fire\.Fire|Fire)\(\s*(\w+)/g)].map(
    ([, name = '']) => name,
  );
  const isTyper = /^\s*(?:import|from)\s+typer\b/m.test(text);
  const marked = isTyper ? text.matchAll(/@\w+\.(?:command|callback)\([^)]*\)\s*def\s+(\w+)/g) : [];
  return [...names, ...[...marked].map(([, name = '']) => name)].flatMap((name) => {
    const [, inside] =
      new RegExp(`\\bdef\\s+${name}\\(((?:[^()]|\\((?:[^()]|\\([^()]*\\))*\\))*)\\)`).exec(text) ?? [];
    return inside === undefined ? [] : { parameters: parametersIn(inside), isTyper };
  });
}

/** At commas that no bracket holds. */
const parametersIn = (inside: string): string[] =>
  (inside.match(/(?:[^,([{]|\([^()]*\)|\[[^\]]*\]|\{[^}]*\})+/g) ?? [])
    .map((one) => one.trim())
    .filter((one) => /^\w/.test(one) && one !== 'self');

const PARAMETER =
  /^(?<name>\w+)\s*(?::\s*(?<type>[^=]+?))?\s*(?:=\s*(?:(?<typer>typer\.\w+)\(\s*(?<first>.*)\)|(?<value>.+)))?$/s;

/** Reads `name: type = value`. */
function parameterOf(text: string) {
  const { name = '', type = '', typer, first, value } = PARAMETER.exec(text)?.groups ?? {};
  const given = first ?? value ?? '...';
  return {
    name,
    kind: /^(int|float|bool)\b/.exec(type)?.[0],
    typer,
    given,
    isRequired: given.startsWith('...'),
  };
}

function optionOf(text: string, isTyper: boolean): string {
  const { name, kind, typer, given, isRequired } = parameterOf(text);
  const isPositional = isTyper && (typer ?? (isRequired ? ARGUMENT : '')) === ARGUMENT;
  return `option(${[
    nameOf(name, { isTyper, isPositional }),
    ...(kind === undefined ? [] : [`type=${kind}`]),
    isRequired ? `required=${isPositional ? 'False' : 'True'}` : `default=${given}`,
  ].join(', ')})`;
}

const ARGUMENT = 'typer.Argument';
const nameOf = (name: string, is: Readonly<Record<'isTyper' | 'isPositional', boolean>>): string =>
  `"${is.isPositional ? '' : '--'}${is.isTyper ? name.replaceAll('_', '-') : name}"`;

const UNREADABLE: readonly (readonly [how: string, RegExp])[] = [
  ['hydra', /\bhydra\.main\(/],
  ['gin', /^\s*import gin\b/m],
  ['ml_collections', /\bml_collections\b/],
  ['docopt', /\bdocopt\(/],
  ['jsonargparse', /\bjsonargparse\b/],
  ['sys.argv', /\bsys\.argv\[(?!0\])/],
  [
    'a configuration file',
    /\b(?:json|yaml|toml|tomllib|OmegaConf)\.(?:safe_)?load\(\s*open\(|\bconfigparser\b/,
  ],
];

/** What a script takes its settings from, where nothing here or the service sets them. @param known arguments that were read */
export const unreadableArguments = (text: string, known: number): string | undefined =>
  known > 0 || /\bSM_[A-Z]/.test(text)
    ? undefined
    : UNREADABLE.find(([, pattern]) => pattern.test(text))?.[0];
