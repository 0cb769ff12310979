/** Which fault befalls which host when: the same for a seed on every machine. */
import { INJECTED_FAULTS } from '@tidewheel/emulators/sagemaker/server.ts';
import { seededUniform, shuffledPositions } from '@tidewheel/kit/seeded-random.ts';

/** Any machine can play these. */
export const STRIKES = ['kill', 'reclaim'] as const;
export const CHAOS_FAULTS = [...STRIKES, ...INJECTED_FAULTS] as const;
export type ChaosFault = (typeof CHAOS_FAULTS)[number];

/** Completes "host 2 ...". */
export const BEFALLS: Readonly<Record<ChaosFault, string>> = {
  kill: 'is killed, with all of its processes',
  reclaim: 'and the others are reclaimed: Spot warns them',
  hang: 'hangs: its script is stopped for good',
  slow: 'becomes slow: it runs a quarter of the time, for 6 s',
  disk: 'has a full disk under its checkpoints',
  network: 'loses its network: its connections break',
};

export interface PlannedFault {
  readonly fault: ChaosFault;
  /** Counted from 1. */
  readonly host: number;
}

/** Every kind once, in an order drawn by the seed, and again in the same order. */
export function plannedFault(
  seed: number,
  index: number,
  { hosts, kinds }: { readonly hosts: number; readonly kinds: readonly ChaosFault[] },
): PlannedFault {
  const place = index % kinds.length;
  const fault = kinds[shuffledPositions(kinds.length, seed).indexOf(place)] ?? 'kill';
  const drawn = 1 + Math.floor(seededUniform(`chaos ${seed} ${index}`)() * hosts);
  // Only the first host saves.
  return { fault, host: fault === 'disk' ? 1 : drawn };
}
