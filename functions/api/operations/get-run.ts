import { hash } from 'node:crypto';
import { writtenPipeline } from '@tidewheel/declaration/pipeline.ts';
import { list, time } from '@tidewheel/kit/fields.ts';
import { attemptCost, type Progress } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { readProgress } from '../../records/progress.ts';
import { shownRun } from '../../records/requests.ts';
import {
  type AttemptRecord,
  FINISHED,
  type RunRecord,
  type TimelineEntry,
  timelineEntrySchema,
} from '../../records/run-records.ts';
import { attemptReportSchema, type RunReport, reportSchema } from '../../run/attempts/make-report.ts';
import { decisionOf, moneyOf, moneySchema } from '../../run/attempts/money.ts';
import { beganAt } from '../../run/attempts/watch-resume.ts';
import { ok } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';
import { moment } from '../shared/query-text.ts';
import { attemptSummary, progress, run } from '../shared/shown.ts';
import { endedReport } from './get-report.ts';

/** One answer stays small however long the run has been going on; the whole timeline has a route of its own. */
const NEWEST_ENTRIES = 100;
const LONGEST_TEXT = 300;

/** A record is dated a moment before it can be read, and clocks differ. */
const OVERLAP_MILLISECONDS = 10_000;
/** What is expected changes by the clock alone. */
const MOMENT_MILLISECONDS = 60_000;

const shownReport = reportSchema
  .omit({ timeline: true, generations: true, rejected: true, attempts: true, speeds: true })
  .extend({
    attempts: list(
      attemptReportSchema.pick({
        attempt: true,
        outcome: true,
        lostSeconds: true,
        restart: true,
        costUsd: true,
      }),
    ),
  });

export const getRun = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}',
    id: 'getRun',
    summary: 'Shows a run: its attempts, its progress, its money so far and to come.',
    query: z.strictObject({
      since: moment
        .optional()
        .describe(
          '`asOf` of an answer that the caller has: attempts and timeline are what has changed since.',
        ),
    }),
    answer: z.object({
      asOf: time.describe('Give it as `since` to learn what changes from here on. It is a few seconds ago.'),
      run,
      attempts: list(attemptSummary),
      timeline: list(timelineEntrySchema).describe('The newest 100 entries, oldest first.'),
      timelineCount: z.number().int().describe('How many entries there are.'),
      progress: progress.optional().describe('The newest checkpoint that is whole.'),
      money: moneySchema,
      report: shownReport
        .optional()
        .describe('What an ended run came to; the whole report has a route of its own.'),
    }),
    refusals: [404, 409],
  },
  async (deps, { run, query: { since } }) => {
    const { runId } = run;
    const now = deps.clock.now();
    const [attempts, timeline, progress, report] = await Promise.all([
      deps.attempts.list(runId),
      deps.timeline.list(runId),
      readProgress(deps.store, run.pipeline, runId),
      FINISHED.includes(run.status) ? endedReport(deps.store, run) : undefined,
    ]);
    const decided = FINISHED.includes(run.status)
      ? undefined
      : await decisionOf(deps.placements, runId, attempts);
    const isNew = (at: string): boolean => since === undefined || Date.parse(at) >= Date.parse(since);
    const changed = timeline.filter(({ at }) => isNew(at));
    const body = {
      asOf: new Date(now.getTime() - OVERLAP_MILLISECONDS).toISOString(),
      run: { ...shownRun(run), declaration: run.declaration && writtenPipeline(run.declaration) },
      attempts: attempts
        .filter(({ updatedAt }) => isNew(updatedAt))
        .map((attempt) => summaryOf(attempt, attempt === attempts.at(-1))),
      timeline: changed.slice(-NEWEST_ENTRIES).map((entry) => ({ ...entry, text: shortened(entry.text) })),
      timelineCount: timeline.length,
      progress,
      money: moneyOf({ run, attempts, progress, now, decided }),
      report: report && shortOf(report),
    };
    return { ...ok(body), headers: { etag: etagOf({ run, attempts, timeline, progress, since, now }) } };
  },
);

interface Known {
  readonly run: RunRecord;
  readonly attempts: readonly AttemptRecord[];
  readonly timeline: readonly TimelineEntry[];
  readonly progress: Progress | undefined;
  readonly since: string | undefined;
  readonly now: Date;
}

/** Of what is on record. Money that grows steadily is no news: its rate is in the answer that the caller has. */
function etagOf({ run, attempts, timeline, progress, since, now }: Known): string {
  const moment = FINISHED.includes(run.status) ? 0 : Math.floor(now.getTime() / MOMENT_MILLISECONDS);
  const newest = attempts.map(({ attempt, status, updatedAt }) => [attempt, status, updatedAt]);
  const known = [run, newest, timeline.length, timeline.at(-1)?.id, progress, since, moment];
  return `"${hash('sha256', JSON.stringify(known), 'base64url')}"`;
}

const shortened = (text: string): string =>
  text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)} …` : text;

function summaryOf(attempt: AttemptRecord, isNewest: boolean) {
  const { recall, outcome } = attempt;
  return attemptSummary.parse({
    ...attempt,
    beganAt: beganAt(attempt),
    recall: recall && { ...recall, why: shortened(recall.why) },
    outcome: outcome && { ...outcome, message: shortened(outcome.message) },
    costUsd: outcome && attemptCost(attempt),
    diagnosis: isNewest ? attempt.diagnosis : undefined,
  });
}

const shortOf = (report: RunReport) =>
  shownReport.parse({ ...report, failure: report.failure && shortened(report.failure) });
