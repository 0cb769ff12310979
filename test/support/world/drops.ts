/** Drops of data in an account with limits, from the declaration to the model. Nothing fails by chance. */

import { bucketKeys, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { type AttemptRecord, FINISHED } from '../../../functions/records/run-records.ts';
import type { JobScript } from '../fakes/training.ts';
import type { Conditions, Usage } from './account.ts';
import { created } from './ground.ts';
import { passTime } from './history.ts';
import { ITEM_OBJECTS } from './packing-model.ts';
import { createWorld, type World } from './world.ts';

export interface Drop {
  readonly pipeline: string;
  /** Of the plan. An item of 256 MB is packed by one invocation. */
  readonly items: number;
  readonly itemSeconds: number;
  /** Of the declaration. Default: two nodes of one type. */
  readonly compute?: string;
}

interface Trained {
  readonly runId: string;
  readonly status: string;
  /** From the drop to the manifest; undefined without one. */
  readonly sealedSeconds: number | undefined;
  readonly timeline: readonly string[];
  readonly attempts: readonly AttemptRecord[];
  /** Why it failed. */
  readonly failure?: string | undefined;
}

export interface Trainings {
  readonly runs: readonly Trained[];
  readonly usage: Usage;
}

/** Of `settle`, `plan`, `seal` and every other function, besides its calls. */
const FUNCTION_SECONDS = 2;
/** Of one event source mapping's batch. */
const MESSAGES = 100;
const LIMIT_SECONDS = 10 * 86_400;
const LOOK_SECONDS = 60;

const TRAINS: JobScript = [
  { at: 0, status: 'InProgress', secondary: 'Starting' },
  { at: 180, status: 'InProgress', secondary: 'Downloading' },
  { at: 240, status: 'InProgress', secondary: 'Training' },
  { at: 1_800, status: 'InProgress', secondary: 'Uploading' },
  { at: 1_860, status: 'Completed', secondary: 'Completed' },
];

const COMPUTE = '{ instanceTypes: [g5.xlarge], nodes: 2 }';

const declarationOf = ({ pipeline, compute = COMPUTE }: Drop) => `
name: ${pipeline}
settle: { quietSeconds: 60 }
training: { strategy: ddp }
compute: ${compute}
limits: { maximumRunSeconds: 7200, deadlineHours: 48 }
tuning: { settle: { maximumWaitSeconds: 900 }, limits: { attempts: 12 } }
`;

export async function trainDrops(
  conditions: Conditions,
  drops: readonly Drop[],
  seed = 1,
): Promise<Trainings> {
  const itemSeconds = new Map(drops.map((drop) => [drop.pipeline, drop.itemSeconds]));
  const world = createWorld(seed, 0, {
    functionSeconds: (name, event) =>
      name === 'PackShards' ? (itemSeconds.get(String(event['pipeline'])) ?? 0) : FUNCTION_SECONDS,
    jobScript: () => TRAINS,
    ...conditions,
  });
  const { loop, clock } = world;
  const began = clock.now();
  for (const drop of drops) put(world, drop);
  world.keepReconciling();
  const runIds = drops.map(({ pipeline }) => runIdOf(pipeline, 1));
  let done = false;
  const look = async () => {
    const runs = await Promise.all(runIds.map((runId) => world.runs.get(runId)));
    done = runs.every((run) => run !== undefined && FINISHED.includes(run.status));
    loop.after(LOOK_SECONDS, () => void look());
  };
  loop.after(LOOK_SECONDS, () => void look());
  await loop.run({
    isOver: () => done,
    limit: new Date(began.getTime() + LIMIT_SECONDS * 1_000),
    onTime: () => passTime(world),
  });
  const runs = drops.map(({ pipeline }) => trained(world, pipeline, began));
  return { runs: await Promise.all(runs), usage: world.account.usage() };
}

function put(world: World, drop: Drop): void {
  const { pipeline, items } = drop;
  const notified = (key: string): unknown => JSON.parse(created(key, world.clock.now()));
  world.store.put(`${bucketKeys.source(pipeline)}train.py`, 'print()');
  world.store.put(bucketKeys.pipeline(pipeline), declarationOf(drop));
  world.sendBatch('OnArrival', [notified(bucketKeys.pipeline(pipeline))]);
  const keys = Array.from(
    { length: items * ITEM_OBJECTS },
    (_, index) => `${bucketKeys.incoming(pipeline)}${index}.png`,
  );
  for (const key of keys) world.store.put(key, key);
  for (let first = 0; first < keys.length; first += MESSAGES)
    world.sendBatch('OnArrival', keys.slice(first, first + MESSAGES).map(notified));
}

async function trained(world: World, pipeline: string, began: Date): Promise<Trained> {
  const runId = runIdOf(pipeline, 1);
  const run = await world.runs.get(runId);
  let sealedSeconds: number | undefined;
  for await (const { lastModified } of world.store.list(bucketKeys.manifest(pipeline, runId)))
    sealedSeconds = (lastModified.getTime() - began.getTime()) / 1_000;
  const timeline = (await world.timeline.list(runId)).map(({ kind, text }) => `${kind}: ${text}`);
  const attempts = await world.attempts.list(runId);
  return {
    runId,
    status: run?.status ?? 'not started',
    sealedSeconds,
    timeline,
    attempts,
    failure: run?.failure,
  };
}
