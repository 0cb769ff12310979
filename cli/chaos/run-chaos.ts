/** `npm start -- --chaos`: a gang of four trains while its hosts fail, beside what the same declaration trains in peace. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { REGION } from '@tidewheel/emulators/region/clients.ts';
import { StrikeRefusedError } from '@tidewheel/emulators/region/interruptions.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import pc from 'picocolors';
import { parse, stringify } from 'yaml';
import * as z from 'zod';
import { isFinished } from '../../client/run-view.ts';
import { cloudWatchLogs } from '../../functions/aws/logs/log-reader.ts';
import { readProgress } from '../../functions/records/progress.ts';
import type { RunRecord } from '../../functions/records/run-records.ts';
import { awaitNewRun } from '../demo/run-demo.ts';
import type { Session } from '../serve/session.ts';
import { BEFALLS, type ChaosFault, type PlannedFault, plannedFault, STRIKES } from './faults.ts';
import { chaosLines, lossesOf, type StepMade, type StruckFault } from './losses.ts';

const PIPELINE = 'chaos';
const HOSTS = 4;
/** A step sleeps so long, as if a GPU computed: four hosts then fit on the cores of one machine. */
const STEP_SECONDS = 0.2;
/** What a fault costs, roughly: the training then lasts as long as the faults. */
const FAULT_SECONDS = 4.5;
const LEAST_SHARE = 0.25;
const LOOK_MILLISECONDS = 200;
/** A job that goes on for so long was not struck. */
const LOST_FAULT_MILLISECONDS = 30_000;

export interface ChaosOptions {
  readonly everySeconds: number;
  readonly seconds: number;
  readonly seed: number;
}

/**
 * @returns whether the run succeeded with the weights of the run without faults
 * @throws Error when the run without faults does not succeed
 */
export async function runChaos(session: Session, options: ChaosOptions): Promise<boolean> {
  const { screen } = session;
  const share = Math.max(LEAST_SHARE, 1 - FAULT_SECONDS / options.everySeconds);
  const steps = Math.round((share * options.seconds) / STEP_SECONDS);
  await stopUnfinished(session);
  screen.line(`  chaos: ${HOSTS} hosts, a fault each ${options.everySeconds} s, seed ${options.seed}`);
  screen.line(`  first the same ${steps} steps in peace, and without a pause between them`);
  const calm = await startRun(session, { steps, step_seconds: 0 });
  const peaceful = await endOf(session, calm);
  if (peaceful === undefined) return false;
  if (peaceful.status !== 'succeeded')
    throw new Error(`the run without faults has not succeeded: ${endText(peaceful)}`);
  const runId = await startRun(session, { steps, step_seconds: STEP_SECONDS });
  screen.line(`  now with faults: ${runId}, whose loss is on the page`);
  const ended = endOf(session, runId);
  const { struck, until } = await strikeInTurn(session, runId, options);
  const run = await ended;
  const [undisturbed, disturbed] = await Promise.all(
    [calm, runId].map((id) => weightsOf(session, id, steps)),
  );
  const hasSucceeded = run?.status === 'succeeded';
  const isEqual = hasSucceeded && disturbed !== undefined && disturbed === undisturbed;
  const compared = isEqual ? `yes, ${calm} has the same` : 'NO';
  const weights = hasSucceeded ? compared : run === undefined ? 'the run has not ended' : endText(run);
  screen.line();
  for (const line of chaosLines(lossesOf(struck, await stepsOf(session, runId), until), weights))
    screen.line(line);
  return isEqual;
}

/** What Ctrl-C has left of an earlier chaos. */
async function stopUnfinished(session: Session): Promise<void> {
  for (const { runId, pipeline } of await session.stores.runs.listOpen()) {
    if (pipeline !== PIPELINE) continue;
    const { status, body } = await session.api.call('POST', `/runs/${runId}/stop`);
    // 409: it has ended meanwhile.
    if (status !== 202 && status !== 409)
      throw new Error(`the stop of ${runId} was refused (${status}): ${JSON.stringify(body)}`);
    await endOf(session, runId);
  }
}

const look = (signal: AbortSignal): Promise<void> =>
  sleep(LOOK_MILLISECONDS, undefined, { signal }).catch(() => undefined);

/** Declares it with these hyperparameters. Without data the drop starts it. */
async function startRun(session: Session, hyperparameters: Record<string, number>): Promise<string> {
  const { api, region, projectFolder, stores } = session;
  const { clients, stack } = region;
  const put = (Key: string, Body: Buffer) =>
    clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body }));
  await put(`${bucketKeys.source(PIPELINE)}train.py`, await readFile(join(import.meta.dirname, 'train.py')));
  const { training, compute, ...rest } = declared.parse(
    parse(await readFile(join(import.meta.dirname, 'chaos.yaml'), 'utf8')),
  );
  const vpc = await defaultVpc(clients.ec2);
  const declaration = { ...rest, training: { ...training, hyperparameters }, compute: { ...compute, vpc } };
  const { status, body } = await api.call('PUT', `/pipelines/${PIPELINE}`, stringify(declaration));
  if (status !== 200) throw new Error(`the pipeline was refused (${status}): ${JSON.stringify(body)}`);
  const [newest] = await stores.runs.list(PIPELINE, 1);
  if (newest !== undefined) {
    const started = await api.call('POST', `/pipelines/${PIPELINE}/runs`);
    if (started.status !== 202)
      throw new Error(`the run was refused (${started.status}): ${JSON.stringify(started.body)}`);
    return z.object({ runId: z.string() }).parse(started.body).runId;
  }
  const digits = await readFile(join(projectFolder, 'training/data/digits/digits.csv.gz'));
  await put(`${bucketKeys.incoming(PIPELINE)}digits.csv`, await promisify(gunzip)(digits));
  return (await awaitNewRun(session, PIPELINE, undefined)) ?? '';
}

