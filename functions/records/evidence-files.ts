/** Reads what the agent measured of an attempt: two files of each host, beside the checkpoints. */
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { readDocument, valueOf } from '@tidewheel/contract/document.ts';
import {
  type EvidencePoint,
  evidenceFileOf,
  type HostStart,
  readHostStart,
  readPoints,
  type ScriptLines,
  stepBlocks,
} from '@tidewheel/contract/evidence.ts';
import { namePartsOf } from '@tidewheel/contract/files.ts';
import type { Phases } from '@tidewheel/doctor/diagnose.ts';
import { type StepSpeed, stepSpeedOf } from '@tidewheel/doctor/probe.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { readHostFiles } from './host-files.ts';
import type { AttemptRecord, RunRecord } from './run-records.ts';
import type { Stores } from './stores.ts';

export interface MeasuredAttempt {
  /** Of each host from its first step on, in order of time. */
  readonly points: readonly EvidencePoint[];
  /** The longest of any host; absent where no host knows. */
  readonly phases: { readonly [Name in keyof Phases]?: number };
  /** Of the first host that knows each. */
  readonly lines: ScriptLines;
  /** The longest of any host, of what a resumed script reads again. */
  readonly skippedSeconds: number;
}

export async function readMeasured(
  store: ObjectStore,
  { pipeline, runId, attempt }: Pick<AttemptRecord, 'pipeline' | 'runId' | 'attempt'>,
): Promise<MeasuredAttempt> {
  const files = await readHostFiles(store, bucketKeys.evidence(pipeline, runId), (key) => {
    const file = evidenceFileOf(key);
    return file?.attempt === attempt ? file.kind : undefined;
  });
  const textsOf = (kind: 'points' | 'start'): readonly string[] =>
    files.filter(({ of }) => of === kind).map(({ text }) => text);
  const starts = textsOf('start').flatMap((text) => readHostStart(text) ?? []);
  return {
    points: sinceFirstStep(textsOf('points').flatMap((text) => readPoints(text))),
    phases: longest(starts),
    skippedSeconds: Math.max(0, ...starts.map(({ skipped = 0 }) => skipped)),
    lines: starts.reduceRight<ScriptLines>((all, { lines }) => ({ ...all, ...lines }), {}),
  };
}

/** Lines may come twice. A helper host trains nothing. */
function sinceFirstStep(points: readonly EvidencePoint[]): readonly EvidencePoint[] {
  const hosts = Map.groupBy(
    points.filter(({ processes }) => processes > 0),
    ({ host }) => host,
  );
  return [...hosts.values()].flatMap((all) => {
    const once = [...new Map(all.map((each) => [each.at, each])).values()];
    const ordered = once.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
    const first = ordered.findIndex(({ steps }) => steps > 0);
    return first === -1 ? [] : ordered.slice(first);
  });
}

const PHASES = ['download', 'install', 'scriptStart', 'firstBatch', 'firstStep'] as const;

function longest(starts: readonly HostStart[]): MeasuredAttempt['phases'] {
  const known = PHASES.flatMap((name) => {
    const seconds = starts.map(({ phases }) => phases[name]).filter((each) => each !== null);
    return seconds.length === 0 ? [] : [[name, Math.max(...seconds)] as const];
  });
  return Object.fromEntries(known);
}

// Tells on the timeline that a host installs, and that a hook of the agent failed, so that the doctor knows no steps.

/** Safe to repeat: each host of an attempt has one entry of each. */
export async function tellStart(
  deps: Pick<Stores, 'timeline'> & { readonly store: ObjectStore; readonly clock: Clock },
  { pipeline, runId, attempt }: Pick<AttemptRecord, 'pipeline' | 'runId' | 'attempt'>,
): Promise<void> {
  const starts = await readHostFiles(deps.store, bucketKeys.evidence(pipeline, runId), (key) => {
    const file = evidenceFileOf(key);
    return file?.kind === 'start' && file.attempt === attempt ? file : undefined;
  });
  for (const { of: file, text } of starts) {
    const { hooks, installing, startedAt } = readHostStart(text) ?? {};
    if (installing !== undefined)
      await deps.timeline.add(runId, {
        id: `installing-${attempt}-${file.host}`,
        at: startedAt ?? deps.clock.now().toISOString(),
        kind: 'Installing',
        text: `attempt ${attempt}: ${file.host} installs ${installing.packages} packages (${installing.what}) before the script starts`,
      });
    if (hooks?.kind !== 'removed') continue;
    await deps.timeline.add(runId, {
      id: `hooks-${attempt}-${file.host}`,
      at: deps.clock.now().toISOString(),
      kind: 'HooksRemoved',
      text: `attempt ${attempt}: the script on ${file.host} goes on unmeasured, since the hook on ${hooks.hook ?? 'a call'} failed: ${hooks.reason ?? ''}. The doctor knows its host, and no steps; training.instrument: false leaves the hooks out`,
    });
  }
}

// Reads how fast the last measured attempt of a limited run made its steps.

/** @returns undefined where no attempt measured enough steps */
export async function readStepSpeed(
  store: ObjectStore,
  { pipeline, runId }: Pick<RunRecord, 'pipeline' | 'runId'>,
): Promise<StepSpeed | undefined> {
  const found = await readHostFiles(
    store,
    bucketKeys.evidence(pipeline, runId),
    (key) => namePartsOf('stepBlocks', key)?.attempt,
  );
  const last = Math.max(0, ...found.map(({ of }) => of));
  const blocks = found
    .filter(({ of }) => of === last)
    .map(({ text }) => valueOf(readDocument(stepBlocks, text)));
  const read = blocks.filter((each) => each !== undefined);
  return read.length === blocks.length ? stepSpeedOf(read) : undefined;
}
