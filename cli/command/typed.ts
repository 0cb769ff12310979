/** Commands in what is said, as the person can type them where they stand. */
import path from 'node:path';
import { shellQuote } from '@tidewheel/kit/shell-quote.ts';
import type { DeploymentName } from './deployment.ts';
import type { Terminal } from './terminal.ts';

/** These name no deployment. */
const WITHOUT_PLACE = ['init', 'try', 'up', 'help', 'completion'];
const COMMAND = /\b(?:npx (?:--no-install )?)?tidewheel ([a-z]+(?:-[a-z]+)*)(?=$|[\s),.;:`'"])/gm;
const PLACE = /^--(stage|region|state)(?:=(.*))?$/s;

/** The words of a command line that name a deployment. */
function placeIn(words: readonly string[]): string {
  return words
    .flatMap((word, at) => {
      const [, name, value = words[at + 1]] = PLACE.exec(word) ?? [];
      return name === undefined || value === undefined ? [] : [placeWord(name, value)];
    })
    .join(' ');
}

const placeWord = (name: string, value: string): string =>
  `--${name} ${/^[\w./-]+$/.test(value) ? value : shellQuote(value)}`;

/** @param folder of a relative state */
export const placeWords = ({ stage, region, state }: DeploymentName, folder: string): string =>
  [
    ...(stage === undefined ? [] : [placeWord('stage', stage)]),
    ...(region === undefined ? [] : [placeWord('region', region)]),
    ...(state === undefined ? [] : [placeWord('state', path.resolve(folder, state))]),
  ].join(' ');

/** The words that name a region whose state is not where verbs look. */
export const placeOfState = (state: string): string =>
  path.basename(state) === '.tidewheel' ? '' : placeWord('state', state);

/**
 * The program as it can be typed again: by its path from any folder, where it is no command. `npx --no-install tidewheel` elsewhere
 * would offer to install what a public registry has under that name.
 * @param file that this process runs
 */
export function programTyped(file: string, { npm_command: npm, PATH = '' }: NodeJS.ProcessEnv): string {
  if (npm === 'exec') return 'npx --no-install tidewheel';
  const { dir, base } = path.parse(file);
  if (base === 'tidewheel' && PATH.split(path.delimiter).includes(dir)) return base;
  return /^[\w.@/-]+$/.test(file) ? file : shellQuote(file);
}

/**
 * @param place words that name the deployment
 * @param verbs what counts as a command; other words after the name are prose
 */
function asTyped(
  text: string,
  {
    program,
    place,
    verbs,
  }: { readonly program: string; readonly place: string; readonly verbs: ReadonlySet<string> },
): string {
  return text.replaceAll(COMMAND, (whole, verb: string) => {
    if (!verbs.has(verb)) return whole;
    return `${program} ${verb}${place === '' || WITHOUT_PLACE.includes(verb) ? '' : ` ${place}`}`;
  });
}

interface Line {
  readonly words: readonly string[];
  readonly program: string;
  readonly verbs: ReadonlySet<string>;
}

/** A terminal that names commands as this one was typed. Documents, scripts and logs stay as they are. */
export function typedTerminal(terminal: Terminal, { words, program, verbs }: Line): Terminal {
  const typed = (text: string) => asTyped(text, { program, place: placeIn(words), verbs });
  const isKept = words.includes('--json') || ['completion', 'logs', 'help'].includes(words[0] ?? '');
  return {
    ...terminal,
    get columns() {
      return terminal.columns;
    },
    print: (text) => terminal.print(isKept ? text : typed(text)),
    note: (text) => terminal.note(typed(text)),
    problem: (text) => terminal.problem(typed(text)),
    redraw: (lines, drawn) => terminal.redraw(isKept ? lines : lines.map(typed), drawn),
  };
}
