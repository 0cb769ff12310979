/** What a seed stands for: which fault, at which moment. Pure. */
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';

export const FAULTS = ['reclaim', 'killHost', 'killAll', 'killAgent', 'killRank'] as const;
/**
 * reclaim: SIGTERM to every host, SIGKILL after `graceSeconds`, however far the save has come; the job goes on in place.
 * killHost, killAll: SIGKILL to every process of one host, or of all. killAgent, killRank: to that one process.
 */
export type Fault = (typeof FAULTS)[number];

export type Moment =
  /** So much of the time that an undisturbed training takes, from the start of the hosts on: most of it is the start. */
  | { readonly kind: 'share'; readonly share: number }
  /** So long after the n-th checkpoint of this attempt was begun: while it is written (at most 30 ms), or later. */
  | { readonly kind: 'saving' | 'training'; readonly save: number; readonly afterMs: number };

export interface Interruption {
  readonly seed: number;
  readonly fault: Fault;
  readonly moment: Moment;
  /** 0 the leader's host, 1 the other's. */
  readonly host: number;
  readonly graceSeconds: number;
}

const SAVING_MS = 30;
const TRAINING_MS = 600;
/** An attempt is struck soon, so that several faults find room in a short training. */
const FIRST_SAVES = 3;

/** Saves are a small part of the time: 40 % of the moments fall into one all the same. */
export function interruptionOf(seed: number): Interruption {
  const random = seededUniform(seed);
  const pick = random();
  const fault: Fault =
    pick < 0.35
      ? 'reclaim'
      : pick < 0.65
        ? 'killHost'
        : pick < 0.8
          ? 'killAll'
          : pick < 0.9
            ? 'killAgent'
            : 'killRank';
  const kind = random();
  const save = 1 + Math.floor(random() * FIRST_SAVES);
  const moment: Moment =
    kind < 0.25
      ? { kind: 'share', share: random() }
      : kind < 0.65
        ? { kind: 'saving', save, afterMs: random() * SAVING_MS }
        : { kind: 'training', save, afterMs: random() * TRAINING_MS };
  return { seed, fault, moment, host: random() < 0.5 ? 0 : 1, graceSeconds: 0.2 + random() * 4 };
}
