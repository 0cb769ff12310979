/** A trace in the published format, for the local market and the simulator: {"metadata": {"gap_seconds": 600}, "data": [available instances, per tick]}. */
import * as z from 'zod';
import { type CheckedJson, checkFields, readJsonFile } from '../../shared/json-file.ts';

const SECONDS = 'give the whole seconds of a tick, 1 or more';
const COUNTS = 'give how many instances were available in each tick: 0, 1, 2, ...';

const traceSchema = z.object(
  {
    metadata: z.object(
      { gap_seconds: z.number(SECONDS).int(SECONDS).positive(SECONDS) },
      'give {"gap_seconds": 600}',
    ),
    data: z.array(z.number(COUNTS).int(COUNTS).min(0, COUNTS), COUNTS).min(1, COUNTS),
  },
  'give {"metadata": {"gap_seconds": 600}, "data": [1, 0]}',
);

export type Trace = z.infer<typeof traceSchema>;

export function readTraceFile(file: string): CheckedJson<Trace> {
  const content = readJsonFile(file);
  return content.ok ? checkFields(traceSchema, content.value) : content;
}
