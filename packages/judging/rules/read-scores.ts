/** Scores that an evaluation wrote: one JSON object a line, with the sample's key and a number for each metric. */
import { parseJson } from '@tidewheel/kit/json.ts';
import { shownKey } from '@tidewheel/kit/quoted.ts';
import * as z from 'zod';

export interface Score {
  readonly value: number;
  readonly label?: string | undefined;
}

/** By the sample's key. */
export type ScoreTable = ReadonlyMap<string, Score>;

export type ScoresRead =
  | { readonly ok: true; readonly scores: ScoreTable }
  | { readonly ok: false; readonly problems: readonly string[] };

export const MOST_SAMPLES = 100_000;
/** Of one line; S3 keys have 1,024 bytes at most. */
const LONGEST_LINE = 8_192;
const MOST_PROBLEMS = 5;

const line = z.looseObject({
  key: z.string().min(1),
  label: z.string().max(200).optional().catch(undefined),
});

/**
 * Lines in any order; blank ones count as none. The bytes are a script's, so nothing of them is believed.
 * @param metric its value is the score
 */
export async function readScores(
  lines: AsyncIterable<string> | Iterable<string>,
  metric: string,
): Promise<ScoresRead> {
  const scores = new Map<string, Score>();
  const problems: string[] = [];
  let [number, faulty] = [0, 0];
  for await (const text of lines) {
    number += 1;
    if (text.trim() === '') continue;
    if (scores.size >= MOST_SAMPLES)
      return {
        ok: false,
        problems: [`more than ${MOST_SAMPLES.toLocaleString('en')} samples: evaluate on a part`],
      };
    const problem = take(text, metric, scores);
    if (problem === undefined) continue;
    faulty += 1;
    if (problems.length < MOST_PROBLEMS) problems.push(`line ${number}: ${problem}`);
  }
  if (faulty === 0) return { ok: true, scores };
  const more = faulty - problems.length;
  return { ok: false, problems: more > 0 ? [...problems, `and ${more} lines more`] : problems };
}

/** @returns what is wrong with the line */
function take(text: string, metric: string, scores: Map<string, Score>): string | undefined {
  if (text.length > LONGEST_LINE) return `longer than ${LONGEST_LINE} characters`;
  const parsed = line.safeParse(parseJson(text));
  if (!parsed.success)
    return /\bNaN\b|\bInfinity\b/.test(text)
      ? 'NaN or Infinity is no score'
      : 'write {"key": the name of the sample, and a number for each metric}';
  const { key, label } = parsed.data;
  const value = Object.hasOwn(parsed.data, metric) ? parsed.data[metric] : undefined;
  const score = typeof value === 'boolean' ? Number(value) : value;
  if (typeof score !== 'number' || !Number.isFinite(score))
    return `${shownKey(key)} has no number for ${metric}, the metric of training.objective`;
  if (scores.has(key)) return `${shownKey(key)} has a score already: write one line for each sample`;
  scores.set(key, { value: score, label });
  return undefined;
}
