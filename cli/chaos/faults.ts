/** Which fault befalls which host when: the same for a seed on every machine. */
import { HOST_FAULTS, type HostFault } from '@tidewheel/emulators/sagemaker/server.ts';
import { seededUniform, shuffledPositions } from '@tidewheel/kit/seeded-random.ts';

export const FAULTS = ['kill', 'reclaim', ...HOST_FAULTS] as const;
export type Fault = 'kill' | 'reclaim' | HostFault;

/** Completes "host 2 ...". */
export const BEFALLS: Readonly<Record<Fault, string>> = {
  kill: 'is killed, with all of its processes',
  reclaim: 'and the others are reclaimed: Spot warns them',
  hang: 'hangs: its script is stopped for good',
  slow: 'becomes slow: it runs a quarter of the time, for 6 s',
  disk: 'has a full disk under its checkpoints',
  network: 'loses its network: its connections break',
};

export interface PlannedFault {
  readonly fault: Fault;
  /** Counted from 1. */
  readonly host: number;
}

/** Every kind once, in an order drawn by the seed, and again in the same order. */
export function plannedFault(seed: number, index: number, hosts: number): PlannedFault {
  const place = index % FAULTS.length;
  const fault = FAULTS[shuffledPositions(FAULTS.length, seed).indexOf(place)] ?? 'kill';
  const drawn = 1 + Math.floor(seededUniform(`chaos ${seed} ${index}`)() * hosts);
  // Only the first host saves.
  return { fault, host: fault === 'disk' ? 1 : drawn };
}
