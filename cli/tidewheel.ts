/**
 * The command line: finds the verb, has it read its words, and turns what it throws into a message and an exit code.
 * `tidewheel.mjs` starts it in a clone; the built file is this one with all that it imports.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { outliveReaders, UsageError } from '@tidewheel/kit/command-line.ts';
import { nearest } from '@tidewheel/kit/nearest.mjs';
import { completionOf, SHELLS } from './command/completion.ts';
import type { Surroundings } from './command/context.ts';
import { EXIT, endingOf } from './command/exit.ts';
import { tableText } from './command/format.ts';
import { terminalOf } from './command/terminal.ts';
import { typedTerminal } from './command/typed.ts';
import type { Verb } from './command/verb.ts';
import { VERBS } from './verbs.ts';

/** Beside the verbs: what is about all of them. */
const ABOUT = ['help', 'completion'] as const;

const loaders = new Map<string, () => Promise<{ readonly verb: Verb }>>(Object.entries(VERBS));
const allVerbs = (): Promise<Verb[]> =>
  Promise.all([...loaders.values()].map(async (load) => (await load()).verb));

async function main([name, ...args]: readonly string[], surroundings: Surroundings): Promise<number> {
  const { terminal } = surroundings;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h')
    return help(args[0], surroundings);
  if (name === 'completion') return completion(args[0], surroundings);
  const load = loaders.get(name);
  if (load === undefined) throw noVerb(name);
  const { verb } = await load();
  if (args.includes('--help') || args.includes('-h')) {
    terminal.print(verb.help());
    return EXIT.ok;
  }
  return verb.invoke(args, surroundings);
}

function noVerb(name: string): UsageError {
  const names = [...loaders.keys(), ...ABOUT];
  const near = nearest(name, names);
  const hint = near === undefined ? 'tidewheel help lists them' : `did you mean ${near}?`;
  return new UsageError([`there is no verb "${name}": ${hint}`]);
}

async function help(name: string | undefined, { terminal }: Surroundings): Promise<number> {
  const load = name === undefined ? undefined : loaders.get(name);
  if (name !== undefined && load === undefined) throw noVerb(name);
  if (load !== undefined) {
    terminal.print((await load()).verb.help());
    return EXIT.ok;
  }
  const verbs = await allVerbs();
  terminal.print(
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
    ].join('\n'),
  );
  return EXIT.ok;
}

const HELP = { name: 'help', summary: 'this text, or the help of a verb' };
const COMPLETION = { name: 'completion', summary: `print completions for ${SHELLS.join(', ')}` };

async function completion(asked: string | undefined, { terminal }: Surroundings): Promise<number> {
  const shell = SHELLS.find((each) => each === asked);
  if (shell === undefined) {
    const text = `tidewheel completion ${SHELLS.join('|')}

Prints a script for the shell. To have it in every new one:
  bash  tidewheel completion bash > ~/.local/share/bash-completion/completions/tidewheel
  zsh   tidewheel completion zsh > "\${fpath[1]}/_tidewheel"
  fish  tidewheel completion fish > ~/.config/fish/completions/tidewheel.fish`;
    if (asked !== undefined && asked !== '--help' && asked !== '-h')
      throw new UsageError([`there is no shell "${asked}": name one of ${SHELLS.join(', ')}`]);
    terminal.print(text);
    return EXIT.ok;
  }
  const verbs = await allVerbs();
  const about = { options: {}, help: () => '', invoke: () => Promise.resolve(EXIT.ok) };
  terminal.print(
    completionOf(shell, 'tidewheel', [
      ...verbs,
      { ...HELP, ...about, commands: verbs.map((verb) => verb.name) },
      { ...COMPLETION, ...about, commands: SHELLS },
    ]),
  );
  return EXIT.ok;
}

/** The project's folder where this file lies in one; the built file lies anywhere. */
function cloneOf(folder: string): string | undefined {
  const root = path.join(folder, '..');
  return existsSync(path.join(root, 'serverless.yml')) ? root : undefined;
}

outliveReaders();
const [, , ...words] = process.argv;
const verbs = new Set([...loaders.keys(), ...ABOUT]);
const terminal = typedTerminal(terminalOf(process, process.env), { words, environment: process.env, verbs });
const [verb = ''] = words;
process.exitCode = await endingOf(
  () =>
    main(words, {
      terminal,
      folder: process.cwd(),
      environment: process.env,
      clone: cloneOf(import.meta.dirname),
    }),
  terminal,
  loaders.has(verb) ? `tidewheel ${verb} --help says what it takes` : undefined,
);
