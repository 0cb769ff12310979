/**
 * Tools that are no operation of the API: verbs in the folder of the server, which the API cannot see, and one that waits,
 * so that an agent does not ask again and again.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import pc from 'picocolors';
import type { AnswerOf } from '../../client/operations.ts';
import { isFinished } from '../../client/run-view.ts';
import type { Api } from '../command/api-calls.ts';
import type { Surroundings } from '../command/context.ts';
import type { DeploymentName } from '../command/deployment.ts';
import { endingOf } from '../command/exit.ts';
import type { Verb } from '../command/verb.ts';
import { CONFIRM, RISKS, type Risk, type ToolArguments, type ToolDefinition } from './operation-tools.ts';

interface VerbChoice {
  readonly name: 'init' | 'check' | 'apply';
  /** What it takes without a dash. */
  readonly word: string;
  readonly isNeeded: boolean;
  /** Names the options that an agent may give. The others ask, pay, or write over a file. */
  readonly options: readonly string[];
  readonly isReading: boolean;
  readonly risk: Risk | undefined;
}

const CHOICES: readonly VerbChoice[] = [
  {
    name: 'init',
    word: 'folder',
    isNeeded: false,
    options: ['name', 'script', 'data', 'launch'],
    isReading: false,
    risk: undefined,
  },
  { name: 'check', word: 'file', isNeeded: true, options: [], isReading: true, risk: undefined },
  { name: 'apply', word: 'file', isNeeded: false, options: [], isReading: false, risk: 'money' },
];

export interface VerbTool extends ToolDefinition {
  /** @returns what the verb prints @throws UsageError */
  readonly run: (given: ToolArguments, at: VerbPlace, isDryRun: boolean) => Promise<Printed>;
}

interface VerbPlace {
  readonly surroundings: Surroundings;
  readonly place: DeploymentName;
}

interface Printed {
  readonly isWell: boolean;
  readonly text: string;
}

export type ToolVerbs = Readonly<Record<VerbChoice['name'], Verb>>;

export const verbTools = (verbs: ToolVerbs): readonly VerbTool[] =>
  CHOICES.map((choice) => toolOf(choice, verbs[choice.name]));

function toolOf(choice: VerbChoice, verb: Verb): VerbTool {
  const { name, word, isNeeded, options, isReading, risk } = choice;
  const described = options.map(
    (option) => [option, { type: 'string', description: verb.options[option]?.about }] as const,
  );
  return {
    name,
    description: `${verb.summary}, as "tidewheel ${name}" does.${risk === undefined ? '' : ` ${RISKS[risk]}`}`,
    inputSchema: {
      type: 'object',
      properties: {
        [word]: { type: 'string', description: 'Relative to the folder of the server.' },
        ...Object.fromEntries(described),
        ...(risk !== undefined && CONFIRM),
      },
      required: isNeeded ? [word] : [],
    },
    isReading,
    risk,
    run: (given, at, isDryRun) => invoke(verb, wordsOf(choice, given), at, isDryRun),
  };
}

/** @throws UsageError with every problem */
function wordsOf({ word, isNeeded, options }: VerbChoice, { confirm: _confirm, ...given }: ToolArguments) {
  const known = [word, ...options];
  const problems = isNeeded && given[word] === undefined ? [`${word} is missing`] : [];
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(given)) {
    if (!known.includes(name)) problems.push(`there is no argument "${name}": there are ${known.join(', ')}`);
    else if (typeof value !== 'string') problems.push(`${name} is no text`);
    else if (!isBelow(value))
      problems.push(`${name} is "${value}": name what lies in the folder of the server`);
    else texts.set(name, value);
  }
  if (problems.length > 0) throw new UsageError(problems);
  const words = [...texts].filter(([name]) => name !== word).map(([name, value]) => `--${name}=${value}`);
  const last = texts.get(word);
  return last === undefined ? words : [...words, '--', last];
}

const isBelow = (value: string): boolean => !path.isAbsolute(value) && !/(^|[\\/])\.\.([\\/]|$)/.test(value);

async function invoke(
  verb: Verb,
  words: readonly string[],
  { surroundings, place }: VerbPlace,
  isDryRun: boolean,
): Promise<Printed> {
  const printed: string[] = [];
  const take = (text: string): void => void printed.push(text);
  const terminal = {
    print: take,
    note: () => undefined,
    problem: take,
    redraw: () => undefined,
    isLive: false,
    columns: 120,
    colours: pc.createColors(false),
    ask: () => Promise.resolve(undefined),
  };
  const own = 'stage' in verb.options ? Object.entries(place) : [];
  const named = own.flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'string' ? [`--${name}=${value}`] : [],
  );
  const flags = ['--json', ...named, ...(isDryRun ? ['--dry-run'] : [])];
  const code = await endingOf(
    () => verb.invoke([...flags, ...words], { ...surroundings, terminal }),
    terminal,
  );
  return { isWell: code === 0, text: printed.join('\n') };
}

/** Clients of MCP give up a call after a minute. */
const LONGEST_SECONDS = 50;
const PAUSE_MILLISECONDS = 2_000;

export const WAIT_TOOL: ToolDefinition = {
  name: 'waitForRun',
  description: `Waits until something happens to a run, at most ${LONGEST_SECONDS} s, and says what: attempts and timeline since then. Repeat it until the status is an end.`,
  inputSchema: {
    type: 'object',
    properties: { runId: { type: 'string', description: 'Such as digits-000042.' } },
    required: ['runId'],
  },
  isReading: true,
  risk: undefined,
};

type RunAnswer = AnswerOf<'getRun'>;
/** What a caller has been shown of a run. */
export type SeenRun = Readonly<Pick<RunAnswer, 'asOf' | 'timelineCount'> & { status: string }>;

const seenOf = ({ asOf, timelineCount, run: { status } }: RunAnswer): SeenRun => ({
  asOf,
  timelineCount,
  status,
});

/**
 * Waits for news since the last answer, so that nothing between two calls is missed.
 * @returns the run without its declaration, and what has been shown of it now
 */
export async function waitForRun(api: Api, runId: string, last: SeenRun | undefined) {
  const before = last ?? seenOf(await api.call('getRun', { runId }));
  const until = performance.now() + LONGEST_SECONDS * 1_000;
  for (let isNews = false; ; ) {
    const answer = await api.call('getRun', { runId, since: before.asOf });
    const { run, ...now } = answer;
    if (isFinished(run) || isNews || performance.now() >= until) {
      const { declaration: _, ...shown } = run;
      return { says: { run: shown, ...now }, seen: seenOf(answer) };
    }
    // The status of a run follows its timeline, so one more look is taken.
    isNews = now.timelineCount !== before.timelineCount || run.status !== before.status;
    await sleep(PAUSE_MILLISECONDS);
  }
}
