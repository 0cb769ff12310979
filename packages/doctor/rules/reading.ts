/** What a training reads while it steps. From it, placement judges disk, memory and network of other types. */
import * as z from 'zod';
import type { Evidence } from './evidence.ts';
import { missingShare } from './file-mode.ts';
import { measuresOf } from './measures.ts';

export const readingSchema = z
  .object({
    inputMode: z.enum(['File', 'FastFile']),
    /** What its loader asks for in a step, from memory, disk or network. */
    bytesPerStep: z.number(),
    /** In an epoch. */
    dataBytes: z.number(),
    /** Memory that its processes hold; the page cache has the rest. */
    processBytes: z.number(),
  })
  .describe('What one host reads while it steps.');
export type HostReading = z.output<typeof readingSchema>;

const GIBIBYTE = 2 ** 30;
/** Logs and libraries are read too, so a disk that delivers less of the data tells nothing of the rest. */
const LEAST_MISSING = 0.05;

/** @returns undefined where the page cache holds the data: then nothing tells how much a step reads */
export function readingOf(evidence: Evidence): HostReading | undefined {
  const pace = measuresOf(evidence)?.pace;
  if (pace === undefined || evidence.data.bytes === 0) return undefined;
  const missing = missingShare(evidence, pace);
  const isFile = evidence.inputMode === 'File';
  if (isFile && missing < LEAST_MISSING) return undefined;
  const perSecond = isFile ? pace.diskBytesPerSecond / missing : pace.receivedBytesPerSecond;
  return {
    inputMode: evidence.inputMode,
    bytesPerStep: perSecond * pace.stepSeconds,
    dataBytes: evidence.data.bytes,
    processBytes: pace.memoryUsed * evidence.instance.facts.memoryGib * GIBIBYTE,
  };
}
