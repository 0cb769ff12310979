/** Pipelines in several states of their runs, in a region that may continue as one of another release. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EC2Client } from '@aws-sdk/client-ec2';
import {
  DeleteFunctionConcurrencyCommand,
  InvokeCommand,
  PutFunctionConcurrencyCommand,
} from '@aws-sdk/client-lambda';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { GetExecutionHistoryCommand } from '@aws-sdk/client-sfn';
import { bucketKeys, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { findStack, localClients, STACK_NAME } from '@tidewheel/emulators/region/clients.ts';
import { deploy } from '@tidewheel/emulators/region/deploy.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { zonesOf } from '@tidewheel/emulators/spot-market/model/offers.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import { signedFetch } from '@tidewheel/kit/signed-headers.ts';
import * as z from 'zod';
import { executionName } from '../../functions/records/batches.ts';
import { PYTHON } from '../support/region.ts';

/**
 * States whose function is held until the release has changed. Each comes later in a run than the next one, which would
 * hold its run, too.
 */
const DOORS = [
  { state: 'reporting', held: 'report', step: 'Report' },
  { state: 'launching', held: 'launch', step: 'Launch' },
  { state: 'placing', held: 'place', step: 'Place' },
  { state: 'judging', held: 'judge', step: 'Judge' },
  { state: 'sealing', held: 'seal-dataset', step: 'SealDataset' },
  { state: 'packing', held: 'pack-shards', step: 'PackInParallel' },
] as const;

/** What each pipeline is at when the release changes. */
type State =
  | 'ended'
  | 'failed'
  | 'stopped'
  | 'training'
  | 'waiting'
  | 'settling'
  | (typeof DOORS)[number]['state'];

interface Pipeline {
  readonly state: State;
  readonly packing: object;
  /** Of its first drop. */
  readonly files: number;
  readonly extension: string;
  readonly folders?: readonly [string, string];
  readonly launcher?: 'ec2';
  /** In the zone that has one Spot instance of each type: the second run waits for capacity. */
  readonly isScarce?: true;
}

const text = (state: State, packing: object, files = 24): Pipeline => ({
  state,
  packing,
  files,
  extension: '.txt',
});
const PIPELINES: Readonly<Record<string, Pipeline>> = {
  splits: text('ended', { split: { train: 0.7, validation: 0.3 }, remainder: 'even' }),
  fails: text('failed', {}),
  stops: text('stopped', { format: 'mds' }),
  tars: text('training', { format: 'webdataset', balance: 'over' }),
  records: text('training', { format: 'tfrecord' }),
  columns: text('training', { format: 'parquet' }),
  lines: {
    ...text('training', { format: 'lines', lines: { kind: 'jsonl' }, label: 'none' }),
    extension: '.jsonl',
  },
  images: { ...text('training', { format: 'recordio' }), extension: '.png', folders: ['0', '1'] },
  joins: {
    ...text('ended', { format: 'records', records: { kind: 'recordio' }, label: 'none' }),
    extension: '.rec',
  },
  hosts: { ...text('training', {}), launcher: 'ec2', isScarce: true },
  waits: { ...text('waiting', {}), launcher: 'ec2', isScarce: true },
  ended: { ...text('ended', {}), launcher: 'ec2' },
  reports: text('reporting', {}),
  launches: { ...text('launching', {}), launcher: 'ec2' },
  places: text('placing', {}),
  judges: { ...text('judging', {}), launcher: 'ec2' },
  seals: text('sealing', {}),
  packs: text('packing', { shardMegabytes: 1 }, 300),
  settles: text('settling', {}),
};

/** What each is at when the release changes. */
export const STATES: Readonly<Record<string, State>> = Object.fromEntries(
  Object.entries(PIPELINES).map(([name, { state }]) => [name, state]),
);

export type Outcomes = Readonly<Record<string, unknown>>;

/** How another release comes in: in place of the one that was stopped, or into the running region, as `osls deploy` does. */
export const WAYS = ['restart', 'deployment'] as const;

export interface Play {
  /** Clones: the release that the region begins with, and those that continue it, one after the other. */
  readonly before: string;
  readonly after: readonly string[];
  readonly by: (typeof WAYS)[number];
  /** Of the pipelines. */
  readonly names: readonly string[];
  readonly log: (line: string) => void;
}

