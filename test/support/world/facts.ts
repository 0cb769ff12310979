/** Lists the violated invariants at the end of a history. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { attemptCost } from '@tidewheel/placement/records.ts';
import type { Notice } from '../../../functions/records/notices.ts';
import { type AttemptRecord, FINISHED, type RunRecord } from '../../../functions/records/run-records.ts';
import { deadlineAt, type RunReport } from '../../../functions/run/attempts/make-report.ts';
import type { ChangedRequest, History } from './history.ts';
import { MARKER } from './lambdas.ts';
import { sealedArrivals } from './packing-model.ts';
import { PIPELINE, type World } from './world.ts';

export async function violations({
  world,
  over,
  promised,
  reported,
  stopped,
  changed,
}: History): Promise<string[]> {
  const runs = await world.runs.list(PIPELINE, 1_000);
  const found = [...world.broken];
  if (!over) found.push(`it is never over: ${await describeOpen(world, runs)}`);
  found.push(...(await arrivalProblems(world, runs)), ...jobProblems(world, await allAttempts(world, runs)));
  found.push(...(await world.fleets.listLeftovers()).map((name) => `something is left of the fleet ${name}`));
  found.push(...changed.flatMap((request) => requestProblems(runs, request)));
  for (const run of runs) {
    const attempts = await world.attempts.list(run.runId);
    const isFromReport = reported.has(run.runId) && attempts.length === 0;
    found.push(
      ...(await outcomeProblems(world, run, isFromReport)),
      ...reportProblems(world, run, isFromReport ? run.result?.costUsd : costOf(attempts)),
    );
    if (stopped.includes(run.runId)) found.push(...stopProblems(run, attempts));
    if (promised.includes(run.runId) && run.status === 'empty')
      found.push(`${run.runId} was promised to train`);
  }
  return found;
}

/** One run trains with the changes of a request, and no other does. A call without an answer may have been taken, or not. */
function requestProblems(runs: readonly RunRecord[], { lr, runIds }: ChangedRequest): string[] {
  const training = runs.filter(({ declaration }) => declaration?.training.hyperparameters['lr'] === lr);
  const answered = [...new Set(runIds)];
  const [runId] = answered;
  const promised = runs.find((run) => run.runId === runId);
  return [
    ...(answered.length > 1 ? [`lr ${lr} was answered with ${answered.join(' and ')}`] : []),
    ...(training.length > 1 ? [`lr ${lr} trains in ${training.map((run) => run.runId).join(' and ')}`] : []),
    // A run may end before its batch is closed, and says so.
    ...(promised?.declaration !== undefined && training[0]?.runId !== runId
      ? [`${promised.runId} was promised with lr ${lr} and trains with another`]
      : []),
    ...(promised?.status === 'empty' ? [`${promised.runId} was promised to train`] : []),
    ...(runId !== undefined && promised === undefined ? [`there is no ${runId}`] : []),
  ];
}

/** A stop may come too late for a run that ends by itself. Otherwise no attempt begins after it. */
function stopProblems(
  { runId, status, stop, retry }: RunRecord,
  attempts: readonly AttemptRecord[],
): string[] {
  const late = attempts.filter(({ createdAt }) => stop !== undefined && createdAt > stop.at);
  return [
    ...(stop === undefined && retry === undefined
      ? [`${runId} was stopped and its record does not say so`]
      : []),
    ...late.map(({ jobName }) => `${jobName} began after the stop`),
    ...(status === 'stopped' || status === 'succeeded' || status === 'failed' || status === 'empty'
      ? []
      : [`${runId} was stopped and is ${status}`]),
  ];
}

async function describeOpen(world: World, runs: readonly RunRecord[]): Promise<string> {
  const open = runs.filter(({ status }) => !FINISHED.includes(status));
  const attempts = await world.attempts.listOpen();
  return [
    ...open.map(({ runId, status, execution }) => `${runId} is ${status} in execution ${execution}`),
    ...attempts.map(({ jobName, status }) => `${jobName} is ${status}`),
    ...[...world.executions.values()].map(({ name, status, end }) => `${name} ${status} ${end ?? ''}`),
  ].join('; ');
}

/** Every arrival that is there now is in one generation, unless a run that failed before its seal holds it. */
async function arrivalProblems(world: World, runs: readonly RunRecord[]): Promise<string[]> {
  const seen = new Map<string, string[]>();
  for (const generation of await world.store.listFolders(bucketKeys.dataset(PIPELINE))) {
    for (const arrival of await sealedArrivals(world.store, PIPELINE, generation)) {
      seen.set(arrival, [...(seen.get(arrival) ?? []), generation]);
    }
  }
  const problems = [...seen]
    .filter(([, generations]) => generations.length > 1)
    .map(([arrival, generations]) => `${arrival} is in ${generations.join(' and ')}`);
  const ends = [...runs, ...(await endsInBucket(world))].toSorted((a, b) => b.batch - a.batch);
  const lastSeal = ends.find(
    ({ runId }) => world.store.keys(bucketKeys.manifest(PIPELINE, runId)).length > 0,
  );
  const excused = ends.find(
    ({ status, batch }) => (status === 'failed' || status === 'stopped') && batch > (lastSeal?.batch ?? 0),
  );
  const incoming = bucketKeys.incoming(PIPELINE);
  for await (const { key, etag, lastModified } of world.store.list(incoming)) {
    if (key === incoming + MARKER || seen.has(`${key} ${etag}`)) continue;
    const failedAfter = excused?.closedAt !== undefined && lastModified < new Date(excused.closedAt);
    if (!failedAfter) problems.push(`${key} of ${lastModified.toISOString()} is in no generation`);
  }
  return problems;
}

