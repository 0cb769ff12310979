/** What the steps found: kept in a file, so that a second start continues, and written as a report. */

import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { readIfThere } from '@tidewheel/kit/files.ts';
import * as z from 'zod';
import { STEPS, type Step } from './steps.ts';

const result = z.object({
  number: z.number(),
  outcome: z.enum(['asExpected', 'differs', 'failed', 'notPossibleHere', 'byHand']),
  at: z.string(),
  seconds: z.number(),
  costUsd: z.number().optional(),
  /** Its run goes on, and the next start waits for it. */
  goesOn: z.boolean().optional(),
  /** Of a step that differs: what differs. Of one that failed: why. Of the others: what was seen. */
  lines: z.array(z.string()),
});

export type StepResult = z.infer<typeof result>;

/** The deployment that the results are of. */
const place = z.object({
  where: z.enum(['AWS', 'one machine']),
  account: z.string(),
  region: z.string(),
  stage: z.string(),
});

export type TrialPlace = z.infer<typeof place>;

const kept = z.object({ place, results: z.array(result) });

/** The run of such a step has ended: its pipeline may go. */
export const stepIsOver = ({ outcome, goesOn }: StepResult): boolean =>
  (outcome === 'asExpected' || outcome === 'differs') && goesOn !== true;

/**
 * A missing file holds no results.
 * @throws UsageError where they are of another deployment: a step that is done there is not done here
 */
export async function readResults(file: string, here: TrialPlace): Promise<readonly StepResult[]> {
  const text = await readIfThere(file);
  if (text === undefined) return [];
  const { place: there, results } = readKept(file, text);
  if (isDeepStrictEqual(there, here)) return results;
  const folder = path.dirname(file);
  throw new UsageError([
    `--folder is "${folder}", which has the results of ${nameOfPlace(there)}; this is ${nameOfPlace(here)}: name another folder, such as --folder ${folder}-${here.stage}, or remove it`,
  ]);
}

function readKept(file: string, text: string): z.infer<typeof kept> {
  try {
    return kept.parse(JSON.parse(text));
  } catch (error: unknown) {
    throw new Error(`${file} cannot be read: remove it to begin again`, { cause: error });
  }
}

const nameOfPlace = ({ where, account, region, stage }: TrialPlace): string =>
  `stage ${stage} in ${region} on ${where} (account ${account})`;

export interface KeptResults {
  readonly place: TrialPlace;
  readonly results: readonly StepResult[];
}

export async function keepResults(file: string, results: KeptResults): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(results, undefined, 2));
  await rename(`${file}.new`, file);
}

/** Account numbers, names of buckets and ids of networks are the account's own. */
export const withoutNames = (text: string): string =>
  text
    .replaceAll(/\b\d{12}\b/g, '<account>')
    .replaceAll(/\b(subnet|sg|vpc|rtb|ami|i|eni)-[0-9a-f]{8,17}\b/g, '<$1>')
    .replaceAll(/\btidewheel-[a-z0-9-]*databucket-[a-z0-9-]+/g, '<bucket>')
    .replaceAll(/\b(AKIA|ASIA)[A-Z0-9]{12,}\b/g, '<key>');

const WORDS: Readonly<Record<StepResult['outcome'], string>> = {
  asExpected: 'as expected',
  differs: 'DIFFERS',
  failed: 'FAILED',
  notPossibleHere: 'not possible here',
  byHand: 'by hand',
};

export function markdownOf(results: readonly StepResult[], { where, region, stage }: TrialPlace): string {
  const rows = STEPS.map((step) =>
    rowOf(
      step,
      results.find(({ number }) => number === step.number),
    ),
  );
  const details = results
    .filter(({ lines }) => lines.length > 0)
    .map(({ number, lines }) => `## Step ${number}\n\n${lines.map((line) => `- ${line}`).join('\n')}\n`);
  const spent = results.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0);
  return `# First day on ${where}\n\nStage ${stage} in ${region}.\n\n| step | what it proves | result | seconds | cost |\n|---|---|---|---|---|\n${rows.join('\n')}\n\nTraining cost $${spent.toFixed(2)} by the reports of the runs.\n\n${details.join('\n')}`;
}

function rowOf({ number, title, proves }: Step, found: StepResult | undefined): string {
  const name = `${number}. ${title}`;
  if (found === undefined) return `| ${name} | ${proves} | not done | | |`;
  const cost = found.costUsd === undefined ? '' : `$${found.costUsd.toFixed(3)}`;
  return `| ${name} | ${proves} | ${WORDS[found.outcome]} | ${found.seconds.toFixed(0)} | ${cost} |`;
}
