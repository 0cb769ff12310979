/** One history: a user who drops data in any weather, then calm, then what must be true. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { FINISHED } from '../../../functions/records/run-records.ts';
import type { Machine } from './asl.ts';
import { created } from './ground.ts';
import { MARKER } from './lambdas.ts';
import { createWorld, declarationKey, PIPELINE, type World } from './world.ts';

const onEc2 = (launcher: string) => `, launcher: ${launcher}, ec2: { image: ami-0123456789abcdef0 },
  vpc: { securityGroupIds: [sg-01234567], subnets: [{ id: subnet-01234567, zoneId: use1-az1 }] }`;

type Launcher = 'sagemaker' | 'ec2' | 'cheapest';

const declarationFor = (launcher: Launcher) => `
name: ${PIPELINE}
settle: { quietSeconds: 60, marker: ${MARKER} }
training: { strategy: ddp }
compute: { instanceTypes: [g5.xlarge], nodes: 2${launcher === 'sagemaker' ? '' : onEc2(launcher)} }
limits: { maximumRunSeconds: 7200, deadlineHours: 14 }
tuning: { settle: { maximumWaitSeconds: 900 }, limits: { attempts: 12 } }
`;

const TYPES = {
  warning: 'EC2 Spot Instance Interruption Warning',
  state: 'EC2 Instance State-change Notification',
} as const;

/** Of a call to fail. */
const WEATHER = [0, 0.01, 0.03, 0.08];
const CHAOS_SECONDS = 5 * 3_600;
const LIMIT_SECONDS = 6 * 86_400;

export interface History {
  readonly world: World;
  readonly over: boolean;
  /** Runs that were promised to train although nothing may be new. */
  readonly promised: readonly string[];
  /** Runs whose reports were there when the table was lost: they come back from these. */
  readonly reported: ReadonlySet<string>;
  /** Runs whose stop was accepted, in any state. */
  readonly stopped: readonly string[];
  /** Requests with a learning rate of their own, each sent until it was answered. */
  readonly changed: readonly ChangedRequest[];
}

export interface ChangedRequest {
  readonly lr: number;
  /** Of every answer that took it. */
  readonly runIds: string[];
}

interface Disturbances {
  readonly losesTable?: boolean;
  readonly stops?: boolean;
  /** A person asks for runs with changes. */
  readonly changes?: boolean;
  /** Executions have the definition of an earlier release. */
  readonly definition?: Machine;
  /** The service is upgraded: the table holds what the last release wrote. */
  readonly upgrades?: boolean;
}

export async function live(
  seed: number,
  launcher: Launcher = 'sagemaker',
  disturbances: Disturbances = {},
): Promise<History> {
  const declaration = declarationFor(launcher);
  // Where either may be chosen, SageMaker is the cheaper one in every other history.
  const ec2Usd = launcher === 'cheapest' && seed % 2 === 1 ? 1.75 : undefined;
  const world = createWorld(seed, WEATHER[seed % WEATHER.length] ?? 0, {
    ec2Usd,
    definition: disturbances.definition,
  });
  const { loop, clock, random, chaos } = world;
  const promised: string[] = [];
  const reported = new Set<string>();
  const stopped: string[] = [];
  const changed: ChangedRequest[] = [];
  put(world, declarationKey, declaration);
  const drops = random.whole(2, 9);
  for (let drop = 0; drop < drops; drop += 1)
    loop.after(random.whole(0, CHAOS_SECONDS), () => dropData(world));
  if (random.chance(0.4)) spoilDeclaration(world, declaration);
  if (random.chance(0.4)) loop.after(random.whole(0, CHAOS_SECONDS), () => void ask(world, promised));
  for (let abort = random.whole(0, 3); abort > 0; abort -= 1) {
    loop.after(random.whole(0, CHAOS_SECONDS), () => abortOne(world));
  }
  disturb(world, { promised, reported, stopped, changed }, disturbances);
  let calm = false;
  loop.after(CHAOS_SECONDS + 1, () => {
    chaos.rate = 0;
    calm = true;
  });
  // A last turn of every reconciliation after the storm. Sweeps pause as long as the pipeline was idle before.
  let calmTurns = false;
  loop.after(2 * CHAOS_SECONDS + 2 * 3_600, () => {
    calmTurns = true;
  });
  world.keepReconciling();
  let done = false;
  const look = async () => {
    const runs = await world.runs.list(PIPELINE, 1_000);
    const attempts = await world.attempts.listOpen();
    done = runs.every(({ status }) => FINISHED.includes(status)) && attempts.length === 0;
    loop.after(600, () => void look());
  };
  loop.after(600, () => void look());
  const over = await loop.run({
    isOver: () => calm && calmTurns && done && world.isQuiet(),
    limit: new Date(clock.now().getTime() + LIMIT_SECONDS * 1_000),
    onTime: () => passTime(world),
  });
  return { world, over, promised, reported, stopped, changed };
}

/** Jobs and fleets go on, and AWS sends events about them. */
export function passTime(world: World): void {
  for (const jobName of world.training.advance())
    world.send('OnTrainingEvent', { detail: { TrainingJobName: jobName } }, true);
  for (const { instanceId, event } of world.fleets.advance())
    world.send('OnSpotWarning', { 'detail-type': TYPES[event], detail: { 'instance-id': instanceId } }, true);
}

/** S3 notifies the queue of every write, sooner or later. */
function put(world: World, key: string, text: string, lastModified?: Date): void {
  world.store.put(key, text, lastModified);
  world.send('OnArrival', JSON.parse(created(key, world.clock.now())), world.random.chance(0.5));
}

