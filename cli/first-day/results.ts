/** What the steps found: kept in a file, so that a second start continues, and written as a report. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { STEPS, type Step } from './steps.ts';

const result = z.object({
  number: z.number(),
  outcome: z.enum(['asExpected', 'differs', 'notPossibleHere', 'byHand']),
  at: z.string(),
  seconds: z.number(),
  costUsd: z.number().optional(),
  /** Of a step that differs: what differs. Of the others: what was seen. */
  lines: z.array(z.string()),
});

export type StepResult = z.infer<typeof result>;

const kept = z.object({ results: z.array(result) });

/** A missing file holds no results. */
export async function readResults(file: string): Promise<readonly StepResult[]> {
  try {
    return kept.parse(JSON.parse(await readFile(file, 'utf8'))).results;
  } catch (error: unknown) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw new Error(`${file} cannot be read: remove it to begin again`, { cause: error });
  }
}

export async function keepResults(file: string, results: readonly StepResult[]): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify({ results }, undefined, 2));
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
  notPossibleHere: 'not possible here',
  byHand: 'by hand',
};

export function markdownOf(results: readonly StepResult[], where: string): string {
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
  return `# First day on ${where}\n\n| step | what it proves | result | seconds | cost |\n|---|---|---|---|---|\n${rows.join('\n')}\n\nTraining cost $${spent.toFixed(2)} by the reports of the runs.\n\n${details.join('\n')}`;
}

function rowOf({ number, title, proves }: Step, found: StepResult | undefined): string {
  const name = `${number}. ${title}`;
  if (found === undefined) return `| ${name} | ${proves} | not done | | |`;
  const cost = found.costUsd === undefined ? '' : `$${found.costUsd.toFixed(3)}`;
  return `| ${name} | ${proves} | ${WORDS[found.outcome]} | ${found.seconds.toFixed(0)} | ${cost} |`;
}
