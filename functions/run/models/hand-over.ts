/**
 * Hands the models of a pipeline over to other registries: each is made to say what the table says. An event only wakes
 * this. A process that was slower than another one looks again, so registries end with the last decision, and a message
 * that a dead process leaves comes again.
 */

import { bucketKeys, parseRunId, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { readStored } from '@tidewheel/declaration/read.ts';
import { messageOf, TransientError } from '@tidewheel/kit/errors.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';
import { currentOf, type Judged, type Model, type PipelineModels } from '../../records/models.ts';
import type { RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import { drainQueue, type PolledMessage, type PolledQueue, type Taken, takeEach } from '../queue-messages.ts';
import { decideAsAsked } from './choose-model.ts';
import { type ModelDeps, modelsOf, objectAt } from './decide-models.ts';

/** A model with what registries keep beside it. */
export interface HandedModel {
  readonly model: Model;
  readonly current: Model | undefined;
  /** What a reader there may look for: where it comes from, what was decided, and how it was judged. */
  readonly tags: Readonly<Record<string, string>>;
  /** S3 address of its judgement; absent without scores. */
  readonly judgement?: string | undefined;
  readonly jobName?: string | undefined;
  /** Why an approval there was not taken: the state here replaces it. */
  readonly overruled?: string | undefined;
}

export type Handed =
  /** `where` such as "version 3 of digits". */
  | { readonly kind: 'stands'; readonly where: string }
  /** A person approved it there after the last decision here. */
  | { readonly kind: 'approved'; readonly by: string; readonly reason: string };

export interface ModelRegistry {
  /** For people. */
  readonly name: string;
  /** Where it is: one that is down is left alone for the rest of an invocation. */
  readonly address: string;
  /** Safe to repeat, and for several at once. */
  put(model: HandedModel): Promise<Handed>;
}

export interface HandOverDeps extends ModelDeps, Pick<Stores, 'runs' | 'attempts'> {
  /** Those that the pipeline declares. */
  readonly registriesOf: (pipeline: Pipeline) => readonly ModelRegistry[];
  /** The run of a model package; undefined for one of others. */
  readonly runOfPackage: (arn: string) => Promise<string | undefined>;
}

type RoundDeps = HandOverDeps & { readonly down: Map<string, unknown> };

/** As the queue's redrive policy has it (serverless/events.yml): a day. */
export const MOST_TRIES = 100;
/** After three quarters of an hour people hear of it. */
const TRIES_BEFORE_NOTICE = 4;
/** Each other look finds a decision that was faster. */
const MOST_LOOKS = 20;

export async function drainHandOvers(given: HandOverDeps & { readonly queue: PolledQueue }): Promise<Taken> {
  const down = new Map<string, unknown>();
  return drainQueue(given, (messages, isTimeUp) =>
    takeEach(messages, async (message) => {
      if (isTimeUp()) throw new TransientError('other messages took the time of this round');
      return handOver({ ...given, down }, message);
    }),
  );
}

interface Asked {
  readonly pipeline: string;
  readonly runIds: readonly string[];
}

/** Every registry is tried before the first failure is thrown. */
async function handOver(deps: RoundDeps, message: PolledMessage): Promise<string[]> {
  const asked = await askedOf(deps, message.body);
  if (asked === undefined) return [];
  const stored = await deps.store.readText(bucketKeys.pipeline(asked.pipeline));
  const declaration = stored && readStored(asked.pipeline, stored.text);
  if (declaration === undefined) return [`${asked.pipeline} has no declaration`];
  if (!declaration.valid)
    throw new Error(`the declaration of ${asked.pipeline} cannot be read: correct it, and registries follow`);
  const notes: string[] = [];
  const failures: unknown[] = [];
  for (const registry of deps.registriesOf(declaration.pipeline)) {
    try {
      notes.push(...(await keepInStep(deps, unlessDown(deps.down, registry), asked)));
    } catch (error: unknown) {
      failures.push(error);
      await noteFailure(deps, asked, { name: registry.name, message, reason: messageOf(error) });
    }
  }
  if (failures.length > 0) throw failures[0];
  return notes;
}

/** The rules of serverless/events.yml let these types through. */
const eventSchema = z.object({
  detail: z.union([
    z.object({
      pipeline: z.string(),
      runId: z.string(),
      from: z.string().optional(),
      decision: z.string().optional(),
    }),
    // https://docs.aws.amazon.com/sagemaker/latest/dg/automating-sagemaker-with-eventbridge.html
    z.object({ ModelPackageArn: z.string() }),
  ]),
});

/** @returns undefined for a model package of others, and where the decision comes as another event */
async function askedOf({ runOfPackage }: RoundDeps, body: string): Promise<Asked | undefined> {
  const { detail } = eventSchema.parse(parseJson(body));
  if ('runId' in detail) {
    const { pipeline, runId, from, decision = 'waits' } = detail;
    if (decision !== 'waits') return undefined;
    return { pipeline, runIds: from === undefined ? [runId] : [runId, from] };
  }
  const runId = (await runOfPackage(detail.ModelPackageArn)) ?? '';
  const run = parseRunId(runId);
  return run && { pipeline: run.pipeline, runIds: [runId] };
}

/** A failure of the table, or of the bucket, says nothing about the registry. */
const unlessDown = (down: RoundDeps['down'], registry: ModelRegistry): ModelRegistry => ({
  ...registry,
  put: async (model) => {
    if (down.has(registry.address)) throw down.get(registry.address);
    try {
      return await registry.put(model);
    } catch (error: unknown) {
      if (error instanceof TransientError) down.set(registry.address, error);
      throw error;
    }
  },
});

/** Ends when the models have not changed since they were read, so a slow process leaves nothing older there. */
async function keepInStep(deps: HandOverDeps, registry: ModelRegistry, asked: Asked): Promise<string[]> {
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const { known } = await modelsOf(deps, asked.pipeline);
    const notes: string[] = [];
    for (const model of concerned(known, asked.runIds))
      notes.push(await putModel(deps, registry, { known, model }));
    if ((await modelsOf(deps, asked.pipeline)).known.number === known.number) return notes;
  }
  throw new TransientError(`the models of ${asked.pipeline} change too often now: make the same call again`);
}

/**
 * Each decision has an event of its own, so these are all that a message is about: it comes again, and corrects what a dead
 * process wrote. The one in use comes first, so that a registry is never without one.
 */
const concerned = ({ models }: PipelineModels, runIds: readonly string[]): readonly Model[] =>
  models
    .filter(({ runId }) => runIds.includes(runId))
    .toSorted((a, b) => Number(b.state === 'current') - Number(a.state === 'current'));

interface ModelOf {
  readonly known: PipelineModels;
  readonly model: Model;
}

async function putModel(deps: HandOverDeps, registry: ModelRegistry, of: ModelOf): Promise<string> {
  const { model } = of;
  const given = await handedModel(deps, of);
  const handed = await registry.put(given);
  if (handed.kind === 'stands') {
    const text = `the model of ${model.runId} is ${handed.where} in ${registry.name}, as ${model.state}`;
    const id = `registry-${registry.name}-${model.number}`;
    const at = deps.clock.now().toISOString();
    await deps.timeline.add(model.runId, { id, at, kind: 'ModelHandedOver', text });
    return text;
  }
  const { by, reason } = handed;
  const { pipeline } = of.known;
  const choice = { pipeline, decision: 'promote', runId: model.runId, by, reason } as const;
  const decided = await decideAsAsked(deps, choice);
  if (decided.kind === 'refused') await registry.put({ ...given, overruled: decided.why });
  return `${model.runId} is approved in ${registry.name}: ${decided.kind}`;
}

async function handedModel(deps: HandOverDeps, { known, model }: ModelOf): Promise<HandedModel> {
  const { pipeline } = known;
  const { runId, state, number, by, reason, digest, judged } = model;
  const [run, attempts] = await Promise.all([deps.runs.get(runId), deps.attempts.list(runId)]);
  const decided = { run: runId, pipeline, state, decision: String(number), by, reason, digest };
  const judgement = s3Uri(deps.store.bucket, bucketKeys.judgement(pipeline, runId));
  const isJudged = judged !== undefined && (await objectAt(deps.store, judgement)) !== undefined;
  const tags = Object.entries({ ...decided, ...lineageOf(run), ...(judged && scoreOf(judged)) });
  return {
    model,
    current: currentOf(known),
    tags: Object.fromEntries(tags.flatMap(([name, value]) => (value ? [[`tidewheel.${name}`, value]] : []))),
    ...(isJudged && { judgement }),
    jobName: attempts.at(-1)?.jobName,
  };
}

const lineageOf = ({ source, generation, generations = [], startedFrom }: Partial<RunRecord> = {}) => ({
  source,
  data: generations.at(-1) ?? generation,
  startedFrom: startedFrom?.runId ?? startedFrom?.uri,
});
const scoreOf = ({ verdict, metric, mean }: Judged) => ({ verdict, metric, value: mean?.toString() });

async function noteFailure(
  deps: RoundDeps,
  { pipeline, runIds: [runId = ''] }: Asked,
  { name, message, reason }: { name: string; message: PolledMessage; reason: string },
): Promise<void> {
  const isLast = message.receives >= MOST_TRIES;
  const at = deps.clock.now().toISOString();
  const kind = isLast ? 'HandOverFailed' : 'HandOverDelayed';
  const then = isLast ? 'It is among the dead letters' : 'It is tried again for a day';
  const text = `${name} does not know yet what was decided: ${reason}. ${then}`;
  await deps.timeline.add(runId, { id: `${kind}-${name}-${message.messageId}`, at, kind, text });
  if (isLast || message.receives === TRIES_BEFORE_NOTICE)
    await deps.notifier.notify(
      { runId, pipeline },
      {
        type: 'HandOverDelayed',
        registry: name,
        reason,
        tries: message.receives,
      },
    );
}
