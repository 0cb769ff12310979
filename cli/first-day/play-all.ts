/** Plays steps in their order. Each result is kept before its pipeline is removed, and the report is written whatever happens. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { removePipeline } from './play-run.ts';
import { obstacleTo, playStep, type StepDeps, stepPipeline } from './play-step.ts';
import {
  keepResults,
  markdownOf,
  readResults,
  type StepResult,
  stepIsOver,
  type TrialPlace,
  withoutNames,
} from './results.ts';
import { STEPS, type Step } from './steps.ts';

export interface Day {
  readonly steps: readonly Step[];
  /** Steps that are done are played again. */
  readonly again: boolean;
  /** Exists. */
  readonly folder: string;
  readonly place: TrialPlace;
  /** Leaves account numbers and names in the report. */
  readonly names: boolean;
  readonly mayPlay: (step: Step) => Promise<'yes' | 'no' | 'stop'>;
}

export const GOES_ON = 'The same command goes on from here: what is dropped and what runs stays.';

/** @returns whether every step that was played, now or earlier, went as it should, and every question had an answer */
export async function playAll(day: Day, deps: StepDeps): Promise<boolean> {
  const { say, signal } = deps.ground;
  const book = await openBook(day);
  let lastly: 'next' | 'end' | 'noAnswer' = 'next';
  try {
    // An earlier removal may have been cut short: its run is not the one to wait for.
    for (const step of day.steps) await removeIfOver(step, book, deps);
    for (const step of stepsToPlay(day, book.results())) {
      lastly = await playOne(step, { day, deps, book });
      if (lastly !== 'next') break;
    }
  } finally {
    await writeReport(day, book.results(), say);
  }
  const outcomes = book.results().map(({ outcome }) => outcome);
  const isUnanswered = lastly === 'noAnswer' && !signal.aborted;
  if (isUnanswered) say('No answer came: the steps that are left are not played.');
  const isUnfinished = isUnanswered || signal.aborted || outcomes.includes('failed');
  if (isUnfinished) say(GOES_ON);
  return !isUnfinished && !outcomes.includes('differs');
}

interface Played {
  readonly day: Day;
  readonly deps: StepDeps;
  readonly book: Book;
}

async function playOne(step: Step, { day, deps, book }: Played): Promise<'next' | 'end' | 'noAnswer'> {
  const { say, signal } = deps.ground;
  const obstacle = obstacleTo(step, deps);
  say(`\n${planLine(step, obstacle)}`);
  const answer = await day.mayPlay(step);
  if (answer === 'no') return 'next';
  if (answer === 'stop') return 'noAnswer';
  if (signal.aborted) return 'end';
  const result = await playStep(step, deps);
  // The line of the plan has said it.
  if (obstacle === undefined) for (const line of result.lines) say(`  ${line}`);
  await book.keep(result);
  await removeIfOver(step, book, deps);
  // What made it fail (credentials, the network) makes the next ones fail, too.
  return result.outcome === 'failed' ? 'end' : 'next';
}

/** The results so far, in a file. */
interface Book {
  readonly results: () => readonly StepResult[];
  readonly keep: (result: StepResult) => Promise<void>;
}

async function openBook({ folder, place }: Day): Promise<Book> {
  const file = path.join(folder, 'results.json');
  let results = await readResults(file, place);
  return {
    results: () => results,
    keep: async (result) => {
      results = [...results.filter(({ number }) => number !== result.number), result].toSorted(
        (a, b) => a.number - b.number,
      );
      await keepResults(file, { place, results });
    },
  };
}

const stepsToPlay = (
  { steps, again }: Pick<Day, 'steps' | 'again'>,
  results: readonly StepResult[],
): readonly Step[] => {
  const done = new Set(results.flatMap(({ number, outcome }) => (outcome === 'asExpected' ? [number] : [])));
  return steps.filter(({ number }) => again || !done.has(number));
};

export const planLine = ({ number, title, proves, mostUsd }: Step, obstacle: string | undefined): string =>
  `${number}. ${title} (at most $${mostUsd.toFixed(2)})\n   proves: ${proves}${obstacle === undefined ? '' : `\n   not possible here: ${obstacle}`}`;

/** Nothing is left of a step whose run has ended. */
async function removeIfOver(step: Step, book: Book, { ground }: StepDeps): Promise<void> {
  const found = book.results().find(({ number }) => number === step.number);
  if (step.kind === 'run' && found !== undefined && stepIsOver(found))
    await removePipeline(ground.store, stepPipeline(step));
}

async function writeReport(
  { folder, names, place }: Day,
  results: readonly StepResult[],
  say: (line: string) => void,
): Promise<void> {
  const hide = names ? (text: string) => text : withoutNames;
  const markdown = path.join(folder, 'report.md');
  await writeFile(markdown, hide(markdownOf(results, place)));
  const text = JSON.stringify({ place, steps: STEPS.length, results }, undefined, 2);
  await writeFile(path.join(folder, 'report.json'), hide(text));
  say(`\nreport: ${markdown}`);
}