/** Ended runs as the bucket knows them, which keeps them when the table is lost. */
async function endsInBucket({ store }: World) {
  const ends: Pick<RunRecord, 'runId' | 'batch' | 'status' | 'closedAt'>[] = [];
  for (const runId of await store.listFolders(bucketKeys.runs(PIPELINE))) {
    const report = await store.readText(bucketKeys.report(PIPELINE, runId));
    if (report === undefined) continue;
    const close = await store.readText(bucketKeys.closeRecord(PIPELINE, runId));
    ends.push({
      runId,
      batch: Number(runId.slice(runId.lastIndexOf('-') + 1)),
      ...(JSON.parse(report.text) as Pick<RunRecord, 'status'>),
      ...(close !== undefined && (JSON.parse(close.text) as Pick<RunRecord, 'closedAt'>)),
    });
  }
  return ends;
}

async function allAttempts(world: World, runs: readonly RunRecord[]): Promise<AttemptRecord[]> {
  return (await Promise.all(runs.map(({ runId }) => world.attempts.list(runId)))).flat();
}

function jobProblems(world: World, attempts: readonly AttemptRecord[]): string[] {
  const kept = world.store
    .keys(bucketKeys.runs(PIPELINE))
    .flatMap((key) => (key.includes('/records/attempts/') ? [world.store.json(key) as AttemptRecord] : []));
  const known = new Set([...attempts, ...kept].map(({ jobName }) => jobName));
  return [
    ...[...world.training.jobs.keys(), ...world.fleets.jobs.keys()]
      .filter((name) => !known.has(name))
      .map((name) => `no attempt knows ${name}`),
    ...[...world.training.running(), ...world.fleets.running()].map(
      (name) => `${name} still runs and costs money`,
    ),
    ...attempts
      .filter(({ outcome }) => outcome === undefined)
      .map(({ jobName }) => `${jobName} has no outcome`),
    ...attempts
      .filter(({ outcome }) => outcome?.kind === 'interrupted')
      .filter(({ jobName }) => !wasNotified(world, 'AttemptInterrupted', jobName))
      .map(({ jobName }) => `no notice reports the interruption of ${jobName}`),
  ];
}

const wasNotified = ({ notifier }: World, type: string, jobName: string): boolean =>
  notifier.notices.some(
    ({ notice }) => notice.type === type && 'jobName' in notice && notice.jobName === jobName,
  );

const TYPE_OF: Readonly<Record<string, Notice['type']>> = {
  succeeded: 'RunFinished',
  failed: 'RunFailed',
  stopped: 'RunStopped',
};

/** @param isFromReport its timeline went with the table */
async function outcomeProblems(world: World, run: RunRecord, isFromReport: boolean): Promise<string[]> {
  const { runId, status, retry } = run;
  const notices = new Set(
    world.notifier.notices
      .filter((each) => each.runId === runId && Object.values(TYPE_OF).includes(each.notice.type))
      .map(({ notice }) => notice.type),
  );
  const expected = TYPE_OF[status];
  const problems: string[] = [];
  // A run that was tried again had another end before.
  if (retry !== undefined && expected !== undefined && notices.has(expected)) notices.clear();
  else if ([...notices].join() !== (expected ?? ''))
    problems.push(`${runId} is ${status}, its notices are ${[...notices].join()}`);
  const ends = (await world.timeline.list(runId)).filter(
    ({ id }) => id === (retry === undefined ? 'finished' : `finished-${retry.number}`),
  );
  const title = TYPE_OF[status] ?? 'NothingNew';
  if (!isFromReport && (ends.length !== 1 || ends[0]?.kind !== title)) {
    problems.push(`${runId} is ${status}, its timeline says ${ends.map(({ kind }) => kind).join()}`);
  }
  return problems;
}

const EPSILON = 1e-9;

const costOf = (attempts: readonly AttemptRecord[]): number =>
  attempts.reduce((sum, attempt) => sum + attemptCost(attempt), 0);

function reportProblems(world: World, run: RunRecord, cost = Number.NaN): string[] {
  const { runId, status } = run;
  const report = world.store.json(bucketKeys.report(PIPELINE, runId)) as RunReport | null;
  if (report === null) return [`${runId} has no report`];
  const problems: string[] = [];
  if (report.status !== status) problems.push(`${runId} is ${status}, its report says ${report.status}`);
  if (!(Math.abs(report.costUsd - cost) <= EPSILON)) {
    problems.push(`the report of ${runId} says ${report.costUsd} USD, its record or attempts ${cost}`);
  }
  if (status === 'succeeded' && report.modelUri === undefined) problems.push(`${runId} has no model`);
  const deadline = deadlineAt(run)?.toISOString();
  if (status !== 'empty' && report.deadline.at !== deadline)
    problems.push(`${runId} reports another deadline`);
  return problems;
}
