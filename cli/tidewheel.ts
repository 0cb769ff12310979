/**
 * The command line: finds the verb, has it read its words, and turns what it throws into a message and an exit code.
 * It runs as a built program (build-program.ts), where what it imports dynamically is a file of its own.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { outliveReaders, UsageError } from '@tidewheel/kit/command-line.ts';
import { nearest } from '@tidewheel/kit/nearest.mjs';
import type { About } from './about.ts';
import { SHELLS } from './command/completion.ts';
import type { Surroundings } from './command/context.ts';
import { EXIT, endingOf } from './command/exit.ts';
import { type Terminal, terminalOf } from './command/terminal.ts';
import { programTyped, typedTerminal } from './command/typed.ts';
import type { Verb } from './command/verb.ts';
import { VERBS } from './verbs.ts';

/** Beside the verbs. */
const OTHERS = ['help', 'completion'] as const;

const loaders = new Map<string, () => Promise<{ readonly verb: Verb }>>(Object.entries(VERBS));
const about = async (): Promise<About> => (await import('./about.ts')).about();

async function main([name, ...args]: readonly string[], surroundings: Surroundings): Promise<number> {
  const { terminal } = surroundings;
  if (name === '--version' || name === '-V') {
    terminal.print((await about()).version);
    return EXIT.ok;
  }
  if (name === undefined || name === 'help' || name === '--help' || name === '-h')
    return help(args[0], terminal);
  if (name === 'completion') return completion(args[0], terminal);
  const load = loaders.get(name);
  if (load === undefined) throw noVerb(name);
  if (args.includes('--help') || args.includes('-h')) return help(name, terminal);
  return (await load()).verb.invoke(args, surroundings);
}

function noVerb(name: string): UsageError {
  const names = [...loaders.keys(), ...OTHERS];
  const near = nearest(name, names);
  const hint = near === undefined ? 'tidewheel help lists them' : `did you mean ${near}?`;
  return new UsageError([`there is no verb "${name}": ${hint}`]);
}

async function help(name: string | undefined, { print }: Terminal): Promise<number> {
  if (name !== undefined && !loaders.has(name)) throw noVerb(name);
  const { help: whole, helpOfVerb } = await about();
  print((name === undefined ? undefined : helpOfVerb[name]) ?? whole);
  return EXIT.ok;
}

async function completion(asked: string | undefined, { print }: Terminal): Promise<number> {
  const shell = SHELLS.find((each) => each === asked);
  if (shell !== undefined) {
    print((await about()).completion[shell]);
    return EXIT.ok;
  }
  if (asked !== undefined && asked !== '--help' && asked !== '-h')
    throw new UsageError([`there is no shell "${asked}": name one of ${SHELLS.join(', ')}`]);
  print(`tidewheel completion ${SHELLS.join('|')}

Prints a script for the shell. To have it in every new one:
  bash  tidewheel completion bash > ~/.local/share/bash-completion/completions/tidewheel
  zsh   tidewheel completion zsh > "\${fpath[1]}/_tidewheel"
  fish  tidewheel completion fish > ~/.config/fish/completions/tidewheel.fish`);
  return EXIT.ok;
}

/** The project's folder where this file lies in one; the built file lies anywhere. */
function cloneOf(folder: string): string | undefined {
  const root = path.join(folder, '..');
  return existsSync(path.join(root, 'serverless.yml')) ? root : undefined;
}

outliveReaders();
const [, file = '', ...words] = process.argv;
const verbs = new Set([...loaders.keys(), ...OTHERS]);
const terminal = typedTerminal(terminalOf(process, process.env), {
  words,
  program: programTyped(file, process.env),
  verbs,
});
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