export async function play({ before, after, by, names, log }: Play): Promise<Outcomes> {
  const state = await mkdtemp(path.join(tmpdir(), 'tidewheel-upgrade-'));
  let region = await startRegion(before, { state, log });
  // A sweep, once an hour, has held runs go on.
  const sweeping = setInterval(() => void region.sweep().catch(() => undefined), SWEEP_MILLISECONDS);
  try {
    await prepare(region, names, log);
    const isEnded = (name: string): boolean => PIPELINES[name]?.state === 'ended';
    for (const [index, clone] of after.entries()) {
      region = await changed(region, { clone, by, state, log });
      log(`  release ${index + 2} is there`);
      await region.open();
      if (index === after.length - 1) break;
      // A run that begins with one release meets the next.
      if (index === 0) for (const name of names.filter(isEnded)) await dropAgain(region, name);
      await sleep(MEETING_MILLISECONDS);
      await logStates(region, names, log);
    }
    await region.open();
    for (const name of names) await ended(region, runIdOf(name, 1), log);
    const waits = (name: string): boolean => PIPELINES[name]?.state === 'waiting';
    const isDropped = (name: string): boolean => waits(name) || (after.length > 1 && isEnded(name));
    for (const name of names.filter((each) => !isDropped(each))) await dropAgain(region, name);
    for (const name of names.filter((each) => !waits(each))) await ended(region, runIdOf(name, 2), log);
    return await outcomesOf(region, names);
  } finally {
    clearInterval(sweeping);
    await region.stop();
    await rm(state, { recursive: true, force: true });
  }
}

const SWEEP_MILLISECONDS = 60_000;
const MEETING_MILLISECONDS = 60_000;

async function dropAgain(region: RunningRegion, name: string): Promise<void> {
  await drop(region, name, { from: 900, files: 6 });
  if (PIPELINES[name]?.state === 'ended') await drop(region, name, { from: 0, files: 3, word: 'corrected' });
}

async function changed(
  region: RunningRegion,
  { clone, by, ...place }: Place & { readonly clone: string; readonly by: Play['by'] },
): Promise<RunningRegion> {
  if (by === 'deployment') {
    await region.deploy(clone);
    return region;
  }
  await region.stop();
  return startRegion(clone, place);
}

async function outcomesOf(region: RunningRegion, names: readonly string[]): Promise<Outcomes> {
  const outcomes: Record<string, unknown> = {};
  for (const name of names) {
    outcomes[`${name}, first run`] = await statusOf(region, runIdOf(name, 1));
    // It is the one that waits, and nothing is dropped into it again.
    if (PIPELINES[name]?.state !== 'waiting')
      outcomes[`${name}, second run`] = await statusOf(region, runIdOf(name, 2));
    outcomes[`${name}, dataset`] = await generationsOf(region, name);
  }
  return outcomes;
}

/** A package takes minutes, in which the runs of a play would end. */
export async function packaged(clone: string, log: Play['log']): Promise<void> {
  const state = await mkdtemp(path.join(tmpdir(), 'tidewheel-upgrade-'));
  try {
    await (await startRegion(clone, { state, log })).stop();
  } finally {
    await rm(state, { recursive: true, force: true });
  }
}

const documentSchema = z.object({
  apiUrl: z.string(),
  bucket: z.string(),
  environment: z.looseObject({
    AWS_ENDPOINT_URL: z.string(),
    AWS_ENDPOINT_URL_SAGEMAKER: z.string(),
    AWS_ENDPOINT_URL_EC2: z.string(),
    AWS_ACCESS_KEY_ID: z.string(),
    AWS_SECRET_ACCESS_KEY: z.string(),
  }),
});