const declared = z.looseObject({ training: z.looseObject({}), compute: z.looseObject({}) });

/** @returns the run that has ended; undefined when the session ended before */
async function endOf({ stores, signal }: Session, runId: string): Promise<RunRecord | undefined> {
  while (!signal.aborted) {
    const run = await stores.runs.get(runId).catch(() => undefined);
    if (run !== undefined && isFinished(run)) return run;
    await look(signal);
  }
  return undefined;
}

const endText = ({ runId, status, failure = status }: RunRecord): string =>
  status === 'failed' ? `the run failed: ${failure}` : `${runId} ended as ${status}`;

/** Strikes while the run trains. A fault waits for a new step after the last one: none hides another. */
async function strikeInTurn(session: Session, runId: string, { everySeconds, seconds, seed }: ChaosOptions) {
  const { region, signal, stores } = session;
  const kinds = [...STRIKES, ...region.interruptions.hostFaults];
  const struck: StruckFault[] = [];
  const steps = stepWatch(session, runId);
  const isOver = async () =>
    signal.aborted || (await stores.runs.get(runId).then((run) => run && isFinished(run)));
  const untilStep = async () => {
    while (!(await steps.hasStepped()) && !(await isOver())) await look(signal);
  };
  await untilStep();
  const began = Date.now();
  const until = began + seconds * 1_000;
  for (
    let due = began + everySeconds * 1_000;
    due < until && !(await isOver());
    due += everySeconds * 1_000
  ) {
    await sleep(Math.max(0, due - Date.now()), undefined, { signal }).catch(() => undefined);
    await untilStep();
    const next = plannedFault(seed, struck.length, { hosts: HOSTS, kinds });
    if (Date.now() > until || signal.aborted || !strike(session, runId, next)) continue;
    struck.push({ fault: next.fault, at: Date.now() });
    steps.wasStruck(next.fault);
  }
  return { struck, until };
}

/** Whether the run has saved a new step since the last fault, which ends the job unless it is a slow host or got lost. */
function stepWatch({ region, store }: Session, runId: string) {
  let struck = { job: '', until: 0 };
  let job: string | undefined;
  let reached = 0;
  const stepNow = async (): Promise<number> =>
    (await readProgress(store, PIPELINE, runId).catch(() => undefined))?.step ?? 0;
  return {
    hasStepped: async (): Promise<boolean> => {
      const now = region.interruptions.running().find(({ run }) => run === runId)?.job;
      if (now === undefined || (now === struck.job && Date.now() < struck.until)) return false;
      const step = await stepNow();
      // The next job resumes from here.
      if (now !== job) [job, reached] = [now, step];
      if (step <= reached) return false;
      reached = step;
      return true;
    },
    wasStruck: (fault: ChaosFault): void => {
      if (fault !== 'slow') struck = { job: job ?? '', until: Date.now() + LOST_FAULT_MILLISECONDS };
    },
  };
}

/** @returns false when the run has no such host now */
function strike({ region, screen }: Session, runId: string, { fault, host }: PlannedFault): boolean {
  const { interruptions } = region;
  const job = interruptions.running().find(({ run }) => run === runId);
  if (job === undefined) return false;
  try {
    if (fault === 'kill') interruptions.strike({ run: runId, kill: true, host });
    else if (fault === 'reclaim') interruptions.strike({ run: runId, kill: false, closes: false });
    else if (!interruptions.inject(job.job, host, fault)) return false;
  } catch (error: unknown) {
    if (error instanceof StrikeRefusedError) return false;
    throw error;
  }
  const time = pc.dim(new Date().toISOString().slice(11, 19));
  screen.line(`${time} ${pc.yellow(`${fault}: host ${host} ${BEFALLS[fault]}`)}`);
  return true;
}

/** SHA-256 of the weights, and of what else the script keeps, after the last step. */
const weightsOf = ({ store }: Session, runId: string, steps: number): Promise<string | undefined> =>
  store.digestOf(
    `${bucketKeys.checkpoints(PIPELINE, runId)}step-${String(steps).padStart(8, '0')}/state.npy`,
  );

const JOBS_LOG = '/aws/sagemaker/TrainingJobs';
const MOST_LINES = 1_000_000;

/** From the log of all attempts: the first host prints each step. */
async function stepsOf({ region }: Session, runId: string): Promise<StepMade[]> {
  const { credentials, endpoints } = region;
  const client = new CloudWatchLogsClient({ region: REGION, credentials, endpoint: endpoints.aws });
  const range = { group: JOBS_LOG, streamPrefix: `${runId}-a`, from: 0, to: Date.now(), limit: MOST_LINES };
  const lines = await cloudWatchLogs(() => client, REGION).read(range);
  client.destroy();
  return lines.flatMap(({ at, host, text }) => {
    const step = /^tidewheel step=(\d+) /.exec(text)?.[1];
    return step === undefined ? [] : [{ at, stay: host, step: Number(step) }];
  });
}
