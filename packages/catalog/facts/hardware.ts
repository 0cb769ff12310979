/**
 * What EC2's DescribeInstanceTypes says of hardware, in the places of the snapshot's. The hardware of a type does not
 * change, so an answer that contradicts the snapshot beyond what AWS has ever corrected is not believed.
 */

import { list, time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { type FactsOf, type InstanceFacts, instanceFacts, instanceFactsSchema } from './catalog.ts';
import { answerOf } from './instance-type-answer.ts';

/** What differs from the snapshot, or is of a type that it does not have. `readAt`: when EC2 last said so. */
const readFacts = z.object({ facts: instanceFactsSchema, readAt: time });
export type ReadFacts = Readonly<z.output<typeof readFacts>>;

const refused = z.object({ type: z.string(), why: z.string() });
type Refused = Readonly<z.output<typeof refused>>;

export const hardwareSchema = z.object({
  region: z.string(),
  /** When EC2 last answered. */
  at: time,
  /** Requested types, whether the region has them or not. */
  requested: list(z.string()),
  facts: list(readFacts),
  /** Answers that were not believed. */
  refused: list(refused),
});
export type Hardware = Readonly<z.output<typeof hardwareSchema>>;

export type FactsReading =
  | { readonly kind: 'asInSnapshot'; readonly type: string }
  | { readonly kind: 'facts'; readonly facts: InstanceFacts }
  | ({ readonly kind: 'refused' } & Refused);

/** Defaults for a type that the snapshot does not know. */
const NOTHING = {
  accelerator: undefined,
  acceleratorMemoryMib: undefined,
  networkBaselineGbps: 0,
  efa: false,
  nvmeGb: 0,
  ebsBaselineMbps: undefined,
  // No field of EC2's says it.
  interconnect: undefined,
} as const;

/** One entry of InstanceTypes. What it leaves out stays as the snapshot has it. */
export function readAnswer(entry: unknown, snapshotOf: FactsOf = instanceFacts): FactsReading {
  const answer = answerOf(entry);
  const { type } = answer;
  if (answer.kind === 'unreadable') return { kind: 'refused', type, why: answer.why };
  const snapshot = snapshotOf(type);
  const known = { ...NOTHING, ...snapshot, ...answer.facts };
  const facts = {
    networkBurstGbps: known.networkBaselineGbps,
    vcpu: 0,
    memoryGib: 0,
    acceleratorCount: 0,
    arch: '',
    ...known,
    type,
  } satisfies InstanceFacts;
  const why = implausible(facts) ?? (snapshot && contradiction(facts, snapshot));
  if (why !== undefined) return { kind: 'refused', type, why };
  return snapshot !== undefined && sameFacts(facts, snapshot)
    ? { kind: 'asInSnapshot', type }
    : { kind: 'facts', facts };
}

/** Bounds far beyond what there is: an answer outside them is an error at its source. */
const BOUNDS = {
  vcpu: [1, 4_096],
  memoryGib: [0.25, 65_536],
  acceleratorCount: [0, 128],
  acceleratorMemoryMib: [1_024, 1_048_576],
  networkBaselineGbps: [0.01, 50_000],
  networkBurstGbps: [0.01, 50_000],
  efaInterfaces: [0, 128],
  nvmeGb: [0, 1_000_000],
  ebsBaselineMbps: [1, 1_000_000],
} as const satisfies Partial<Record<keyof InstanceFacts, readonly [number, number]>>;
type Measure = keyof typeof BOUNDS;
const MEASURES = Object.keys(BOUNDS) as readonly Measure[];

function implausible(facts: InstanceFacts): string | undefined {
  for (const name of MEASURES) {
    const value = facts[name];
    const [least, most] = BOUNDS[name];
    if (value !== undefined && !(value >= least && value <= most))
      return `${name} of ${value} is not between ${least} and ${most}`;
  }
  if (facts.networkBurstGbps < facts.networkBaselineGbps)
    return `a burst of ${facts.networkBurstGbps} Gbit/s is below the baseline of ${facts.networkBaselineGbps}`;
  return facts.arch === '' ? 'it names neither x86_64 nor arm64' : undefined;
}

/** What AWS has corrected in the past lies within this factor. */
const CORRECTION = 2;

function contradiction(facts: InstanceFacts, snapshot: InstanceFacts): string | undefined {
  for (const name of ['vcpu', 'accelerator', 'acceleratorCount', 'arch'] as const)
    if (facts[name] !== snapshot[name])
      return `${name} is ${facts[name] ?? 'missing'}, and ${snapshot[name] ?? 'none'} in the snapshot`;
  for (const name of MEASURES) {
    const [answered, known] = [facts[name] ?? 0, snapshot[name] ?? 0];
    if (answered > 0 && known > 0 && Math.max(answered / known, known / answered) > CORRECTION)
      return `${name} of ${answered} is too far from the snapshot's ${known}`;
  }
  return undefined;
}

const sameFacts = (a: InstanceFacts, b: InstanceFacts): boolean =>
  (Object.keys({ ...a, ...b }) as (keyof InstanceFacts)[]).every((name) => a[name] === b[name]);

/** The snapshot's facts with those that were read of EC2 in their places. */
export function factsWith(read: readonly ReadFacts[] = [], snapshotOf: FactsOf = instanceFacts): FactsOf {
  if (read.length === 0) return snapshotOf;
  const known = new Map(read.map(({ facts }) => [facts.type, facts]));
  return (type) => known.get(type) ?? snapshotOf(type);
}

/** What a look adds to what is kept: facts of types that were not answered this time stay, with the time of theirs. */
export function keepRead(
  known: Hardware | undefined,
  look: {
    readonly region: string;
    readonly at: string;
    readonly requested: readonly string[];
    readonly readings: readonly FactsReading[];
  },
): Hardware {
  const { region, at, readings } = look;
  const settled = new Set(
    readings.flatMap((each) =>
      each.kind === 'facts' ? [each.facts.type] : each.kind === 'asInSnapshot' ? [each.type] : [],
    ),
  );
  const fresh = readings.flatMap((each) =>
    each.kind === 'facts' ? [{ facts: each.facts, readAt: at }] : [],
  );
  const kept = (known?.facts ?? []).filter(({ facts }) => !settled.has(facts.type));
  return {
    region,
    at,
    requested: [...new Set([...look.requested, ...(known?.requested ?? [])])].sort(),
    facts: [...fresh, ...kept],
    refused: readings.flatMap((each) =>
      each.kind === 'refused' ? [{ type: each.type, why: each.why }] : [],
    ),
  };
}