interface RunningRegion {
  readonly bucket: string;
  readonly s3: S3Client;
  readonly ec2: EC2Client;
  readonly call: (method: string, path: string, body?: string) => Promise<{ status: number; body: unknown }>;
  /** The state that an execution has entered last. */
  readonly stepOf: (execution: string) => Promise<string | undefined>;
  /** Has a function run no more. */
  readonly hold: (functionName: string) => Promise<void>;
  /** Lets all functions run. */
  readonly open: () => Promise<void>;
  /** The hourly look of `reconcile`, now. */
  readonly sweep: () => Promise<void>;
  /** Deploys a clone into the region that runs. */
  readonly deploy: (clone: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

let started: Promise<unknown> = Promise.resolve();

interface Place {
  readonly state: string;
  readonly log: Play['log'];
}

/** One after the other: each start takes a minute of all processors. */
function startRegion(clone: string, place: Place): Promise<RunningRegion> {
  const region = started.then(() => startedRegion(clone, place));
  started = region.catch(() => undefined);
  return region;
}

async function startedRegion(clone: string, { state, log }: Place): Promise<RunningRegion> {
  const market = await mkdtemp(path.join(tmpdir(), 'tidewheel-market-'));
  for (const { zoneId } of zonesOf('us-east-1')) {
    const data = [zoneId === SCARCE_ZONE ? 1 : PLENTY];
    await writeFile(
      path.join(market, `${zoneId}.json`),
      JSON.stringify({ metadata: { gap_seconds: 3_600 }, data }),
    );
  }
  const args = ['cli/start.ts', '--no-demo', '--json', '--market', `trace:${market}`, '--state', state];
  const child = spawn(process.execPath, args, {
    cwd: clone,
    env: { ...process.env, TIDEWHEEL_PYTHON: PYTHON },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { apiUrl, bucket, environment } = documentSchema.parse(JSON.parse(await firstLine(child, log)));
  const credentials = {
    accessKeyId: environment.AWS_ACCESS_KEY_ID,
    secretAccessKey: environment.AWS_SECRET_ACCESS_KEY,
  };
  const signing = { service: 'execute-api', region: 'us-east-1', credentials };
  const endpoints = {
    aws: environment.AWS_ENDPOINT_URL,
    sageMaker: environment.AWS_ENDPOINT_URL_SAGEMAKER,
    ec2: environment.AWS_ENDPOINT_URL_EC2,
  };
  const clients = localClients(endpoints, credentials);
  const stack = await findStack(clients.cloudFormation);
  if (stack === undefined) throw new Error('the region has no stack');
  const nameOf = (held: string) => `${STACK_NAME}-${held}`;
  return {
    bucket,
    s3: clients.s3,
    ec2: clients.ec2,
    call: async (method, at, body) => {
      const reply = await signedFetch(
        new URL(`${apiUrl}${at}`),
        { method, ...(body !== undefined && { body }) },
        signing,
      );
      return { status: reply.status, body: await reply.json() };
    },
    sweep: async () => {
      const Payload = JSON.stringify({ sweep: true });
      await clients.lambda.send(new InvokeCommand({ FunctionName: nameOf('reconcile'), Payload }));
    },
    stepOf: async (execution) => {
      const executionArn = `${stack.stateMachineArn.replace(':stateMachine:', ':execution:')}:${execution}`;
      const history = new GetExecutionHistoryCommand({ executionArn, maxResults: 1_000 });
      const { events = [] } = await clients.stepFunctions.send(history);
      return events.findLast((event) => event.stateEnteredEventDetails)?.stateEnteredEventDetails?.name;
    },
    hold: async (name) => {
      const none = { FunctionName: nameOf(name), ReservedConcurrentExecutions: 0 };
      await clients.lambda.send(new PutFunctionConcurrencyCommand(none));
    },
    open: async () => {
      for (const { held } of DOORS)
        await clients.lambda.send(new DeleteFunctionConcurrencyCommand({ FunctionName: nameOf(held) }));
    },
    deploy: async (projectFolder) => {
      await deploy({
        projectFolder,
        stateDirectory: path.join(state, 'deployment'),
        endpoints,
        credentials,
        clients,
        pythonPath: PYTHON,
        onStep: (step) => log(`  ${step}`),
      });
    },
    stop: async () => {
      if (child.exitCode === null) {
        child.kill('SIGINT');
        await once(child, 'close');
      }
      await rm(market, { recursive: true, force: true });
    },
  };
}

/** @throws what the region said, if it ended before it was up */
async function firstLine(child: ChildProcess, log: Play['log']): Promise<string> {
  const [out, said]: [string[], string[]] = [[], []];
  child.stderr?.on('data', (chunk: Buffer) => {
    said.push(chunk.toString());
    const step = /stack: .* after .*/.exec(chunk.toString())?.[0];
    if (step !== undefined) log(`  ${step}`);
  });
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk.toString()));
  while (!out.join('').includes('\n')) {
    if (child.exitCode !== null) throw new Error(`the region did not start: ${said.join('')}`);
    await sleep(200);
  }
  return out.join('').split('\n')[0] ?? '';
}

const put = async ({ s3, bucket }: RunningRegion, Key: string, Body: string | Buffer) =>
  s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));