function dropData(world: World): void {
  const { random, clock, loop } = world;
  for (let objects = random.whole(1, 4); objects > 0; objects -= 1) {
    const key = `${bucketKeys.incoming(PIPELINE)}${random.whole(0, 12)}.png`;
    loop.after(random.whole(0, 200), () => {
      const began = new Date(clock.now().getTime() - random.whole(60, 3_000) * 1_000);
      const text = `content ${random.whole(0, 1e9)} at ${clock.now().getTime()}`;
      put(world, key, text, random.chance(0.25) ? began : undefined);
    });
  }
  if (random.chance(0.3))
    loop.after(random.whole(0, 250), () => put(world, bucketKeys.incoming(PIPELINE) + MARKER, ''));
}

function spoilDeclaration(world: World, declaration: string): void {
  const at = world.random.whole(0, CHAOS_SECONDS - 2_000);
  world.loop.after(at, () => put(world, declarationKey, 'name: [broken'));
  world.loop.after(at + world.random.whole(60, 2_000), () => put(world, declarationKey, declaration));
}

async function ask(world: World, promised: string[]): Promise<void> {
  const answer = await world.invoke('Api', {
    route: 'POST /pipelines/{name}/runs',
    parameters: { name: PIPELINE },
    body: '',
  });
  const response =
    answer.kind === 'ok' ? (answer.value as { status: number; body: { runId?: string } }) : undefined;
  if (response?.status === 202 && response.body.runId !== undefined) promised.push(response.body.runId);
}

/** A person has runs with learning rates of their own. The client repeats a call, also one that was answered. */
function changeSome(world: World, changed: ChangedRequest[]): void {
  const { loop, random } = world;
  for (let requests = random.whole(1, 5); requests > 0; requests -= 1) {
    const asked: ChangedRequest = { lr: requests / 100, runIds: [] };
    changed.push(asked);
    const begin = random.whole(0, CHAOS_SECONDS);
    for (let calls = random.whole(1, 4); calls > 0; calls -= 1)
      loop.after(begin + random.whole(0, random.pick([3, 120, 5_000])), () => void askChanged(world, asked));
  }
}

async function askChanged(world: World, { lr, runIds }: ChangedRequest): Promise<void> {
  const body = JSON.stringify({ training: { hyperparameters: { lr } }, clientToken: `lr-${lr * 100}` });
  const start = { route: 'POST /pipelines/{name}/runs', parameters: { name: PIPELINE }, body };
  const answer = await world.invoke('Api', start);
  const response =
    answer.kind === 'ok' ? (answer.value as { status: number; body: { runId?: string } }) : undefined;
  if (response?.status === 202 && response.body.runId !== undefined) runIds.push(response.body.runId);
}

interface Asked {
  readonly promised: string[];
  readonly reported: Set<string>;
  readonly stopped: string[];
  readonly changed: ChangedRequest[];
}

function disturb(
  world: World,
  { promised, reported, stopped, changed }: Asked,
  { losesTable = false, stops = false, changes = false, upgrades = false }: Disturbances,
): void {
  if (losesTable) loseTable(world, promised, reported);
  if (upgrades)
    for (let pass = 1; pass <= 20; pass += 1)
      world.loop.after((pass * CHAOS_SECONDS) / 20, () => void world.asLastRelease());
  if (stops) stopSome(world, stopped);
  if (changes) changeSome(world, changed);
}

/** A person stops the newest run, at times twice, and at times of a function that dies. */
function stopSome(world: World, stopped: string[]): void {
  const { loop, random } = world;
  for (let stops = random.whole(1, 6); stops > 0; stops -= 1)
    loop.after(random.whole(0, CHAOS_SECONDS), () => void stopNewest(world, stopped));
}

async function stopNewest(world: World, stopped: string[]): Promise<void> {
  const [newest] = await world.runs.list(PIPELINE, 1);
  if (newest === undefined) return;
  const body = JSON.stringify({ mode: world.random.pick(['afterSave', 'now']) });
  const stop = { route: 'POST /runs/{runId}/stop', parameters: { runId: newest.runId }, body };
  const answer = await world.invoke('Api', stop);
  const response = answer.kind === 'ok' ? (answer.value as { status: number }) : undefined;
  if (response?.status === 202) stopped.push(newest.runId);
  if (world.random.chance(0.6))
    world.loop.after(world.random.whole(0, 3_000), () => void retry(world, newest.runId));
}

/** Where the run has not ended, or trained nothing, it is refused. */
async function retry(world: World, runId: string): Promise<void> {
  const body = JSON.stringify({ source: world.random.pick(['current', 'pinned']) });
  await world.invoke('Api', { route: 'POST /runs/{runId}/retry', parameters: { runId }, body });
}

/** An answer to a person is in the table alone. */
function loseTable(
  { loop, random, store, loseTable: lose }: World,
  promised: string[],
  reported: Set<string>,
): void {
  const report = new RegExp(`^${bucketKeys.runs(PIPELINE)}([^/]+)/report\\.json$`);
  for (let losses = random.whole(1, 3); losses > 0; losses -= 1)
    loop.after(random.whole(0, CHAOS_SECONDS), () => {
      for (const key of store.keys(bucketKeys.runs(PIPELINE))) {
        const runId = report.exec(key)?.[1];
        if (runId !== undefined) reported.add(runId);
      }
      lose();
      promised.length = 0;
    });
}

/** By a person, a redeployment, or an emulator that was restarted; its function may go on for a while. */
function abortOne(world: World): void {
  const running = [...world.executions.values()].filter(({ status }) => status === 'running');
  if (running.length > 0) world.random.pick(running).status = 'ended';
}
