import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { logEntrySchema, positionIn, readRunLog, tokenOfPosition } from '../../records/run-log.ts';
import { ok } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';
import { moment, numberText, wholeNumber } from '../shared/query-text.ts';

const token = z.string().transform((text, context) => {
  const found = positionIn(text);
  if (found !== undefined) return found;
  const message = 'which no page of a log gave out: use the nextToken of the page before, or none to begin';
  context.addIssue({ code: 'custom', message, input: text });
  return z.NEVER;
});

export const getLog = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}/log',
    id: 'getLog',
    summary: 'Shows what the hosts of all attempts printed, as one stream, by pages or to follow.',
    query: z.strictObject({
      attempt: numberText(1, 9_999).optional().describe('Only this attempt.'),
      host: z.string().optional().describe('Only this host, such as algo-1.'),
      since: moment.optional().describe('Lines before this time are left out.'),
      limit: wholeNumber(1, 5_000, 1_000).describe('The most lines of a page.'),
      nextToken: token.optional().describe('Of the page before; absent to begin.'),
    }),
    answer: z.object({
      entries: list(logEntrySchema),
      nextToken: z
        .string()
        .optional()
        .describe('Make the same call with it for what follows; absent at the end of an ended run.'),
      isCurrent: z
        .boolean()
        .describe('Nothing more is there now. To follow, wait a few seconds and go on from nextToken.'),
    }),
    refusals: [404],
  },
  async ({ attempts, logs, clock }, { run, query: { nextToken, since, ...query } }) => {
    const { entries, next, isCurrent } = await readRunLog(logs, {
      ...query,
      run,
      attempts: await attempts.list(run.runId),
      position: nextToken,
      since: since === undefined ? undefined : new Date(since),
      now: clock.now(),
    });
    return ok({ entries, nextToken: next && tokenOfPosition(next), isCurrent });
  },
);