async function drop(
  region: RunningRegion,
  name: string,
  { from, files, word = 'sample' }: { readonly from: number; readonly files: number; readonly word?: string },
): Promise<void> {
  const { extension = '', folders = ['cat', 'dog'] } = PIPELINES[name] ?? {};
  const one = async (number: number) => {
    const key = `${folders[number % 2]}/${number}${extension}`;
    const content = contentOf(extension, `"${word} ${number} ${'x'.repeat(number % 50)}"\n`);
    await put(region, `${bucketKeys.incoming(name)}${key}`, content);
  };
  const numbers = Array.from({ length: files }, (_, index) => from + index);
  await eachLimited(numbers, UPLOADS, one);
}

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const RECORDIO_MAGIC = 0xced7230a;

function contentOf(extension: string, text: string): Buffer {
  const bytes = Buffer.from(text);
  if (extension === '.png') return Buffer.concat([PNG, bytes]);
  if (extension !== '.rec') return bytes;
  const frame = Buffer.alloc(8 + 4 * Math.ceil(bytes.length / 4));
  frame.writeUInt32LE(RECORDIO_MAGIC);
  frame.writeUInt32LE(bytes.length, 4);
  bytes.copy(frame, 8);
  return frame;
}

async function prepare(region: RunningRegion, names: readonly string[], log: Play['log']): Promise<void> {
  const counts = await readFile(path.join(import.meta.dirname, '../../bench/campaign/train.py'));
  const vpc = await defaultVpc(region.ec2);
  const scarce = { ...vpc, subnets: vpc.subnets.filter(({ zoneId }) => zoneId === SCARCE_ZONE) };
  const declare = async (name: string) => {
    const { state, packing, launcher, isScarce } = PIPELINES[name] ?? {};
    const source = state === 'failed' ? 'raise SystemExit("wrong on purpose")\n' : counts;
    await put(region, `${bucketKeys.source(name)}train.py`, source);
    const steps = state === 'training' || state === 'stopped' ? 240 : 3;
    const declaration = {
      name,
      settle: { quietSeconds: state === 'settling' ? 45 : 2 },
      packing,
      training: { strategy: 'single', hyperparameters: { steps, start_seconds: 1, save_seconds: 5 } },
      compute: {
        instanceTypes: [isScarce ? 'g4dn.xlarge' : 'g5.xlarge'],
        ...(launcher && { launcher, ec2: { image: IMAGE }, vpc: isScarce ? scarce : vpc }),
        ...(isScarce && { purchaseOption: 'spot' }),
      },
    };
    // As 0.1.0 writes it. This release says where fields have moved to a person who puts it again.
    await put(region, bucketKeys.pipeline(name), JSON.stringify(declaration));
    await declared(region, name);
  };
  const of = (...states: readonly State[]) =>
    Object.entries(PIPELINES).filter(([name, { state }]) => names.includes(name) && states.includes(state));
  for (const name of names) await declare(name);
  for (const [name, { files }] of of('ended', 'failed')) await drop(region, name, { from: 0, files });
  for (const [name] of of('ended', 'failed')) await ended(region, runIdOf(name, 1), log);
  for (const [name, { files }] of of('stopped', 'training')) await drop(region, name, { from: 0, files });
  for (const [name] of of('stopped')) {
    await reached(region, runIdOf(name, 1), ['training']);
    await region.call('POST', `/runs/${runIdOf(name, 1)}/stop`, '{}');
    await ended(region, runIdOf(name, 1), log);
  }
  for (const [name] of of('training')) await reached(region, runIdOf(name, 1), ['training']);
  for (const [name, { files }] of of('waiting')) {
    await drop(region, name, { from: 0, files });
    await until(`${name} did not wait for capacity`, () => isWaiting(region, runIdOf(name, 1)));
  }
  for (const { state, held, step } of DOORS) {
    for (const [name, { files }] of of(state)) {
      await region.hold(held);
      await drop(region, name, { from: 0, files });
      await until(`${name} did not come to ${step}`, () => isAt(region, name, step));
    }
  }
  for (const [name, { files }] of of('settling')) await drop(region, name, { from: 0, files });
  for (const [name] of of('settling')) await reached(region, runIdOf(name, 1), ['settling']);
  await logStates(region, names, log);
}

