/** What the program says of itself: its help, its completions and its version. `build-program.ts` has them ready in the built one. */
import project from '../package.json' with { type: 'json' };
import { completionOf, SHELLS, type Shell } from './command/completion.ts';
import { EXIT } from './command/exit.ts';
import { tableText } from './command/format.ts';
import type { Verb } from './command/verb.ts';
import { VERBS } from './verbs.ts';

export interface About {
  readonly version: string;
  readonly help: string;
  /** By its name. */
  readonly helpOfVerb: Readonly<Record<string, string>>;
  readonly completion: Readonly<Record<Shell, string>>;
}

const HELP = { name: 'help', summary: 'this text, or the help of a verb' };
const COMPLETION = { name: 'completion', summary: `print completions for ${SHELLS.join(', ')}` };

const helpOf = (verbs: readonly Verb[]): string =>
  [
    'tidewheel VERB [WORDS] [OPTIONS]',
    '',
    'Drop data into a bucket, get a trained model back, for the least money that meets the deadline.',
    '',
    tableText([...verbs, HELP, COMPLETION].map((verb) => [`  ${verb.name}`, verb.summary])),
    '',
    'A verb talks to the local region of this folder (.tidewheel), or else to the stack tidewheel-dev of your AWS account;',
    '--stage, --region and --state name another. "tidewheel VERB --help" has options and examples.',
    'Exit codes: 0 done, 1 error, 2 the run failed, 3 it missed its deadline, 4 not allowed, 5 nothing to send,',
    '8 wrong or missing words.',
  ].join('\n');

export async function about(): Promise<About> {
  const verbs: readonly Verb[] = await Promise.all(
    Object.values(VERBS).map(async (load): Promise<Verb> => (await load()).verb),
  );
  const none = { options: {}, help: () => '', invoke: () => Promise.resolve(EXIT.ok) };
  const named = [
    ...verbs,
    { ...HELP, ...none, commands: verbs.map((verb) => verb.name) },
    { ...COMPLETION, ...none, commands: SHELLS },
  ];
  const script = (shell: Shell): string => completionOf(shell, 'tidewheel', named);
  return {
    version: project.version,
    help: helpOf(verbs),
    helpOfVerb: Object.fromEntries(verbs.map((verb) => [verb.name, verb.help()])),
    completion: { bash: script('bash'), zsh: script('zsh'), fish: script('fish') },
  };
}
