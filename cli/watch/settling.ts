/** What a run that settles waits for, in words: a minute without a sign of life looks like a fault. */
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { readStored } from '@tidewheel/declaration/read.ts';
import type { AnswerOf } from '../../client/operations.ts';
import { momentText } from '../command/format.ts';
import type { WatchedRun } from './view.ts';

export type Settle = Pipeline['settle'];

/** @returns undefined where the stored declaration cannot be used */
export function settleOf({
  name,
  declaration,
}: Pick<AnswerOf<'getPipeline'>, 'name' | 'declaration'>): Settle | undefined {
  const read = readStored(name, declaration);
  return read.valid ? read.pipeline.settle : undefined;
}

/** To stand behind "begins" or "packs". */
export const settledText = ({ quietSeconds, marker }: Settle): string =>
  `when nothing has arrived for ${quietSeconds} s (settle.quietSeconds)${marker === undefined ? '' : `, or ${marker} arrives`}`;

/** @param now milliseconds since 1970 */
export function waitText(
  { createdAt, newestEventAt = createdAt }: Pick<WatchedRun['run'], 'createdAt' | 'newestEventAt'>,
  settle: Settle,
  now: number,
): string {
  const until = Date.parse(newestEventAt) + settle.quietSeconds * 1000;
  // S3's list or the run before may keep it longer.
  const moment = until > now ? `: about ${momentText(new Date(until), new Date(now))}` : '';
  return `packs ${settledText(settle)}${moment}`;
}