async function logStates(region: RunningRegion, names: readonly string[], log: Play['log']): Promise<void> {
  const states = names.map(async (name) => `${name}: ${await statusOf(region, runIdOf(name, 1))}`);
  log(`  ${(await Promise.all(states)).join(', ')}`);
}

async function isAt(region: RunningRegion, name: string, step: string): Promise<true | undefined> {
  // There is no execution yet.
  const found = await region.stepOf(executionName(runIdOf(name, 1), 1)).catch(() => undefined);
  return found === step || undefined;
}

const recordSchema = z.object({ valid: z.boolean().optional(), problems: z.unknown().optional() });

const declared = (region: RunningRegion, name: string): Promise<true> =>
  until(`${name} was not taken`, async () => {
    const { body } = await region.call('GET', `/pipelines/${name}`);
    const { valid, problems } = recordSchema.parse(body);
    // A new record is not valid until its declaration was read.
    if (valid !== true && problems !== undefined)
      throw new Error(`${name} was refused: ${JSON.stringify(problems)}`);
    return valid === true || undefined;
  });

const placementsSchema = z.object({ placements: z.array(z.object({ kind: z.string() })) });

async function isWaiting(region: RunningRegion, runId: string): Promise<true | undefined> {
  const { body } = await region.call('GET', `/runs/${runId}/placements`);
  return placementsSchema.safeParse(body).data?.placements.at(-1)?.kind === 'wait' || undefined;
}

/** @throws Error with `otherwise` where it is undefined for too long */
async function until<T>(otherwise: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + LIMIT_MILLISECONDS;
  for (; Date.now() < end; await sleep(500)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(otherwise);
}

const runSchema = z.object({ run: z.object({ status: z.string() }) });

async function statusOf(region: RunningRegion, runId: string): Promise<string | undefined> {
  const { body } = await region.call('GET', `/runs/${runId}`);
  return runSchema.safeParse(body).data?.run.status;
}

const ENDED = ['succeeded', 'failed', 'stopped', 'empty', 'notNeeded'];
/** At once; the emulator is one process. */
const UPLOADS = 16;
/** No such image exists: local hosts run on this machine's own Python. */
const IMAGE = 'ami-00000000000000000';

/** A run that waits for capacity looks every ten minutes. */
const LIMIT_MILLISECONDS = 1_800_000;
const SCARCE_ZONE = 'use1-az1';
const PLENTY = 1_000;

const reached = (region: RunningRegion, runId: string, wanted: readonly string[]): Promise<string> =>
  until(`${runId} did not become ${wanted.join(' or ')}`, async () => {
    const status = await statusOf(region, runId).catch(() => undefined);
    return status !== undefined && [...wanted, ...ENDED].includes(status) ? status : undefined;
  });

async function ended(region: RunningRegion, runId: string, log: Play['log']): Promise<void> {
  log(`  ${runId}: ${await reached(region, runId, [])}`);
}

const manifestSchema = z.object({
  samples: z.number(),
  shards: z.array(z.object({ bytes: z.number(), samples: z.number(), crc32: z.string().optional() })),
  splits: z.array(z.looseObject({ name: z.string(), samples: z.number() })).optional(),
  arrivals: z.looseObject({ packed: z.number(), rejected: z.number() }),
});

/** What is in its dataset. */
async function generationsOf(region: RunningRegion, name: string): Promise<readonly unknown[]> {
  const { Contents = [] } = await region.s3.send(
    new ListObjectsV2Command({ Bucket: region.bucket, Prefix: bucketKeys.dataset(name) }),
  );
  const generations: unknown[] = [];
  for (const { Key = '' } of Contents.filter((each) => each.Key?.endsWith('/manifest.json'))) {
    const { Body } = await region.s3.send(new GetObjectCommand({ Bucket: region.bucket, Key }));
    const { shards, ...rest } = manifestSchema.parse(JSON.parse((await Body?.transformToString()) ?? ''));
    generations.push({ Key, ...rest, shards: shards.map((shard) => Object.values(shard).join(' ')).sort() });
  }
  return generations;
}
